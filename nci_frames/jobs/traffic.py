"""Logs without labels: their prevalence, and values of the models there."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from nci_frames.counts.pooling import one_repeat
from nci_frames.counts.scores_as_counts import counts_as_scores, scores_as_counts
from nci_frames.evaluation.prevalence.estimate_prevalence import estimate_prevalence
from nci_frames.evaluation.prevalence.project_traffic import pooled_estimates, project_traffic
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates, with_bounds
from nci_frames.jobs.gates.measure import segment_texts
from nci_frames.jobs.job_file.model import Job, Traffic
from nci_frames.jobs.run_counts import RunCounts
from nci_frames.jobs.scenario_values import SCENARIO_METRICS
from nci_frames.jobs.small_segments import small_segments, with_small_pooled
from nci_frames.questions.places import main_beta
from nci_frames.questions.units import Pools
from nci_frames.schemas import BUCKET, PROJECTION, REPEAT, undefined_is_nan

_BOUNDS, _SUPPORT = ("lower", "upper"), ("supported", "reason")
_PREVALENCES = ("segment", "model", "prevalence", *_BOUNDS, "fit_statistic", "fit_p_value", *_SUPPORT)
_VALUES = ("segment", "model", "metric", "threshold", "prevalence", "beta", "value", *_BOUNDS, *_SUPPORT)


class TrafficTables(NamedTuple):
    """Results for the traffic; ``segment`` is null for all rows together."""

    #: One row per segment and model: the prevalence with bounds, or the reason why there is none.
    prevalence: pl.DataFrame
    #: One row per segment, model and metric: its value at the prevalence of the segment.
    values: pl.DataFrame
    #: Problem of the bounds, which assume independent rows; None if there is none.
    doubt: str | None
    #: The files that could not be counted; None if there are none.
    failed: str | None

    @property
    def estimate(self) -> Mapping[str, Any] | None:
        """The estimate for all rows from all models; None if there is none."""
        whole = self.prevalence.filter(pl.col("segment").is_null(), "supported")
        models = whole["model"].cast(pl.String).fill_null("null").to_list()
        return pooled_estimates(whole, []).row(0, named=True) | {"models": models} if models else None

    def facts(self) -> list[tuple[str, str]]:
        """Return pairs of label and value for the readers of the pages of a run."""
        estimate = self.estimate
        if estimate is None:
            reasons = self.prevalence.filter(pl.col("segment").is_null())["reason"]
            why = "; ".join(reasons.drop_nulls().unique(maintain_order=True))
            told = f"not estimated: {why or 'its newest windows have no rows'}"
        else:
            by, *others = estimate["models"]
            who = f"{by}" if not others else f"{len(others) + 1} models: the median"
            told = "{prevalence:.4g} ({lower:.4g} to {upper:.4g}), by the scores of {who}".format(
                **estimate, who=who
            )
        facts = [("prevalence of the traffic", told)]
        if self.doubt is not None:
            facts.append(("bounds of the prevalence of the traffic", self.doubt))
        if self.failed is not None:
            facts.append(("traffic that could not be counted", self.failed))
        return facts


@undefined_is_nan()
def traffic_tables(job: Job, asked: Traffic, labelled: RunCounts, traffic: RunCounts) -> TrafficTables:
    """Estimate the prevalence of the traffic, for all rows and by segments, and metrics at it.

    Segments that the report merges are estimated together. Precision, F-beta and the positive fraction are at
    the threshold of the report; their bounds include the noise of both logs.
    """
    places: list[Sequence[str]] = [(), job.traffic_keys] if job.traffic_keys else [()]
    tables = [_tables_by(job, asked, labelled, traffic, keys) for keys in places]
    # All rows together first.
    prevalence, values = (pl.concat(parts).sort("segment", "model") for parts in zip(*tables, strict=True))
    return TrafficTables(prevalence, values, _doubt(job, labelled), traffic.failed)


def _doubt(job: Job, labelled: RunCounts) -> str | None:
    """Return a warning that rows are treated as independent, if units show that they are not."""
    if job.columns.unit is None:
        return None
    # From one repeat, like the estimate.
    by_unit = one_repeat(labelled.by([*([REPEAT] if job.columns.repeat else []), BUCKET], "all"))
    drawn = Pools(by_unit, (), None)
    worth = drawn.worth(())
    if worth is None or drawn.buckets is None:
        return "rows are taken as independent, and too few buckets of units tell whether they are"
    least = min(worth.select(pl.min("positives_worth", "negatives_worth")).row(0))
    # Three standard errors of a design effect of 1, estimated as a variance over this number of buckets.
    if 1 / least <= 1 + 3 * math.sqrt(2 / (drawn.buckets - 1)):
        return None
    return f"rows are taken as independent, but by units a row is worth {least:.2g} of one: too narrow"


def _tables_by(
    job: Job, asked: Traffic, labelled: RunCounts, traffic: RunCounts, keys: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    repeats = [REPEAT] if job.columns.repeat else []
    rows = labelled.by([*repeats, *keys], "all")
    unlabelled = scores_as_counts(traffic.by(keys, "all"))
    small = small_segments(rows, keys, job.segments, labelled.by_unit(keys, rows), unlabelled)
    # Further repeats add no rows.
    known = with_small_pooled(one_repeat(rows), small)
    seen = counts_as_scores(with_small_pooled(unlabelled, small))
    found = estimate_prevalence(known, seen, method=asked.method, level=asked.level)
    points = select_operating_points(compute_rates(known), threshold=job.report.table_threshold)
    rates = with_bounds(points, interval="wilson", level=0.95)
    # Segments that the labelled logs lack have no rates; the other table has the reason.
    shared = found.join(rates, on=list(keys), how="semi", nulls_equal=True) if keys else found
    beta = main_beta(job.report.beta)
    values = PROJECTION.empty(rates.select(keys))
    if len(shared):
        values = project_traffic(rates, shared, metrics=SCENARIO_METRICS, beta=beta)
    named = (table.with_columns(segment_texts(table, keys)) for table in (found, values))
    return next(named).select(_PREVALENCES), next(named).select(_VALUES)
