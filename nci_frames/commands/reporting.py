"""What a terminal shows of a report: the answer as soon as it is known, and what it rests on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from nci_frames.base.messages import quantity
from nci_frames.commands.ending import tell
from nci_frames.jobs.class_report import run_class_report
from nci_frames.jobs.report import run_report
from nci_frames.options.classes import ClassOptions
from nci_frames.options.report import ReportOptions
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.comparison import Comparison
from nci_frames.reporting.terminal import print_answer, print_basis, print_comparison


def reported(
    source: str | Sequence[str],
    out: Path,
    options: ReportOptions,
    *,
    show: Literal["nothing", "answer", "tables"] = "answer",
    **how: Any,
) -> Comparison:
    """Report as ``run_report`` does, and show the answer with what it rests on, or with all tables."""
    console = Console(highlight=False)

    def answered(comparison: Comparison) -> None:
        if show != "nothing":
            print_answer(comparison, console)

    comparison, tally = run_report(source, out, options, answered=answered, **how)
    if show == "tables":
        print_comparison(comparison, console, title=options.title or "")
    elif show == "answer":
        print_basis(comparison, console)
    for warning in tally.warnings:
        tell(f"warning: {warning}", err=True)
    told = f"{quantity(tally.counted, 'prediction')} counted; report: {out / f'report.{options.formats[0]}'}"
    tell(told)
    return comparison


def reported_classes(
    source: str | Sequence[str],
    out: Path,
    options: ReportOptions,
    asked: ClassOptions,
    *,
    columns: Mapping[str, Any],
    verbose: bool,
) -> ClassComparison:
    """Report as ``run_class_report`` does, and show the answer with what it rests on, or with all tables."""
    console = Console(highlight=False)
    comparison = run_class_report(
        source, out, options, asked, columns=columns, answered=lambda found: print_answer(found, console)
    )
    if verbose:
        print_comparison(comparison, console, title=options.title or "")
    else:
        print_basis(comparison, console)
    rows = float(comparison.counts["rows"].sum())
    tell(f"{quantity(rows, 'row')} counted; report: {out / f'report.{options.formats[0]}'}")
    return comparison
