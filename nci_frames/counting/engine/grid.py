"""Counting on a grid of thresholds: rows -> cell codes -> counts, batch by batch in bounded memory.

A cell is a group, a bin between two thresholds, and a class. Polars reads the rows and hashes their keys;
NumPy turns each batch into cell codes and counts them. The memory is that of the cells, not of the rows.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batches import BATCH_ROWS, read_batches
from nci_frames.counting.engine.cells import DENSE_CELLS, CellCounts, Counts
from nci_frames.counting.engine.digitising import Digitiser
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan

__all__ = ["count_cells", "count_grid", "holds_one_score", "table_of_cells"]


def count_grid(
    scan: Scan,
    groups: GroupNumbers,
    grid: NDArray[np.float64],
    *,
    progress: bool = False,
    batch_rows: int = BATCH_ROWS,
    dense_cells: int = DENSE_CELLS,
    budget: Budget | None = None,
) -> tuple[pl.DataFrame, dict[int, int]]:
    """Count every group at every threshold.

    Parameters
    ----------
    scan
        What to count.
    groups
        Numbers of the groups; it learns them here.
    grid
        Thresholds, strictly ascending.
    progress
        Whether to show progress.
    batch_rows
        Rows at a time; it affects only speed.
    dense_cells
        Up to this many cells are one array, more are stored sparsely; it affects only speed and memory.
    budget
        How much memory the counts may take.

    Returns
    -------
    The keys, threshold, tp, fp, fn, tn, sorted; and the rows by the code of their validity.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    """
    cells, rows_by_code = count_cells(
        scan, groups, grid, progress=progress, batch_rows=batch_rows, dense_cells=dense_cells, budget=budget
    )
    return table_of_cells(groups, grid, cells), rows_by_code


def count_cells(
    scan: Scan,
    groups: GroupNumbers,
    grid: NDArray[np.float64],
    *,
    progress: bool = False,
    batch_rows: int = BATCH_ROWS,
    dense_cells: int = DENSE_CELLS,
    budget: Budget | None = None,
) -> tuple[Counts, dict[int, int]]:
    """Return the cells (group, bin, class) as an array, and the rows by code; as ``count_grid`` does."""
    budget = budget or Budget.of(None)
    known = 0
    schema = scan.raw.collect_schema()
    dtype: type[np.floating] = np.float32 if schema["score"] == pl.Float32 else np.float64
    digitise = Digitiser(grid, dtype)
    cells = CellCounts(weighted="weight" in schema, dense_cells=dense_cells)
    rows_by_code: dict[int, int] = {}
    for batch in read_batches(scan, groups, rows_by_code, progress=progress, batch_rows=batch_rows):
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


def holds_one_score(grid: NDArray[np.float64], dtype: type[np.floating]) -> NDArray[np.bool_]:
    """Return for each threshold whether no other score lies from it to before the next."""
    edges = grid.astype(dtype)
    return np.append(edges[1:] <= np.nextafter(edges[:-1], dtype(np.inf)), np.isinf(edges[-1:]))


def table_of_cells(groups: GroupNumbers, grid: NDArray[np.float64], in_bins: Counts) -> pl.DataFrame:
    """Accumulate the cells (group, bin, class) from the highest bin down, and lay them out by group.

    The cells are used up.
    """
    order = groups.order()
    # In place, and a column at a time: the table is larger than all the cells.
    np.cumsum(in_bins[:, ::-1], axis=1, out=in_bins[:, ::-1])
    table = groups.repeated(order, len(grid)).with_columns(threshold=pl.Series(np.tile(grid, len(groups))))
    for label, positive, negative in ((1, "tp", "fn"), (0, "fp", "tn")):
        # The first bin is below every threshold: its rows are never positive, but they are rows.
        reached = in_bins[order, 1:, label]
        table = table.with_columns(pl.Series(positive, reached.ravel()))
        below = np.subtract(in_bins[order, :1, label], reached)
        table = table.with_columns(pl.Series(negative, below.ravel()))
    return table.select(*groups.keys, "threshold", "tp", "fp", "fn", "tn")
