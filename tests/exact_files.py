"""A log, and so little memory for it that it is counted in many parts."""

import pytest

from nci_frames.counting import exact_file
from nci_frames.counting.engine import batches, distinct
from nci_frames.counting.out_of_memory import spilling
from nci_frames.counting.out_of_memory.room import Room
from tests.logs import random_log

LOG = random_log(2000, values=1000)


def shrink(patch: pytest.MonkeyPatch, *, held: int, counted: int) -> None:
    """Let so few rows fit into memory, in small blocks, parts and row groups."""
    patch.setattr(Room, "held", lambda _, __: held)
    patch.setattr(Room, "counted", lambda _, __, rows=0: max(counted - rows, 0))
    patch.setattr(spilling, "_AT_A_TIME", 9)
    few = {"_BLOCK_ROWS": 16, "_ROWS_PER_BOUND": 1, "ALONE_ROWS": 10, "_PART_ROWS": 20, "MOST_GROUPS": 5}
    for name, rows in few.items():
        patch.setattr(distinct, name, rows)
    patch.setattr(batches, "_SLICE_ROWS", 7)
    patch.setattr(exact_file, "ROWS_OF_A_GROUP", 40)
    patch.setattr(exact_file, "_ALONE_ROWS", 15)
