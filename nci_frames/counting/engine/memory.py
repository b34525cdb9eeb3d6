"""Memory limits of counting, checked before memory is allocated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nci_frames.base.errors import ParameterError
from nci_frames.base.memory import gigabytes, usual_limit
from nci_frames.base.messages import quantity
from nci_frames.counting.engine.groups import GroupNumbers

#: Bytes of a row of counts without keys: threshold, tp, fp, fn, tn.
_ROW = 5 * 8
#: Bytes of a key in a row of counts, unless shared with other rows.
KEY_BYTES = 16
#: Bytes of a row kept for exact counting, without and with a weight; most are needed to sort the largest
#: group.
_KEPT, _KEPT_WEIGHTED = 16, 48
#: Bytes of a cell (group, bin, class) during counting.
_CELL = 9
#: Bytes of a pair of classes in a group, with its keys.
_PAIR = 96


class TooManyCountsError(Exception):
    """A grid would have more rows of counts than allowed."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Memory limit of counting in bytes; larger requests are refused."""

    limit: float
    #: Maximum number of rows of counts on a grid.
    most_counts: float = math.inf
    #: Additional bytes per group and threshold, for results computed from the counts.
    overhead: int = 0
    #: Whether exact counts can be written to a file instead.
    to_file: bool = True

    @classmethod
    def of(cls, memory_limit: float | None) -> "Budget":
        """Return the requested budget; None means half of the machine's memory.

        Raises
        ------
        ParameterError
            If it is not a number above 0.
        """
        if memory_limit is None:
            return cls(usual_limit())
        if not (isinstance(memory_limit, int | float) and memory_limit > 0):
            raise ParameterError.out_of_range("memory_limit", memory_limit, "a number of bytes above 0")
        return cls(memory_limit)

    def need_cells(self, groups: GroupNumbers, thresholds: int) -> None:
        """Raise ParameterError if the counts of all groups at *thresholds* thresholds need too much memory.

        Raise TooManyCountsError if they have more rows than wanted.
        """
        if len(groups) * thresholds > self.most_counts:
            raise TooManyCountsError
        per_threshold = 2 * _CELL + _ROW + KEY_BYTES * len(groups.keys) + self.overhead
        needed = len(groups) * thresholds * per_threshold
        if needed > self.limit:
            key, values = most_values(groups)
            cells = f"{quantity(len(groups), 'group')} x {quantity(thresholds, 'threshold')}"
            found = f"{cells} x {per_threshold} bytes; {key!r} has {quantity(values, 'value')}"
            hint = f"take fewer thresholds, or keep fewer keys ({key!r} has the most values)"
            raise self._refused(needed, found, hint)

    def need_rows(self, rows: int, *, weighted: bool, distinct: int = 0, key_bytes: int = 0) -> None:
        """Raise ParameterError if the rows, their distinct scores and keys need too much memory."""
        kept = _KEPT_WEIGHTED if weighted else _KEPT
        needed = rows * kept + distinct * _ROW + key_bytes
        if needed > self.limit:
            found = f"{quantity(rows, 'row')} x {kept} bytes"
            if distinct:
                keys = f", with keys of {gigabytes(key_bytes)}" if key_bytes else ""
                found = f"{found} and {quantity(distinct, 'distinct score')} x {_ROW} bytes{keys}"
            to_file = "write the counts to a file with sink_exact_counts, or " if self.to_file else ""
            raise self._refused(needed, found, f"{to_file}take thresholds on a grid, or 'auto'")

    def need_pairs(self, sizes: Sequence[int]) -> None:
        """Raise ParameterError if every pair of classes and decisions in all groups needs too much memory."""
        needed = math.prod(sizes) * _PAIR
        if needed > self.limit:
            pairs = f"{quantity(math.prod(sizes[1:]), 'pair')} of classes"
            found = f"{quantity(sizes[0], 'group')} x {pairs} x {_PAIR} bytes"
            raise self._refused(needed, found, "keep fewer keys with by=")

    def most_rows(self, keys: int, *, weighted: bool) -> int:
        """Return the maximum number of rows with distinct scores that can be counted."""
        kept = _KEPT_WEIGHTED if weighted else _KEPT
        return int(self.limit // (kept + _ROW + KEY_BYTES * keys))

    def _refused(self, needed: float, found: str, hint: str) -> ParameterError:
        msg = f"the counts take {gigabytes(needed)}, and the limit is {gigabytes(self.limit)}"
        return ParameterError(msg, found=found, hint=f"{hint}, or raise memory_limit")


def most_values(groups: GroupNumbers) -> tuple[str, int]:
    """Return the key with the most values, and their number."""
    frame = groups.frame()
    values = {key: frame[key].n_unique() for key in frame.columns}
    most = max(values, key=lambda key: values[key])
    return most, values[most]
