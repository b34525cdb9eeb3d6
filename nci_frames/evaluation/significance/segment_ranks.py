"""Counts by segment -> the segments in which a model is worse than in the rest, and why."""

from collections.abc import Mapping, Sequence
from typing import Literal, cast

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_allowed, check_whole, name_list, prevalence_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import named_values, quantity
from nci_frames.base.typing import Flags, Floats, Frame, Names
from nci_frames.counts.pooling import add_cells, alike_counts, pooled_counts, pooled_to
from nci_frames.evaluation.arrays.buckets import bucket_counts, sums_of_weights
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.arrays.members import Members
from nci_frames.evaluation.metrics import CalledMetric, better_sign, called_metric
from nci_frames.evaluation.projection.grids import require_columns
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.rates import compute_rates, with_worth
from nci_frames.evaluation.rates.strata import summed_counts
from nci_frames.evaluation.resampling.samplers import random_groups
from nci_frames.evaluation.significance.corrections import benjamini_hochberg
from nci_frames.evaluation.significance.rest import AgainstRest, compare_with_rest
from nci_frames.evaluation.significance.segment_values import SegmentWorth, compared_values
from nci_frames.evaluation.support.reasons import first_reason
from nci_frames.schemas import COUNTS, SEGMENT_RANKS, TOO_FEW, WEIGHT, beside, checked, in_runs, rows_where

_OF_POINT = ("threshold", "positives", "negatives", "observed_prevalence")
_OF_VALUES = ("metric", "prevalence", "beta", "value", "rank", "gap", "supported", "reason")


@checked
def rank_segments(
    counts: Frame,
    /,
    *,
    segments: Names,
    threshold: float | Mapping[str, float],
    metric: str | pl.Expr = "f_beta",
    prevalence: float | Literal["observed"] = "observed",
    beta: float = 1.0,
    model: str | None = None,
    min_positives: int = 20,
    units: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Rank segments by how much worse a model is there than in the rest, with the causes.

    A metric is low in a segment because positives are rare, because the model separates the classes less
    well, or by chance. The table tells these apart for all segments at once.

    Parameters
    ----------
    counts
        A counts frame of whole rows. Keys other than *segments* and *units* are pooled.
    segments
        Key or keys that define the segments, e.g. ["country", "tier"].
    threshold
        Decision threshold of all models, or one per model: {"model": threshold}.
    metric
        Name or alias of a metric of operating points, or a called metric.
    prevalence
        Common P(y=1), in [0, 1], at which segments and models are compared; "observed": that of all rows.
    beta
        Weight of recall in [0, inf], if the metric has one.
    model
        The model to examine; by default the best model over all segments.
    min_positives
        Least number of positives of a segment, at least 1; segments with fewer are listed last, without
        numbers. With *units*, or if weights differ within a class, effective numbers count.
    units
        None takes rows as independent. A key with at least 20 values, such as the ``bucket`` of
        ``unit_buckets``, takes its values as independent instead, for intervals, tests and *min_positives*.
    level
        Confidence of each interval, in (0, 1). The expected share of false findings in the table is at most
        1 - level.

    Returns
    -------
    A row per segment: first segments where the rates make the metric significantly worse, by size of this
    part; then the others, from the worst part to the best; then segments with fewer than *min_positives*
    positives:

    %(columns of segment ranks)s

    The other columns are *segments*.

    Raises
    ------
    ParameterError
        If there is only one segment, a number is out of range, a threshold was not counted, the metric cannot
        be ranked, the model is unknown, counts are sums of weights, or *units* has too few values.
    UnknownMetricError
        If *metric* is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks a key of *segments* or *units*.

    Notes
    -----
    The rest of a segment is all other segments except those that are ``shifted``: otherwise a few bad
    segments would make each good one differ from a rest that contains them. At most half of the segments with
    *min_positives* are excluded. Scores are tested by the two-sample Anderson-Darling test, with at most 64
    cells of scores; a border counts if about five rows of the segment are expected on either side. A
    p-value below 0.1 is at least twice the binomial tail, given the share of the rest, at the border where
    that is smallest. The smaller p-value of the two classes is adjusted for the choice of the smaller.

    The parts of the difference are those of ``decompose_difference``. Bounds come from Wilson's bounds of
    TPR, FPR and prevalence, in the segment and in the rest: each is moved alone, and the changes are added as
    squares. The p-value is 1 minus the highest confidence at which the bounds exclude 0. If it is below 0.1,
    it is computed from Clopper-Pearson bounds, which also hold at the confidence needed for the worst of many
    segments. Intervals hold for each segment, not for all together.

    With *units*, rows are divided by their design effect, as in ``compute_rates(units=...)``: that of each
    rate at the operating point for the bounds, that of all thresholds together for *min_positives*. These
    bounds take a segment and its rest as independent, even if a unit has rows in both. The test of the scores
    does not: it uses the distribution of the statistic over buckets (Rao and Scott's second-order
    correction), and allows for few buckets, as an F test does. A segment is taken to vary no less than as
    many units of the rest, nor than its effective rows, since it may lack a kind of units by chance.

    If weights differ within a class, the variance comes from 128 random parts of the log, each with its share
    of the rows of every weight, as from buckets of units.

    References
    ----------
    Benjamini and Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; Zou and Donner (2008),
    doi:10.1002/sim.3095; Kitagawa (1955), doi:10.1080/01621459.1955.10501299; Scholz and Stephens (1987),
    doi:10.1080/01621459.1987.10478517; Rao and Scott (1984), doi:10.1214/aos/1176346391.

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
    check_whole("min_positives", min_positives, 1)
    called = called_metric(metric)
    sign = better_sign(called.metric)
    require_columns(called, {"tpr", "fpr", "prevalence", "beta"}, "segments")
    alike, of_classes = alike_counts(whole_counts(counts))
    # With different weights within a class, counts are weighted by stratum instead.
    weights = of_classes or (1.0, 1.0)
    by_unit, keys = _of_segments(alike, segments, units)
    frame = by_unit if units is None else pooled_counts(by_unit, over=units)
    if frame.is_empty():
        return SEGMENT_RANKS.empty(frame.select("model", *keys))
    near, weighted = near_threshold(summed_counts(frame), threshold), WEIGHT in frame.columns
    points = select_operating_points(near if weighted else compute_rates(near), threshold=threshold)
    _require_counted(points)
    together = compute_rates(add_cells(points, ["model"], pl.col("threshold").first()))
    etas = prevalence_values(prevalence)
    eta = together.sum().select(_observed(weights).fill_null(0.5)).item() if etas is None else etas[0]
    champion = _champion(together, called, model, eta, beta)
    mine = pl.col("model").eq_missing(pl.lit(champion, pl.String))
    point = points.filter(mine).sort(keys).with_columns(observed_prevalence=_observed(weights))
    # A slice of sorted counts, without a copy.
    of_model = rows_where(frame, mine)
    by_buckets = None
    if units is not None:
        groups = bucket_counts(by_unit, units)
        by_buckets = [group for group in groups if group.histogram.group["model"][0] == champion]
        points = with_worth(points, class_worth(by_unit, units, groups))
    elif weighted:
        by_buckets = random_groups(of_model)
    worth = SegmentWorth.of(points.filter(mine).sort(keys), by_unit.filter(mine), by_buckets)
    values = rank_models(project_rates(points, metrics=called, prevalence=eta, beta=beta), by=keys)
    enough = point["positives"].to_numpy() / worth.of_class[0] >= min_positives
    known = enough & (point["negatives"] > 0).to_numpy()
    (pooled,) = sums_of_weights(pooled_counts(of_model, over=keys))
    if by_buckets is None:
        members = Members.of_counts(*in_runs(of_model, ["model", *keys]), pooled)
    else:
        members = Members.of_buckets(by_buckets, pooled)
    against = compare_with_rest(members, pooled, known, worth.of_class[:2], level=level)
    columns = compared_values(
        point, against.ordinary, known, worth, called, prevalence=eta, beta=beta, level=level, weights=weights
    )
    what = "positive" if by_buckets is None else "independent positive"
    few = f"fewer than {quantity(min_positives, what)}"
    if weighted:
        tp, fp, fn, tn = worth.drawn.astype(np.int64)
        point = point.with_columns(positives=pl.Series(tp + fn), negatives=pl.Series(fp + tn))
    shown = point.select("model", *keys, *_OF_POINT, __enough=pl.Series(enough))
    table = beside(shown, values.select("model", *keys, *_OF_VALUES), ["model", *keys])
    table = _with_numbers(table, columns, against, known)
    return SEGMENT_RANKS.finish(_ordered(_withheld(table, few, level), sign, keys))


def _of_segments(counts: pl.DataFrame, segments: Names, units: str | None) -> tuple[pl.DataFrame, list[str]]:
    """Return counts with only the keys of segments and units; there must be at least two segments."""
    keys = name_list(segments)
    check_allowed(keys, "segments", segments, "at least one key")
    rows = counts.drop(WEIGHT, strict=False)
    COUNTS.need_keys(rows, keys, "segments")
    COUNTS.need_keys(rows, [units], "units")
    if units in keys:
        raise ParameterError("segments cannot be the units, too", found=repr(units))
    frame = pooled_to(counts, (*keys, units, WEIGHT))
    if len(frame) and frame.select(keys).n_unique() < 2:
        msg = f"all rows have the same {' and '.join(keys)}, so there is nothing to compare"
        raise ParameterError(msg, found=repr(frame.row(0, named=True)[keys[0]]))
    # Groups are read in the order of the columns, so that it must be that of the keys.
    return frame.select("model", *keys, pl.exclude("model", *keys)), keys


def _require_counted(points: pl.DataFrame) -> None:
    missing = points.filter(pl.col("tp").is_null())
    if len(missing):
        where = named_values(missing.select("model", *COUNTS.keys(missing.columns)).row(0, named=True))
        msg, hint = "the threshold was not counted", "count at the threshold that is in use"
        raise ParameterError(msg, where=where, found=missing["reason"][0], hint=hint)


def _observed(weights: tuple[float, float]) -> pl.Expr:
    """Return the weighted share of positives, with one weight per class; null without rows."""
    both = zip(("positives", "negatives"), weights, strict=True)
    positives, negatives = (pl.col(name) * weight for name, weight in both)
    return (positives / (positives + negatives)).fill_nan(None)


def _champion(
    rates: pl.DataFrame, called: CalledMetric, model: str | None, prevalence: float, beta: float
) -> str | None:
    """Return the requested model, or the best of all."""
    if model is None:
        projected = project_rates(rates, metrics=called, prevalence=prevalence, beta=beta)
        return cast("str | None", rank_models(projected, by=["metric"])["model"][0])
    if model not in rates["model"]:
        raise ParameterError.unknown_choice("model", model, [str(name) for name in rates["model"]])
    return model


def _with_numbers(
    table: pl.DataFrame, columns: Mapping[str, Floats], against: AgainstRest, known: Flags
) -> pl.DataFrame:
    """Add the compared values and the test of each segment against its rest."""
    found = {
        **columns,
        "adjusted": benjamini_hochberg(np.where(known, columns["p_value"], np.nan)),
        "shift_p_value": against.p_value,
        "shift_adjusted": against.adjusted,
        "effect": against.effect,
        "class": np.where(against.positives, "positive", "negative"),
        "__known": known,
    }
    return table.with_columns(pl.Series(name, column, nan_to_null=True) for name, column in found.items())


_ALONE = "the metric is undefined in the rest"
_NUMBERS = [column.name for column in SEGMENT_RANKS.columns if column.numeric and column.null == TOO_FEW]


def _withheld(table: pl.DataFrame, few_positives: str, level: float) -> pl.DataFrame:
    """Remove the numbers of segments with too few rows, and add the decisions for the others."""
    few = first_reason((~pl.col("__enough"), few_positives), (pl.col("negatives") == 0, "no negatives"))
    alone = pl.when(pl.col("value").is_not_null() & pl.col("rest_value").is_null()).then(pl.lit(_ALONE))
    numbers = table.with_columns(pl.when("__known").then(pl.col(_NUMBERS)))
    return numbers.with_columns(
        pl.when(pl.col("shift_p_value").is_not_null()).then("class").alias("class"),
        distinguishable=pl.col("adjusted") < 1 - level,
        shifted=pl.col("shift_adjusted") < 1 - level,
        supported=pl.col("supported") & few.is_null(),
        reason=pl.coalesce(few, "reason", alone),
    )


def _ordered(table: pl.DataFrame, sign: int, keys: Sequence[str]) -> pl.DataFrame:
    """Sort the segments, the worst first."""
    better = sign * pl.col("due_to_rates")
    worse = pl.col("distinguishable").fill_null(value=False) & (better < 0)
    place = pl.when(~pl.col("__known")).then(2).when(worse).then(0).otherwise(1)
    ordered = table.sort(place, better, *keys, nulls_last=[False, True, *(False for _ in keys)])
    return ordered.drop("__known", "__enough")
