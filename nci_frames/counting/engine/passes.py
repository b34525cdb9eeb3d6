"""One pass over a scan, in this process or where its rows are."""

import math
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import BATCH_ROWS
from nci_frames.counting.engine.exact import count_exact
from nci_frames.counting.engine.grid import Counted, count_cells, counted_cells, joined
from nci_frames.counting.engine.groups import GroupNumbers, with_group_numbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.opened import Elsewhere
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON

#: A log with at most this many distinct scores gets a threshold at each.
FEW_SCORES = 16_384


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The scores of valid rows."""

    #: The distinct scores, ascending; None where they are too many.
    few: Floats | None
    #: The lowest score, and the lowest and the highest that are finite; null where there is none.
    least: float | None
    low: float | None
    high: float | None


class Engine(Elsewhere, Protocol):
    """Rows that are counted where they are."""

    def count(
        self, scan: Scan, group: list[str], grid: Floats | None, also: Floats | None, budget: Budget
    ) -> Counted:
        """Count the groups of a scan of these rows as ``count_at`` does."""

    def score_range(self, scan: Scan) -> ScoreRange:
        """Find the range of the scores of a scan of these rows, and all of them if they are few."""


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
        What to count.
    group
        The model and the keys to keep.
    grid
        Thresholds, strictly ascending; None stands for every distinct score.
    also
        On a grid, more thresholds to count at, whose counts are returned apart.
    budget
        How much memory the counts may take.
    progress
        Whether to show progress; another engine shows its own.
    most_rows
        On no grid, how many valid rows the log may have.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    TooManyRowsError
        If there are more rows than *most_rows*.
    """
    engine = _engine(scan)
    if engine is not None:
        return engine.count(scan, group, grid, also, budget)

    def count(groups: GroupNumbers) -> Counted:
        if grid is None:
            return count_exact(scan, groups, progress=progress, most_rows=most_rows, budget=budget)
        cells, rows_by_code = count_cells(scan, groups, joined(grid, also), budget=budget, progress=progress)
        return counted_cells(groups, grid, also, cells, rows_by_code)

    schema = scan.raw.collect_schema()
    return with_group_numbers({key: schema[key] for key in group}, count)


def find_scores(scan: Scan) -> ScoreRange:
    """Find the range of the scores of a scan, and all of them if they are few, in one pass."""
    engine = _engine(scan)
    if engine is not None:
        return engine.score_range(scan)
    scores = scan.raw.filter(pl.col(REASON) == 0).select("score")
    few: Floats | None = np.empty(0)
    finite, infinite = [], False
    for batch in scan.batches(scores, chunk_size=BATCH_ROWS, maintain_order=False):
        values = batch["score"].to_numpy()
        if few is not None:
            few = np.union1d(few, batch["score"].unique().to_numpy())
            few = few if len(few) <= FEW_SCORES else None
        inside = values[np.isfinite(values)]
        infinite = infinite or bool(np.isneginf(values).any())
        if len(inside):
            finite += [float(inside.min()), float(inside.max())]
    low, high = (min(finite), max(finite)) if finite else (None, None)
    return ScoreRange(few, -math.inf if infinite else low, low, high)


def _engine(scan: Scan) -> Engine | None:
    return cast("Engine | None", scan.source.elsewhere)
