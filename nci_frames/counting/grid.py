"""Counting on a grid of thresholds: rows -> cell codes -> counts, batch by batch in bounded memory.

A cell is a group, a bin between two thresholds, and a class. Polars reads the rows and hashes their keys;
NumPy turns each batch into cell codes and counts them. The memory is that of the cells, not of the rows.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.cells import DENSE_CELLS, CellCounts, Counts
from nci_frames.counting.digitising import Digitiser
from nci_frames.counting.groups import GroupNumbers, HashCollisionError
from nci_frames.counting.progress import rows_shown
from nci_frames.counting.rows import REASON
from nci_frames.counting.scan import Scan

__all__ = ["count_grid"]

#: Rows at a time: the arrays of a batch stay in the cache of a core.
_BATCH = 100_000


def count_grid(
    scan: Scan,
    group: list[str],
    grid: NDArray[np.float64],
    *,
    progress: bool = False,
    batch_rows: int = _BATCH,
    dense_cells: int = DENSE_CELLS,
) -> tuple[pl.DataFrame, dict[int, int]]:
    """Count every group at every threshold.

    Parameters
    ----------
    scan
        What to count.
    group
        The columns that make a group.
    grid
        Thresholds, strictly ascending.
    progress
        Whether to show how far it is.
    batch_rows
        Rows at a time; it changes the speed alone.
    dense_cells
        Up to so many cells are one array, more are kept sparsely; it changes speed and memory alone.

    Returns
    -------
    The columns of *group*, threshold, tp, fp, fn, tn, sorted; and the rows by the code of their validity.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows: at the first batch that has one.
    """
    schema = scan.raw.collect_schema()
    for seed in range(8):
        groups = GroupNumbers({key: schema[key] for key in group}, seed=seed)
        try:
            codes, values, rows_by_code = _count_cells(
                scan, groups, grid, progress=progress, batch_rows=batch_rows, dense_cells=dense_cells
            )
        except HashCollisionError:
            continue
        return _table(groups, grid, codes, values), rows_by_code
    raise HashCollisionError


def _count_cells(
    scan: Scan,
    groups: GroupNumbers,
    grid: NDArray[np.float64],
    *,
    progress: bool,
    batch_rows: int,
    dense_cells: int,
) -> tuple[NDArray[np.int64], Counts, dict[int, int]]:
    schema = scan.raw.collect_schema()
    weighted = "weight" in schema
    digitise = Digitiser(grid, np.float32 if schema["score"] == pl.Float32 else np.float64)
    cells = CellCounts(weighted=weighted, dense_cells=dense_cells)
    # 0 and 1 are the classes; from 2 on, why the row is not valid.
    kind = pl.when(pl.col(REASON) > 0).then(pl.col(REASON) + 1).otherwise(pl.col("label").cast(pl.UInt8))
    rows = scan.raw.select(
        *groups.keys,
        groups.hash.alias("__hash"),
        "score",
        kind.alias("__kind"),
        *(["weight"] if weighted else []),
    )
    rows_by_code: dict[int, int] = {}
    with rows_shown(scan.rows, len(scan.source.files), show=progress) as advance:
        # Sums of weights depend on the order of the rows; counts do not, and need not wait for it.
        for whole in rows.collect_batches(chunk_size=batch_rows, maintain_order=weighted):
            batch, read = whole, len(whole)
            if read and int(batch["__kind"].max()) > 1:  # type: ignore[arg-type]
                if scan.on_invalid == "raise":
                    scan.refuse()
                for bad, count in batch["__kind"].filter(batch["__kind"] > 1).value_counts().rows():
                    rows_by_code[bad - 1] = rows_by_code.get(bad - 1, 0) + count
                batch = batch.filter(pl.col("__kind") < 2)
            codes = groups.numbers(batch["__hash"].to_numpy(), batch)
            codes *= digitise.bins
            codes += digitise(batch["score"].to_numpy())
            codes *= 2
            codes += batch["__kind"].to_numpy()
            cells.add(codes, batch["weight"].to_numpy() if weighted else None)
            rows_by_code[0] = rows_by_code.get(0, 0) + len(batch)
            advance(read)
    return *cells.cells(), rows_by_code


def _table(
    groups: GroupNumbers,
    grid: NDArray[np.float64],
    codes: NDArray[np.int64],
    values: Counts,
) -> pl.DataFrame:
    """Accumulate the cells from the highest bin down, and lay them out group by group."""
    in_bins = np.zeros((len(groups), len(grid) + 1, 2), values.dtype)
    in_bins.reshape(-1)[codes] = values
    keys = groups.frame()
    order = keys.select(pl.arg_sort_by(groups.keys)).to_series().to_numpy()
    reached = in_bins[order, ::-1].cumsum(axis=1)[:, ::-1]
    # The first bin is below every threshold: its rows are never positive, but they are rows.
    false, true = reached[:, :, 0], reached[:, :, 1]
    return keys[np.repeat(order, len(grid))].with_columns(
        threshold=pl.Series(np.tile(grid, len(groups))),
        tp=pl.Series(true[:, 1:].ravel()),
        fp=pl.Series(false[:, 1:].ravel()),
        fn=pl.Series((true[:, :1] - true[:, 1:]).ravel()),
        tn=pl.Series((false[:, :1] - false[:, 1:]).ravel()),
    )
