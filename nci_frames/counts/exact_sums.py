"""Exact counts -> the exact counts of all of their rows: a row for each score that any of them has."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counts.sums import check_sums
from nci_frames.schemas.runs import group_starts, runs_together

Cells = NDArray[np.int64] | Floats
Places = NDArray[np.int64]

#: About so many rows are added at a time.
_ROWS_AT_A_TIME = 1 << 18


def add_exact(frame: pl.DataFrame, first: Places, keys: list[str], members: list[str]) -> pl.DataFrame:
    """Sum exact counts over *members*: take them apart into rows at each score, and accumulate these again.

    Parameters
    ----------
    frame
        Exact counts, sorted by *keys*, *members* and threshold.
    first
        The first row of each member.
    keys
        The columns that make a group of the result.
    members
        The columns that are summed away.

    Raises
    ------
    SchemaError
        If a sum is more than a count can hold.
    """
    heads = frame[first].select(*keys, *members, "tp", "fp")
    # All rows of a member reach its lowest score.
    check_sums(heads, ["tp", "fp"], keys)
    begins = group_starts(heads, keys)
    members_of, rows_of = np.append(begins, len(first)), np.append(first, len(frame))
    added = []
    # What is computed on the way takes as much memory as the counts: whole groups, some at a time.
    for part in runs_together(first[begins], _ROWS_AT_A_TIME):
        mine = slice(members_of[part.start], members_of[part.stop])
        start, stop = rows_of[mine.start], rows_of[mine.stop]
        rows = frame.slice(start, stop - start)
        group, columns = _added(rows, first[mine] - start, begins[part] - mine.start)
        added.append(heads[begins[part]].select(keys)[group].with_columns(**columns))
    return pl.concat(added).with_columns(resolution=pl.lit("exact"))


def _added(frame: pl.DataFrame, first: Places, begins: Places) -> tuple[Places, dict[str, Cells]]:
    """Return the sums of some groups at each of their distinct scores, and the number of the group of each.

    The members begin at each of *first*, those of a group at each of *begins*.
    """
    rows = np.diff(first[begins], append=len(frame))
    group = np.repeat(np.arange(len(begins)), rows)
    threshold = frame["threshold"].to_numpy()
    # Members are added in their order, so that sums of weights are the same to the bit in every run.
    order = np.argsort(threshold, kind="stable")
    if len(begins) > 1:
        order = order[np.argsort(group[order], kind="stable")]
    threshold = threshold[order]
    new = np.append(True, threshold[1:] != threshold[:-1])
    new[np.cumsum(rows)[:-1]] = True
    steps = np.flatnonzero(new)
    group = group[steps]
    lowest = np.flatnonzero(np.diff(group, prepend=-1))
    columns: dict[str, Cells] = {"threshold": threshold[steps]}
    for hit, missed in (("tp", "fn"), ("fp", "tn")):
        at_score = np.add.reduceat(_increments(frame[hit].to_numpy(), first)[order], steps)
        columns[hit] = _reaching(at_score, lowest)
        columns[missed] = columns[hit][lowest][group] - columns[hit]
    return group, columns


def _increments(reached: Cells, first: Places) -> Cells:
    """Return the rows at each threshold, from those that reach it."""
    highest = np.append(first[1:], len(reached)) - 1
    # The next row of a member has its next higher score.
    rows: Cells = reached - np.append(reached[1:], 0)
    rows[highest] = reached[highest]
    return rows


def _reaching(rows: Cells, first: Places) -> Cells:
    """Return the sums of rows from each to the last of its group; *first* are the first rows of groups."""
    if np.issubdtype(rows.dtype, np.integer):
        before = np.cumsum(rows) - rows
        sizes = np.diff(first, append=len(rows))
        through = np.append(before[first[1:]], before[-1] + rows[-1])
        return np.asarray(np.repeat(through, sizes) - before)
    # The difference of two sums of weights would be rounded.
    return np.concatenate([part[::-1].cumsum()[::-1] for part in np.split(rows, first[1:])])
