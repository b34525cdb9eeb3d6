"""The resolution of counts: exact (every distinct score) or a grid.

This file decides when every score is known. The resolution "exact" of a row claims that no other score lies
between its threshold and the next higher threshold of its group. The claim refers to the frame as counted;
code that removes rows must keep it true:

- Removing the lowest rows is detected: the lowest remaining row then has rows below it (fn + tn > 0), and the
  scores there are unknown.
- Removing rows from the middle or the high end is not detected, since the remaining counts could be those of
  a log with fewer scores. Functions that select rows therefore change the resolution to "grid"
  (``without_claims``); so must a caller who filters exact counts by anything but a key or the lowest
  threshold.

No filter changes tp, fp, fn and tn of the remaining rows, nor TPR, FPR, the size of each class and the
observed prevalence.
"""

from collections.abc import Collection

import numpy as np
import polars as pl

from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.schemas import NEGATIVES, POSITIVES


def one_score(columns: Collection[str]) -> pl.Expr:
    """Return for each row whether all rows of the log up to the next threshold have the same score."""
    if "resolution" not in columns:
        return pl.lit(value=False)
    return (pl.col("resolution") == "exact").fill_null(value=False)


def every_row_exact(counts: pl.DataFrame) -> bool:
    """Return whether ``one_score`` holds for all rows of counts."""
    return bool(counts.select(one_score(counts.columns).all()).item())


def no_score_below() -> pl.Expr:
    """Return for each row of counts whether no score lies below its threshold."""
    # Sums of weights are rounded: a weight that does not change the sum counts as 0.
    return (pl.col("tp") == POSITIVES) & (pl.col("fp") == NEGATIVES)


def in_precision_of(scores: Floats, thresholds: Floats) -> Floats:
    """Return thresholds in the precision of the scores: rounded to Float32 if the scores were Float32.

    A Float32 score logged as 0.95 is 0.949999988 in Float64, and must be a positive decision at 0.95. Counts
    do not record the type: it was Float32 if all scores are Float32 numbers, and some have too many digits to
    have been written as Float64.

    >>> in_precision_of(np.array([0.2, 0.949999988079071]), np.array([0.95])).tolist()
    [0.95]
    >>> in_precision_of(np.array([0.20000000298023224, 0.949999988079071]), np.array([0.95])).tolist()
    [0.949999988079071]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = thresholds.astype(np.float32).astype(np.float64)
        # Thresholds that are Float32 numbers, as from other counts of the log, need no look at the scores.
        if np.array_equal(rounded, thresholds, equal_nan=True):
            return thresholds
        # The first scores usually suffice to recognise Float64.
        for some in (scores[:1000], scores):
            if not np.array_equal(some.astype(np.float32), some, equal_nan=True):
                return thresholds
        return thresholds if np.array_equal(scores.round(7), scores, equal_nan=True) else rounded


def runs_with_every_score(counts: pl.DataFrame, first: Rows) -> Flags:
    """Return whether each run of sorted counts has a row for every distinct score.

    This is so if no other score lies between any threshold and the next, and none below the lowest.

    Parameters
    ----------
    counts
        Counts where every group is one run of rows with ascending thresholds.
    first
        First row of each run.
    """
    if "resolution" not in counts.columns or not len(first):
        return np.zeros(len(first), np.bool_)
    one = counts.select(one_score(counts.columns)).to_series().to_numpy()
    # Operating points that were not attained have no counts.
    none_below = counts[first].select(no_score_below().fill_null(value=False)).to_series().to_numpy()
    return np.asarray(np.logical_and.reduceat(one, first) & none_below)


def without_claims(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows selected from counts or rates with the resolution "grid" instead of "exact"."""
    if "resolution" not in frame.columns:
        return frame
    resolution = pl.col("resolution")
    return frame.with_columns(resolution=pl.when(resolution.is_not_null()).then(pl.lit("grid")))
