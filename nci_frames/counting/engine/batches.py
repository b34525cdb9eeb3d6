"""A scan -> batches of NumPy arrays: group numbers, scores and labels of the valid rows."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batch import SLICE_ROWS, Batch, endless_weights, one_row_group_ahead
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.progress import rows_shown
from nci_frames.counting.engine.wide import read_wide
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON
from nci_frames.schemas.columns import WEIGHT

#: Rows that are read at a time: as many as Polars gives without being asked, so that it copies none.
BATCH_ROWS = 1 << 18
#: Chunks with fewer rows on average are copied into one.
_FEW_ROWS = 1 << 12


def read_batches(
    scan: Scan,
    groups: GroupNumbers,
    rows_by_code: dict[int, int],
    *,
    progress: bool = False,
) -> Iterator[Batch]:
    """Yield the valid rows of a scan, and count all rows by the code of their validity.

    Parameters
    ----------
    scan
        What to read.
    groups
        Numbers the groups as they are met.
    rows_by_code
        The rows are counted here.
    progress
        Whether to show progress.

    Raises
    ------
    InvalidRowsError
        At the first batch with an invalid row, if the scan is not told to drop such rows; or if the weights
        add up to more than Float64 holds.
    TooManyWeightsError
        As soon as the key ``weight``, if it is kept, has more than 1,000 values.
    """
    wide = len(scan.models) > 1
    yield from (read_wide if wide else _read_long)(scan, groups, rows_by_code, progress=progress)


def _read_long(
    scan: Scan, groups: GroupNumbers, rows_by_code: dict[int, int], *, progress: bool
) -> Iterator[Batch]:
    columns = [pl.col("score"), pl.col("label").cast(pl.UInt8)]
    for numbers, (scores, labels), weights in read_columns(
        scan, groups, rows_by_code, columns, progress=progress
    ):
        yield Batch(numbers, scores, labels.view(np.bool_), weights)


def read_columns(
    scan: Scan,
    groups: GroupNumbers,
    rows_by_code: dict[int, int],
    columns: Sequence[pl.Expr],
    *,
    progress: bool,
) -> Iterator[tuple[NDArray[np.int64], list[NDArray[Any]], NDArray[np.float64] | None]]:
    """Yield of the valid rows the numbers of their groups, some columns, and the weights if they are summed.

    Otherwise as ``read_batches``.
    """
    weighted = scan.weighted
    weight = [pl.col(WEIGHT)] if weighted else []
    names = [f"__{place}" for place in range(len(columns) + len(weight))]
    read = [column.alias(name) for name, column in zip(names, [*columns, *weight], strict=True)]
    rows = scan.raw.select(*groups.keys, groups.hash.alias("__hash"), REASON, *read)
    total = 0.0
    shown = rows_shown(scan.rows, len(scan.source.files), show=progress)
    with shown as advance, one_row_group_ahead(local=bool(scan.source.files)):
        # Sums of weights depend on the order of the rows; counts do not, and need not wait for it.
        for whole in scan.batches(rows, chunk_size=BATCH_ROWS, maintain_order=weighted):
            # A step for every chunk takes longer than a copy where files have few rows.
            few = len(whole) < whole.n_chunks() * _FEW_ROWS
            batch = scan.valid(whole.rechunk() if few else whole, rows_by_code)
            scan.met(rows_by_code)
            if weighted:
                total += float(batch[names[-1]].sum())
                if total == math.inf:
                    raise endless_weights(scan.source.where)
            first = 0
            for hashes, *arrays in _arrays(batch, "__hash", *names):
                for start in range(0, len(hashes), SLICE_ROWS):
                    part = slice(start, start + SLICE_ROWS)
                    found = [array[part] for array in arrays]
                    weights = found.pop() if weighted else None
                    yield groups.numbers(hashes[part], batch, first + start), found, weights
                first += len(hashes)
            advance(len(whole))
    scan.need_same_rows(sum(rows_by_code.values()))


def _arrays(batch: pl.DataFrame, *columns: str) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield some columns as arrays, piece by piece as they are in memory: one array would be a copy."""
    # Not by select, which waits for the threads that read the next rows.
    found = [batch[column] for column in columns]
    if len({tuple(column.chunk_lengths()) for column in found}) > 1:
        found = [column.rechunk() for column in found]
    for pieces in zip(*(column.get_chunks() for column in found), strict=True):
        yield tuple(piece.to_numpy() for piece in pieces)
