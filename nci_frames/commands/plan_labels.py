"""The command ``plan-labels``: arguments only."""

from pathlib import Path
from typing import Any

import click

from nci_frames.commands.ending import Command, show
from nci_frames.options.kinds import BETA, INSIDE, ROWS
from nci_frames.options.labelling import THRESHOLD, TWO_MODELS, by_model_option, units_option
from nci_frames.options.logs import column_options, out_option

_COLUMNS = ("model", "label", "score", "scores", "unit", "positive", "on_invalid")


@click.command(cls=Command)
@click.argument("log")
@click.option("--budget", "-n", type=ROWS, required=True, help="Number of rows to label.")
@click.option("--metric", required=True, help="Metric to measure with the labels.")
@click.option("--threshold", type=THRESHOLD, help="Decision threshold; for two models new=0.5,old=0.4.")
@click.option("--alerts", type=ROWS, help="Instead of --threshold: maximum number of flagged rows.")
@click.option("--beta", type=BETA, default=1.0, help="Weight of recall in F-beta.")
@click.option(
    "--pilot", help="Labelled log to estimate rates from.  [default: scores are taken as probabilities]"
)
@click.option("--prevalence", "-p", type=INSIDE, help="With --pilot: expected share of positives.")
@click.option(
    "--compare", type=TWO_MODELS, help="Plan for the difference of two models that scored the same units."
)
@by_model_option
@units_option
@click.option("--level", type=INSIDE, default=0.95, help="Confidence level of the intervals.")
@out_option("labels-plan.csv", "File for the plan, .csv or .parquet.")
@column_options(*_COLUMNS)
def plan_labels(
    log: str, level: float, out: Path, pilot: str | None, by_model: str | None, **options: Any
) -> None:
    """Plan which rows of LOG to label, so that the interval of a metric is as narrow as possible.

    \b
    Example:
      nci-frames plan-labels traffic/ --budget 500 --metric recall --threshold 0.9 --pilot labelled/
      nci-frames draw-labels traffic/ labels-plan.csv --out to-label.csv
      nci-frames report labelled.csv --weight weight --metric recall --threshold 0.9
    """
    from nci_frames.counting.logs.scan import scan_predictions
    from nci_frames.jobs.labelling import planned_files

    columns = {name: options.pop(name) for name in _COLUMNS}
    scored = scan_predictions(log, **columns | {"label": None, "positive": None})
    if options["compare"] is None:
        columns["unit"] = None  # only the rates of a pilot are used
    known = None if pilot is None else scan_predictions(pilot, **columns)
    logs = [log] if pilot is None else [log, pilot]
    asked = {"level": level, "model": by_model, "pilot": known, **options}
    plan, gains = planned_files(scored, out, sources=logs, **asked)
    show(plan.drop("model_a", "model_b", strict=False), f"which rows to label: {out}")
    taken = ", if the scores are probabilities" if pilot is None else ""
    told = gains if gains["reason"].count() else gains.drop("reason")
    show(told, f"half-widths to expect at confidence {level:g}{taken}")
