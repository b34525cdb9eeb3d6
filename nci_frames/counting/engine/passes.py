"""One pass over a scan, in this process or in another engine."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.exact import count_exact
from nci_frames.counting.engine.grid import Counted, Reached, count_cells, joined
from nci_frames.counting.engine.groups import GroupNumbers, with_group_numbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.opened import Elsewhere
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON
from nci_frames.schemas import WEIGHT

_Result = TypeVar("_Result")

#: A log with at most this many distinct scores gets a threshold at each.
FEW_SCORES = 16_384


@dataclass(frozen=True, slots=True)
class Scores:
    """The distinct scores of valid rows, ascending."""

    scores: Floats
    #: Whether there are too many; then only the lowest, and the lowest and highest finite scores are kept.
    many: bool = False

    @property
    def finite(self) -> Floats:
        """The finite scores."""
        return self.scores[np.isfinite(self.scores)]

    def and_of(self, more: NDArray[np.floating], *, many: bool = False) -> "Scores":
        """Return the union with further scores, in any order, or too *many*."""
        found = np.append(self.scores, more)
        if not (self.many or many) and len(distinct := np.unique(found)) <= FEW_SCORES:
            return Scores(distinct)
        finite = found[np.isfinite(found)]
        ends = ((found, np.min), (finite, np.min), (finite, np.max))
        return Scores(np.unique([end(of) for of, end in ends if len(of)]), many=True)


class Engine(Elsewhere, Protocol):
    """Another engine that counts its own rows."""

    def count(
        self, scan: Scan, group: list[str], grid: Floats | None, also: Floats | None, budget: Budget
    ) -> Counted:
        """Count the groups of a scan as ``count_at`` does."""

    def scores(self, scan: Scan) -> Scores:
        """Find the scores of a scan as ``find_scores`` does."""


def count_at(
    scan: Scan,
    group: list[str],
    grid: Floats | None,
    also: Floats | None = None,
    *,
    budget: Budget,
    progress: bool = False,
    most_rows: int | None = None,
) -> Counted:
    """Count the groups of a scan at every threshold of a grid, or at every distinct score.

    Parameters
    ----------
    scan
        The scan to count.
    group
        The model and the keys to keep. With ``weight`` among them, rows are counted by weight; otherwise
        weights are summed.
    grid
        Thresholds, strictly ascending; None means every distinct score.
    also
        With a grid: additional thresholds, whose counts are returned separately.
    budget
        Memory limit of the counts.
    progress
        Whether to show progress; another engine shows its own.
    most_rows
        Without a grid: maximum number of valid rows.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan does not drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    TooManyRowsError
        If there are more rows than *most_rows*.
    TooManyWeightsError
        If a key ``weight`` has more than 1,000 values.
    """
    scan = _with_strata(scan, group)
    engine = _engine(scan)
    if engine is not None:
        return engine.count(scan, group, grid, also, budget)

    if grid is not None:
        return reached_at(scan, group, joined(grid, also), budget=budget, progress=progress).at(grid, also)
    return _in_groups(
        scan,
        group,
        lambda groups: count_exact(scan, groups, progress=progress, most_rows=most_rows, budget=budget),
    )


def reached_at(
    scan: Scan, group: list[str], grid: Floats, *, budget: Budget, progress: bool = False
) -> Reached:
    """Count the groups of a scan in this process as ``count_at`` does, without their frame of counts."""
    scan = _with_strata(scan, group)

    def count(groups: GroupNumbers) -> Reached:
        found = count_cells(scan, groups, grid, budget=budget, progress=progress)
        return Reached.of(groups, grid, *found)

    return _in_groups(scan, group, count)


def _with_strata(scan: Scan, group: list[str]) -> Scan:
    """Return the scan, of which rows are counted if weights are a key."""
    return replace(scan, sums_weights=False) if WEIGHT in group else scan


def _in_groups(scan: Scan, group: list[str], count: Callable[[GroupNumbers], _Result]) -> _Result:
    schema = scan.raw.collect_schema()
    return with_group_numbers({key: schema[key] for key in group}, count)


def find_scores(scan: Scan) -> Scores:
    """Find the range of the scores of a scan, and all scores if they are few, in one pass."""
    engine = _engine(scan)
    if engine is not None:
        return engine.scores(scan)
    scores = scan.raw.filter(pl.col(REASON) == 0).select("score")
    found = Scores(np.empty(0))
    for batch in scan.batches(scores, maintain_order=False):
        found = found.and_of((batch if found.many else batch.unique())["score"].to_numpy())
    return found


def _engine(scan: Scan) -> Engine | None:
    return cast("Engine | None", scan.source.elsewhere)
