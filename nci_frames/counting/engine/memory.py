"""How much memory counting may take, known before it is taken."""

import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.errors import ParameterError

__all__ = ["Budget", "machine_memory"]

#: Of the machine's memory, the share that counting may take unless it is told otherwise.
_SHARE = 0.5
#: Bytes of a row of counts besides its keys: threshold, tp, fp, fn, tn.
_ROW = 5 * 8
#: Bytes of a key in a row of counts.
_KEY = 16
#: Bytes of a row whose score and class are kept until it is counted.
_KEPT = 16
#: Bytes of a cell (group, bin, class) while it is counted.
_CELL = 8


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes that counting may take; refuses what takes more."""

    limit: float
    #: Further bytes for each group and threshold, of what is computed from the counts.
    overhead: int = 0

    @classmethod
    def of(cls, memory_limit: float | None) -> "Budget":
        """Return the budget that is asked for; None stands for half of the machine's memory.

        Raises
        ------
        ParameterError
            If it is not a number of bytes above 0.
        """
        if memory_limit is None:
            return cls(_SHARE * machine_memory())
        if not (isinstance(memory_limit, int | float) and memory_limit > 0):
            raise ParameterError.out_of_range("memory_limit", memory_limit, "a number of bytes above 0")
        return cls(memory_limit)

    def need_cells(self, groups: GroupNumbers, thresholds: int) -> None:
        """Raise ParameterError if counts of so many groups at so many thresholds take too much."""
        per_threshold = 2 * _CELL + _ROW + _KEY * len(groups.keys) + self.overhead
        needed = len(groups) * thresholds * per_threshold
        if needed > self.limit:
            found = f"{len(groups):,} groups x {thresholds:,} thresholds x {per_threshold} bytes"
            raise self._refused(needed, found, groups.frame())

    def need_rows(self, rows: int, keys: int, distinct: int = 0) -> None:
        """Raise ParameterError if so many rows, and counts at so many distinct scores, take too much."""
        per_score = _ROW + _KEY * keys
        needed = rows * _KEPT + distinct * per_score
        if needed > self.limit:
            found = f"{rows:,} rows x {_KEPT} bytes"
            if distinct:
                found = f"{found} and {distinct:,} distinct scores x {per_score} bytes"
            raise self._refused(needed, found, None)

    def most_rows(self, keys: int) -> int:
        """Return how many rows with distinct scores can be counted, with so many keys."""
        return int(self.limit // (_KEPT + _ROW + _KEY * keys))

    def _refused(self, needed: float, found: str, groups: pl.DataFrame | None) -> ParameterError:
        msg = f"the counts take {_gigabytes(needed)}, and the limit is {_gigabytes(self.limit)}"
        hint = "take thresholds on a grid, or 'auto'"
        if groups is not None:
            values = {key: groups[key].n_unique() for key in groups.columns}
            most = max(values, key=lambda key: values[key])
            found = f"{found}; {most!r} has {values[most]:,} values"
            hint = f"take fewer thresholds, or keep fewer keys ({most!r} has the most values)"
        return ParameterError(msg, found=found, hint=f"{hint}, or raise memory_limit")


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.3g} GB"


def machine_memory() -> float:
    """Return the bytes of memory that this process can have."""
    limits = [float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")]
    # A container may have less than its machine.
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(float(Path(place).read_text()))
        except (OSError, ValueError):
            continue
    return min(limits)
