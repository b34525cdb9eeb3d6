"""The command that reports on prediction logs: arguments only."""

from pathlib import Path
from typing import Any

import click

from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.commands.config import config_option
from nci_frames.commands.ending import Command
from nci_frames.options.logs import column_options, out_option, thresholds_option, verbose_option
from nci_frames.options.report import ReportOptions, SegmentOptions
from nci_frames.options.setting import options_of, taken


@click.command(cls=Command)
@click.argument("logs", nargs=-1, required=True)
@config_option
@options_of(ReportOptions)
@thresholds_option(None)
@click.option(
    "--segments", "-s", multiple=True, help="Column whose values are reported separately; may be repeated."
)
@options_of(SegmentOptions)
@out_option("nci-report", "Folder for the report, tables and charts; created if missing.")
@verbose_option
@column_options(
    "model", "label", "score", "scores", "fold", "repeat", "unit", "weight", "positive", "on_invalid"
)
def report(
    logs: tuple[str, ...],
    thresholds: str | None,
    segments: tuple[str, ...],
    out: Path,
    *,
    verbose: bool,
    **given: Any,
) -> None:
    """Rank the models of prediction LOGS (Parquet files, folders, globs or URLs) and write a report.

    \b
    Example:
      nci-frames report 'logs/**/*.parquet' --fold fold --segments country \\
          --prevalence 1e-4:0.5:round --beta 0.25:4:log:33 --out report
      nci-frames report logs/ --at 1/2000 --cost 200:5:8 --volume 2M
      nci-frames report logs/ --at 0.05% --alerts 500 --volume 2M
      nci-frames report logs/ --config nightly/job.toml --at 1/500
      nci-frames report logs/ --format html,md,json --tables parquet,csv --charts svg

    Prints which model and threshold to choose, and what that rests on; writes the report and the
    tables behind it into a folder, which is replaced as a whole.
    """
    from nci_frames.commands.reporting import reported
    from nci_frames.counting.thresholds.grids import named_thresholds

    clean_up_when_interrupted()
    reported(
        logs[0] if len(logs) == 1 else list(logs),
        out,
        taken(ReportOptions, given),
        thresholds=None if thresholds is None else named_thresholds(thresholds),
        segments=segments,
        small=taken(SegmentOptions, given),
        columns=given,
        show="tables" if verbose else "answer",
    )
