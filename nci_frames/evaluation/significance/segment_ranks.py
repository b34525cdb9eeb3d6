"""Counts by segment -> in which segments a model is worse than elsewhere, and why."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.arguments import check_level, check_whole, prevalence_values
from nci_frames.checked import checked
from nci_frames.counts.pooling import pool_counts
from nci_frames.errors import ParameterError, SchemaError
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.metrics.directions import better_sign
from nci_frames.evaluation.metrics.metric import CalledMetric
from nci_frames.evaluation.projection.projection import project_rates, require_columns
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.significance.corrections import benjamini_hochberg
from nci_frames.evaluation.significance.rest import compare_with_rest
from nci_frames.evaluation.significance.segment_values import compared_values
from nci_frames.schemas import COUNTS, SEGMENT_RANKS

__all__ = ["rank_segments"]

_CELLS = ("tp", "fp", "fn", "tn")


@checked
def rank_segments(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    segments: str | Sequence[str],
    threshold: float | Mapping[str, float],
    metric: str | pl.Expr = "f_beta",
    prevalence: float | Literal["observed"] = "observed",
    beta: float = 1.0,
    model: str | None = None,
    min_positives: int = 20,
    level: float = 0.95,
) -> pl.DataFrame:
    """Rank segments by how much worse a model is there than in the rest, and say why it differs.

    A metric is low in a segment because positives are rare there, or because the model separates them less
    well, or by chance. The table tells which, for every segment at once.

    Parameters
    ----------
    counts
        A counts frame of whole rows. Keys besides *segments* are pooled.
    segments
        The key or keys that split the rows, e.g. ["country", "tier"].
    threshold
        The decision threshold of all models, or of each: {"model": threshold}.
    metric
        Name or alias of a metric of operating points, or a called metric.
    prevalence
        The common P(y=1), in [0, 1], at which segments and models are compared; "observed": that of all rows.
    beta
        Weight of recall in [0, inf], if the metric has one.
    model
        The model to look at; None takes the best one of all segments together.
    min_positives
        Segments with fewer positives, at least 1, are listed last, without numbers.
    level
        Confidence of each interval, in (0, 1); of the findings in the table, a share of 1 - level at most is
        false on average.

    Returns
    -------
    A row per segment. First those where the rates make the metric significantly worse, the largest part
    first, then the others from the worst part to the best, then those with fewer than *min_positives*
    positives:

    ======================== ======= =========================================== =================
    column                   dtype   meaning                                     null where
    ======================== ======= =========================================== =================
    model                    String  the model looked at                         its name is null
    segments                         as in *counts*                              as in *counts*
    threshold                Float64 of the operating point                      never
    metric                   String  name of the metric, or label                never
    positives, negatives     Int64   rows of the segment                         never
    prevalence               Float64 the common one                              the metric has
                                                                                 none
    beta                     Float64 weight of recall                            it plays no part
    value, lower, upper      Float64 the metric at the common prevalence         undefined, or few
                                                                                 positives
    rank                     Int64   of the model among all models of the        as value
                                     segment, by value; 1 is best
    gap                      Float64 distance of value to the best of them       as value
    observed_prevalence      Float64 positives / rows of the segment             never
    own_value, own_lower,    Float64 the metric at that prevalence               as value
    own_upper
    rest_value               Float64 the metric in the rest, at its own          as value
    difference               Float64 own_value - rest_value                      as value
    due_to_prevalence,       Float64 part of it due to the class balance, with   as value
    due_to_prevalence_lower,         bounds
    due_to_prevalence_upper
    due_to_rates,            Float64 part of it due to TPR and FPR, with bounds  as value
    due_to_rates_lower,
    due_to_rates_upper
    p_value                  Float64 of due_to_rates being 0, this segment alone as value
    adjusted                 Float64 Benjamini and Hochberg's, over the segments as value
    distinguishable          Boolean whether adjusted is below 1 - level         as value
    class                    String  the class whose scores differ more from     few rows
                                     the rest: "positive" or "negative"
    effect                   Float64 the largest distance of its shares of       few rows
                                     scores >= a threshold from the rest's
    shift_p_value            Float64 of the scores of both classes being         few rows
                                     distributed as in the rest
    shift_adjusted           Float64 Benjamini and Hochberg's, over the segments few rows
    shifted                  Boolean whether shift_adjusted is below 1 - level   few rows
    supported                Boolean whether the log can tell value              never
    reason                   String  why it cannot                               supported
    ======================== ======= =========================================== =================

    Raises
    ------
    ParameterError
        If there is only one segment, a number is out of range, a threshold was not counted, the metric cannot
        be ranked, there is no such model, or counts are sums of weights.
    UnknownMetricError
        If *metric* is neither a metric nor an alias.
    SchemaError
        If *counts* is not a counts frame, or lacks a key of *segments*.

    Notes
    -----
    The rest of a segment are all other segments but for those that are ``shifted``: otherwise a few bad
    segments would make each good one differ from a rest that contains them. At most half of the segments are
    left out of it. The test of the scores is that of Anderson and Darling for two samples, with at most 64
    cells of scores; the smaller p-value of the two classes is adjusted for being the smaller of two.

    The parts of the difference are those of ``decompose_difference``. Bounds come from Wilson's of TPR, FPR
    and prevalence, of the segment and of the rest, each moved alone and the changes added as squares; the
    p-value is 1 minus the highest confidence at which the bounds exclude 0. Rows are taken as independent.
    Intervals hold for one segment each, not for all together.

    References
    ----------
    Benjamini and Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; Zou and Donner (2008),
    doi:10.1002/sim.3095; Kitagawa (1955), doi:10.1080/01621459.1955.10501299; Scholz and Stephens (1987),
    doi:10.1080/01621459.1987.10478517.

    Examples
    --------
    Precision is low in Austria because positives are rare there, and in Denmark because of the model.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "country": ["at", "be", "ch", "de", "dk"], "threshold": 0.5,
    ...     "tp": [80, 800, 800, 800, 500], "fp": [100, 100, 100, 100, 400],
    ...     "fn": [20, 200, 200, 200, 500], "tn": [9900, 9900, 9900, 9900, 9600],
    ... })
    >>> ranks = nf.rank_segments(counts, segments="country", threshold=0.5, metric="precision")
    >>> parts = pl.col("due_to_prevalence", "due_to_rates").round(2)
    >>> ranks.select("country", "distinguishable", parts).head(2).rows()
    [('dk', True, 0.05, -0.35), ('at', False, -0.44, 0.0)]
    """
    check_level(level)
    check_whole("min_positives", min_positives, 1)
    called = called_metric(metric)
    sign = better_sign(called.metric)
    require_columns(called, {"tpr", "fpr", "prevalence", "beta"}, "segments")
    frame, keys = _of_segments(whole_counts(counts), segments)
    if frame.is_empty():
        return SEGMENT_RANKS.empty(frame.select("model", *keys))
    points = _points(frame, threshold)
    _require_counted(points)
    together = compute_rates(_pooled_points(points))
    etas = prevalence_values(prevalence)
    eta = _observed(together) if etas is None else etas[0]
    champion = _champion(together, called, model, eta, beta)
    common = rank_models(project_rates(points, metrics=called, prevalence=eta, beta=beta), by=keys)
    mine = pl.col("model").eq_missing(pl.lit(champion, pl.String))
    point = points.filter(mine).sort(keys)
    values = point.select("model", *keys).join(
        common.filter(mine), on=["model", *keys], how="left", nulls_equal=True, maintain_order="left"
    )
    known = (point["positives"] >= min_positives).to_numpy() & (point["negatives"] > 0).to_numpy()
    against = compare_with_rest(frame.filter(mine).sort(*keys, "threshold"), keys, known, level=level)
    columns = compared_values(point, against.ordinary, called, prevalence=eta, beta=beta, level=level)
    found = columns | {
        "adjusted": benjamini_hochberg(np.where(known, columns["p_value"], np.nan)),
        "effect": against.effect,
        "shift_p_value": against.p_value,
        "shift_adjusted": against.adjusted,
    }
    table = pl.concat(
        [
            point.select("model", *keys, "threshold", "positives", "negatives", "observed_prevalence"),
            values.select("metric", "prevalence", "beta", "value", "rank", "gap", "supported", "reason"),
            pl.DataFrame({name: pl.Series(column, nan_to_null=True) for name, column in found.items()}),
            pl.DataFrame({"class": np.where(against.positives, "positive", "negative"), "__known": known}),
        ],
        how="horizontal",
    )
    return SEGMENT_RANKS.finish(_ordered(_withheld(table, min_positives, level), sign, keys))


def _of_segments(counts: pl.DataFrame, segments: str | Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return counts whose only keys are the segments, of which there must be two."""
    keys = [segments] if isinstance(segments, str) else list(dict.fromkeys(segments))
    if not keys:
        raise ParameterError.out_of_range("segments", segments, "at least one key")
    known = COUNTS.keys(counts.columns)
    for key in keys:
        if key not in known:
            raise SchemaError.missing_column(key, "segments", "the keys of the counts frame", known)
    others = [key for key in known if key not in keys]
    frame = pool_counts(counts, over=others) if others else counts
    if len(frame) and frame.select(keys).n_unique() < 2:
        msg = f"all rows have the same {' and '.join(keys)}, so there is nothing to compare"
        raise ParameterError(msg, found=repr(frame.row(0, named=True)[keys[0]]))
    return frame, keys


def _points(frame: pl.DataFrame, threshold: float | Mapping[str, float]) -> pl.DataFrame:
    """Return the operating point of each model and segment."""
    rates = compute_rates(frame)
    if not isinstance(threshold, Mapping):
        return select_operating_points(rates, threshold=threshold)
    names = frame["model"].unique().to_list()
    for name in names:
        if name not in threshold:
            msg = "a model has no threshold"
            raise ParameterError(
                msg, found=repr(name), hint="give the threshold of each model, or one of all"
            )
    return pl.concat(
        select_operating_points(rates.filter(pl.col("model") == name), threshold=threshold[name])
        for name in sorted(names)
    )


def _require_counted(points: pl.DataFrame) -> None:
    missing = points.filter(pl.col("tp").is_null())
    if len(missing):
        where = ", ".join(
            f"{key} {value!r}"
            for key, value in missing.select("model", *COUNTS.keys(missing.columns))
            .row(0, named=True)
            .items()
        )
        hint = "count at the threshold that is in use"
        raise ParameterError(
            "the threshold was not counted", where=where, found=missing["reason"][0], hint=hint
        )


def _pooled_points(points: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of each model's points in all segments together."""
    sums = points.group_by("model").agg(pl.col("threshold").first(), pl.col(_CELLS).sum())
    return sums.sort("model")


def _observed(together: pl.DataFrame) -> float:
    positives, negatives = (int(together[name].sum()) for name in ("positives", "negatives"))
    return positives / (positives + negatives) if positives + negatives else 0.5


def _champion(
    together: pl.DataFrame, called: CalledMetric, model: str | None, eta: float, beta: float
) -> str | None:
    """Return the model that is asked for, or else the best one of all segments together."""
    if model is not None:
        names = together["model"].to_list()
        if model not in names:
            raise ParameterError.unknown_choice("model", model, [str(name) for name in names])
        return model
    best = rank_models(project_rates(together, metrics=called, prevalence=eta, beta=beta), by=["metric"])
    name: str | None = best["model"][0]
    return name


_NUMBERS = (
    "value", "lower", "upper", "rank", "gap",
    "own_value", "own_lower", "own_upper", "rest_value", "difference",
    "due_to_prevalence", "due_to_prevalence_lower", "due_to_prevalence_upper",
    "due_to_rates", "due_to_rates_lower", "due_to_rates_upper", "p_value", "adjusted",
)  # fmt: skip


def _withheld(table: pl.DataFrame, min_positives: int, level: float) -> pl.DataFrame:
    """Take away the numbers of segments with too few rows, and decide for the others."""
    few = (
        pl.when(pl.col("positives") < min_positives)
        .then(pl.format("fewer than {} positives", pl.lit(min_positives)))
        .when(pl.col("negatives") == 0)
        .then(pl.lit("no negatives"))
    )
    numbers = table.with_columns(pl.when("__known").then(name).alias(name) for name in _NUMBERS)
    return numbers.with_columns(
        pl.when(pl.col("shift_p_value").is_not_null()).then("class").alias("class"),
        distinguishable=pl.col("adjusted") < 1 - level,
        shifted=pl.col("shift_adjusted") < 1 - level,
        supported=pl.col("supported") & few.is_null(),
        reason=pl.coalesce(few, "reason"),
    )


def _ordered(table: pl.DataFrame, sign: int, keys: Sequence[str]) -> pl.DataFrame:
    """Sort the segments: the worst first."""
    better = sign * pl.col("due_to_rates")
    place = (
        pl.when(~pl.col("__known"))
        .then(2)
        .when(pl.col("distinguishable").fill_null(value=False) & (better < 0))
        .then(0)
        .otherwise(1)
    )
    ordered = table.with_columns(__place=place, __better=better).sort(
        "__place", "__better", *keys, nulls_last=[False, True, *(False for _ in keys)]
    )
    return ordered.drop("__place", "__better", "__known")
