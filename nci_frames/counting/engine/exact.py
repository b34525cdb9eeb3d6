"""Counting at every distinct score: the rows are gathered compactly, then sorted group by group.

What is kept of a row is its score, its class and its weight, in blocks that are ordered by group. A large
group is sorted alone, small ones many at a time. The counts of each are a chunk of the result: nothing is
copied, and the chunks of a large group share the memory of its keys with each other and with other groups.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import polars as pl

from nci_frames.counting.engine.batches import Batch, read_batches
from nci_frames.counting.engine.distinct import (
    Part,
    blocks_of,
    columns_of_counts,
    count_distinct,
    gather,
    parts_in_order,
)
from nci_frames.counting.engine.grid import Counted
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import KEY_BYTES, Budget
from nci_frames.counting.logs.reading import Scan

#: Counts with fewer rows are one chunk, which NumPy reads without a copy.
_IN_CHUNKS = 1 << 20
#: The most rows of a chunk that is one group.
_CHUNK_ROWS = 1 << 18


class TooManyRowsError(Exception):
    """The log has more valid rows than may be kept."""


def count_exact(
    scan: Scan,
    groups: GroupNumbers,
    *,
    budget: Budget,
    progress: bool = False,
    most_rows: int | None = None,
) -> Counted:
    """Count every group at each of its distinct scores.

    Parameters
    ----------
    scan
        What to count.
    groups
        Numbers of the groups; it learns them here.
    budget
        How much memory the counts may take.
    progress
        Whether to show progress.
    most_rows
        How many valid rows the log may have.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    TooManyRowsError
        As soon as there are more rows than *most_rows*.
    """
    weighted = scan.weighted
    if scan.rows is not None and most_rows is None:
        budget.need_rows(scan.rows, weighted=weighted)
    rows_by_code: dict[int, int] = {}
    batches = read_batches(scan, groups, rows_by_code, progress=progress)
    kept = _at_most(scan, batches, most_rows, budget)
    blocks = list(blocks_of(kept, groups))
    parts = parts_in_order(blocks, groups.order())
    counted: list[Part] = []
    distinct, keys = 0, _KeyBytes()
    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        of_parts = threads.map(lambda part: count_distinct(gather(blocks, part)), parts)
        for part, (sizes, columns) in zip(parts, of_parts, strict=True):
            counted.append(Part(part, sizes, columns))
            distinct += len(columns[0])
            keys.add(groups.frame()[part], len(columns[0]))
            budget.need_rows(rows_by_code[0], weighted=weighted, distinct=distinct, key_bytes=keys.bytes)
    blocks.clear()
    table = _table(groups, counted, columns_of_counts(weighted=weighted))
    return Counted(table, rows_by_code, groups.frame())


class _KeyBytes:
    """How much memory the keys of the counts will take: rows with one value share it (``_table``)."""

    def __init__(self) -> None:
        #: The longest run of each key and value, and the rows of keys that share nothing.
        self._runs: dict[tuple[str, object], int] = {}
        self._rows = 0

    def add(self, keys: pl.DataFrame, rows: int) -> None:
        """Add the keys of a part that has so many rows."""
        longest = min(rows, _CHUNK_ROWS) if len(keys) == 1 else rows
        for key in keys:
            if key.n_unique() == 1:
                run = key.name, key[0]
                self._runs[run] = max(self._runs.get(run, 0), longest)
            else:
                self._rows += rows

    @property
    def bytes(self) -> int:
        """How much they take."""
        return KEY_BYTES * (self._rows + sum(self._runs.values()))


def _table(groups: GroupNumbers, parts: list[Part], columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the counts of all parts, in chunks that are the same in all columns.

    On such a frame Polars works chunk by chunk; if the chunks differed, it would copy all columns first.
    """
    chunks: dict[int, list[pl.DataFrame]] = {}
    # The longest first: of its keys, groups with an equal key share a part.
    for place in sorted(range(len(parts)), key=lambda place: len(parts[place].columns[0]), reverse=True):
        part = parts[place]
        counts = part.table(columns)
        alone = len(part.numbers) == 1
        chunks[place] = [
            groups.repeated(part.numbers, len(piece) if alone else part.sizes).hstack(piece)
            for piece in (counts.iter_slices(_CHUNK_ROWS) if alone else [counts])
        ]
    nothing = groups.frame().clear().hstack(pl.DataFrame(schema=columns))
    table = [nothing, *(chunk for place in sorted(chunks) for chunk in chunks[place])]
    return pl.concat(table, rechunk=sum(map(len, table)) < _IN_CHUNKS)


def _at_most(scan: Scan, batches: Iterable[Batch], rows: int | None, budget: Budget) -> Iterator[Batch]:
    seen = 0
    for batch in batches:
        seen += len(batch.scores)
        budget.need_rows(seen, weighted=batch.weights is not None)
        if rows is not None and seen > rows:
            scan.passes.least = max(scan.passes.least, seen)
            raise TooManyRowsError
        yield batch
