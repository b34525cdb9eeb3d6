"""Rules for keys: the name must be free in all tables, and the values distinguishable."""

from collections.abc import Iterable
from typing import Literal, get_args

import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.base.messages import a_frame
from nci_frames.base.typing import Names

#: The counts of decisions in every row of counts and rates.
CELLS = ("tp", "fp", "fn", "tn")
#: All rows of each class, from the counts of a row.
POSITIVES, NEGATIVES = pl.col("tp") + pl.col("fn"), pl.col("fp") + pl.col("tn")
#: Groups of frames that share keys: two classes, any number of classes, and plans, which have no keys.
Family = Literal["binary", "classes", "plans"]

#: Names that keys cannot have, because a frame of the family uses them. Each schema adds its columns.
RESERVED: dict[Family, set[str]] = {family: set() for family in get_args(Family)}

#: Problem of a name by which ``polars.col`` selects other columns.
PATTERN = "has a name that Polars takes for a pattern of names"


def name_problem(name: str, family: Family = "binary") -> str | None:
    """Return why a name is not allowed for a key; None if it is allowed.

    >>> name_problem("country")
    >>> name_problem("^day$")
    'has a name that Polars takes for a pattern of names'
    """
    if not name:
        return "is a column without a name"
    if name in RESERVED[family] or name.startswith("__"):
        return "has a name that the tables need for themselves"
    return PATTERN if is_pattern(name) else None


def is_pattern(name: str) -> bool:
    """Return whether ``polars.col`` reads the name of a column as a pattern.

    >>> [is_pattern(name) for name in ("*", "^day$", "day*")]
    [True, True, False]
    """
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def check_keys(frame: pl.DataFrame, keys: Iterable[str], kind: str, family: Family = "binary") -> None:
    """Raise SchemaError unless the columns *keys* of a frame can be keys; *kind* is for messages.

    >>> check_keys(pl.DataFrame({"country": ["at"]}), ["country"], "counts")
    """
    for key in keys:
        problem = name_problem(key, family)
        if problem is not None:
            raise _wrong_key(key, kind, problem)
        dtype = frame.schema[key]
        if dtype.is_nested() or dtype == pl.Object:
            wanted = "a String, number, Boolean or date (a key)"
            raise SchemaError.wrong_type(key, a_frame(kind), str(dtype), wanted)
        if dtype.is_float() and frame[key].is_nan().any():
            wanted, hint = "a number or null (a key)", "replace NaN: polars.col(...).fill_nan(None)"
            raise SchemaError.wrong_type(key, a_frame(kind), "NaN", wanted, hint)


def check_patterns(columns: Iterable[str], kind: str) -> None:
    """Raise SchemaError if ``polars.col`` reads the name of a column as a pattern."""
    for column in filter(is_pattern, columns):
        raise _wrong_key(column, kind, PATTERN)


def _wrong_key(column: str, kind: str, problem: str) -> SchemaError:
    """Return the error for a column whose name no key can have."""
    hint = f"drop it, or rename it: frame.rename({{{column!r}: ...}})"
    return SchemaError(f"the key {column!r} {problem}", where=a_frame(kind), hint=hint)


def check_times(frame: pl.DataFrame, keys: Iterable[str], kind: str) -> None:
    """Raise SchemaError if different times among the keys are equal in Python.

    Python ignores nanoseconds, and does not separate the two equal hours when clocks are put back.

    >>> check_times(pl.DataFrame({"day": [1]}), ["day"], "counts")
    """
    for key in keys:
        if not isinstance(frame.schema[key], pl.Datetime | pl.Duration | pl.Time):
            continue
        values = frame[key].unique()
        if len(set(values.to_list())) < len(values):
            wanted = "times that differ by microseconds or more, and not by the clock being put back"
            hint = f"convert it to UTC with dt.convert_time_zone, or to text: polars.col({key!r}).cast(str)"
            raise SchemaError.wrong_type(key, a_frame(kind), str(frame.schema[key]), wanted, hint)


def key_text(key: str, dtype: pl.DataType) -> pl.Expr:
    r"""Return an expression for the values of a key, of type *dtype*, as text.

    >>> hosts = pl.DataFrame({"host": [b"web", None], "id": [b"\xff", b"\x01"]})
    >>> hosts.select(key_text(name, dtype) for name, dtype in hosts.schema.items()).rows()
    [('web', '0xff'), (None, '0x01')]
    >>> hours = pl.Series("hour", ["2026-03-01 08:00:00", "2026-03-01 08:00:00.05"]).str.to_datetime()
    >>> hours.to_frame().select(key_text("hour", hours.dtype)).to_series().to_list()
    ['2026-03-01 08:00:00', '2026-03-01 08:00:00.050000']
    """
    column = pl.col(key)
    if dtype == pl.Duration:
        return column.dt.to_string("iso")
    if dtype == pl.Binary:
        return column.map_batches(_of_bytes, return_dtype=pl.String)
    text = column.cast(pl.String)
    # Whole seconds have no fraction.
    return text.str.replace(r"\.0+($|[+-])", "$1") if dtype == pl.Datetime else text


def with_key_texts(frame: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
    """Return a frame for readers, with the values of *keys* as text: the year 2026 is not the number 2,026.

    >>> with_key_texts(pl.DataFrame({"year": [2026, None], "rows": [2026, 1]}), ["year", "country"]).rows()
    [('2026', 2026), ('missing', 1)]
    """
    there = [key for key in keys if key in frame.columns]
    texts = {key: key_text(key, frame.schema[key]).fill_null(missing_name(frame[key])) for key in there}
    return frame.with_columns(**texts)


def _of_bytes(column: pl.Series) -> pl.Series:
    """Return bytes as text, or as hexadecimal if they are no UTF-8: some Parquet writers do not mark text."""
    try:
        return column.cast(pl.String)
    except pl.exceptions.ComputeError:
        return "0x" + column.bin.encode("hex")


def missing_name(values: pl.Series) -> str:
    """Return a name for null that differs from the text of every value of a key.

    >>> [missing_name(pl.Series("country", [name, None])) for name in ("at", "missing")]
    ['missing', 'missing (null)']
    """
    texts = set(values.to_frame().select(key_text(values.name, values.dtype)).to_series())
    name = "missing"
    while name in texts:
        name += " (null)"
    return name


def beside(frame: pl.DataFrame, other: pl.DataFrame, on: Names, *, suffix: str = "_right") -> pl.DataFrame:
    """Left-join *other* to a frame, in the order of the frame; null keys match null keys."""
    return frame.join(other, on=on, how="left", nulls_equal=True, maintain_order="left", suffix=suffix)
