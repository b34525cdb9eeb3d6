"""Rows that do not fit into memory -> sorted blocks on disk -> the counts of all groups.

A block has rows of one class, sorted by the keys of their groups and by score. So what comes next in the
order of the result is at the beginning of what is left of the blocks, and one pass over all of them side by
side counts it: what lies below was counted before, and what lies above is what is left of a group.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import OutputError, ParameterError
from nci_frames.base.memory import gigabytes
from nci_frames.base.messages import Option
from nci_frames.counting.engine.batch import Batch
from nci_frames.counting.engine.exact import (
    Block,
    Distinct,
    Floats,
    Part,
    count_distinct,
    gather,
    ordered,
    parts_of,
    rows_of_groups,
)
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget, most_values

#: Bytes that one thread of Polars takes to read, whatever the rows: row groups of up to a million rows and
#: a few columns. With more threads they grow with the root of their number, as measured with up to 64.
_READING = 320_000_000
#: The least bytes for rows: with fewer of them there would be too many blocks.
_LEAST_FOR_ROWS = 100_000_000
#: Bytes of a group while rows are read: its keys, its hash, its place in the table of hashes, and the rows
#: of a block, which has more rows if there are more groups.
_GROUP = 720
#: Bytes of a row that is held, and of one that is counted and written, besides those of its score.
_HELD, _COUNTED = 12, 100
#: How often the score of a row is in memory meanwhile.
_HELD_TIMES, _COUNTED_TIMES = 3, 3
#: Chunks in memory at the same time: the one that is counted and the one that is written, which takes longer.
_CHUNKS = 2

#: Rows that are brought into the form of the file at a time.
_AT_A_TIME = 1 << 18
#: A place in the order of the result: the rank of a group by its keys, and a score.
_Place = tuple[int, np.floating]


@dataclass(frozen=True, slots=True)
class Room:
    """How many rows fit into memory where not all of them need to."""

    #: Bytes for rows and groups: what reading takes is not among them.
    free: float
    #: Bytes of a score.
    row: int

    @classmethod
    def of(cls, memory_limit: float | None, row: int) -> "Room":
        """Return the room in a limit; None stands for half of the machine's memory.

        Raises
        ------
        ParameterError
            If the limit is less than what reading takes.
        """
        limit, threads = Budget.of(memory_limit).limit, pl.thread_pool_size()
        reading = round(_READING * math.sqrt(threads))
        if limit < reading + _LEAST_FOR_ROWS:
            raise ParameterError(
                f"{Option('memory_limit')} must be at least {reading + _LEAST_FOR_ROWS:,} bytes",
                found=f"{limit:,.0f} bytes, and {threads} threads, which take {reading:,} to read",
                hint="raise it, or set POLARS_MAX_THREADS before Python starts: fewer threads take less",
            )
        return cls(limit - reading, row)

    def need_groups(self, groups: GroupNumbers) -> None:
        """Raise ParameterError if so many groups leave less than half of the room for rows."""
        needed = 2 * _GROUP * len(groups)
        if needed > self.free:
            key, values = most_values(groups)
            msg = "the groups leave too little memory for their rows"
            raise ParameterError(
                f"{msg}: {gigabytes(needed)} are needed besides reading, of {gigabytes(self.free)}",
                found=f"2 x {len(groups):,} groups x {_GROUP} bytes; {key!r} has {values:,} values",
                hint=f"keep fewer keys ({key!r} has the most values), or raise memory_limit",
            )

    def held(self, groups: int) -> int:
        """Return how many rows of so many groups may be held until they are written to the disk."""
        return int((self.free - _GROUP * groups) // (_HELD + _HELD_TIMES * self.row))

    def counted(self, groups: int, held: int = 0) -> int:
        """Return how many rows may be counted together, while so many are held."""
        free = self.free - _GROUP * groups - held * (_HELD + self.row)
        return max(int(free // (_CHUNKS * (_COUNTED + _COUNTED_TIMES * self.row))), 1)


class SortedBlock(NamedTuple):
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
            numbers = order[part]
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
        self._file.seek(block.begin + self._row.itemsize * rows.start)
        found = np.fromfile(self._file, self._row, rows.stop - rows.start)
        if len(found) < rows.stop - rows.start:
            raise OutputError.unwritable(self._path, OSError("the scratch file cannot be read"))
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


class _Front:
    """The rows of a block that come next."""

    def __init__(self, spill: Spill, block: SortedBlock, rank: NDArray[np.int64], most: int) -> None:
        self.label = block.label
        self._spill, self._block, self._rank, self._most = spill, block, rank, most
        self._read = 0
        rows = spill.read(block, slice(0, 0))
        self._ranks, self._scores = rank[rows["group"]], rows["score"]

    def fill(self) -> None:
        """Read on, until as many rows are in memory as may be."""
        more = min(self._most - len(self._scores), self._block.rows - self._read)
        if more:
            rows = self._spill.read(self._block, slice(self._read, self._read + more))
            self._read += more
            self._ranks = np.concatenate([self._ranks, self._rank[rows["group"]]])
            self._scores = np.concatenate([self._scores, rows["score"]])

    def last(self) -> Iterator[_Place]:
        """Yield the place of the last of these rows, if more are on the disk."""
        if self._read < self._block.rows:
            yield int(self._ranks[-1]), self._scores[-1]

    def take(self, end: _Place | None, *, inclusive: bool = False) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows before a place, or up to it, and forget them; None stands for the end of all."""
        rows = len(self._scores)
        if end is not None:
            begin = int(np.searchsorted(self._ranks, end[0]))
            scores = self._scores[begin : int(np.searchsorted(self._ranks, end[0], "right"))]
            rows = begin + int(np.searchsorted(scores, end[1], "right" if inclusive else "left"))
        taken = self._ranks[:rows], self._scores[:rows]
        self._ranks, self._scores = self._ranks[rows:], self._scores[rows:]
        return taken


def merged(spill: Spill, order: NDArray[np.int64], most: int) -> Iterator[Part]:
    """Yield the counts of all groups in the order of their keys; those of a large one in several parts.

    Parameters
    ----------
    spill
        The rows.
    order
        The numbers of the groups in the order of their keys.
    most
        How many rows may be in memory.
    """
    rank, totals = np.argsort(order), spill.totals(len(order))[order]
    counted = np.zeros_like(totals)
    fronts = [_Front(spill, block, rank, max(most // len(spill.blocks), 1)) for block in spill.blocks]

    def part(ranks: slice, inside: NDArray[np.int64], sizes: NDArray[np.int64], found: Distinct) -> Part:
        """Return the counts of groups of which so many rows were counted together."""
        scores, tp, fp, fn, tn = found
        tn_below, fn_below = np.repeat(counted[ranks], sizes, axis=0).T
        counted[ranks] += inside
        fp_above, tp_above = np.repeat(totals[ranks] - counted[ranks], sizes, axis=0).T
        columns = scores, tp + tp_above, fp + fp_above, fn + fn_below, tn + tn_below
        return Part(order[ranks], sizes, columns)

    while True:
        for front in fronts:
            front.fill()
        end = min((place for front in fronts for place in front.last()), default=None)
        taken = [front.take(end) for front in fronts]
        ranks = np.concatenate([mine for mine, _ in taken])
        if len(ranks):
            first = int(ranks.min())
            labels = np.repeat([front.label for front in fronts], [len(mine) for mine, _ in taken])
            scores = np.concatenate([mine for _, mine in taken])
            block = ordered([Batch(ranks - first, scores, labels, None)])
            inside = rows_of_groups([block], len(block.bounds) - 1)
            for some in parts_of(totals[first : first + len(inside)].sum(axis=1)):
                found = count_distinct(gather([block], np.arange(len(inside))[some]))
                yield part(slice(first + some.start, first + some.stop), inside[some], *found)
        elif end is not None:
            # Of one score there are more rows than fit.
            rows = np.zeros((1, 2), np.int64)
            for front in fronts:
                while len(same := front.take(end, inclusive=True)[0]):
                    rows[0, int(front.label)] += len(same)
                    front.fill()
            nothing = np.zeros(1, np.int64)
            columns = np.array([end[1]]), rows[:, 1], rows[:, 0], nothing, nothing
            yield part(slice(end[0], end[0] + 1), rows, np.ones(1, np.int64), columns)
        else:
            return
