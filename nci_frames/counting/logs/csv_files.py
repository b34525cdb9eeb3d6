"""CSV files: their header, the type of their labels, and a scan of their cells.

Polars reads them as texts, and what a text says is decided here: the type of a label depends on all files.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from nci_frames.base.errors import SourceError
from nci_frames.base.messages import first_line
from nci_frames.counting.logs.opened import READ_ERRORS

_OTHER_SEPARATORS = (";", "\t", "|")


class UnusableHeaderError(Exception):
    """A file does not name its columns, each once."""


def read_header(path: str) -> tuple[list[str], bool]:
    """Return the columns of a file, and whether anything comes after them.

    Raises
    ------
    UnusableHeaderError
        If cells or lines end in another way than commas and line feeds, or quotes are not closed.
    """
    with Path(path).open(encoding="utf-8-sig", newline="") as opened:
        try:
            columns = next(filter(None, csv.reader(opened)), [])
        except csv.Error as error:
            raise UnusableHeaderError(f"its header cannot be read: {error}") from error
        some = any(line.strip() for line in opened)
    separator = next((mark for mark in _OTHER_SEPARATORS if mark in "".join(columns)), None)
    if len(columns) == 1 and separator is not None:
        raise UnusableHeaderError(f"its cells are separated by {separator!r}, where a comma is expected")
    distinct = len(set(columns)) == len(columns)
    if some and distinct and scan_csv(path).collect_schema().names() != columns:
        raise UnusableHeaderError("its header is ambiguous: a quote in a name, or lines that end in '\\r'")
    return columns, some


def scan_csv(paths: str | list[str], file_column: str | None = None) -> pl.LazyFrame:
    """Scan the cells of files with the same columns as texts; an empty cell is null."""
    return pl.scan_csv(paths, glob=False, infer_schema=False, include_file_paths=file_column)


def label_type(paths: Sequence[str], column: str) -> pl.DataType:
    """Return the type that the labels of all files can be read in.

    Raises
    ------
    SourceError
        If a file cannot be read.
    """
    unread: dict[str, str] = {}
    seen = [pl.Series(column, [], pl.String)]
    for path in paths:
        try:
            seen.append(scan_csv(path).select(pl.col(column).drop_nulls().unique()).collect()[column])
        except READ_ERRORS as error:
            unread[path] = first_line(error)
    if unread:
        raise SourceError.unreadable(unread)
    texts = pl.concat(seen).unique()
    if texts.is_empty():
        return pl.Null()
    if texts.str.to_lowercase().is_in(["true", "false"]).all():
        return pl.Boolean()
    numbers = (pl.Int64(), pl.Float64())
    return next((kind for kind in numbers if not texts.cast(kind, strict=False).has_nulls()), pl.String())


def parsed(types: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Read texts as values of some types; what is no such value is an error."""
    return [
        pl.col(column).str.to_lowercase() == "true" if dtype == pl.Boolean else pl.col(column).cast(dtype)
        for column, dtype in types.items()
        if dtype != pl.String
    ]
