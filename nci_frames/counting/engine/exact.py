"""Counting at every distinct score: the rows are gathered compactly, then sorted group by group.

What is kept of a row is its score, its class and its weight, in blocks that are ordered by group. A large
group is sorted alone, small ones many at a time, straight into the columns of the result.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batches import Batch, read_batches
from nci_frames.counting.engine.distinct import Floats, Rows, count_distinct
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan

__all__ = ["TooManyRowsError", "count_exact"]

#: Rows that are ordered by group at a time.
_BLOCK_ROWS = 1 << 21

#: A group with so many rows is counted alone: to count several at once takes longer for a row.
_ALONE_ROWS = 1 << 13
#: Smaller groups are counted together, as many as have so many rows.
_PART_ROWS = 1 << 17
#: Within a part, groups have numbers of 16 bits.
_MOST_GROUPS = 1 << 16


class TooManyRowsError(Exception):
    """The log has more valid rows than may be kept."""


def count_exact(
    scan: Scan,
    groups: GroupNumbers,
    *,
    progress: bool = False,
    block_rows: int = _BLOCK_ROWS,
    most_rows: int | None = None,
    budget: Budget | None = None,
) -> tuple[pl.DataFrame, dict[int, int]]:
    """Count every group at each of its distinct scores.

    Parameters
    ----------
    scan
        What to count.
    groups
        Numbers of the groups; it learns them here.
    progress
        Whether to show progress.
    block_rows
        Rows that are ordered by group at a time; it affects only speed and memory.
    most_rows
        How many valid rows the log may have.
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
    TooManyRowsError
        As soon as there are more rows than *most_rows*.
    """
    budget = budget or Budget.of(None)
    if scan.rows is not None and most_rows is None:
        budget.need_rows(scan.rows, len(groups.keys))
    rows_by_code: dict[int, int] = {}
    batches = read_batches(scan, groups, rows_by_code, progress=progress)
    blocks = list(_blocks(_at_most(scan, batches, most_rows, len(groups.keys), budget), block_rows))
    rows = rows_by_code.get(0, 0)
    order = groups.order()
    # Room for every row to have a score of its own; what is not written takes no memory.
    count = np.float64 if "weight" in scan.raw.collect_schema() else np.int64
    columns = {
        "threshold": np.empty(rows, np.float64),
        **{name: np.empty(rows, count) for name in ("tp", "fp", "fn", "tn")},
    }
    rows_of = _rows_of_groups(blocks, len(groups))
    #: Where the rows of a group would stand, if each had a score of its own.
    starts = np.empty_like(rows_of)
    starts[order] = np.cumsum(rows_of[order]) - rows_of[order]
    sizes = np.zeros(len(groups), np.int64)

    def write(part: range) -> int:
        """Count some groups; return how many distinct scores they have."""
        mine = slice(part.start, part.stop)
        sizes[mine], counted = count_distinct(_gathered(blocks, part))
        places = _places(starts[mine], sizes[mine])
        for column, written in zip(columns.values(), counted, strict=True):
            column[places] = written
        return len(counted[0])

    distinct = 0
    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        for written in threads.map(write, _parts(rows_of)):
            distinct += written
            budget.need_rows(rows, len(groups.keys), distinct)
    blocks.clear()
    table = groups.repeated(order, sizes[order])
    for name in list(columns):
        closed = _closed_up(columns.pop(name), starts[order], sizes[order])
        table = table.with_columns(pl.Series(name, closed))
    return table, rows_by_code


def _parts(rows_of: NDArray[np.int64]) -> Iterator[range]:
    """Yield the numbers of groups that are counted together."""
    begin = rows = 0
    for number, mine in enumerate(rows_of.tolist()):
        full = rows + mine > _PART_ROWS or number - begin == _MOST_GROUPS
        if number > begin and (full or mine >= _ALONE_ROWS or (rows >= _ALONE_ROWS and number == begin + 1)):
            yield range(begin, number)
            begin, rows = number, 0
        rows += mine
    if len(rows_of):
        yield range(begin, len(rows_of))


def _places(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """Return the places of the rows of groups of some sizes, each from its start on."""
    if len(sizes) == 1:
        return slice(starts[0], starts[0] + sizes[0])
    moved = starts - (np.cumsum(sizes) - sizes)
    places: NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(moved, sizes)
    return places


def _closed_up(column: NDArray[Any], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[Any]:
    """Close the gaps after groups that have fewer distinct scores than rows."""
    end = 0
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        if end < start:
            column[end : end + size] = column[start : start + size]
        end += size
    return column[:end]


def _at_most(
    scan: Scan, batches: Iterable[Batch], rows: int | None, keys: int, budget: Budget
) -> Iterator[Batch]:
    seen = 0
    for batch in batches:
        seen += len(batch.scores)
        budget.need_rows(seen, keys)
        if rows is not None and seen > rows:
            scan.passes.least = max(scan.passes.least, seen)
            raise TooManyRowsError
        yield batch


@dataclass(frozen=True, slots=True)
class _Block:
    """Some rows, ordered by the number of their group."""

    bounds: NDArray[np.intp]  # the first row of each group number, and the number of rows
    scores: Floats
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


def _rows_of_groups(blocks: "Iterable[_Block]", groups: int) -> NDArray[np.int64]:
    rows = np.zeros(groups, np.int64)
    for block in blocks:
        rows[: len(block.bounds) - 1] += np.diff(block.bounds)
    return rows


def _blocks(batches: Iterable[Batch], block_rows: int) -> Iterator[_Block]:
    waiting: list[Batch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch.scores)
        if rows >= block_rows:
            yield _ordered(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _ordered(waiting)


def _ordered(batches: list[Batch]) -> _Block:
    numbers = np.concatenate([batch.numbers for batch in batches])
    # The stable sort of 16-bit numbers is a radix sort.
    small = numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers
    rows = np.argsort(small, kind="stable")
    weights = [batch.weights for batch in batches if batch.weights is not None]
    return _Block(
        np.append(0, np.cumsum(np.bincount(numbers))),
        np.concatenate([batch.scores for batch in batches])[rows],
        np.concatenate([batch.labels for batch in batches])[rows],
        np.concatenate(weights)[rows] if weights else None,
    )


def _gathered(blocks: list[_Block], part: range) -> Rows:
    """Return the rows of some groups, those of each in their order."""
    mine = []
    numbers = []
    for block in blocks:
        # Groups that were met after the block have no bounds in it.
        bounds = block.bounds[part.start : part.stop + 1]
        if len(bounds) > 1:
            mine.append((block, slice(bounds[0], bounds[-1])))
            numbers.append(np.repeat(np.arange(len(bounds) - 1, dtype=np.uint16), np.diff(bounds)))
    weights = [block.weights[rows] for block, rows in mine if block.weights is not None]
    return Rows(
        len(part),
        np.concatenate(numbers),
        np.concatenate([block.scores[rows] for block, rows in mine]),
        np.concatenate([block.labels[rows] for block, rows in mine]),
        np.concatenate(weights) if weights else None,
    )
