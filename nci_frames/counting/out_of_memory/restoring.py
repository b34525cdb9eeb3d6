"""Sorted blocks on disk -> the rows of some groups."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.engine.blocks import MOST_GROUPS, Block
from nci_frames.counting.out_of_memory.spilling import SortedBlock, Spill


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
