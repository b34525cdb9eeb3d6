"""Counting on a grid of thresholds: rows -> cell codes -> counts, batch by batch in bounded memory.

A cell is a group, a class, and a bin between two thresholds. Polars reads the rows and hashes their keys;
the kernels convert each batch to cell codes and count these. Memory is needed for cells, not for rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.kernels.rows import Bins, CellCounts
from nci_frames.counting.logs.reading import Scan

#: Int64 for numbers of rows, Float64 for sums of weights.
Counts = NDArray[np.int64] | NDArray[np.float64]
#: The cell codes of some rows, and their weights, if these are summed.
Codes = tuple[NDArray[np.int64], NDArray[np.float64] | None]


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one pass, on a grid or at all scores, by any engine."""

    #: Sorted: keys, threshold, tp, fp, fn, tn.
    counts: pl.DataFrame
    #: Number of rows by code of validity.
    rows_by_code: dict[int, int]
    #: The keys of each group.
    groups: pl.DataFrame
    #: The counts at the additional thresholds; None if there are none.
    also: pl.DataFrame | None = None


def count_cells(
    scan: Scan, groups: GroupNumbers, grid: Floats, *, budget: Budget, progress: bool = False
) -> tuple[Counts, dict[int, int]]:
    """Return the cells (group, class, bin) as an array, and the rows by code of validity.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan does not drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    """
    bins = Bins(grid, scan.score_type)
    rows_by_code: dict[int, int] = {}

    def codes() -> Iterator[Codes]:
        for batch in read_batches(scan, groups, rows_by_code, progress=progress):
            yield bins.codes(batch.numbers, batch.labels, batch.scores), batch.weights

    counted = count_codes(codes(), groups, 2, len(bins), weighted=scan.weighted, budget=budget)
    return counted, rows_by_code


def count_codes(
    codes: Iterable[Codes], groups: GroupNumbers, classes: int, bins: int, *, weighted: bool, budget: Budget
) -> Counts:
    """Return the cells (group, class, bin) as an array, from batches of their codes.

    The cells of a class are contiguous: if one class is rare, the cells of the other stay in the cache.

    Raises
    ------
    ParameterError
        If the counts take more memory than the budget has.
    """
    known = 0
    cells = CellCounts(weighted=weighted)
    for found, weights in codes:
        if len(groups) > known:
            known = len(groups)
            budget.need_cells(groups, bins)
            cells.grow(known * classes * bins)
        cells.add(found, weights)
    return cells.take().reshape(len(groups), classes, bins)


def holds_one_score(grid: Floats, dtype: type[np.floating]) -> NDArray[np.bool_]:
    """Return for each threshold whether no other score can lie between it and the next."""
    edges = grid.astype(dtype)
    return np.append(edges[1:] <= successors(edges[:-1], dtype), np.isinf(edges[-1:]))


def successors(values: NDArray[np.floating], dtype: type[np.floating]) -> NDArray[np.floating]:
    """Return the next float of *dtype* after each value; infinity after the largest."""
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(dtype), dtype(np.inf))


def joined(grid: Floats, also: Floats | None) -> Floats:
    """Return the thresholds of both grids, ascending."""
    return grid if also is None else np.union1d(grid, also)


@dataclass(frozen=True, slots=True)
class Reached:
    """The rows of each group that reach each threshold of a grid, in a fraction of the memory of counts."""

    groups: GroupNumbers
    grid: Floats
    #: Group, class, and all rows followed by those at each threshold.
    cells: Counts
    rows_by_code: dict[int, int]

    @classmethod
    def of(cls, groups: GroupNumbers, grid: Floats, cells: Counts, rows_by_code: dict[int, int]) -> "Reached":
        """Add up the cells (group, class, bin) of a grid; they are overwritten."""
        # In place, from the highest bin down: the cells may take most of the memory.
        np.cumsum(cells[..., ::-1], axis=2, out=cells[..., ::-1])
        return cls(groups, grid, cells, rows_by_code)

    def at(self, thresholds: Floats, also: Floats | None = None) -> Counted:
        """Return the counts at some thresholds of the grid, and apart from them at others."""
        apart = None if also is None else self._table(also)
        return Counted(self._table(thresholds), self.rows_by_code, self.groups.frame(), also=apart)

    def _table(self, thresholds: Floats) -> pl.DataFrame:
        """Return sorted keys, threshold, tp, fp, fn, tn."""
        order, places = self.groups.order(), np.searchsorted(self.grid, thresholds) + 1
        # Column by column, since the table is larger than all cells.
        table = self.groups.repeated(order, len(thresholds)).with_columns(
            threshold=pl.Series(np.tile(thresholds, len(order)))
        )
        for label, positive, negative in ((1, "tp", "fn"), (0, "fp", "tn")):
            above = self.cells[order[:, None], label, places]
            table = table.with_columns(pl.Series(positive, above.ravel()))
            below = np.subtract(self.cells[order, label, :1], above)
            table = table.with_columns(pl.Series(negative, below.ravel()))
        return table.select(*self.groups.keys, "threshold", "tp", "fp", "fn", "tn")
