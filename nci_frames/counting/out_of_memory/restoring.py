"""Sorted blocks on disk -> the rows of some groups, or of one group between two scores."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.engine.blocks import MOST_GROUPS, Block
from nci_frames.counting.engine.distinct import Floats
from nci_frames.counting.out_of_memory import dividing
from nci_frames.counting.out_of_memory.dividing import Cut
from nci_frames.counting.out_of_memory.spilling import SortedBlock, Spill

__all__ = ["Chunk", "Run", "chunks_of", "load", "load_between", "runs_of"]

_INT = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class _Slice:
    """Which groups, rows and samples of a block."""

    block: SortedBlock
    groups: slice
    rows: slice
    samples: slice


@dataclass(frozen=True, slots=True)
class Chunk:
    """Groups that follow each other in the order of their keys, and where they are in each block."""

    numbers: NDArray[np.int64]
    rows: int
    slices: list[_Slice]


@dataclass(frozen=True, slots=True)
class Run:
    """Sorted rows of one group in one block, of one class if the rows have no weights."""

    block: SortedBlock
    #: Which rows of the block.
    begin: int
    rows: int
    label: bool
    samples: Floats

    def place(self, spill: Spill, cut: Cut) -> int:
        """Return how many of the rows lie before a cut: the samples tell it but for less than a step."""
        low = cut.place(self.samples) * dividing.STEP
        high = min(low + dividing.STEP - 1, self.rows)
        width = spill.dtype.itemsize
        scores = spill.file.read(self.block.scores + (self.begin + low) * width, spill.dtype, high - low)
        return low + cut.place(scores)


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
    rows_of = spill.totals(len(order)).sum(axis=1)[order]
    firsts = list(_firsts(rows_of, most, min(MOST_GROUPS, max(most // max(len(spill.blocks), 1), 1))))
    bounds = np.array([*firsts, len(order)])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found = [_places(spill, block, rank, bounds) for block in spill.blocks]
    for place, (first, stop) in enumerate(itertools.pairwise(bounds.tolist())):
        slices = [
            _Slice(block, *(slice(int(begin), int(end)) for begin, end in places[:, place : place + 2]))
            for block, places in zip(spill.blocks, found, strict=True)
            if places[0, place] < places[0, place + 1]
        ]
        yield Chunk(order[first:stop], int(rows_of[first:stop].sum()), slices)


def _places(
    spill: Spill, block: SortedBlock, rank: NDArray[np.int64], bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many groups, rows and samples of a block lie before the group of each rank in *bounds*."""
    numbers, sizes = _index(spill, block, slice(0, block.count))
    groups = np.searchsorted(rank[numbers], bounds)
    rows = _before(sizes.sum(axis=1))[groups]
    return np.stack([groups, rows, _before((sizes // dividing.STEP).sum(axis=1))[groups]])


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


def _index(spill: Spill, block: SortedBlock, groups: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of groups with rows in a block, and how many rows of each class."""
    count = groups.stop - groups.start
    numbers = spill.file.read(block.groups + _INT.itemsize * groups.start, _INT, count)
    width = _INT.itemsize * spill.classes
    sizes = spill.file.read(block.sizes + width * groups.start, _INT, count * spill.classes)
    return numbers, sizes.reshape(count, spill.classes)


def load(spill: Spill, chunk: Chunk) -> list[Block]:
    """Return the rows of a chunk, in which the groups are numbered anew in the order of their keys."""
    groups, by_number = len(chunk.numbers), np.argsort(chunk.numbers)
    loaded = []
    for part in chunk.slices:
        numbers, some = _index(spill, part.block, part.groups)
        sizes = np.zeros((groups, spill.classes), np.int64)
        sizes[by_number[np.searchsorted(chunk.numbers, numbers, sorter=by_number)]] = some
        rows = _Rows(spill, part.rows.stop - part.rows.start)
        rows.read(part.block, part.rows, slice(None))
        if not spill.weighted:
            rows.labels = np.repeat(np.tile([False, True], groups), sizes.ravel())
        weights = rows.weights if spill.weighted else None
        loaded.append(Block(_before(sizes.sum(axis=1)), rows.scores, rows.labels, weights))
    return loaded


def runs_of(spill: Spill, chunk: Chunk) -> list[Run]:
    """Return the runs of rows of a chunk that is one group."""
    runs = []
    for part in chunk.slices:
        _, (sizes,) = _index(spill, part.block, part.groups)
        width = spill.dtype.itemsize
        place = part.block.samples + part.samples.start * width
        samples = spill.file.read(place, spill.dtype, part.samples.stop - part.samples.start)
        of_runs = np.split(samples, np.cumsum(sizes // dividing.STEP)[:-1])
        begins = part.rows.start + _before(sizes)
        for label, (size, mine) in enumerate(zip(sizes.tolist(), of_runs, strict=True)):
            runs.append(Run(part.block, int(begins[label]), size, bool(label), mine))
    return runs


def load_between(
    spill: Spill, runs: list[Run], low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.float64]]:
    """Return the scores, labels and weights (if any) of the rows of runs from one place to before another."""
    rows = _Rows(spill, int((high - low).sum()))
    begin = 0
    for run, first, stop in zip(runs, low.tolist(), high.tolist(), strict=True):
        mine = slice(begin, begin + stop - first)
        if not spill.weighted:
            rows.labels[mine] = run.label
        rows.read(run.block, slice(run.begin + first, run.begin + stop), mine)
        begin = mine.stop
    return rows.scores, rows.labels, rows.weights


class _Rows:
    """Memory for rows that are read."""

    def __init__(self, spill: Spill, rows: int) -> None:
        self._spill = spill
        self.scores: Floats = np.empty(rows, spill.dtype)
        self.labels = np.empty(rows, np.bool_)
        self.weights = np.empty(rows if spill.weighted else 0)

    def read(self, block: SortedBlock, rows: slice, into: slice) -> None:
        """Read rows of a block; their labels are in it only if they have weights."""
        file = self._spill.file
        file.read_into(block.scores + rows.start * self._spill.dtype.itemsize, self.scores[into])
        if self._spill.weighted:
            file.read_into(block.labels + rows.start, self.labels[into])
            file.read_into(block.weights + 8 * rows.start, self.weights[into])
