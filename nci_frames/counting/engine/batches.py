"""A scan -> batches of NumPy arrays: group numbers, scores and labels of the valid rows."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batch import SLICE_ROWS, Batch, endless_weights, one_row_group_ahead
from nci_frames.counting.engine.groups import GroupNumbers, TooManyWeightsError
from nci_frames.counting.engine.progress import rows_shown
from nci_frames.counting.engine.wide import read_wide
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON

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
    read = read_wide if len(scan.models) > 1 else _read_long
    try:
        yield from read(scan, groups, rows_by_code, progress=progress)
    except TooManyWeightsError:
        # Another pass must meet these rows again.
        scan.passes.least = max(scan.passes.least, sum(rows_by_code.values()))
        raise


def _read_long(
    scan: Scan, groups: GroupNumbers, rows_by_code: dict[int, int], *, progress: bool
) -> Iterator[Batch]:
    weighted = scan.weighted
    weight = ["weight"] if weighted else []
    label = pl.col("label").cast(pl.UInt8)
    rows = scan.raw.select(*groups.keys, groups.hash.alias("__hash"), "score", label, REASON, *weight)
    total = 0.0
    shown = rows_shown(scan.rows, len(scan.source.files), show=progress)
    with shown as advance, one_row_group_ahead(local=bool(scan.source.files)):
        # Sums of weights depend on the order of the rows; counts do not, and need not wait for it.
        for whole in scan.batches(rows, chunk_size=BATCH_ROWS, maintain_order=weighted):
            read = len(whole)
            # A step for every chunk takes longer than a copy where files have few rows.
            batch = scan.valid(
                whole.rechunk() if read < whole.n_chunks() * _FEW_ROWS else whole, rows_by_code
            )
            if weighted:
                total += float(batch["weight"].sum())
                if total == math.inf:
                    raise endless_weights(scan.source.where)
            first = 0
            for hashes, scores, labels, *weights in _arrays(batch, "__hash", "score", "label", *weight):
                for start in range(0, len(hashes), SLICE_ROWS):
                    part = slice(start, start + SLICE_ROWS)
                    yield Batch(
                        groups.numbers(hashes[part], batch, first + start),
                        scores[part],
                        labels[part].view(np.bool_),
                        weights[0][part] if weights else None,
                    )
                first += len(hashes)
            advance(read)
    scan.need_same_rows(sum(rows_by_code.values()))


def _arrays(batch: pl.DataFrame, *columns: str) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield some columns as arrays, piece by piece as they are in memory: one array would be a copy."""
    # Not by select, which waits for the threads that read the next rows.
    found = [batch[column] for column in columns]
    if len({tuple(column.chunk_lengths()) for column in found}) > 1:
        found = [column.rechunk() for column in found]
    for pieces in zip(*(column.get_chunks() for column in found), strict=True):
        yield tuple(piece.to_numpy() for piece in pieces)
