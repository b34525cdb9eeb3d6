"""Counting on a grid of thresholds: rows -> cell codes -> counts, batch by batch in bounded memory.

A cell is a group, a bin between two thresholds, and a class. Polars reads the rows and hashes their keys;
NumPy turns each batch into cell codes and counts them. The memory is that of the cells, not of the rows.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.cells import CellCounts, Counts
from nci_frames.counting.engine.digitising import Digitiser
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one pass, on a grid or at all scores, wherever it ran."""

    #: The keys, threshold, tp, fp, fn, tn, sorted.
    counts: pl.DataFrame
    #: Rows by the code of their validity.
    rows_by_code: dict[int, int]
    #: The keys of each group.
    groups: pl.DataFrame
    #: The counts at the thresholds that were asked for apart; None if none were.
    also: pl.DataFrame | None = None


def count_cells(
    scan: Scan, groups: GroupNumbers, grid: Floats, *, budget: Budget, progress: bool = False
) -> tuple[Counts, dict[int, int]]:
    """Return the cells (group, bin, class) as an array, and the rows by the code of their validity.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    """
    known = 0
    digitise = Digitiser(grid, scan.score_type)
    cells = CellCounts(weighted=scan.weighted)
    rows_by_code: dict[int, int] = {}
    for batch in read_batches(scan, groups, rows_by_code, progress=progress):
        if len(groups) > known:
            known = len(groups)
            budget.need_cells(groups, digitise.bins)
        codes = batch.numbers
        codes *= digitise.bins
        codes += digitise(batch.scores)
        codes *= 2
        codes += batch.labels
        cells.add(codes, batch.weights)
    counted = cells.take(2 * digitise.bins * len(groups)).reshape(len(groups), digitise.bins, 2)
    return counted, rows_by_code


def holds_one_score(grid: Floats, dtype: type[np.floating]) -> NDArray[np.bool_]:
    """Return for each threshold whether no other score lies from it to before the next."""
    edges = grid.astype(dtype)
    return np.append(edges[1:] <= successors(edges[:-1], dtype), np.isinf(edges[-1:]))


def successors(values: NDArray[np.floating], dtype: type[np.floating]) -> NDArray[np.floating]:
    """Return the next number of a type after each value; after the largest it is infinity."""
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(dtype), dtype(np.inf))


def joined(grid: Floats, also: Floats | None) -> Floats:
    """Return the thresholds of both grids, ascending."""
    return grid if also is None else np.union1d(grid, also)


def counted_cells(
    groups: GroupNumbers, grid: Floats, also: Floats | None, in_bins: Counts, rows_by_code: dict[int, int]
) -> Counted:
    """Accumulate the cells (group, bin, class) of both grids together, and lay them out by group.

    The cells are used up.
    """
    # In place, and from the highest bin down: the cells may be most of the memory.
    np.cumsum(in_bins[:, ::-1], axis=1, out=in_bins[:, ::-1])
    thresholds, order = joined(grid, also), groups.order()

    def table(values: Floats) -> pl.DataFrame:
        # The first bin is below every threshold: its rows are never positive, but they are rows.
        return _table(groups, order, values, in_bins, np.searchsorted(thresholds, values) + 1)

    apart = None if also is None else table(also)
    return Counted(table(grid), rows_by_code, groups.frame(), also=apart)


def _table(
    groups: GroupNumbers,
    order: NDArray[np.int64],
    thresholds: Floats,
    reached: Counts,
    bins: NDArray[np.intp],
) -> pl.DataFrame:
    """Return the keys, threshold, tp, fp, fn, tn, sorted, given how many rows reach each bin."""
    # A column at a time: the table is larger than all the cells.
    table = groups.repeated(order, len(thresholds)).with_columns(
        threshold=pl.Series(np.tile(thresholds, len(groups)))
    )
    for label, positive, negative in ((1, "tp", "fn"), (0, "fp", "tn")):
        above = reached[order[:, None], bins, label]
        table = table.with_columns(pl.Series(positive, above.ravel()))
        below = np.subtract(reached[order, :1, label], above)
        table = table.with_columns(pl.Series(negative, below.ravel()))
    return table.select(*groups.keys, "threshold", "tp", "fp", "fn", "tn")
