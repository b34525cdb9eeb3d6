"""A scan -> what refining needs of it: the first grid, and a function that counts on any grid."""

import math
from dataclasses import replace

import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import count_at, find_scores
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.thresholds.refining import Measure, ModelCounts, first_grid, refine

#: Bytes that refining takes for each model and threshold: some twenty arrays of Float64.
_REFINING = 160


def refine_scan(
    scan: Scan,
    measure: Measure,
    tolerance: float,
    *,
    progress: bool = False,
    budget: Budget | None = None,
) -> ModelCounts:
    """Count every model of a scan on a grid that is refined as ``refine`` says."""
    mine = replace(budget or Budget.of(None), overhead=_REFINING)

    def count(grid: Floats) -> pl.DataFrame:
        return count_at(scan, ["model"], grid, budget=mine, progress=progress).counts

    ends = find_scores(scan)
    low, high = ends.low or 0.0, ends.high or 0.0
    first = first_grid(low, high, scan.score_type, few=ends.few, infinite=ends.least == -math.inf)
    return refine(count, first, measure, tolerance, scan.score_type)
