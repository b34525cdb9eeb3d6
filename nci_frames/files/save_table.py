"""A frame -> a file: Parquet for programs, CSV for spreadsheets, Markdown for people."""

from pathlib import Path

import polars as pl
from polars import selectors

from nci_frames.base.errors import SchemaError
from nci_frames.base.files import file_kind, replacing, write_parquet
from nci_frames.schemas import checked
from nci_frames.tables.markdown import markdown_table

TABLE_KINDS = ("parquet", "csv", "md")

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
        Any frame. CSV and Markdown hold lists of texts as one text, "a; b", and no other lists, structs,
        binary data and objects.
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
        if kind == "parquet":
            _check_types(table, "Parquet")
            write_parquet(table, file)
        else:
            text = csv_text(table) if kind == "csv" else markdown_table(_flat(table, "Markdown"))
            file.write_text(text, encoding="utf-8", newline="")
    return Path(path)


def csv_text(table: pl.DataFrame) -> str:
    """Return a table as CSV in which no text is taken for a formula."""
    flat = _flat(table, "CSV")
    # The names are a row of texts like any other: two of them may be equal once they are guarded.
    names = pl.DataFrame({str(place): [name] for place, name in enumerate(flat.columns)})
    return "".join(_guarded(part).write_csv(include_header=False) for part in (names, flat))


def _guarded(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.String).str.replace_all(_FORMULA, "$1'$2").str.replace(_FIRST, "'$1"))


def _flat(table: pl.DataFrame, form: str) -> pl.DataFrame:
    """Return the table with categories and durations as text; refuse what is not one value in a cell."""
    table = table.with_columns(pl.col(pl.List(pl.String)).list.join("; ", ignore_nulls=True))
    _check_types(table, form)
    return table.with_columns(
        selectors.by_dtype(pl.Categorical, pl.Enum).cast(pl.String), selectors.duration().dt.to_string("iso")
    )


def _check_types(table: pl.DataFrame, form: str) -> None:
    for name, dtype in table.schema.items():
        flat = form == "Parquet" or not (dtype.is_nested() or dtype == pl.Binary)
        if dtype == pl.Object or not flat:
            where, wanted = f"the table to write as {form}", "a text, number, date or Boolean"
            raise SchemaError.wrong_type(name, where, str(dtype), wanted, "drop the column")
