"""Small tables of users, such as the prevalence of each segment."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import first_line, listed
from nci_frames.counting.logs.opened import READ_ERRORS
from nci_frames.schemas import FIELD


def read_table(path: str, what: str, *, where: str, hint: str) -> pl.DataFrame:
    """Read a Parquet file, or a CSV file with all columns as strings: a segment "01" is not the number 1.

    Raises
    ------
    ParameterError
        If it cannot be read; *what*, *where* and *hint* are for the message.
    """
    try:
        if path.lower().endswith(".csv"):
            return pl.read_csv(path, glob=False, infer_schema=False)
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except READ_ERRORS as error:
        found = getattr(error, "strerror", None) or first_line(error)
        raise ParameterError(f"{what} cannot be read", where=where, found=found, hint=hint) from error


def read_numbers(
    path: str, what: str, *, where: str, hint: str, needed: Iterable[str], numbers: Iterable[str]
) -> pl.DataFrame:
    """Read a table, and convert the columns *numbers*, if present, to numbers.

    Raises
    ------
    ParameterError
        If it cannot be read, or a value is not a number.
    SchemaError
        If it lacks a *needed* column.
    """
    table = read_table(path, what, where=where, hint=hint)
    for name in needed:
        if name not in table.columns:
            raise _lacking(table, what, f"the column {name!r}", where, hint)
    for name in numbers:
        if name not in table.columns:
            continue
        values = table[name].cast(pl.Float64, strict=False)
        wrong = table[name].filter(values.is_null())
        if len(wrong):
            found = "nothing" if wrong[0] is None else repr(wrong[0])
            msg = f"{what} has a {name} that is no number"
            raise ParameterError(msg, where=where, found=found, hint=hint)
        table = table.with_columns(values)
    return table


def _lacking(table: pl.DataFrame, what: str, column: str, where: str, hint: str) -> SchemaError:
    found = f"columns {listed(map(repr, table.columns), 20)}"
    return SchemaError(f"{what} lacks {column}", where=where, found=found, hint=hint)


def read_field(path: Path) -> pl.DataFrame:
    """Return the prevalence of each segment, as a field frame.

    Raises
    ------
    ParameterError
        If the file cannot be read, or a prevalence or share is not a number.
    SchemaError
        If it has no column ``prevalence``, or no column of segments.
    """
    what, where = "the file of prevalences", repr(str(path))
    hint = "a CSV or Parquet file has the columns of the segments, prevalence and perhaps share"
    table = read_numbers(str(path), what, where=where, hint=hint, needed=["prevalence"], numbers=FIELD.fixed)
    if not FIELD.keys(table.columns):
        raise _lacking(table, what, "a column of segments", where, hint)
    return table


def segments_of(field: pl.DataFrame | None) -> list[str]:
    """Return the columns of segments of a field; the model is not a segment."""
    return [] if field is None else [name for name in FIELD.keys(field.columns) if name != "model"]
