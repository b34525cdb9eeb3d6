"""How many rows are in memory at a time where the others are on the disk."""

import math
from dataclasses import dataclass

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.memory import gigabytes
from nci_frames.base.messages import Option
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
