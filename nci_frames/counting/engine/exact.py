"""Counting at every distinct score: the rows are gathered compactly, then sorted group by group.

What is kept of a row is its score, its class and its weight, in blocks that are ordered by group; one group
is sorted at a time, straight into the columns of the result.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batches import Batch, read_batches
from nci_frames.counting.engine.cells import Counts
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan

__all__ = ["TooManyRowsError", "count_exact"]

Floats = NDArray[np.floating]

#: Rows that are ordered by group at a time.
_BLOCK_ROWS = 1 << 21

#: Groups that a thread takes at a time: so many parts keep all threads busy, and so many groups in a part
#: cost more than their distribution.
_PARTS, _GROUPS = 64, 64


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
    starts = np.append(0, np.cumsum(_rows_of_groups(blocks, len(groups))[order]))

    def write(place: int) -> int:
        """Count a group where its rows would stand; return how many distinct scores it has."""
        start = starts[place]
        parts = _one_group(*_gathered(blocks, int(order[place])))
        for column, part in zip(columns.values(), parts, strict=True):
            column[start : start + len(part)] = part
        return len(parts[0])

    sizes: list[int] = []
    distinct = 0
    step = min(_GROUPS, 1 + len(order) // _PARTS)
    parts = [range(len(order))[start : start + step] for start in range(0, len(order), step)]
    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        for written in threads.map(lambda part: list(map(write, part)), parts):
            sizes += written
            distinct += sum(written)
            budget.need_rows(rows, len(groups.keys), distinct)
    blocks.clear()
    table = groups.frame()[np.repeat(order.astype(np.uint32), sizes)]
    for name in list(columns):
        table = table.with_columns(pl.Series(name, _closed_up(columns.pop(name), starts, sizes)))
    return table, rows_by_code


def _closed_up(column: NDArray[Any], starts: NDArray[np.int64], sizes: list[int]) -> NDArray[Any]:
    """Close the gaps after groups that have fewer distinct scores than rows."""
    end = 0
    for start, size in zip(starts.tolist(), sizes, strict=False):
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

    ends: NDArray[np.intp]  # of the rows of each group number
    scores: Floats
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


def _rows_of_groups(blocks: "Iterable[_Block]", groups: int) -> NDArray[np.int64]:
    rows = np.zeros(groups, np.int64)
    for block in blocks:
        rows[: len(block.ends)] += np.diff(block.ends, prepend=0)
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
        np.cumsum(np.bincount(numbers)),
        np.concatenate([batch.scores for batch in batches])[rows],
        np.concatenate([batch.labels for batch in batches])[rows],
        np.concatenate(weights)[rows] if weights else None,
    )


def _gathered(
    blocks: list[_Block], number: int
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.float64] | None]:
    """Return the scores, labels and weights of one group, in the order of the rows."""
    mine = [
        (block, slice(block.ends[number - 1] if number else 0, block.ends[number]))
        for block in blocks
        if number < len(block.ends)
    ]
    weights = [block.weights[rows] for block, rows in mine if block.weights is not None]
    return (
        np.concatenate([block.scores[rows] for block, rows in mine]),
        np.concatenate([block.labels[rows] for block, rows in mine]),
        np.concatenate(weights) if weights else None,
    )


def _first_of_runs(ascending: Floats) -> NDArray[np.intp]:
    """Return where each distinct value begins."""
    # By comparison: the difference of two infinities is NaN.
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))


def _one_group(
    scores: Floats, labels: NDArray[np.bool_], weights: NDArray[np.float64] | None
) -> tuple[Floats, Counts, Counts, Counts, Counts]:
    """Return the distinct scores of a group, ascending, and tp, fp, fn, tn at each."""
    # Adding zero turns -0.0 into 0.0: the two are one score.
    scores = scores + 0
    if weights is None:
        true, false = np.sort(scores[labels]), np.sort(scores[~labels])
        # Two sorted runs: the stable sort merges them.
        both = np.sort(np.concatenate([true, false]), kind="stable")
        below = _first_of_runs(both)
        distinct = both[below]
        # Rows below a score are of one class or the other: one search, in the rarer class, gives both
        # numbers.
        if len(true) <= len(false):
            fn = np.searchsorted(true, distinct)
            tn = below - fn
        else:
            tn = np.searchsorted(false, distinct)
            fn = below - tn
        return distinct, len(true) - fn, len(false) - tn, fn, tn
    order = np.argsort(scores, kind="stable")
    scores, labels, weights = scores[order], labels[order], weights[order]
    first = _first_of_runs(scores)
    counts = []
    for of_class in (labels, ~labels):
        at_score = np.add.reduceat(np.where(of_class, weights, 0.0), first)
        reached = at_score[::-1].cumsum()[::-1]
        counts.append((reached, reached[0] - reached))
    (tp, fn), (fp, tn) = counts
    return scores[first], tp, fp, fn, tn
