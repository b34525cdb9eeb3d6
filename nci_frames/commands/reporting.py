"""What a terminal shows of a report: the answer as soon as it is known, and then the tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from nci_frames.base.messages import quantity
from nci_frames.commands.ending import tell
from nci_frames.jobs.report import run_report
from nci_frames.options.report import ReportOptions
from nci_frames.questions.comparison import Comparison
from nci_frames.reporting.terminal import print_answer, print_comparison


def reported(source: str | Sequence[str], out: Path, options: ReportOptions, **how: Any) -> Comparison:
    """Report as ``run_report`` does, and show it."""
    console = Console(highlight=False)
    comparison, tally = run_report(
        source, out, options, answered=lambda found: print_answer(found, console), **how
    )
    print_comparison(comparison, console, title=options.title or "")
    for warning in tally.warnings:
        tell(f"warning: {warning}", err=True)
    told = f"{quantity(tally.counted, 'prediction')} counted; report: {out / f'report.{options.formats[0]}'}"
    tell(told)
    return comparison
