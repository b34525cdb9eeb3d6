"""What each scenario of a job comes to: values of every model at the prevalences of the scenario."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.jobs.gates.measure import NO_BOUNDS, drawn_rates, segment_text, segment_texts
from nci_frames.jobs.job_file.model import Job, SegmentScenario
from nci_frames.jobs.job_file.scenarios import key_text
from nci_frames.jobs.repeats import REPEAT
from nci_frames.questions.places import main_beta
from nci_frames.schemas.columns import BUCKET

#: What is said of each model in each scenario.
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


def scenario_values(job: Job, counts: Callable[[Sequence[str]], pl.DataFrame]) -> pl.DataFrame:
    """Return precision, F-beta and the positive fraction of every model in every scenario.

    Parameters
    ----------
    job
        The job, whose scenarios hold their prevalences.
    counts
        Gives the counts that are reported, by keys.

    Returns
    -------
    The columns of ``SCENARIO_VALUES``, sorted by scenario, segment, model and metric. Values are taken at the
    threshold of the report, bounds at confidence 0.95 over the box of the rates' intervals. Where rows belong
    to units, these draw whole units; with too few buckets of units there is a reason instead. A scenario of
    one prevalence has all rows together (``segment`` null). One with a prevalence for each value of a key has
    a segment for each, and for each value in the logs that it does not name, whose ``reason`` says so.
    """
    tables = [pl.DataFrame(schema=SCENARIO_VALUES)]
    drawn = [*([REPEAT] if job.columns.repeat else []), *([BUCKET] if job.columns.unit else [])]
    for name, scenario in job.scenarios.items():
        if isinstance(scenario, SegmentScenario):
            tables += _by_segment(job, name, scenario, counts([scenario.by, *drawn]))
        else:
            tables.append(_values(job, name, counts(drawn), pl.lit(scenario, pl.Float64), []))
    return pl.concat(tables).sort(_PLACE, nulls_last=True)


def scenario_facts(job: Job) -> list[tuple[str, str]]:
    """Return pairs of label and value that say what each scenario assumes.

    >>> job = Job.model_validate(
    ...     {"name": "x", "source": {"path": "x"}, "segments": {"keys": ["country"]}, "scenarios": {
    ...         "EU": 0.0005, "markets": {"by": "country", "prevalence": {"at": 0.01, "de": 0.02}}}}
    ... )
    >>> scenario_facts(job)
    [('scenario EU', 'prevalence 0.0005'), ('scenario markets', 'prevalence by country: at 0.01, de 0.02')]
    """
    facts = []
    for name, scenario in job.scenarios.items():
        if isinstance(scenario, SegmentScenario):
            listed = ", ".join(f"{value} {eta:g}" for value, eta in (scenario.prevalence or {}).items())
            facts.append((f"scenario {name}", f"prevalence by {scenario.by}: {listed}"))
        else:
            facts.append((f"scenario {name}", f"prevalence {scenario:g}"))
    return facts


def _by_segment(job: Job, name: str, scenario: SegmentScenario, counts: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the values of each segment at its own prevalence, and which segments lack one, or rows."""
    given = scenario.prevalence or {}
    found = {value: None if value is None else key_text(value) for value in counts[scenario.by].unique()}
    known = {value: given[text] for value, text in found.items() if text in given}
    old, new = list(known), list(known.values())
    eta = pl.col(scenario.by).replace_strict(old, new, default=None, return_dtype=pl.Float64)
    tables = (
        [_values(job, name, counts.filter(pl.col(scenario.by).is_in(old)), eta, [scenario.by])]
        if known
        else []
    )
    told: list[tuple[Any, float | None, str]] = [
        (value, None, "the scenario has no prevalence for it") for value in found if value not in known
    ]
    told += [
        (text, eta, "no row of the log is of it") for text, eta in given.items() if text not in found.values()
    ]
    rows = [
        {
            "scenario": name,
            "segment": segment_text([scenario.by], [value]),
            "prevalence": eta,
            "metric": metric,
            "supported": False,
            "reason": reason,
        }
        for value, eta, reason in told
        for metric in SCENARIO_METRICS
    ]
    missing = [{column: row.get(column) for column in SCENARIO_VALUES} for row in rows]
    return [*tables, pl.DataFrame(missing, schema=SCENARIO_VALUES)]


def _values(job: Job, name: str, counts: pl.DataFrame, eta: pl.Expr, keys: Sequence[str]) -> pl.DataFrame:
    drawn, rates = drawn_rates(counts, keys, REPEAT if job.columns.repeat else None)
    points = select_operating_points(rates, threshold=job.report.decided_at)
    bounded = drawn.bounded(points, level=0.95)
    values = project_rates(
        bounded.with_columns(prevalence=eta),
        metrics=SCENARIO_METRICS,
        prevalence="selected",
        beta=main_beta(job.report.beta),
        band=True,
    )
    if not drawn.enough:
        values = values.with_columns(pl.col("reason").fill_null(NO_BOUNDS))
    return values.with_columns(segment_texts(values, keys), scenario=pl.lit(name)).select(
        pl.col(column).cast(dtype) for column, dtype in SCENARIO_VALUES.items()
    )
