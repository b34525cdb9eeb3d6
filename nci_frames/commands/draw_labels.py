"""The command ``draw-labels``: arguments only."""

from pathlib import Path
from typing import Any

import click

from nci_frames.commands.ending import Command, tell
from nci_frames.options.kinds import ROWS
from nci_frames.options.labelling import by_model_option, units_option
from nci_frames.options.logs import column_options, out_option


@click.command(cls=Command)
@click.argument("log")
@click.argument("plan")
@click.option("--seed", type=ROWS, default=0, help="Seed of the draw.")
@by_model_option
@units_option
@out_option("to-label.csv", "File for the rows, .csv or .parquet.")
@column_options("model", "score", "scores", "unit", "on_invalid")
def draw_labels(
    log: str, plan: str, seed: int, by_model: str | None, units: bool, out: Path, **columns: Any
) -> None:
    """Draw the rows to label from LOG by PLAN, with their weights.

    Add a column "label" to the file. Then pass it to `report` with --weight weight.

    \b
    Example:
      nci-frames draw-labels traffic/ labels-plan.csv --out to-label.csv
      nci-frames report labelled.csv --weight weight --metric recall --threshold 0.9
    """
    from nci_frames.counting.logs.scan import scan_predictions
    from nci_frames.jobs.labelling import drawn_file

    scan = scan_predictions(log, label=None, **columns)
    rows = drawn_file(scan, plan, out, source=log, seed=seed, model=by_model, units=units)
    tell(f"{rows:,} rows to label: {out}; when they have labels, report them with --weight weight")
