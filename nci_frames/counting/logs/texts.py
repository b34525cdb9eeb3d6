"""Locate unreadable cells of CSV files, for messages."""

import csv
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from nci_frames.base.messages import first_line
from nci_frames.counting.logs.paths import is_csv


def why_unreadable(path: str, error: BaseException) -> str:
    """Return why a file cannot be read: the row with an unclosed quote, or the message of Polars."""
    return (is_csv(path) and _open_quote(path)) or first_line(error)


def _open_quote(path: str) -> str | None:
    line = 1
    with suppress(OSError, UnicodeError), Path(path).open(encoding="utf-8-sig", newline="") as opened:
        reader = csv.reader(opened, strict=True)
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            if "end of data" in str(error):
                return f"a quote that opens in row {line:,} is not closed"
    return None


def not_a_number(paths: Iterable[str], columns: Sequence[str]) -> str | None:
    """Return the place of the first string that should be a number; None if there is none."""
    for path in paths:
        texts = pl.scan_csv(path, glob=False, infer_schema=False).with_row_index("__row", offset=2)
        for column in columns:
            odd = pl.col(column).cast(pl.Float64, strict=False).is_null() & pl.col(column).is_not_null()
            for row, text in texts.filter(odd).select("__row", column).head(1).collect().rows():
                return f"row {row:,} of {path!r} has the {column} {text[:40]!r}, which is no number"
    return None
