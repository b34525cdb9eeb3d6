"""A job: a log in; counts, tables and a report out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.folders import check_apart, publishing
from nci_frames.counting.count import Tally
from nci_frames.counting.engine.progress import steps_shown
from nci_frames.counting.logs.scan import scan_predictions
from nci_frames.counting.logs.units import UnitSizes
from nci_frames.counting.thresholds.grids import Thresholds, auto_thresholds
from nci_frames.files.save_chart import CHART_KINDS, save_chart
from nci_frames.files.save_table import TABLE_KINDS, save_table
from nci_frames.jobs.counting_units import ReportCounts, count_for_comparison
from nci_frames.jobs.field_file import read_field, segments_of
from nci_frames.jobs.repeats import REPEAT
from nci_frames.jobs.small_segments import field_with_small_pooled
from nci_frames.questions.answer_lines import short_answer
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.places import main_beta
from nci_frames.questions.question import Question
from nci_frames.questions.report import TITLE, report_charts
from nci_frames.reporting.write import REPORT_KINDS, write_report

__all__ = ["Published", "ReportJob", "run_report"]

#: What follows the count, as a terminal shows it.
STEPS = ("comparing the models", "answering the question", "writing the report")


@dataclass(frozen=True, slots=True)
class ReportJob:
    """What to compare, at which class balances, and where to put the result."""

    source: str | Sequence[str]
    out: Path
    #: Several numbers, or a file with the prevalence of each segment.
    prevalence: Sequence[float] | Path
    beta: Sequence[float]
    threshold: float = 0.5
    #: What the first lines answer.
    question: Question = field(default_factory=Question)
    #: At which thresholds to count; None as fine as the areas need.
    thresholds: Thresholds | None = None
    #: Segments with fewer positives become one segment, "other".
    min_positives: int = 0
    segments: Sequence[str] = ()
    title: str | None = None
    #: Further arguments of ``scan_predictions``: which column plays which part.
    columns: Mapping[str, Any] = field(default_factory=dict)
    #: How the report is written; at least one of ``REPORT_KINDS``.
    formats: Sequence[str] = ("html",)
    #: How the tables behind it are written: any of ``TABLE_KINDS``.
    tables: Sequence[str] = ("parquet",)
    #: How each chart is written as a file of its own: any of ``CHART_KINDS``.
    charts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """What a job found, and the files that it wrote."""

    comparison: Comparison
    tally: Tally
    #: The report in each of its formats; the first is the one that was asked for first.
    reports: tuple[Path, ...]
    tables: tuple[Path, ...]
    charts: tuple[Path, ...]


def run_report(job: ReportJob) -> Published:
    """Run a job. Its folder is replaced as a whole, once all files of the new one are written.

    Parameters
    ----------
    job
        What to do.

    Returns
    -------
    The tables, what became of every row, and the paths of the reports (``report.html``), of the tables
    (``counts`` and every one of ``Comparison.tables``, in the folder ``tables``) and of the charts (in the
    folder ``charts``).

    Raises
    ------
    NciFramesError
        Whatever scanning, counting or evaluating raises; if there is no such format; if *out* is a file, lies
        among the sources, cannot be written, or holds files that an earlier run did not write.
    """
    _check_kinds(job)
    if math.isnan(job.threshold):
        raise ParameterError.out_of_range("threshold", job.threshold, "a number")
    check_apart([job.source] if isinstance(job.source, str) else job.source, job.out)
    at: Sequence[float] | pl.DataFrame
    if isinstance(job.prevalence, Path):
        known = at = read_field(job.prevalence)
        etas: Sequence[float] = known["prevalence"].to_list()
    else:
        asked = [] if job.question.prevalence is None else [job.question.prevalence]
        known, etas = None, sorted({*job.prevalence, *asked})
        at = etas
    # What has a prevalence of its own is a segment.
    segments = list(dict.fromkeys([*job.segments, *segments_of(known)]))
    with publishing(job.out) as folder:
        predictions = scan_predictions(job.source, segments=segments, **job.columns)
        wish: Thresholds = auto_thresholds(prevalence=[eta for eta in etas if eta > 0], also=[job.threshold])
        if job.thresholds is not None:
            wish = job.thresholds
        counted = count_for_comparison(predictions, wish, segments)
        small = counted.small_segments(segments, positives=job.min_positives)
        if known is not None:
            at = field_with_small_pooled(known, counted.tally.counts, small, segments)
        counted = counted.with_small_pooled(small)
        tally = counted.tally
        repeat = None if job.columns.get("repeat") is None else REPEAT
        with steps_shown(STEPS) as begin:
            begin()
            comparison = Comparison(
                tally.counts,
                prevalence=at,
                question=job.question if job.question.beta != 1 else _with_beta(job),
                beta=job.beta,
                threshold=job.threshold,
                segments=segments,
                # Whatever the log calls its folds, the key of the predictions is "fold".
                fold=None if job.columns.get("fold") is None else "fold",
                repeat=repeat,
                unit_counts=counted.by_unit,
                unit_rows=None if counted.units is None else counted.units.repeated,
            )
            begin()
            comparison.answer  # noqa: B018 - computed in this step
            begin()
            written = _write(job, counted, comparison, folder)
    reports, tables, charts = (tuple(job.out / name for name in names) for names in written)
    return Published(comparison, tally, reports, tables, charts)


def _with_beta(job: ReportJob) -> Question:
    """Return the question with the beta compared that is nearest to 1."""
    return replace(job.question, beta=main_beta(job.beta))


def _check_kinds(job: ReportJob) -> None:
    wanted = (
        ("formats", job.formats, REPORT_KINDS),
        ("tables", job.tables, TABLE_KINDS),
        ("charts", job.charts, CHART_KINDS),
    )
    for name, kinds, known in wanted:
        for kind in kinds:
            if kind not in known:
                raise ParameterError.unknown_choice(name, kind, known)
    if not job.formats:
        raise ParameterError.out_of_range("formats", job.formats, f"one or more of {', '.join(REPORT_KINDS)}")


def _write(
    job: ReportJob, counted: ReportCounts, comparison: Comparison, folder: Path
) -> tuple[list[str], ...]:
    """Write all files of a job into a folder; return their names there: reports, tables, charts."""
    tally = counted.tally
    facts = _facts(counted, comparison)
    reports = [f"report.{kind}" for kind in dict.fromkeys(job.formats)]
    at = job.question.prevalence
    scenarios = None if at is None else {"asked": at}
    for name in reports:
        write_report(comparison, folder / name, title=job.title or TITLE, facts=facts, scenarios=scenarios)
    frames = {
        f"tables/{name}.{kind}": table
        for kind in dict.fromkeys(job.tables)
        for name, table in _tables(tally.counts, comparison).items()
    }
    for name, frame in frames.items():
        save_table(frame, folder / name)
    charts = {
        f"charts/{name}.{kind}": chart
        for name, chart in (report_charts(comparison) if job.charts else {}).items()
        for kind in dict.fromkeys(job.charts)
    }
    for name, chart in charts.items():
        save_chart(chart, folder / name)
    return reports, list(frames), list(charts)


def _tables(counts: pl.DataFrame, comparison: Comparison) -> dict[str, pl.DataFrame]:
    return {"counts": counts, **comparison.tables}


def _facts(counted: ReportCounts, comparison: Comparison) -> list[tuple[str, str]]:
    tally, observed = counted.tally, comparison.observed_prevalence
    return [
        ("answer", short_answer(comparison.said)),
        ("source", tally.where),
        *([("files", f"{tally.files:,}")] if tally.files else []),
        ("rows counted", f"{tally.counted:,}"),
        ("rows dropped", f"{sum(tally.dropped.values()):,}"),
        *((f"rows dropped: {reason}", f"{rows:,}") for reason, rows in tally.dropped.items()),
        *([] if counted.units is None else [("units", _units(counted.units))]),
        ("models", f"{comparison.points['model'].n_unique():,}"),
        ("observed prevalence", "undefined: no rows" if observed is None else f"{observed:.6g}"),
        ("thresholds", _resolution(tally)),
    ]


def _units(sizes: UnitSizes) -> str:
    about = "about " if sizes.estimated else ""
    rows = f"{sizes.rows:.3g} {'row' if sizes.rows == 1 else 'rows'}"
    return f"{about}{sizes.units:,}, with {rows} of a model each"


def _resolution(tally: Tally) -> str:
    if not tally.reached:
        return "every distinct score of each group (exact)"
    thresholds = tally.counts["threshold"].n_unique()
    return f"{thresholds:,}, by which the areas of every model are known to {tally.reached:.2g}"
