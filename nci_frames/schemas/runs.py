"""Runs of rows with the same keys: where each group of a sorted frame begins."""

import itertools

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.schemas.views import string_views

__all__ = [
    "group_starts",
    "in_runs",
    "is_distinct",
    "is_sorted",
    "rows_of_runs",
    "rows_where",
    "runs_together",
    "values_of",
]

#: Rows that are compared by value at a time, since comparing copies strings.
_AT_A_TIME = 1 << 20

#: If more than one row of so many may differ from the row before, all rows are compared by value.
_RARE = 16

#: Up to so many rows, comparing values takes less time than looking at bits.
_FEW_ROWS = 1 << 13

#: Up to so many rows, a set of Python takes less time than a table of Polars.
_FEW_GROUPS = 1 << 8
_PLAIN = (pl.String, pl.Boolean, pl.Date)


def group_starts(frame: pl.DataFrame, keys: list[str]) -> NDArray[np.int64]:
    """Return the first row of every run of rows with the same keys."""
    starts = np.zeros(len(frame), np.bool_)
    starts[:1] = True
    for key in keys:
        starts[1:] |= _changes(frame[key])
    return np.flatnonzero(starts).astype(np.int64)


def values_of(column: pl.Series) -> pl.Series:
    """Return the different values of a column, sorted: in less time where equal ones follow each other."""
    heads = np.append(0, np.flatnonzero(_changes(column)) + 1)[: len(column)]
    return column[heads].unique().sort()


def _changes(column: pl.Series) -> NDArray[np.bool_]:
    """Return of each row but the first whether its value differs from that of the row before.

    Values with the same bits are equal, so only the others are compared by value: strings may be equal with
    other bits, as may numbers such as 0.0 and -0.0.
    """
    if len(column) <= _FEW_ROWS:
        return _differ(column[1:], column[:-1])
    changes = _other_bits(column)
    rows = None if changes is None else np.flatnonzero(changes) + 1
    if changes is not None and rows is not None and len(rows) * _RARE <= len(column):
        changes[rows - 1] = _differ(column[rows], column[rows - 1])
        return changes
    parts = []
    for begin in range(1, len(column), _AT_A_TIME):
        end = min(begin + _AT_A_TIME, len(column))
        parts.append(_differ(column[begin:end], column[begin - 1 : end - 1]))
    return np.concatenate(parts) if parts else np.empty(0, np.bool_)


def _differ(one: pl.Series, other: pl.Series) -> NDArray[np.bool_]:
    """Return which values of two columns differ; null is a value of its own."""
    if one.null_count() or other.null_count() or (one.dtype not in _PLAIN and not one.dtype.is_integer()):
        # A query, for which a thread of Polars must be free.
        return one.ne_missing(other).to_numpy()
    return (one != other).to_numpy()


def _other_bits(column: pl.Series) -> NDArray[np.bool_] | None:
    """Return of each row but the first whether its bits differ from those of the row before.

    The first row of a chunk counts as other than the row before. None if bits cannot be compared.
    """
    if column.is_empty() or column.null_count():
        return None
    if column.dtype != pl.String and (not column.dtype.is_integer() or column.dtype == pl.Int128):
        return None
    changes = np.ones(len(column) - 1, np.bool_)
    begin = 0
    # To make one chunk of several would copy the column, which takes more memory than all else here.
    for chunk in column.get_chunks():
        inside = changes[begin : max(begin + len(chunk) - 1, begin)]
        if column.dtype == pl.String:
            bits = string_views(chunk)[0].view(np.int64)
            # Two flags are one number of two bytes.
            np.not_equal((bits[2:] != bits[:-2]).view(np.uint16), 0, out=inside)
        else:
            values = chunk.to_numpy()
            np.not_equal(values[1:], values[:-1], out=inside)
        begin += len(chunk)
    return changes


def is_sorted(frame: pl.DataFrame, keys: list[str], first: NDArray[np.int64]) -> bool:
    """Return whether every group is one run of rows with ascending thresholds, as counting leaves them."""
    thresholds = frame["threshold"]
    begins = np.zeros(len(frame), np.bool_)
    begins[first] = True
    for begin in range(0, len(frame), _AT_A_TIME):
        values = thresholds[begin : begin + _AT_A_TIME + 1].to_numpy()
        ascending = values[1:] > values[:-1]
        ascending |= begins[begin + 1 : begin + len(values)]
        if not ascending.all():
            return False
    return is_distinct(frame, keys, first)


def in_runs(frame: pl.DataFrame, member: list[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return a frame sorted by *member* and threshold, and the first row of each member."""
    first = group_starts(frame, member)
    heads = frame[first].select(member)
    if not is_sorted(frame, member, first) or not heads.equals(heads.sort(member)):
        frame = frame.sort(*member, "threshold", maintain_order=True)
        first = group_starts(frame, member)
    return frame, first


def is_distinct(frame: pl.DataFrame, keys: list[str], first: NDArray[np.int64]) -> bool:
    """Return whether no two of these rows have the same keys."""
    if len(first) == 1:
        return True
    # Python takes other numbers and objects for equal than Polars does.
    plain = all(frame.schema[key].is_integer() or frame.schema[key] in _PLAIN for key in keys)
    if plain and len(first) <= _FEW_GROUPS:
        return len(set(zip(*(frame[key][first].to_list() for key in keys), strict=True))) == len(first)
    return bool(frame.select(keys)[first].is_unique().all())


def rows_where(frame: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """Return the rows that meet a condition; if they follow each other, without a copy."""
    rows = frame.select(pl.arg_where(condition)).to_series()
    if len(rows) == len(frame):
        return frame
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return frame.slice(int(rows[0]), len(rows))
    return frame[rows]


def runs_together(first: NDArray[np.int64], rows: int) -> list[slice]:
    """Return which runs, each of them whole, have about so many rows together; *first* are their first rows.

    >>> runs_together(np.array([0, 4, 8, 30, 33]), 10)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    begins = np.flatnonzero(np.diff(first // rows, prepend=-1)).tolist()
    return [slice(begin, end) for begin, end in itertools.pairwise([*begins, len(first)])]


def rows_of_runs(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of runs of some sizes, each from its first row on."""
    rows: NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return rows
