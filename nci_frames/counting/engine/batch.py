"""Batches of NumPy arrays, and shared parts of their readers."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import InvalidRowsError
from nci_frames.counting.logs.reading import Scan

#: Rows processed at a time: fewer take more calls, and arrays of more are returned to the system and cleared
#: for each use.
SLICE_ROWS = 1 << 17
#: Scores of one model processed at a time: with more, those of several classes leave the cache.
_SLICE_SCORES = 1 << 19
#: Values that a thread decodes at a time.
_DECODED = 1 << 18
#: Maximum number of row groups of a long log to read ahead.
_MOST_AHEAD = 4
#: Chunks with fewer rows on average are copied into one chunk.
_FEW_ROWS = 1 << 15


@dataclass(frozen=True, slots=True)
class Batch:
    """Some valid rows."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.floating]
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.scores)


@contextmanager
def row_groups_ahead(number: int, *, local: bool) -> Iterator[None]:
    """Limit how many row groups of local files Polars reads ahead, since each takes memory.

    Remote stores keep the default, which hides their latency. The columns of a row group are decoded by all
    threads; by default those of a wide log are decoded by one. Explicit settings of the user are kept.
    """
    chosen = {"POLARS_PARQUET_DECODE_TARGET_VALUES_PER_THREAD": str(_DECODED)}
    if local:
        chosen["POLARS_ROW_GROUP_PREFETCH_SIZE"] = str(number)
    chosen = {name: value for name, value in chosen.items() if name not in os.environ}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in chosen.items():
            # Keep another value, which somebody set meanwhile.
            if os.environ.get(name) == value:
                del os.environ[name]


@contextmanager
def reading_rows(scan: Scan, *, progress: bool) -> Iterator[Callable[[int], None]]:
    """Read the files of a scan; yield a function that takes the number of new rows.

    With *progress*, the function shows progress on a terminal.
    """
    # With more row groups than cores need, rows leave the cache before they are counted. Those of a wide log
    # have many columns, which all cores decode together; scores of classes are counted as fast as decoded.
    ahead = 1 if len(scan.models) > 1 else min(max(1, pl.thread_pool_size() // 2), _MOST_AHEAD)
    ahead = max(ahead, 2) if len(scan.classes) else ahead
    with row_groups_ahead(ahead, local=bool(scan.source.files)):
        if not progress:
            yield lambda _: None
            return
        # Imported late, since it is slow to import.
        from nci_frames.counting.engine.progress import rows_shown  # noqa: PLC0415

        with rows_shown(scan.rows, len(scan.source.files)) as advance:
            yield advance


def endless_weights(where: str) -> InvalidRowsError:
    """Return the error for weights whose sum is infinite."""
    msg = "the weights add up to more than Float64 holds"
    return InvalidRowsError(msg, where=where, hint="divide all weights by one number")


def slices_of(
    batch: pl.DataFrame, *columns: str, scores: int = 1
) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """Yield the first row of each slice of a batch, and some of its columns as arrays.

    If possible, the arrays are views of the chunks in memory. *scores* is the number of scores per model.
    """
    rows = max(1, min(SLICE_ROWS, _SLICE_SCORES // max(1, scores)))
    # Not with select, which waits for the threads that read the next rows.
    found = [batch[column] for column in columns]
    # With few rows per chunk, a copy is faster than a step per chunk.
    few = len(batch) < found[0].n_chunks() * _FEW_ROWS
    if few or len({tuple(column.chunk_lengths()) for column in found}) > 1:
        found = [column.rechunk() for column in found]
    first = 0
    for pieces in zip(*(column.get_chunks() for column in found), strict=True):
        arrays = [array_of(piece) for piece in pieces]
        for start in range(0, len(arrays[0]), rows):
            yield first + start, [array[start : start + rows] for array in arrays]
        first += len(arrays[0])


def array_of(piece: pl.Series) -> NDArray[Any]:
    """Return a column of a single chunk without nulls as an array."""
    if piece.dtype != pl.Boolean:
        return piece.to_numpy()
    # NumPy unpacks bits in a tenth of the time of Polars. The buffer may be that of a far longer column.
    bits = piece.to_arrow()
    first, begin = divmod(bits.offset, 8)
    held = np.frombuffer(bits.buffers()[1], np.uint8)[first : first + (begin + len(bits) + 7) // 8]
    return np.unpackbits(held, bitorder="little")[begin : begin + len(bits)].view(np.bool_)
