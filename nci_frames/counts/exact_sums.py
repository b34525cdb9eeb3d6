"""Sums of exact counts: the result has a row for each distinct score of any summand."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats, Rows
from nci_frames.counts.sums import check_sums
from nci_frames.schemas import group_starts, runs_together

#: Approximate number of rows added at a time.
_ROWS_AT_A_TIME = 1 << 18


def add_exact(frame: pl.DataFrame, first: Rows, keys: list[str], members: list[str]) -> pl.DataFrame:
    """Sum exact counts over *members*: split them into increments per score, merge and accumulate these.

    Parameters
    ----------
    frame
        Exact counts, sorted by *keys*, *members* and threshold.
    first
        First row of each member.
    keys
        Columns that define a group of the result.
    members
        Columns to sum over.

    Raises
    ------
    SchemaError
        If a sum exceeds the range of a count.
    """
    heads = frame[first].select(*keys, *members, "tp", "fp")
    # All rows of a member reach its lowest score.
    check_sums(heads, ["tp", "fp"], keys)
    begins = group_starts(heads, keys)
    members_of, rows_of = np.append(begins, len(first)), np.append(first, len(frame))
    added = []
    # Intermediate results take as much memory as the counts, so a few whole groups are added at a time.
    for part in runs_together(first[begins], _ROWS_AT_A_TIME):
        mine = slice(members_of[part.start], members_of[part.stop])
        start, stop = rows_of[mine.start], rows_of[mine.stop]
        rows = frame.slice(start, stop - start)
        group, columns = _added(rows, first[mine] - start, begins[part] - mine.start)
        added.append(heads[begins[part]].select(keys)[group].with_columns(**columns))
    return pl.concat(added).with_columns(resolution=pl.lit("exact"))


def _added(frame: pl.DataFrame, first: Rows, begins: Rows) -> tuple[Rows, dict[str, NDArray[Any]]]:
    """Return the group number of each distinct score of some groups, and the sums there.

    *first* are the first rows of members, *begins* the first members of groups.
    """
    together = merged(frame["threshold"].to_numpy(), first, begins)
    columns: dict[str, NDArray[Any]] = {"threshold": together.threshold}
    for hit, missed in (("tp", "fn"), ("fp", "tn")):
        columns[hit] = together.sums(frame[hit].to_numpy())
        columns[missed] = columns[hit][together.lowest][together.group] - columns[hit]
    return together.group, columns


class Merged(NamedTuple):
    """The distinct thresholds of all members of each group."""

    threshold: Floats
    #: Group number of each threshold, and first threshold of each group.
    group: Rows
    lowest: Rows
    #: First row of each member; order of the rows by group and threshold; first of these at each threshold.
    first: Rows
    order: Rows
    steps: Rows

    def sums(self, reached: NDArray[Any]) -> NDArray[Any]:
        """Return, at each threshold of each group, the sum over the members of what reaches it.

        *reached* is cumulative: for each row of the members, the sum over the scores >= its threshold.
        """
        here = np.add.reduceat(rows_of_thresholds(reached, self.first)[self.order], self.steps)
        if np.issubdtype(here.dtype, np.integer):
            before = np.cumsum(here) - here
            through = np.append(before[self.lowest[1:]], here.sum())
            return np.asarray(through[self.group] - before)
        # The difference of two sums of weights would be rounded.
        parts = np.split(here, self.lowest[1:])
        return np.concatenate([part[::-1].cumsum()[::-1] for part in parts])


def rows_of_thresholds(reached: NDArray[Any], first: Rows) -> NDArray[Any]:
    """Return the increments of members that begin at *first*: the rows that reach no higher threshold.

    *reached* is how many rows reach each threshold; the thresholds of a member ascend.
    """
    above = np.zeros_like(reached)
    above[:-1] = reached[1:]
    above[first[1:] - 1] = 0
    return np.asarray(reached - above)


def merged(threshold: Floats, first: Rows, begins: Rows) -> Merged:
    """Merge the thresholds of the members of each group; for *first* and *begins* see ``_added``."""
    group_of = np.repeat(np.arange(len(begins)), np.diff(first[begins], append=len(threshold)))
    # Members are added in their order, so that sums of weights are bit for bit the same in every run.
    order = np.lexsort((threshold, group_of))
    at, of = threshold[order], group_of[order]
    new = np.ones(len(at), np.bool_)
    new[1:] = (at[1:] != at[:-1]) | (of[1:] != of[:-1])
    steps = np.flatnonzero(new)
    group = of[steps]
    return Merged(at[steps], group, np.flatnonzero(np.diff(group, prepend=-1)), first, order, steps)
