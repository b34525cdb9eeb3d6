"""A frame -> a file: Parquet for programs, CSV for spreadsheets, Markdown for people."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import polars as pl
from polars import selectors

from nci_frames.base.errors import SchemaError
from nci_frames.base.files import file_kind, replacing, write_parquet
from nci_frames.schemas.checked import checked
from nci_frames.tables.markdown import markdown_table

#: Spreadsheets read a cell that begins so as a formula (OWASP, "CSV Injection"), also in wide forms, and
#: after blanks and characters that nobody sees. One that takes semicolons or tabs for separators, as in many
#: countries, sees a cell after each of them, and a line after each new line, quotes or not.
_FORMULA = r"(^|[;\t\r\n])([\s\p{Z}\p{C}&&[^\t\r\n]]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}])"
_FIRST = r"^([\t\r\n])"


@checked
def save_table(frame: pl.DataFrame | pl.LazyFrame, /, path: str | Path) -> Path:
    r"""Write a frame as Parquet, CSV or Markdown.

    The file is written beside its target and then moved over it, so a failure leaves an older file as it
    was. Equal frames give equal bytes.

    Parameters
    ----------
    frame
        Any frame. CSV and Markdown hold no lists, structs, binary data and objects.
    path
        The file to write; its ending, ``.parquet``, ``.csv`` or ``.md``, gives the format. Folders above it
        are created if missing.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the path is a folder or has another ending.
    SchemaError
        If a column has a type that the format cannot hold.

    Notes
    -----
    In CSV, null is an empty cell and a float has all its digits, so that reading it back gives the same
    number. A text or a column's name that begins like a formula, with ``=``, ``+``, ``-``, ``@``, a tab or
    a new line, gets an apostrophe before it, which spreadsheets take as "text"; so does what follows a
    semicolon, tab or new line within it, where another spreadsheet may see a cell. Blanks and invisible
    characters before the sign make no difference. Numbers are as they are.
    In Markdown, floats have six digits, and names are escaped, so that none renders as markup.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> frame = pl.DataFrame({"model": ["random_forest", "=1+1"], "tpr": [0.6, None]})
    >>> folder = getfixture("tmp_path")
    >>> print(nf.save_table(frame, folder / "rates.csv").read_text().rstrip())
    model,tpr
    random_forest,0.6
    '=1+1,
    >>> print(nf.save_table(frame, folder / "rates.md").read_text().rstrip())
    | model | tpr |
    | --- | ---: |
    | random\_forest | 0.6 |
    | =1+1 |  |
    """
    kind = file_kind(path, TABLE_KINDS, what="table")
    table = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    with replacing(path, what="table") as file:
        _WRITERS[kind](table, file)
    return Path(path)


def _write_parquet(table: pl.DataFrame, file: Path) -> None:
    for name, dtype in table.schema.items():
        if dtype == pl.Object:
            raise _unfit(name, dtype, "Parquet")
    write_parquet(table, file)


def _write_csv(table: pl.DataFrame, file: Path) -> None:
    file.write_text(csv_text(table), encoding="utf-8", newline="")


def csv_text(table: pl.DataFrame) -> str:
    """Return a table as CSV in which no text is taken for a formula."""
    flat = _flat(table, "CSV")
    # The names are a row of texts like any other: two of them may be equal once they are guarded.
    names = pl.DataFrame({str(place): [name] for place, name in enumerate(flat.columns)})
    return "".join(_guarded(part).write_csv(include_header=False) for part in (names, flat))


def _guarded(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.String).str.replace_all(_FORMULA, "$1'$2").str.replace(_FIRST, "'$1"))


def _write_markdown(table: pl.DataFrame, file: Path) -> None:
    file.write_text(markdown_table(_flat(table, "Markdown")), encoding="utf-8", newline="")


def _flat(table: pl.DataFrame, form: str) -> pl.DataFrame:
    """Return the table with categories and durations as text; refuse what is not one value in a cell."""
    for name, dtype in table.schema.items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            raise _unfit(name, dtype, form)
    return table.with_columns(
        selectors.by_dtype(pl.Categorical, pl.Enum).cast(pl.String), selectors.duration().dt.to_string("iso")
    )


def _unfit(name: str, dtype: pl.DataType, form: str) -> SchemaError:
    return SchemaError.wrong_type(
        name,
        f"the table to write as {form}",
        str(dtype),
        "a text, number, date or Boolean",
        "drop the column",
    )


_WRITERS: Mapping[str, Callable[[pl.DataFrame, Path], None]] = MappingProxyType(
    {"parquet": _write_parquet, "csv": _write_csv, "md": _write_markdown}
)
TABLE_KINDS = tuple(_WRITERS)
