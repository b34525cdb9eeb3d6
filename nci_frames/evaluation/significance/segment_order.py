"""Counts of segments -> the table of ``rank_segments``: values, the rest, tests, the worst first."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_level, check_whole, prevalence_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.arrays.buckets import bucket_counts
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.evaluation.arrays.histograms import each_histogram
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.metrics.directions import better_sign
from nci_frames.evaluation.metrics.metric import CalledMetric
from nci_frames.evaluation.projection.grids import require_columns
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates, with_worth
from nci_frames.evaluation.significance.corrections import benjamini_hochberg
from nci_frames.evaluation.significance.rest import compare_with_rest
from nci_frames.evaluation.significance.segment_values import SegmentWorth, compared_values
from nci_frames.schemas import COUNTS, SEGMENT_RANKS
from nci_frames.schemas.runs import in_runs, rows_where

_CELLS = ("tp", "fp", "fn", "tn")
_OF_VALUES = ("metric", "prevalence", "beta", "value", "rank", "gap", "supported", "reason")


def segments_in_order(
    frame: pl.DataFrame,
    keys: Sequence[str],
    *,
    threshold: float | Mapping[str, float],
    metric: str | pl.Expr = "f_beta",
    prevalence: float | Literal["observed"] = "observed",
    beta: float = 1.0,
    model: str | None = None,
    min_positives: int = 20,
    together: pl.DataFrame | None = None,
    units: str | None = None,
    by_unit: pl.DataFrame | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Rank segments as ``rank_segments`` does.

    Parameters
    ----------
    frame
        Whole counts whose only keys are *keys*.
    keys
        The keys of the segments.
    threshold, metric, prevalence, beta, model, min_positives, level
        As in ``rank_segments``.
    together
        The same counts without *keys*, if they are known.
    units, by_unit
        A further key, and the same counts by it too; None takes rows as independent.

    Raises
    ------
    ParameterError, UnknownMetricError
        As ``rank_segments`` does.
    """
    check_level(level)
    check_whole("min_positives", min_positives, 1)
    called = called_metric(metric)
    sign = better_sign(called.metric)
    require_columns(called, {"tpr", "fpr", "prevalence", "beta"}, "segments")
    if frame.is_empty():
        return SEGMENT_RANKS.empty(frame.select("model", *keys))
    points = select_operating_points(compute_rates(near_threshold(frame, threshold)), threshold=threshold)
    _require_counted(points)
    champion, eta = _champion(points, called, model, prevalence, beta)
    mine = pl.col("model").eq_missing(pl.lit(champion, pl.String))
    point = points.filter(mine).sort(keys)
    worth = SegmentWorth.independent(len(point))
    by_buckets = None
    if by_unit is not None and units is not None:
        groups = bucket_counts(by_unit, units)
        by_buckets = [group for group in groups if group.histogram.group["model"][0] == champion]
        of_class = class_worth(by_unit, units, groups)
        points = with_worth(points, of_class)
        worth = SegmentWorth.of(point, by_unit.filter(mine), of_class, units)
    values = rank_models(project_rates(points, metrics=called, prevalence=eta, beta=beta), by=keys)
    enough = worth.positives(point) >= min_positives
    known = enough & (point["negatives"] > 0).to_numpy()
    # Of sorted counts these are some of the rows, which are not copied.
    counts, _ = in_runs(rows_where(frame, mine), ["model", *keys])
    whole = pooled_counts(counts, over=keys) if together is None else rows_where(together, mine)
    against = compare_with_rest(
        list(each_histogram(counts)) if by_buckets is None else by_buckets,
        whole,
        known,
        worth.of_class,
        level=level,
    )
    columns = compared_values(point, against.ordinary, worth, called, prevalence=eta, beta=beta, level=level)
    found = columns | {
        "adjusted": benjamini_hochberg(np.where(known, columns["p_value"], np.nan)),
        "effect": against.effect,
        "shift_p_value": against.p_value,
        "shift_adjusted": against.adjusted,
        "__known": known,
        "__enough": enough,
    }
    few = f"fewer than {quantity(min_positives, 'positive')}"
    if units is not None:
        few = f"the positives are worth fewer than {min_positives} independent ones"
    group = ["model", *keys]
    ranked = values.select(*group, *_OF_VALUES)
    table = (
        point.select(*group, "threshold", "positives", "negatives", "observed_prevalence")
        .join(ranked, on=group, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.Series(name, column, nan_to_null=True) for name, column in found.items())
        .with_columns(pl.Series("class", np.where(against.positives, "positive", "negative")))
    )
    return SEGMENT_RANKS.finish(_ordered(_withheld(table, few, level), sign, keys))


def _require_counted(points: pl.DataFrame) -> None:
    missing = points.filter(pl.col("tp").is_null())
    if len(missing):
        group = missing.select("model", *COUNTS.keys(missing.columns)).row(0, named=True)
        raise ParameterError(
            "the threshold was not counted",
            where=", ".join(f"{key} {value!r}" for key, value in group.items()),
            found=missing["reason"][0],
            hint="count at the threshold that is in use",
        )


def _observed(together: pl.DataFrame) -> float:
    positives, negatives = (int(together[name].sum()) for name in ("positives", "negatives"))
    return positives / (positives + negatives) if positives + negatives else 0.5


def _champion(
    points: pl.DataFrame,
    called: CalledMetric,
    model: str | None,
    prevalence: float | Literal["observed"],
    beta: float,
) -> tuple[str | None, float]:
    """Return the model asked for, or the best one of all segments together; and the common prevalence."""
    sums = points.group_by("model").agg(pl.col("threshold").first(), pl.col(_CELLS).sum())
    together = compute_rates(sums.sort("model"))
    etas = prevalence_values(prevalence)
    eta = _observed(together) if etas is None else etas[0]
    if model is not None:
        names = together["model"].to_list()
        if model not in names:
            raise ParameterError.unknown_choice("model", model, [str(name) for name in names])
        return model, eta
    best = rank_models(project_rates(together, metrics=called, prevalence=eta, beta=beta), by=["metric"])
    return best["model"][0], eta


_NUMBERS = (
    "value", "lower", "upper", "rank", "gap",
    "own_value", "own_lower", "own_upper", "rest_value", "difference",
    "due_to_prevalence", "due_to_prevalence_lower", "due_to_prevalence_upper",
    "due_to_rates", "due_to_rates_lower", "due_to_rates_upper", "p_value", "adjusted",
)  # fmt: skip


def _withheld(table: pl.DataFrame, few_positives: str, level: float) -> pl.DataFrame:
    """Take away the numbers of segments with too few rows, and decide for the others."""
    few = (
        pl.when(~pl.col("__enough"))
        .then(pl.lit(few_positives))
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
    return ordered.drop("__place", "__better", "__known", "__enough")
