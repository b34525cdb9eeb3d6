"""Values of every model at the prevalences of each scenario of a job."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.jobs.gates.measure import NO_BOUNDS, NO_PREVALENCE, drawn_rates, segment_text, segment_texts
from nci_frames.jobs.job_file.model import Job, SegmentScenario
from nci_frames.questions.places import main_beta
from nci_frames.schemas import BUCKET, REPEAT, undefined_is_nan

#: Metrics of each model in each scenario.
SCENARIO_METRICS = ("precision", "f_beta", "pos_fraction")
SCENARIO_VALUES: dict[str, Any] = {
    **dict.fromkeys(("scenario", "segment", "model"), pl.String),
    "prevalence": pl.Float64,
    "metric": pl.String,
    **dict.fromkeys(("beta", "value", "lower", "upper"), pl.Float64),
    "supported": pl.Boolean,
    "reason": pl.String,
}
_PLACE = ["scenario", "segment", "model", "metric"]


@undefined_is_nan()
def scenario_values(job: Job, counts: Callable[[Sequence[str]], pl.DataFrame]) -> pl.DataFrame:
    """Return precision, F-beta and the positive fraction of every model in every scenario.

    Parameters
    ----------
    job
        The job, whose scenarios contain their prevalences.
    counts
        Returns the reported counts by keys.

    Returns
    -------
    The columns of ``SCENARIO_VALUES``, sorted by scenario, segment, model and metric. Values are at the
    threshold of the report, with 95 % bounds over the box of the rates' intervals. With units, these
    intervals resample whole units; with too few buckets of units there is a reason instead. A scenario with a
    single prevalence covers all rows together (``segment`` null). A scenario by key has one segment per named
    value, and one, with a ``reason``, per other value in the logs.
    """
    tables = [pl.DataFrame(schema=SCENARIO_VALUES)]
    drawn = [*([REPEAT] if job.columns.repeat else []), *([BUCKET] if job.columns.unit else [])]
    for name, scenario in job.scenarios.items():
        if isinstance(scenario, SegmentScenario):
            rows = counts([scenario.by, *drawn])
            named, field = scenario.named(rows)
            unnamed = rows.filter(~named)[scenario.by].unique()
            tables += [
                _values(job, name, rows.filter(named), field),
                _unknown(name, scenario, unnamed, field),
            ]
        else:
            tables.append(_values(job, name, counts(drawn), scenario))
    return pl.concat(tables).sort(_PLACE, nulls_last=True)


def scenario_facts(job: Job) -> Iterator[tuple[str, str]]:
    """Yield pairs of label and value with the assumptions of each scenario.

    >>> job = Job.model_validate(
    ...     {"name": "x", "source": {"path": "x"}, "segments": {"keys": ["country"]}, "scenarios": {
    ...         "EU": 0.0005, "markets": {"by": "country", "prevalence": {"at": 0.01, "de": 0.02}}}}
    ... )
    >>> list(scenario_facts(job))
    [('scenario EU', 'prevalence 0.0005'), ('scenario markets', 'prevalence by country: at 0.01, de 0.02')]
    """
    for name, scenario in job.scenarios.items():
        if isinstance(scenario, SegmentScenario):
            listed = ", ".join(f"{value} {eta:g}" for value, eta in (scenario.prevalence or {}).items())
            yield f"scenario {name}", f"prevalence by {scenario.by}: {listed}"
        else:
            yield f"scenario {name}", f"prevalence {scenario:g}"


def _unknown(name: str, scenario: SegmentScenario, unnamed: pl.Series, field: pl.DataFrame) -> pl.DataFrame:
    """Return the segments of a scenario without a prevalence, and those without rows."""
    told: list[tuple[Any, float | None, str]] = [(value, None, NO_PREVALENCE) for value in unnamed]
    given, known = (scenario.prevalence or {}).items(), field[scenario.by].to_list()
    told += [(text, eta, "no row of the log is of it") for text, eta in given if text not in known]
    rows = [
        (name, segment_text([scenario.by], [value]), None, eta, metric, *[None] * 4, False, reason)
        for value, eta, reason in told
        for metric in SCENARIO_METRICS
    ]
    return pl.DataFrame(rows, schema=SCENARIO_VALUES, orient="row")


def _values(job: Job, name: str, counts: pl.DataFrame, eta: float | pl.DataFrame) -> pl.DataFrame:
    keys = [] if isinstance(eta, float) else eta.columns[:1]
    drawn, rates = drawn_rates(counts, keys, REPEAT if job.columns.repeat else None)
    points = select_operating_points(rates, threshold=job.report.table_threshold)
    bounded, beta = drawn.bounded(points, level=0.95), main_beta(job.report.beta)
    values = project_rates(bounded, metrics=SCENARIO_METRICS, prevalence=eta, beta=beta, band=True)
    if not drawn.enough:
        values = values.with_columns(pl.col("reason").fill_null(NO_BOUNDS))
    return values.with_columns(segment_texts(values, keys), scenario=pl.lit(name)).select(
        pl.col(column).cast(dtype) for column, dtype in SCENARIO_VALUES.items()
    )
