"""A job: a log in; counts, tables and a report out."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.counting.kernel import Tally, tally_predictions
from nci_frames.counting.scan import scan_predictions
from nci_frames.counting.thresholds import auto_thresholds
from nci_frames.errors import ParameterError
from nci_frames.evaluation.compare import compare_models
from nci_frames.evaluation.comparison import Comparison
from nci_frames.reporting.report import write_report

__all__ = ["Published", "ReportJob", "run_report"]


@dataclass(frozen=True, slots=True)
class ReportJob:
    """What to compare, at which class balances, and where to put the result."""

    source: str | Sequence[str]
    out: Path
    prevalence: Sequence[float]
    beta: Sequence[float]
    threshold: float = 0.5
    segments: Sequence[str] = ()
    title: str | None = None
    #: Further arguments of ``scan_predictions``: which column plays which part.
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """What a job found, and the files that it wrote."""

    comparison: Comparison
    tally: Tally
    report: Path
    tables: tuple[Path, ...]


def run_report(job: ReportJob) -> Published:
    """Run a job. Nothing is written unless all of it can be, and each file is replaced in one step.

    Parameters
    ----------
    job
        What to do.

    Returns
    -------
    The tables, what became of every row, and the paths of ``report.html`` and of the tables
    (``counts``, ``points``, ``projection``, ``areas``, and those of the segments) as Parquet.

    Raises
    ------
    NciFramesError
        Whatever scanning, counting or evaluating raises, or if *out* is a file.
    """
    if job.out.exists() and not job.out.is_dir():
        msg = "the output must be a folder"
        raise ParameterError(msg, found=f"the file {str(job.out)!r}", hint="name another folder with --out")
    if math.isnan(job.threshold):
        raise ParameterError.out_of_range("threshold", job.threshold, "a number")
    predictions = scan_predictions(job.source, segments=job.segments, **job.columns)
    wish = auto_thresholds(prevalence=[eta for eta in job.prevalence if eta > 0], also=[job.threshold])
    tally = tally_predictions(predictions, thresholds=wish, progress=True)
    comparison = compare_models(
        tally.counts,
        prevalence=job.prevalence,
        beta=job.beta,
        threshold=job.threshold,
        segment=job.segments,
    )
    tables = {"counts": tally.counts, **_tables(comparison)}
    job.out.mkdir(parents=True, exist_ok=True)
    # The folder for unfinished files is inside the target, so that moving them is a rename.
    with tempfile.TemporaryDirectory(dir=job.out, prefix=".unfinished-") as unfinished:
        for name, table in tables.items():
            table.write_parquet(Path(unfinished, f"{name}.parquet"))
        title = {} if job.title is None else {"title": job.title}
        write_report(comparison, Path(unfinished, "report.html"), facts=_facts(tally, comparison), **title)
        for file in sorted(Path(unfinished).iterdir()):
            file.replace(job.out / file.name)
    return Published(
        comparison, tally, job.out / "report.html", tuple(job.out / f"{name}.parquet" for name in tables)
    )


def _tables(comparison: Comparison) -> dict[str, pl.DataFrame]:
    tables = {
        "points": comparison.points,
        "projection": comparison.projection,
        "areas": comparison.areas,
        "segment_points": comparison.segment_points,
        "segment_projection": comparison.segment_projection,
        "segment_areas": comparison.segment_areas,
        "shifts": comparison.shifts,
    }
    return {name: table for name, table in tables.items() if table is not None}


def _facts(tally: Tally, comparison: Comparison) -> list[tuple[str, str]]:
    observed = comparison.observed_prevalence
    return [
        ("source", tally.where),
        *([("files", f"{tally.files:,}")] if tally.files else []),
        ("rows counted", f"{tally.counted:,}"),
        ("rows left out", f"{sum(tally.dropped.values()):,}"),
        *((f"rows left out: {reason}", f"{rows:,}") for reason, rows in tally.dropped.items()),
        ("models", f"{comparison.points['model'].n_unique():,}"),
        ("observed prevalence", "undefined: no rows" if observed is None else f"{observed:.6g}"),
        ("thresholds", _resolution(tally)),
    ]


def _resolution(tally: Tally) -> str:
    if not tally.reached:
        return "every distinct score of each group (exact)"
    thresholds = tally.counts["threshold"].n_unique()
    return f"{thresholds:,}, by which the areas of every model are known to {tally.reached:.2g}"
