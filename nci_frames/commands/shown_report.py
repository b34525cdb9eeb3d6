"""Terminal output of a report: the answer as soon as it is known, then the data behind it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from nci_frames.base.messages import quantity
from nci_frames.commands.ending import tell
from nci_frames.jobs.report import run_report
from nci_frames.options.report import ReportOptions
from nci_frames.questions.report_question import AnyComparison
from nci_frames.reporting.terminal import print_answer, print_basis, print_comparison


def run_shown(
    source: str | Sequence[str],
    out: Path,
    options: ReportOptions,
    *,
    show: Literal["nothing", "answer", "tables"] = "answer",
    run: Callable[..., tuple[Any, Any]] = run_report,
    **how: Any,
) -> Any:
    """Run a report, and show the answer with the data behind it, or with all tables."""
    console = Console(highlight=False)

    def answered(comparison: AnyComparison) -> None:
        if show != "nothing":
            print_answer(comparison, console)

    comparison, tally = run(source, out, options, answered=answered, **how)
    if show == "tables":
        print_comparison(comparison, console, title=options.title or "")
    elif show == "answer":
        print_basis(comparison, console)
    for warning in tally.warnings:
        tell(f"warning: {warning}", err=True)
    sums = isinstance(tally.counted, float)
    counted = f"a weight of {tally.counted:,.6g}" if sums else quantity(tally.counted, "prediction")
    tell(f"{counted} counted; report: {out / f'report.{options.formats[0]}'}")
    return comparison
