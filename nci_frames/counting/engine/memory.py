"""How much memory counting may take, known before it is taken."""

from dataclasses import dataclass

import polars as pl

from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.errors import ParameterError
from nci_frames.memory import gigabytes, usual_limit
from nci_frames.messages import quantity

__all__ = ["Budget"]

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
            return cls(usual_limit())
        if not (isinstance(memory_limit, int | float) and memory_limit > 0):
            raise ParameterError.out_of_range("memory_limit", memory_limit, "a number of bytes above 0")
        return cls(memory_limit)

    def need_cells(self, groups: GroupNumbers, thresholds: int) -> None:
        """Raise ParameterError if counts of so many groups at so many thresholds take too much."""
        per_threshold = 2 * _CELL + _ROW + _KEY * len(groups.keys) + self.overhead
        needed = len(groups) * thresholds * per_threshold
        if needed > self.limit:
            cells = f"{quantity(len(groups), 'group')} x {quantity(thresholds, 'threshold')}"
            raise self._refused(needed, f"{cells} x {per_threshold} bytes", groups.frame())

    def need_rows(self, rows: int, keys: int, distinct: int = 0) -> None:
        """Raise ParameterError if so many rows, and counts at so many distinct scores, take too much."""
        per_score = _ROW + _KEY * keys
        needed = rows * _KEPT + distinct * per_score
        if needed > self.limit:
            found = f"{quantity(rows, 'row')} x {_KEPT} bytes"
            if distinct:
                found = f"{found} and {quantity(distinct, 'distinct score')} x {per_score} bytes"
            raise self._refused(needed, found, None)

    def most_rows(self, keys: int) -> int:
        """Return how many rows with distinct scores can be counted, with so many keys."""
        return int(self.limit // (_KEPT + _ROW + _KEY * keys))

    def _refused(self, needed: float, found: str, groups: pl.DataFrame | None) -> ParameterError:
        msg = f"the counts take {gigabytes(needed)}, and the limit is {gigabytes(self.limit)}"
        hint = "take thresholds on a grid, or 'auto', or count a model at a time"
        if groups is not None:
            values = {key: groups[key].n_unique() for key in groups.columns}
            most = max(values, key=lambda key: values[key])
            found = f"{found}; {most!r} has {quantity(values[most], 'value')}"
            hint = f"take fewer thresholds, or keep fewer keys ({most!r} has the most values)"
        return ParameterError(msg, found=found, hint=f"{hint}, or raise memory_limit")
