"""The command ``compare``: arguments only."""

from typing import Any

import click

from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.commands.ending import Command, show, tell
from nci_frames.options.kinds import number
from nci_frames.options.logs import column_options, segments_option, thresholds_option


@click.command(cls=Command)
@click.argument("before")
@click.argument("after")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    default=["precision", "f_beta"],
    help="Metric whose difference is split; may be repeated.",
)
@click.option(
    "--threshold",
    "-t",
    type=number("a number"),
    default=0.5,
    help="A row is predicted positive if its score is >= this threshold.",
)
@segments_option("Column whose values are also compared separately; may be repeated.")
@thresholds_option("logit:501")
@column_options("model", "label", "score", "scores", "unit", "weight", "positive", "on_invalid")
def compare(before: str, after: str, threshold: float, thresholds: str, **asked: Any) -> None:
    """Show how metrics changed from BEFORE to AFTER, and how much is due to the prevalence or the model.

    Each argument is a log, a published run or report, the output folder of a job (for its latest run), or a
    Parquet file of counts, as written by `count` or `ledger read`. Rows are treated as independent, unless
    --unit or counts by bucket group them.

    \b
    Example:
      nci-frames compare logs/2026-03 logs/2026-04 --segments country
      nci-frames compare nightly/out/runs/000001-20260301T020000Z nightly/out
    """
    from nci_frames.counting.thresholds.grids import named_thresholds
    from nci_frames.jobs.two_logs import change_lines, change_table, compare_logs
    from nci_frames.tables.numbers import format_threshold

    clean_up_when_interrupted()
    grid = named_thresholds(thresholds)
    at = grid if grid == "exact" else sorted({*grid, threshold})
    changes, *by_segment = compare_logs(before, after, threshold=threshold, thresholds=at, **asked)
    tell(f"At threshold {format_threshold(threshold)}, each log at its own prevalence:")
    for line in change_lines(changes):
        tell(line)
    for found in by_segment:
        show(change_table(found), "by segment")
