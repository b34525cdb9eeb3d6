"""Types of keys, and how a Delta table holds them without loss."""

from typing import Any

import polars as pl

from nci_frames.base.errors import SchemaError

#: Types that a Delta table keeps as they are; others are kept as whole numbers or texts.
_KEPT = (pl.String, pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Date)
_SIMPLE = (*_KEPT, pl.UInt8, pl.UInt16, pl.UInt32, pl.Time, pl.Null, pl.Float32, pl.Float64)


def stored_type(dtype: pl.DataType, key: str) -> pl.DataType:
    """Return the type by which a Delta table holds a key without loss.

    Raises
    ------
    SchemaError
        If there is none.
    """
    if isinstance(dtype, _KEPT):
        return dtype
    if dtype in (pl.UInt8, pl.UInt16, pl.UInt32) or dtype.is_temporal():
        return pl.Int64()
    if dtype == pl.Null:
        return pl.String()
    wanted = "a String, Boolean, date, time, or whole number of up to 63 bits"
    raise SchemaError.wrong_type(key, "the log", str(dtype), f"{wanted} to be kept in a ledger")


def to_stored(key: str, dtype: pl.DataType) -> pl.Expr:
    """Return a key in the type by which it is held; a cast back restores it."""
    column = pl.col(key)
    physical = column.to_physical() if dtype.is_temporal() and dtype != pl.Date else column
    return physical.cast(stored_type(dtype, key))


def dtype_of(text: str) -> pl.DataType:
    """Read the text of a type that a key or a score can have.

    >>> dtype_of(str(pl.Datetime("us", "UTC")))
    Datetime(time_unit='us', time_zone='UTC')
    """
    simple = {str(dtype()): dtype() for dtype in _SIMPLE}
    if text in simple:
        return simple[text]
    name, _, rest = text.removesuffix(")").partition("(")
    parts = [part.partition("=")[2].strip("'") for part in rest.split(", ")]
    unit: Any = parts[0]
    if name == "Duration":
        return pl.Duration(unit)
    return pl.Datetime(unit, None if parts[1] == "None" else parts[1])
