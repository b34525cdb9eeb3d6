"""A frame -> a file: Parquet for programs, CSV for spreadsheets, Markdown for people."""

from pathlib import Path

import polars as pl
from polars import selectors

from nci_frames.base.errors import SchemaError
from nci_frames.base.files import file_kind, replacing, write_parquet
from nci_frames.base.typing import Frame
from nci_frames.schemas import checked
from nci_frames.tables.markdown import markdown_table

TABLE_KINDS = ("parquet", "csv", "md")

#: Beginnings of cells that spreadsheets read as a formula (OWASP, "CSV Injection"), including full-width
#: signs, and after blanks and invisible characters. With semicolons or tabs as separators, as in many
#: countries, a spreadsheet sees a new cell after each of them and after each line break, even inside quotes.
_FORMULA = r"(^|[;\t\r\n])([\s\p{Z}\p{C}&&[^\t\r\n]]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}])"
_FIRST = r"^([\t\r\n])"


@checked
def save_table(frame: Frame, /, path: str | Path) -> Path:
    r"""Write a frame as Parquet, CSV or Markdown.

    The file is replaced atomically: a failure leaves an existing file unchanged. Equal frames give equal
    bytes.

    Parameters
    ----------
    frame
        Any frame. In CSV and Markdown, lists of strings are written as "a; b"; other lists, structs, binary
        data and objects are refused.
    path
        File to write. The format is given by the ending: ``.parquet``, ``.csv`` or ``.md``. Missing folders
        are created.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If *path* is a folder or has another ending.
    SchemaError
        If a column has a type that the format cannot hold.

    Notes
    -----
    In CSV, null is an empty cell, and a float has all its digits, so that reading returns the same number. A
    string or column name that begins like a formula, with ``=``, ``+``, ``-``, ``@``, a tab or a line break,
    gets a leading apostrophe, which spreadsheets read as "text". The same holds after a semicolon, tab or
    line break inside a string, where a spreadsheet may see a new cell, and if blanks or invisible characters
    precede the sign. Numbers are unchanged.
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
    """Return a table as CSV where no string can be read as a formula."""
    flat = _flat(table, "CSV")
    # The names are written as a row of data, since two names may become equal when they are guarded.
    names = pl.DataFrame({str(place): [name] for place, name in enumerate(flat.columns)})
    return "".join(_guarded(part).write_csv(include_header=False) for part in (names, flat))


def _guarded(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.String).str.replace_all(_FORMULA, "$1'$2").str.replace(_FIRST, "'$1"))


def _flat(table: pl.DataFrame, form: str) -> pl.DataFrame:
    """Return the table with categories and durations as strings; refuse types that do not fit in a cell."""
    table = table.with_columns(pl.col(pl.List(pl.String)).list.join("; ", ignore_nulls=True))
    _check_types(table, form)
    return table.with_columns(
        selectors.by_dtype(pl.Categorical, pl.Enum).cast(pl.String), selectors.duration().dt.to_string("iso")
    )


def _check_types(table: pl.DataFrame, form: str) -> None:
    for name, dtype in table.schema.items():
        if form == "Parquet" and dtype in (pl.Int128, pl.UInt128):
            where, wanted = f"the table to write as {form}", "of a type that Parquet has"
            raise SchemaError.wrong_type(name, where, str(dtype), wanted, "cast it to Int64 or String")
        flat = form == "Parquet" or not (dtype.is_nested() or dtype == pl.Binary)
        if dtype == pl.Object or not flat:
            where, wanted = f"the table to write as {form}", "a text, number, date or Boolean"
            raise SchemaError.wrong_type(name, where, str(dtype), wanted, "drop the column")
