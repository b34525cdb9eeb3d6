"""Rows that wait to be counted: their scores, classes and weights, in blocks that are ordered by group."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.engine.batches import Batch
from nci_frames.counting.engine.distinct import Floats, Rows
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.schemas.runs import rows_of_runs

#: Rows that are ordered by group at a time: their arrays fit into the fast memory of a processor, and are too
#: small for large pages, which the system may have to make first.
_BLOCK_ROWS = 1 << 18
#: A block has at least so many rows for each group, since it takes 8 bytes for each.
_ROWS_PER_BOUND = 8

#: A group with so many rows is counted alone: to count several at once takes longer for a row.
ALONE_ROWS = 1 << 13
#: Smaller groups are counted together, as many as have so many rows.
_PART_ROWS = 1 << 17
#: Within a part, groups have numbers of 16 bits.
MOST_GROUPS = 1 << 16


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows, ordered by the number of their group."""

    bounds: NDArray[np.intp]  # the first row of each group number, and the number of rows
    scores: Floats
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


def blocks_of(batches: Iterable[Batch], groups: GroupNumbers) -> Iterator[Block]:
    """Yield the rows of all batches in blocks, those of each group in their order."""
    waiting: list[Batch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch.scores)
        if rows >= max(_BLOCK_ROWS, _ROWS_PER_BOUND * len(groups)):
            yield ordered(waiting)
            waiting, rows = [], 0
    if waiting:
        yield ordered(waiting)


def ordered(batches: list[Batch]) -> Block:
    """Return the rows of some batches as one block."""
    numbers = np.concatenate([batch.numbers for batch in batches])
    # The stable sort of 16-bit numbers is a radix sort.
    small = numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers
    rows = np.argsort(small, kind="stable")
    weights = [batch.weights for batch in batches if batch.weights is not None]
    return Block(
        np.append(0, np.cumsum(np.bincount(numbers))),
        np.concatenate([batch.scores for batch in batches])[rows],
        np.concatenate([batch.labels for batch in batches])[rows],
        np.concatenate(weights)[rows] if weights else None,
    )


def rows_of_groups(blocks: Iterable[Block], groups: int) -> NDArray[np.int64]:
    """Return how many negatives and positives each group has."""
    rows = np.zeros((groups, 2), np.int64)
    for block in blocks:
        positives = np.diff(np.append(0, np.cumsum(block.labels))[block.bounds])
        rows[: len(positives)] += np.stack([np.diff(block.bounds) - positives, positives], axis=1)
    return rows


def parts_of(rows_of: NDArray[np.int64]) -> Iterator[range]:
    """Yield the places of groups that are counted together, given the rows of each."""
    begin = rows = 0
    for number, mine in enumerate(rows_of.tolist()):
        full = rows + mine > _PART_ROWS or number - begin == MOST_GROUPS
        if number > begin and (full or mine >= ALONE_ROWS or (rows >= ALONE_ROWS and number == begin + 1)):
            yield range(begin, number)
            begin, rows = number, 0
        rows += mine
    if len(rows_of):
        yield range(begin, len(rows_of))


def gather(blocks: list[Block], part: NDArray[np.int64]) -> Rows:
    """Return the rows of some groups, those of each in their order."""
    mine: list[tuple[Block, slice | NDArray[np.int64]]] = []
    numbers = [np.empty(0, np.uint16)]
    for block in blocks:
        # Groups that were met after the block have no bounds in it.
        known = np.flatnonzero(part < len(block.bounds) - 1)
        starts, ends = block.bounds[part[known]], block.bounds[part[known] + 1]
        if len(part) > 1:
            mine.append((block, rows_of_runs(starts, ends - starts)))
            numbers.append(np.repeat(known.astype(np.uint16), ends - starts))
        else:
            mine.append((block, slice(starts[0], ends[0]) if len(known) else slice(0)))
    weights = [block.weights[rows] for block, rows in mine if block.weights is not None]
    return Rows(
        len(part),
        np.concatenate(numbers),
        np.concatenate([block.scores[rows] for block, rows in mine]),
        np.concatenate([block.labels[rows] for block, rows in mine]),
        np.concatenate(weights) if weights else None,
    )
