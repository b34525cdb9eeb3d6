"""Rows -> 64-bit hashes that do not depend on machine, files or version."""

import numpy as np
import polars as pl

from nci_frames.counting.kernels.mixing import Hashes, mix_values, mixed

_START = np.uint64(0x9E3779B97F4A7C15)
#: Hash of null, distinct from the hashes of values.
_NULL = np.uint64(0xD1B54A32D192ED03)


def hash_rows(frame: pl.DataFrame) -> Hashes:
    """Return a hash of each row that does not depend on the order of the columns.

    Numbers are compared as in Polars, whatever their width; strings and categories byte by byte.
    """
    hashes = np.full(len(frame), _START)
    for name in sorted(frame.columns):
        column = frame[name]
        if column.null_count():
            values = np.full(len(frame), _NULL)
            values[column.is_not_null().to_numpy()] = _of_column(column.drop_nulls())
        else:
            values = _of_column(column)
        mix_values(hashes, values)
    return hashes


def is_quick(dtype: pl.DataType) -> bool:
    """Return whether hashing a column is as fast as reading it."""
    return (dtype.is_numeric() and not dtype.is_decimal()) or dtype.is_temporal() or dtype == pl.Boolean


def _of_column(column: pl.Series) -> Hashes:
    """Hash the values of a column without nulls."""
    dtype = column.dtype
    if dtype == pl.Boolean:
        column = column.cast(pl.UInt8)
    if dtype.is_temporal():
        column = column.to_physical()
    if column.dtype.is_integer() and column.dtype not in (pl.UInt64, pl.Int128, pl.UInt128):
        return column.cast(pl.Int64).to_numpy().view(np.uint64)
    if column.dtype == pl.UInt64:
        return column.to_numpy()
    if column.dtype.is_float():
        # -0.0 equals 0.0, and all NaN are equal.
        values = column.cast(pl.Float64).to_numpy() + 0.0
        values[np.isnan(values)] = np.nan
        return values.view(np.uint64)
    if dtype.is_nested():
        column = column.to_frame().select(pl.struct(pl.all()).struct.json_encode()).to_series()
    return _of_texts(column if column.dtype == pl.Binary else column.cast(pl.String))


def _of_texts(texts: pl.Series) -> Hashes:
    """Hash all strings in parallel, eight bytes at a time; the hash of a string is final at its end."""
    _, ends, data = texts.rechunk().to_arrow().buffers()
    bounds = np.frombuffer(ends, np.int64, len(texts) + 1)
    letters = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    # Overlapping words of eight bytes, one at every offset.
    padded = np.append(letters[: bounds[-1]], np.zeros(8, np.uint8))
    words = np.ndarray(len(padded) - 7, np.dtype("<u8"), padded, strides=(1,))
    left = np.diff(bounds)
    hashes, going, place = mixed(left.astype(np.uint64) + _START), np.arange(len(texts)), bounds[:-1]
    while True:
        inside = left > 0
        going, place, left = going[inside], place[inside], left[inside]
        if not len(going):
            return hashes
        used = np.minimum(left, 8).astype(np.uint64) * np.uint64(8)
        word = words[place] & (~np.uint64(0) >> (np.uint64(64) - used))
        hashes[going] = mixed(hashes[going] ^ word)
        place, left = place + 8, left - 8
