"""Counting at every distinct score in memory that does not grow with the rows.

The rows are held in memory while they fit, and written to the disk in sorted blocks otherwise. Then they are
counted chunk by chunk in the order of the result: some small groups at once, or one group from one score to
another.
"""

import functools
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.blocks import Block, blocks_of, gather, parts_of, rows_of_groups
from nci_frames.counting.engine.distinct import Part, count_distinct
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.out_of_memory.pieces import pieces_of
from nci_frames.counting.out_of_memory.room import Room
from nci_frames.counting.out_of_memory.spilling import Chunk, Spill, chunks_of, load

#: Counts one chunk.
Job = Callable[[], list[Part]]


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
    largest = int(rows_of_groups(held, len(groups)).max(initial=0))
    if held and (spill.blocks or largest > room.counted(len(groups), rows)):
        spill.write(held, groups)
        held.clear()
    return Held(groups, rows_by_code, held, spill)


def counted_parts(held: Held, room: Room) -> Generator[Part]:
    """Yield the counts of all groups in the order of their keys; those of a large one in several parts.

    Raises
    ------
    ParameterError
        If rows that must be counted together do not fit into memory.
    """
    jobs = _from_memory(held) if held.blocks else _from_disk(held, room)
    with ThreadPoolExecutor(1) as thread:
        counting: Future[list[Part]] | None = None
        for job in jobs:
            before, counting = counting, thread.submit(job)
            if before is not None:
                yield from before.result()
        if counting is not None:
            yield from counting.result()


def _from_memory(held: Held) -> Iterator[Job]:
    order = held.groups.order()
    for part in parts_of(rows_of_groups(held.blocks, len(order))[order]):
        yield functools.partial(_count, held.blocks, order[part.start : part.stop])


def _count(blocks: list[Block], numbers: NDArray[np.int64]) -> list[Part]:
    return [Part(numbers, *count_distinct(gather(blocks, numbers)))]


def _from_disk(held: Held, room: Room) -> Iterator[Job]:
    spill, most = held.spill, room.counted(len(held.groups))
    for chunk in chunks_of(spill, held.groups.order(), most):
        if chunk.rows > most:
            yield from pieces_of(spill, chunk, most)
        else:
            yield functools.partial(_count_chunk, spill, chunk)


def _count_chunk(spill: Spill, chunk: Chunk) -> list[Part]:
    blocks = load(spill, chunk)
    parts = []
    for part in parts_of(rows_of_groups(blocks, len(chunk.numbers))):
        mine = np.arange(part.start, part.stop)
        parts.append(Part(chunk.numbers[mine], *count_distinct(gather(blocks, mine))))
    return parts
