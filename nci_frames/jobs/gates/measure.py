"""Counts -> the values of gates, with bounds."""

import json
from collections.abc import Sequence

import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.base.typing import Field, Prevalences
from nci_frames.counts.pooling import pooled_counts, pooled_to
from nci_frames.evaluation.metrics import asked_metric
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.jobs.job_file.gates import Gate
from nci_frames.jobs.job_file.model import SegmentScenario
from nci_frames.questions.units import Pools, mean_of_all
from nci_frames.schemas import WEIGHT

#: Number of resampled logs for bounds.
REPEATS = 400
#: Reason of a missing value of a segment in a scenario.
NO_PREVALENCE = "the scenario has no prevalence for it"
#: Reason of missing bounds if whole units are resampled.
NO_BOUNDS = f"fewer than {LEAST_BUCKETS} buckets of units have rows"


def segment_text(keys: Sequence[str], values: Sequence[object]) -> str:
    """Return the name of a segment as JSON.

    >>> segment_text(["country"], ["de"])
    '{"country": "de"}'
    """
    named = {
        key: value if value is None or isinstance(value, str | bool | int) else str(value)
        for key, value in zip(keys, values, strict=True)
    }
    return json.dumps(named, ensure_ascii=False)


def segment_texts(table: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """Return the name of the segment of each row, as the column ``segment``; null for all rows together."""
    texts = [segment_text(keys, row) for row in table.select(keys).rows()] if keys else [None] * len(table)
    return pl.Series("segment", texts, pl.String)


def drawn_rates(counts: pl.DataFrame, keys: Sequence[str], repeat: str | None) -> tuple[Pools, pl.DataFrame]:
    """Return the resampling units, and the rates by *keys* with their effective numbers of rows."""
    drawn = Pools(counts, keys, repeat)
    return drawn, drawn.with_worth(compute_rates(pooled_to(counts, (*keys, WEIGHT))))


def measure(
    counts: pl.DataFrame,
    gate: Gate,
    asked: Prevalences | SegmentScenario,
    *,
    threshold: float,
    repeat: str | None = None,
) -> pl.DataFrame:
    """Return the values of a gate, one per model and segment.

    Parameters
    ----------
    counts
        A counts frame with the segments of the gate, *repeat* and, with units, ``bucket``, whose rows are
        kept together; with too few buckets there are no bounds.
    gate
        The metric, its segments, including the key of a scenario, and the confidence level of its bounds.
    asked, threshold
        The prevalence and the threshold of the metric.
    repeat
        Key of the repeats of a cross-validation; None if there are none.

    Returns
    -------
    A sorted frame: ``model``, ``segment`` (JSON, null for all rows), ``prevalence``, ``value``, ``lower``,
    ``upper`` (null if undefined), ``tp``, ``fp``, ``positives``, ``negatives``, ``reason`` (why there are no
    bounds, else null), and, with units, repeats or weights, ``positives_worth`` and ``negatives_worth``: the
    number of independent rows equivalent to one row, or to a weight of 1. Bounds of a metric are extremes
    over the box of the rates' intervals; bounds of an area are percentiles of resampled logs, or the band of
    its curve if the log does not support it. Areas and their bounds are averaged over repeats.
    """
    keys = gate.segments
    group = ["model", *keys]
    drawn, rates = drawn_rates(counts, keys, repeat)
    points = select_operating_points(rates, threshold=threshold)
    named, eta = asked.named(points) if isinstance(asked, SegmentScenario) else (pl.lit(value=True), asked)
    if asked_metric(gate.metric).kind == "curve":
        values = _areas(drawn, group, gate, named, eta)
    else:
        bounded = drawn.bounded(points, level=gate.level).filter(named)
        values = project_rates(bounded, metrics=gate.metric, prevalence=eta, beta=gate.beta, band=True)
    found = values.select(*group, "prevalence", "value", "lower", "upper", "reason")
    table = points.drop("reason").join(found, on=group, how="left", nulls_equal=True)
    table = table.with_columns(reason=pl.when(named).then("reason").otherwise(pl.lit(NO_PREVALENCE)))
    if not drawn.enough:
        table = table.with_columns(lower=None, upper=None, reason=pl.lit(NO_BOUNDS))
    worth = [
        (pl.col(f"effective_{name}") / pl.col(name)).fill_nan(None).alias(f"{name}_worth")
        for name in ("positives", "negatives")
        if f"effective_{name}" in table.columns
    ]
    given = pl.lit(eta if isinstance(eta, float) else None, pl.Float64)
    prevalence = (
        pl.col("observed_prevalence") if isinstance(eta, str) else pl.col("prevalence").fill_null(given)
    )
    return table.select(
        "model",
        segment_texts(table, keys),
        prevalence.alias("prevalence"),
        *("value", "lower", "upper", "tp", "fp", "positives", "negatives"),
        *worth,
        reason=pl.when(pl.any_horizontal(pl.col("lower", "upper").is_null())).then("reason"),
    ).sort("model", "segment")


def _areas(
    drawn: Pools, group: Sequence[str], gate: Gate, named: pl.Expr, eta: Prevalences | Field
) -> pl.DataFrame:
    """Return the area of each group with bounds, averaged over its repeats."""
    units = drawn.units if drawn.enough else None
    counts = drawn.counts.filter(named)
    if drawn.units is not None and not drawn.enough:
        counts = pooled_counts(counts, over=drawn.units)
    found = bootstrap(
        counts, metric=gate.metric, prevalence=eta, repeats=REPEATS, level=gate.level, units=units
    )
    if drawn.repeat is None:
        return found
    # Averaged bounds are at least as wide as the interval of the mean.
    means = map(mean_of_all, ("value", "lower", "upper"))
    same = (pl.col("prevalence").first(), pl.col("reason").drop_nulls().first())
    return found.group_by(group).agg(*means, *same)
