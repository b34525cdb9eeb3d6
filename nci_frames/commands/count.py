"""The command ``count``: arguments only."""

from pathlib import Path
from typing import Any

import click

from nci_frames.base.messages import quantity
from nci_frames.commands.ending import Command, tell
from nci_frames.options.logs import column_options, out_option, segments_option, thresholds_option

_COLUMNS = ("model", "label", "score", "scores", "fold", "repeat", "unit", "weight", "positive", "on_invalid")


@click.command(cls=Command)
@click.argument("logs", nargs=-1, required=True)
@segments_option("Column to keep as a key; may be repeated.")
@thresholds_option(None)
@out_option("counts.parquet", "File to write: .parquet, .csv or .md; created or replaced.")
@column_options(*_COLUMNS)
def count(logs: tuple[str, ...], thresholds: str | None, out: Path, unit: str | None, **columns: Any) -> None:
    """Count prediction LOGS at thresholds, and write the counts to a file.

    Every function of the library that takes counts reads the file, and so does the command compare. With
    --unit, the counts have the key bucket, by which intervals and tests resample whole units.

    \b
    Example:
      nci-frames count 'logs/**/*.parquet' --segments country --out counts.parquet
    """
    from nci_frames.base.files import file_kind
    from nci_frames.base.folders import check_apart
    from nci_frames.counting.count import count_confusion
    from nci_frames.counting.logs.scan import scan_predictions
    from nci_frames.counting.logs.units import unit_buckets
    from nci_frames.counting.thresholds.grids import named_thresholds
    from nci_frames.files.save_table import TABLE_KINDS, save_table

    # Before counting.
    file_kind(out, TABLE_KINDS)
    check_apart(logs, out)
    source = logs[0] if len(logs) == 1 else [*logs]
    predictions = scan_predictions(source, unit=unit, **columns)
    predictions = predictions if unit is None else unit_buckets(predictions)
    grid = "auto" if thresholds is None else named_thresholds(thresholds)
    counts = count_confusion(predictions, thresholds=grid, progress=True)
    save_table(counts, out)
    tell(f"written: {out} ({quantity(len(counts), 'row')})")
