"""Counts -> the values that gates judge, with their bounds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.arguments import LEAST_BUCKETS, Prevalences
from nci_frames.counts.pooling import pool_counts
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.intervals import Interval
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import clustered_bounds, compute_rates
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.jobs.job_file.gates import AREAS

__all__ = ["Measurement", "measure", "segment_text"]

#: Resampled logs behind the bounds of an area.
_REPEATS = 400
_NO_BOUNDS = {name: pl.lit(None, pl.Float64) for name in ("lower", "upper")} | {
    "reason": pl.lit(f"fewer than {LEAST_BUCKETS} buckets of units have rows")
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is measured, and how."""

    metric: str
    prevalence: Prevalences
    beta: float
    threshold: float
    interval: Interval
    level: float


def segment_text(keys: Sequence[str], values: Sequence[object]) -> str | None:
    """Name a segment as one text, as JSON; None stands for all rows together.

    >>> segment_text(["country"], ["de"])
    '{"country": "de"}'
    """
    if not keys:
        return None
    named = {
        key: value if value is None or isinstance(value, str | bool | int) else str(value)
        for key, value in zip(keys, values, strict=True)
    }
    return json.dumps(named, ensure_ascii=False)


def measure(
    counts: pl.DataFrame, keys: Sequence[str], what: Measurement, *, units: str | None = None
) -> pl.DataFrame:
    """Return a value for each model and segment.

    Parameters
    ----------
    counts
        A counts frame with the keys *keys* and *units*, and no others.
    keys
        The segments.
    what
        The metric, where it is taken, and the kind and confidence of its bounds.
    units
        The key of the buckets of units, whose rows are kept together; with too few of them there are no
        bounds. None takes rows as independent.

    Returns
    -------
    ``model``, ``segment`` (JSON, null for all rows), ``prevalence``, ``value``, ``lower``, ``upper`` (null
    where undefined), ``tp``, ``fp``, ``positives``, ``negatives``, ``reason`` (why there are no bounds, null
    where there are), and with *units* ``positives_worth`` and ``negatives_worth``: how many independent rows
    a row is worth; sorted. Bounds of a metric are extremes over the box of the rates' intervals; those of an
    area are percentiles of resampled logs, or the band of its curve where the log does not support it.
    """
    group = ["model", *keys]
    pooled = counts if units is None else pool_counts(counts, over=units)
    enough = units is None or counts[units].n_unique() >= LEAST_BUCKETS
    rates = compute_rates(pooled)
    points = select_operating_points(rates, threshold=what.threshold)
    if what.metric in AREAS:
        totals = rates.group_by(group).agg(pl.col("positives", "negatives", "observed_prevalence").first())
        values = bootstrap(
            counts if enough else pooled,
            metric=what.metric,
            prevalence=what.prevalence,
            repeats=_REPEATS,
            level=what.level,
            units=units if enough else None,
        )
        if not enough:
            values = values.with_columns(**_NO_BOUNDS)
        table = totals.join(values, on=group, how="left", nulls_equal=True)
        table = table.join(points.select(*group, "tp", "fp"), on=group, how="left", nulls_equal=True)
    else:
        if units is None or not enough:
            bounded = compute_rates(points, interval=what.interval, level=what.level)
        else:
            bounded = clustered_bounds(points, counts, units=units, interval=what.interval, level=what.level)
        values = project_rates(
            bounded,
            metrics=what.metric,
            prevalence=what.prevalence,
            beta=what.beta,
            band=True,
        ).select(*group, "prevalence", "value", "lower", "upper", "reason")
        points = points.drop("reason")
        if not enough:
            values = values.with_columns(**_NO_BOUNDS)
        table = points.join(values, on=group, how="left", nulls_equal=True)
    worth: list[str] = []
    if units is not None and enough:
        table = table.join(class_worth(counts, units), on=group, how="left", nulls_equal=True)
        worth = ["positives_worth", "negatives_worth"]
    own = pl.col("observed_prevalence")
    prevalence = (
        own if what.prevalence == "observed" else pl.col("prevalence").fill_null(pl.lit(what.prevalence))
    )
    segments = [segment_text(keys, row) for row in table.select(keys).iter_rows()] if keys else None
    return table.select(
        "model",
        pl.Series("segment", segments, pl.String) if keys else pl.lit(None, pl.String).alias("segment"),
        prevalence.alias("prevalence"),
        *("value", "lower", "upper", "tp", "fp", "positives", "negatives"),
        *worth,
        reason=pl.when(pl.any_horizontal(pl.col("lower", "upper").is_null())).then("reason"),
    ).sort("model", "segment")
