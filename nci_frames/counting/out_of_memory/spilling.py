"""Rows that do not fit into memory -> sorted blocks on disk.

A block has rows of one class, sorted by the keys of their groups and by score. So what comes next in the
order of the result is at the beginning of what is left of the blocks.
"""

import os
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.errors import OutputError
from nci_frames.counting.engine.blocks import Block, gather, parts_of, rows_of_groups
from nci_frames.counting.engine.distinct import Floats
from nci_frames.counting.engine.groups import GroupNumbers

#: Rows that are brought into the form of the file at a time.
_AT_A_TIME = 1 << 18


@dataclass(frozen=True, slots=True)
class SortedBlock:
    """Where the rows of a block begin in the file, and how many they are."""

    label: bool
    begin: int
    rows: int


class Spill:
    """Sorted blocks on disk, in a file without a buffer that nobody else sees."""

    def __init__(self, file: BinaryIO, path: str, dtype: type[np.floating]) -> None:
        self._file = file
        #: For messages: what is written in the end.
        self._path = path
        self._size = 0
        self._row = np.dtype([("group", np.uint32), ("score", dtype)])
        self.blocks: list[SortedBlock] = []
        self._totals = np.zeros((0, 2), np.int64)

    def totals(self, groups: int) -> NDArray[np.int64]:
        """Return how many negatives and positives so many groups have."""
        return np.append(self._totals, np.zeros((groups - len(self._totals), 2), np.int64), axis=0)

    def write(self, blocks: list[Block], groups: GroupNumbers) -> None:
        """Write rows as one sorted block of each class.

        Raises
        ------
        OutputError
            If they cannot be written: no space.
        """
        order, rows_of = groups.order(), rows_of_groups(blocks, len(groups))
        places = []
        for label, rows in enumerate(rows_of.sum(axis=0).tolist()):
            self.blocks.append(SortedBlock(bool(label), self._size, rows))
            places.append(self._size)
            self._size += rows * self._row.itemsize
        for part in parts_of(rows_of.sum(axis=1)[order]):
            numbers = order[part.start : part.stop]
            gathered = gather(blocks, numbers)
            # Adding zero turns -0.0 into 0.0: the two are one score.
            scores = np.add(gathered.scores, 0, out=gathered.scores)
            for label, of_class in enumerate((~gathered.labels, gathered.labels)):
                mine = scores[of_class]
                if len(numbers) == 1:
                    mine.sort()
                    of = np.broadcast_to(numbers, len(mine))
                else:
                    rank = gathered.numbers[of_class]
                    sequence = np.argsort(mine)
                    sequence = sequence[np.argsort(rank[sequence], kind="stable")]
                    mine, of = mine[sequence], numbers[rank[sequence]]
                places[label] = self._write(places[label], of, mine)
        self._totals = self.totals(len(groups)) + rows_of

    def read(self, block: SortedBlock, rows: slice) -> NDArray[Any]:
        """Return the groups and scores of some rows of a block.

        Raises
        ------
        OutputError
            If the file cannot be read.
        """
        found = np.empty(rows.stop - rows.start, self._row)
        left, place = found.view(np.uint8).data, block.begin + self._row.itemsize * rows.start
        try:
            # The system moves at most 2 GB at a time.
            while left:
                moved = os.preadv(self._file.fileno(), [left], place)
                if not moved:
                    raise OSError(None, "the scratch file ends too early")
                left, place = left[moved:], place + moved
        except OSError as error:
            raise OutputError.unwritable(self._path, error) from error
        return found

    def _write(self, place: int, groups: NDArray[np.int64], scores: Floats) -> int:
        """Write rows at a place, and return the place after them."""
        for begin in range(0, len(scores), _AT_A_TIME):
            some = slice(begin, begin + _AT_A_TIME)
            rows = np.empty(len(scores[some]), self._row)
            rows["group"], rows["score"] = groups[some], scores[some]
            left = rows.view(np.uint8).data
            try:
                while left:
                    moved = os.pwrite(self._file.fileno(), left, place)
                    left, place = left[moved:], place + moved
            except OSError as error:
                raise OutputError.unwritable(self._path, error) from error
        return place
