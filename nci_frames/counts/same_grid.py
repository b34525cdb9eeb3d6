"""Counts of groups that share one grid -> their sums, threshold by threshold, without grouping the rows.

Counting leaves each group as one run of rows, and on a grid all runs have the same thresholds. Then the
counts are a table with a row for each group and a column for each threshold, whose rows are added up.
"""

import itertools

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.schemas import COUNTS
from nci_frames.schemas.runs import group_starts, is_distinct

__all__ = ["sums_on_one_grid"]

_CELLS = ("tp", "fp", "fn", "tn")

#: About so many rows are added at a time.
_ROWS_AT_A_TIME = 1 << 18


def sums_on_one_grid(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame | None:
    """Return the sums over all groups that share some keys; None unless all groups have one grid.

    Parameters
    ----------
    frame
        Counts whose sums no count is too small for.
    keys
        The keys that are kept.

    Returns
    -------
    Counts without the other keys, sorted; None, too, for sums of weights, and if a count is null.
    """
    resolved = "resolution" in frame.columns
    words = frame.select(pl.col("resolution").unique().sort()).to_series().to_list() if resolved else []
    nulls = any(frame.select(pl.col(*_CELLS).null_count()).row(0))
    whole = all(frame.schema[cell] == pl.Int64 for cell in _CELLS)
    if frame.is_empty() or nulls or not whole or words not in ([], ["exact"], ["grid"], ["exact", "grid"]):
        return None
    group = ["model", *COUNTS.keys(frame.columns)]
    first = group_starts(frame, group)
    size = len(frame) // len(first)
    some = [*range(0, len(first), max(_ROWS_AT_A_TIME // size, 1)), len(first)]
    parts = [slice(*ends) for ends in itertools.pairwise(some)]
    grid = frame["threshold"][:size].to_numpy()
    if not (
        (np.diff(first, append=len(frame)) == size).all()
        and is_distinct(frame, group, first)
        and (grid[1:] > grid[:-1]).all()
        and all((_table(frame["threshold"], part, size) == grid).all() for part in parts)
    ):
        return None
    heads = frame[first].select(keys)
    groups = heads.unique().sort(keys)
    numbered = groups.with_row_index("__number")
    number = heads.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")["__number"]
    members = number.cast(pl.Int64).to_numpy()

    def added(column: pl.Series) -> NDArray[np.int64]:
        sums = np.zeros((len(groups), size), np.int64)
        for part in parts:
            rows, mine = _table(column, part, size), members[part]
            # Groups that follow each other are added at once.
            for begin, end in itertools.pairwise([*np.flatnonzero(np.diff(mine, prepend=-1)), len(mine)]):
                sums[mine[begin]] += rows[begin:end].sum(axis=0)
        return sums.ravel()

    places = np.repeat(np.arange(len(groups), dtype=np.uint32), size)
    cells = {cell: added(frame[cell]) for cell in _CELLS}
    sums = groups[places].with_columns(threshold=np.tile(grid, len(groups)), **cells)
    if not resolved:
        return sums
    if len(words) == 1:
        return sums.with_columns(resolution=pl.lit(words[0]))
    # A sum is exact where all counts are.
    coarse = added(frame.select(pl.col("resolution") == words[-1]).to_series()) > 0
    return sums.with_columns(resolution=pl.Series(np.where(coarse, words[-1], words[0]), dtype=pl.String))


def _table(column: pl.Series, runs: slice, size: int) -> NDArray[np.generic]:
    """Return the values of some runs of rows, a row for each run."""
    rows = column.slice(runs.start * size, (runs.stop - runs.start) * size)
    return rows.to_numpy().reshape(-1, size)
