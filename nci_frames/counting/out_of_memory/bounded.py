"""Counting at every distinct score in memory that does not grow with the rows.

The rows are held in memory while they fit, and written to the disk in sorted blocks otherwise. Then they are
counted in the order of the result.
"""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.blocks import Block, blocks_of, gather, parts_of, rows_of_groups
from nci_frames.counting.engine.distinct import Part, count_distinct
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.out_of_memory.merging import merged
from nci_frames.counting.out_of_memory.room import Room
from nci_frames.counting.out_of_memory.spilling import Spill


@dataclass(frozen=True, slots=True)
class Held:
    """The valid rows of a log: in memory, or all of them on the disk."""

    groups: GroupNumbers
    #: Rows by the code of their validity.
    rows_by_code: dict[int, int]
    blocks: list[Block]
    spill: Spill


def hold_rows(scan: Scan, groups: GroupNumbers, spill: Spill, room: Room, *, progress: bool) -> Held:
    """Read a log.

    Parameters
    ----------
    scan
        What to count.
    groups
        Numbers of the groups; it learns them here.
    spill
        Where rows go that do not fit into memory.
    room
        How many rows fit.
    progress
        Whether to show progress.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    OutputError
        If rows cannot be written to the disk.
    ParameterError
        If there are too many groups.
    """
    rows_by_code: dict[int, int] = {}
    held: list[Block] = []
    rows = 0
    for block in blocks_of(read_batches(scan, groups, rows_by_code, progress=progress), groups):
        held.append(block)
        rows += len(block.scores)
        room.need_groups(groups)
        if rows >= room.held(len(groups)):
            spill.write(held, groups)
            held.clear()
            rows = 0
    # A group that is divided is read from the disk.
    largest = int(rows_of_groups(held, len(groups)).sum(axis=1).max(initial=0))
    if held and (spill.blocks or largest > room.counted(len(groups), rows)):
        spill.write(held, groups)
        held.clear()
    return Held(groups, rows_by_code, held, spill)


def counted_parts(held: Held, room: Room) -> Generator[Part]:
    """Yield the counts of all groups in the order of their keys; those of a large one in several parts.

    The next part is counted while one is written.
    """
    order = held.groups.order()
    if held.spill.blocks:
        parts = merged(held.spill, order, room.counted(len(order)))
    else:
        parts = _from_memory(held.blocks, order)
    with ThreadPoolExecutor(1) as thread:
        counting = thread.submit(next, parts, None)
        while (part := counting.result()) is not None:
            counting = thread.submit(next, parts, None)
            yield part


def _from_memory(blocks: list[Block], order: NDArray[np.int64]) -> Iterator[Part]:
    for part in parts_of(rows_of_groups(blocks, len(order)).sum(axis=1)[order]):
        numbers = order[part.start : part.stop]
        yield Part(numbers, *count_distinct(gather(blocks, numbers)))
