"""Values of resampled metrics -> whether the log can tell them, and why not."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.base.arguments import Prevalences
from nci_frames.evaluation.metrics import PR_AUC, called_metric, curve_asked
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates, with_worth
from nci_frames.evaluation.resampling.honest_bounds import with_area_flags
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.schemas import COUNTS

__all__ = ["with_support"]

_FLAGS = ("supported", "reason")


def with_support(
    table: pl.DataFrame,
    counts: pl.DataFrame,
    metric: str | pl.Expr,
    logs: Resampling,
    *,
    prevalence: Prevalences,
    beta: float | Sequence[float],
    threshold: float | Literal["own"] | None,
) -> pl.DataFrame:
    """Add ``supported`` and ``reason`` to values of a metric, in the order of the table.

    Parameters
    ----------
    table
        model, the keys, metric, prevalence, beta and value, at one operating point of each model.
    counts
        The whole counts that the values were computed from.
    metric, logs, prevalence, beta, threshold
        What was asked for. With ``logs.over`` the log must be able to tell the value within each value of it.
    """
    worth = None if logs.units is None else class_worth(counts, logs.units)
    pooled = logs.without_units(counts)
    keys, kept = ["model", *COUNTS.keys(pooled.columns)], ["model", *logs.keys(counts)]
    if threshold == "own" and not pooled.select(keys).is_duplicated().any():
        # Of one threshold none is chosen.
        threshold = None
    if curve_asked(metric) is not None or threshold == "own":
        groups = pooled.select(keys).unique().sort(keys)
        each = table.join(groups, on=kept, how="left", nulls_equal=True, maintain_order="left_right")
        if threshold == "own" and called_metric(metric).needs_fpr is not False:
            # The best of all thresholds is supported where PR-AUC is.
            each = each.with_columns(metric=pl.lit(PR_AUC.name))
        told = with_area_flags(each, pooled, keys, worth).with_columns(metric=pl.lit(table["metric"].first()))
    else:
        rates = compute_rates(pooled) if worth is None else with_worth(compute_rates(pooled), worth)
        points = rates if threshold is None else select_operating_points(rates, threshold=threshold)
        told = project_checked(points, metrics=[metric], prevalence=prevalence, beta=beta)
    at = [*kept, "metric", "prevalence", "beta"]
    supported = told.group_by(at, maintain_order=True).agg(
        pl.col("supported").all(ignore_nulls=False), pl.col("reason").drop_nulls().first()
    )
    return table.join(supported, on=at, how="left", nulls_equal=True, maintain_order="left")
