"""Runs of consecutive rows with the same keys, which are the groups of a sorted frame."""

import itertools
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.threads import map_in_threads
from nci_frames.base.typing import Flags, Rows
from nci_frames.schemas.untouched import WITHOUT_ARROW, as_arrow


def group_starts(frame: pl.DataFrame, keys: list[str]) -> Rows:
    """Return the first row of every run of rows with the same keys; null equals null."""
    starts = [np.arange(min(len(frame), 1)), *(_rows_unlike_before(frame[key], _differ) for key in keys)]
    # A stable sort merges ascending runs.
    rows = np.sort(np.concatenate(starts), kind="stable")
    return rows[np.diff(rows, prepend=-1) > 0]


def is_sorted(frame: pl.DataFrame, keys: list[str], first: Rows) -> bool:
    """Return whether every group is one run of rows with ascending thresholds."""
    falls = _rows_unlike_before(frame["threshold"], _not_above)
    if len(falls) >= max(len(first), 1) or not np.isin(falls, first).all():
        return False
    return is_distinct(frame, keys, first)


def _rows_unlike_before(column: pl.Series, compare: Callable[[pl.Series, pl.Series], Flags]) -> Rows:
    """Return the rows, except the first, where *compare* holds with the previous row.

    *compare* must be false for equal texts and integers. Chunk by chunk, since Polars would copy a column of
    many chunks to compare it with itself shifted.
    """
    ends = np.cumsum(column.chunk_lengths())
    alike: dict[int, NDArray[np.integer]] = {}
    chunks = zip(column.get_chunks(), ends.tolist(), strict=True)
    unlike = [(chunk, end) for chunk, end in chunks if not _is_one_value(chunk, alike)]

    def found(chunk: pl.Series, end: int) -> Rows:
        return np.flatnonzero(compare(chunk[1:], chunk[:-1])) + (end - len(chunk) + 1)

    between = ends[(ends > 0) & (ends < len(column))]
    if len(between):
        between = between[compare(column[between], column[between - 1])]
    return np.concatenate([between, *map_in_threads(found, *zip(*unlike, strict=True))], dtype=np.int64)


def _differ(values: pl.Series, before: pl.Series) -> Flags:
    return values.ne_missing(before).to_numpy()


def _not_above(values: pl.Series, before: pl.Series) -> Flags:
    # Nulls of points that were not attained become NaN, for which the comparison is false.
    return np.asarray(~(values.to_numpy() > before.to_numpy()))


def _is_one_value(chunk: pl.Series, alike: dict[int, NDArray[np.integer]]) -> bool:
    """Return whether all values are certainly the same text or integer, in a fifth of the time of comparing.

    *alike* has the longest run of equal values at each address, for chunks that share memory.
    """
    if len(chunk) < 2 or chunk.null_count():
        return False
    if chunk.dtype == pl.String:
        # Strings with equal views (16 bytes each) are equal.
        held, width = as_arrow(chunk)[0], 2
        values = np.frombuffer(held.buffers()[1], np.int64)[2 * held.offset : 2 * (held.offset + len(held))]
    elif chunk.dtype.is_integer() and chunk.dtype not in WITHOUT_ARROW:
        values, width = chunk.to_numpy(), 1
    else:
        return False
    known = alike.setdefault(values.ctypes.data, values[:width])
    if not np.array_equal(values[len(known) :], values[len(known) - width : -width]):
        return False
    if len(values) > len(known):
        alike[values.ctypes.data] = values
    return True


def in_runs(frame: pl.DataFrame, member: list[str]) -> tuple[pl.DataFrame, Rows]:
    """Return a frame sorted by *member* and threshold, and the first row of each member."""
    first = group_starts(frame, member)
    heads = frame[first].select(member)
    if not is_sorted(frame, member, first) or not heads.equals(heads.sort(member)):
        frame = frame.sort(*member, "threshold", maintain_order=True)
        first = group_starts(frame, member)
    return frame, first


def is_distinct(frame: pl.DataFrame, keys: list[str], first: Rows) -> bool:
    """Return whether no two of the rows *first* have the same keys."""
    # Column by column, since a gather on the frame would rechunk every column first.
    return bool(pl.DataFrame([frame[key].gather(first) for key in keys]).is_unique().all())


def rows_where(frame: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """Return the rows that meet a condition; consecutive rows are not copied."""
    rows = frame.select(pl.arg_where(condition)).to_series()
    if len(rows) == len(frame):
        return frame
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return frame.slice(int(rows[0]), len(rows))
    return frame[rows]


def runs_together(first: Rows, rows: int) -> list[slice]:
    """Group whole runs into slices of about *rows* rows; *first* are the first rows of the runs.

    >>> runs_together(np.array([0, 4, 8, 30, 33]), 10)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    begins = np.flatnonzero(np.diff(first // rows, prepend=-1)).tolist()
    return [slice(begin, end) for begin, end in itertools.pairwise([*begins, len(first)])]


def rows_of_runs(starts: Rows, sizes: Rows) -> Rows:
    """Return the row numbers of runs, given their first rows and sizes."""
    return np.asarray(np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes))
