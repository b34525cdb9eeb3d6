"""Runs of consecutive rows with the same keys, which are the groups of a sorted frame."""

import itertools

import numpy as np
import polars as pl

from nci_frames.base.typing import Rows


def group_starts(frame: pl.DataFrame, keys: list[str]) -> Rows:
    """Return the first row of every run of rows with the same keys; null equals null."""
    starts = np.zeros(len(frame), np.bool_)
    starts[:1] = True
    for key in keys:
        starts[1:] |= frame[key][1:].ne_missing(frame[key][:-1]).to_numpy()
    return np.flatnonzero(starts).astype(np.int64)


def is_sorted(frame: pl.DataFrame, keys: list[str], first: Rows) -> bool:
    """Return whether every group is one run of rows with ascending thresholds."""
    threshold = frame["threshold"].to_numpy()
    # Nulls of points that were not attained are NaN, for which the comparison is false.
    ascending = threshold[1:] > threshold[:-1]
    ascending[first[1:] - 1] = True
    return bool(ascending.all()) and is_distinct(frame, keys, first)


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
