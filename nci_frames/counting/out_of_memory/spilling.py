"""Rows that do not fit into memory -> sorted blocks on disk -> the rows of some groups.

A block is sorted by the keys of the groups, so that groups which follow each other there lie side by side
in every block; within a group by class, if the rows have no weights, and by score. So the rows of some
groups, or those of one group from one score to another, are one run of rows, or two, in each block.
"""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.errors import OutputError
from nci_frames.counting.engine.blocks import MOST_GROUPS, Block, gather, parts_of, rows_of_groups
from nci_frames.counting.engine.distinct import Rows
from nci_frames.counting.engine.groups import GroupNumbers

#: Classes are sorted with their groups in 16 bits.
_IN_16_BITS = 1 << 16


@dataclass(frozen=True, slots=True)
class SortedBlock:
    """Where the arrays of a block begin in the file."""

    rows: int
    #: The numbers of the groups that have rows in it, and how many of each class.
    groups: int
    sizes: int
    #: How many groups those are.
    count: int


class Spill:
    """Sorted blocks on disk, in a file without a buffer that nobody else sees."""

    def __init__(self, file: BinaryIO, path: str, dtype: type[np.floating], *, weighted: bool) -> None:
        self._file = file
        #: For messages: what is written in the end.
        self._path = path
        self._size = 0
        self.weighted = weighted
        #: A row. Without weights its class is known from its place.
        self.row = np.dtype(
            [("score", dtype), *([("label", np.bool_), ("weight", np.float64)] if weighted else [])]
        )
        #: Runs of each group in a block: one for each class. Sums of weights need the order of the log, in
        #: which rows of the same score are if both classes are one run.
        self.classes = 1 if weighted else 2
        self.blocks: list[SortedBlock] = []
        self._totals = np.zeros(0, np.int64)

    def totals(self, groups: int) -> NDArray[np.int64]:
        """Return how many rows so many groups have."""
        return np.append(self._totals, np.zeros(groups - len(self._totals), np.int64))

    def write(self, blocks: list[Block], groups: GroupNumbers) -> None:
        """Write rows as one sorted block.

        Raises
        ------
        OutputError
            If they cannot be written: no space.
        """
        order = groups.order()
        rows_of = rows_of_groups(blocks, len(groups))
        begin, sizes = self._size, [np.empty((0, self.classes), np.int64)]
        for part in parts_of(rows_of[order]):
            runs, rows = self._sorted(gather(blocks, order[part.start : part.stop]))
            sizes.append(runs.reshape(-1, self.classes))
            self._append(rows)
        some = np.flatnonzero(rows_of[order])
        index = self._append(order[some]), self._append(np.concatenate(sizes)[some])
        self.blocks.append(SortedBlock(begin, *index, len(some)))
        self._totals = self.totals(len(groups)) + rows_of

    def index(self, block: SortedBlock, groups: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of groups with rows in a block, and how many rows of each class."""
        numbers = self.read(block.groups, np.dtype(np.int64), groups)
        return numbers, self.read(block.sizes, np.dtype((np.int64, self.classes)), groups)

    def read(self, place: int, dtype: np.dtype[Any], items: slice) -> NDArray[Any]:
        """Return some items of an array that begins at a place.

        Raises
        ------
        OutputError
            If the file cannot be read.
        """
        array = np.empty(items.stop - items.start, dtype)
        left, place = array.reshape(-1).view(np.uint8).data, place + dtype.itemsize * items.start
        try:
            # The system moves at most 2 GB at a time.
            while left:
                moved = os.preadv(self._file.fileno(), [left], place)
                if not moved:
                    raise OSError(None, "the scratch file ends too early")
                left, place = left[moved:], place + moved
        except OSError as error:
            raise OutputError.unwritable(self._path, error) from error
        return array

    def _append(self, array: NDArray[Any]) -> int:
        """Write an array at the end, and return where it begins."""
        place, left = self._size, array.reshape(-1).view(np.uint8).data
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise OutputError.unwritable(self._path, error) from error
        self._size += array.nbytes
        return place

    def _sorted(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the lengths of the runs of some rows, and the rows run by run."""
        # Adding zero turns -0.0 into 0.0: the two are one score.
        scores = rows.scores
        scores += 0
        if rows.weights is None and rows.groups == 1:
            classes = [scores[~rows.labels], scores[rows.labels]]
            for mine in classes:
                mine.sort()
            sizes = np.array([len(mine) for mine in classes])
            return sizes, np.concatenate(classes, out=scores).view(self.row)
        count = self.classes * rows.groups
        runs: NDArray[Any] = rows.numbers if rows.groups > 1 else np.zeros(len(scores), np.uint16)
        if rows.weights is None:
            runs = 2 * runs.astype(np.uint16 if count <= _IN_16_BITS else np.int64) + rows.labels
        order = np.argsort(scores, kind="quicksort" if rows.weights is None else "stable")
        order = order[np.argsort(runs[order], kind="stable")]
        found = np.empty(len(scores), self.row)
        found["score"] = scores[order]
        if rows.weights is not None:
            found["label"], found["weight"] = rows.labels[order], rows.weights[order]
        return np.bincount(runs, minlength=count), found


@dataclass(frozen=True, slots=True)
class Chunk:
    """Groups that follow each other in the order of their keys."""

    numbers: NDArray[np.int64]
    rows: int
    #: Which groups, and which rows, of every block that has some of them.
    parts: list[tuple[SortedBlock, slice, slice]]


def chunks_of(spill: Spill, order: NDArray[np.int64], most: int) -> Iterator[Chunk]:
    """Divide all groups into chunks of at most so many rows, or one group.

    Parameters
    ----------
    spill
        The rows.
    order
        The numbers of the groups in the order of their keys.
    most
        How many rows a chunk may have, unless it is one group.
    """
    rows_of = spill.totals(len(order))[order]
    firsts = _firsts(rows_of, most, min(MOST_GROUPS, max(most // max(len(spill.blocks), 1), 1)))
    bounds = np.array([*firsts, len(order)])
    rank = np.argsort(order)
    found = []
    for block in spill.blocks:
        numbers, sizes = spill.index(block, slice(0, block.count))
        groups = np.searchsorted(rank[numbers], bounds)
        rows = _before(sizes.sum(axis=1))[groups]
        found.append((block, groups.tolist(), rows.tolist()))
    for place, (first, stop) in enumerate(itertools.pairwise(bounds.tolist())):
        parts = [
            (block, slice(*groups[place : place + 2]), slice(*rows[place : place + 2]))
            for block, groups, rows in found
            if groups[place] < groups[place + 1]
        ]
        yield Chunk(order[first:stop], int(rows_of[first:stop].sum()), parts)


def _firsts(rows_of: NDArray[np.int64], most: int, groups: int) -> Iterator[int]:
    """Yield the first group of each chunk."""
    begin = rows = 0
    for place, mine in enumerate(rows_of.tolist()):
        if place == 0 or rows + mine > most or place - begin == groups:
            yield place
            begin, rows = place, 0
        rows += mine


def _before(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(sizes))


def load(spill: Spill, chunk: Chunk) -> list[Block]:
    """Return the rows of a chunk, in which the groups are numbered anew in the order of their keys."""
    groups, by_number = len(chunk.numbers), np.argsort(chunk.numbers)
    loaded = []
    for block, mine, rows in chunk.parts:
        numbers, some = spill.index(block, mine)
        sizes = np.zeros((groups, spill.classes), np.int64)
        sizes[by_number[np.searchsorted(chunk.numbers, numbers, sorter=by_number)]] = some
        read = spill.read(block.rows, spill.row, rows)
        if spill.weighted:
            labels, weights = read["label"], read["weight"]
        else:
            labels, weights = np.repeat(np.tile([False, True], groups), sizes.ravel()), None
        loaded.append(Block(_before(sizes.sum(axis=1)), read["score"], labels, weights))
    return loaded
