"""Projection or areas -> ranking: the rank of each model, and its distance to the best."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from nci_frames import schemas
from nci_frames.base.arguments import name_list
from nci_frames.base.errors import SchemaError
from nci_frames.base.typing import Frame
from nci_frames.evaluation.metrics import Direction, Metric, find_metric, rounding
from nci_frames.evaluation.metrics.classes import class_metric
from nci_frames.evaluation.metrics.metric import tie_leaders
from nci_frames.schemas import FrameSchema, checked, collect, group_starts, need_each_once

#: Columns of a roll-up, which are dropped.
_SIZES = ("segments", "skipped")
_RESULTS = (
    "value", "skill", "optimistic", "lower", "upper", "std", "repeats", "skipped", "rank", "gap", "supported",
    "reason",
)  # fmt: skip


@checked
def rank_models(table: Frame, /, *, by: str | Sequence[str] | None = None) -> pl.DataFrame:
    """Rank the models in every comparison of a projection, of areas or of a roll-up.

    Parameters
    ----------
    table
        A projection, an areas frame, proper scores, a roll-up, or a projection of classes.
    by
        Columns that identify a comparison. By default all but the model and the results: metric, method,
        average, prevalence, beta and keys. The threshold is included if the models have the same thresholds
        in every comparison; otherwise, as with operating points or exact counts, each (model, threshold)
        competes.

    Returns
    -------
    The columns of *table*, sorted by *by*, rank, model and threshold, and:

    %(columns of ranking: rank, gap)s

    Metrics with a target instead of a direction have no order; see ``metrics()``. A roll-up loses the numbers
    of segments. A comparison of classes has one ``scenario`` and one ``class``.

    Raises
    ------
    UnknownMetricError
        If the direction of a metric is unknown: a user-defined expression must be registered with
        ``register_metric``.
    SchemaError
        If *table* is of another kind, lacks a column of *by*, or has a model twice in one comparison.

    Notes
    -----
    Unsupported values are ranked, too, with their ``supported`` and ``reason``.

    Values that differ only by rounding tie: by 8 units in the last place (8·2^-52) of the best of them, or
    512 for areas, which are sums; for differences of rates (Youden's J, and the two gains), by as many units
    of 1. The best value leads the first tie, the best value that does not tie with it the next, and so on, so
    that chains of small steps do not join different values.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> points = nf.project_rates(nf.compute_rates(counts), metrics="f_beta", prevalence=[0.001, 0.5])
    >>> nf.rank_models(points).select("prevalence", "model", "rank").rows()
    [(0.001, 'a', 1), (0.001, 'b', 2), (0.5, 'b', 1), (0.5, 'a', 2)]
    """
    frame = table.collect() if isinstance(table, pl.LazyFrame) else table
    schema: FrameSchema = schemas.AREAS if "method" in frame.columns else schemas.PROJECTION
    if "skill" in frame.columns:
        schema = schemas.PROPER_SCORES
    if {"average", "segments", "skipped"} <= set(frame.columns):
        schema = schemas.ROLL_UP
    if {"scenario", "class"} <= set(frame.columns):
        schema = schemas.CLASS_PROJECTION
    frame = collect(frame, schema).drop("rank", "gap", *_SIZES, strict=False)
    comparison = _comparison(frame, schema) if by is None else name_list(by)
    for column in comparison:
        if column not in frame.columns:
            raise SchemaError.missing_column(column, "by", f"the {schema.name} frame", frame.columns)

    identity = [name for name in frame.columns if name not in _RESULTS]
    hint = "give the tables a key that tells them apart, or leave out what is there twice"
    need_each_once(frame, identity, "a model has two values in one comparison", hint, SchemaError)
    order = [*comparison, "rank", "model", *(["threshold"] if "threshold" in frame.columns else [])]
    order = list(dict.fromkeys(order))
    ranked = _ranked(frame, comparison)
    finished = schemas.CLASS_RANKING if schema is schemas.CLASS_PROJECTION else schemas.RANKING
    return finished.finish(ranked.sort(order, nulls_last=[column == "rank" for column in order]))


def _ranked(frame: pl.DataFrame, comparison: list[str]) -> pl.DataFrame:
    """Add rank and gap."""
    find: Callable[[str], Metric] = class_metric if "class" in frame.columns else find_metric
    known = {label: find(label) for label in frame["metric"].unique()}

    def is_to(direction: Direction) -> pl.Expr:
        return pl.col("metric").is_in([name for name, told in known.items() if told.direction == direction])

    # Negate metrics to be minimised, so that the largest value is the best in every comparison.
    upward = pl.when(is_to("maximize")).then("value").when(is_to("minimize")).then(-pl.col("value"))
    ordered = frame.with_columns(__upward=upward.fill_nan(None)).sort(
        *comparison, -pl.col("__upward"), nulls_last=[*(False for _ in comparison), True]
    )
    ranked = ordered.filter(pl.col("__upward").is_not_null())
    rest = ordered.filter(pl.col("__upward").is_null())
    values = ranked["__upward"].to_numpy()
    moved = np.empty(len(ranked))
    for label, metric in known.items():
        mine = (ranked["metric"] == label).to_numpy()
        moved[mine] = rounding(metric, values[mine])
    starts = group_starts(ranked, comparison) if comparison else np.zeros(min(len(ranked), 1), np.int64)
    start = np.repeat(starts, np.diff(starts, append=len(ranked)))
    leader = tie_leaders(values, moved, starts)
    gap = np.where(leader == start, 0.0, values[start] - values)
    found = ranked.with_columns(rank=pl.Series(leader - start + 1, dtype=pl.Int64), gap=pl.Series(gap))
    # The rest has neither rank nor gap.
    return pl.concat([found, rest], how="diagonal").drop("__upward")


def _comparison(frame: pl.DataFrame, schema: FrameSchema) -> list[str]:
    """Return the columns that identify a comparison by default."""
    columns = [c for c in frame.columns if c not in ("model", "threshold", *_RESULTS)]
    order = {name: place for place, name in enumerate(schema.fixed)}
    columns.sort(key=lambda column: order.get(column, -1))
    if "threshold" in frame.columns:
        thresholds = frame.group_by("model").agg(pl.col("threshold").unique().sort())["threshold"]
        # Models with equal thresholds in all may have other ones in a single comparison, such as a segment.
        models, sharing = (pl.col("model").n_unique().over(by) for by in (columns, [*columns, "threshold"]))
        if thresholds.n_unique() == 1 and frame.select((models == sharing).all()).item():
            columns.append("threshold")
    return columns
