"""A scan -> what refining needs of it: the first grid, and a function that counts on any grid."""

import math
from dataclasses import replace

import numpy as np
import polars as pl

from nci_frames.counting.engine.grid import count_grid
from nci_frames.counting.engine.groups import with_group_numbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON
from nci_frames.counting.thresholds.refining import Measure, ModelCounts, first_grid, refine
from nci_frames.typing import Floats

__all__ = ["refine_scan", "score_type"]

#: A log with at most this many distinct scores gets a threshold at each.
_FEW_SCORES = 16_384
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
        table, _ = with_group_numbers(
            {"model": pl.String()},
            lambda groups: count_grid(scan, groups, grid, progress=progress, budget=mine),
        )
        return table

    dtype = score_type(scan)
    scores = scan.raw.filter(pl.col(REASON) == 0).select("score")
    few = _few_scores(scan, scores)
    least = low = high = 0.0
    if few is None:
        finite = pl.col("score").filter(pl.col("score").is_finite())
        with scan.source.reading():
            ends = (pl.col("score").min(), finite.min().alias("low"), finite.max().alias("high"))
            least, low, high = (value or 0.0 for value in scores.select(ends).collect().row(0))
    first = first_grid(low, high, dtype, few=few, infinite=least == -math.inf)
    return refine(count, first, measure, tolerance, dtype)


def score_type(scan: Scan) -> type[np.floating]:
    """Return the type in which scores and thresholds are compared."""
    return np.float32 if scan.raw.collect_schema()["score"] == pl.Float32 else np.float64


def _few_scores(scan: Scan, scores: pl.LazyFrame) -> Floats | None:
    """Return the distinct scores, or None as soon as there are too many."""
    known = np.empty(0)
    for batch in scan.batches(scores, chunk_size=1 << 17, maintain_order=False):
        known = np.union1d(known, batch["score"].unique().to_numpy())
        if len(known) > _FEW_SCORES:
            return None
    return known
