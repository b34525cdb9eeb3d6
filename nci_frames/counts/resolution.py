"""How finely counts resolve the scores: at each of them, or on a grid.

This is the one place that says when every score is known. A row with the resolution "exact" says that no
other score lies from its threshold to before the next higher threshold of its group. The claim is about the
frame that was counted: code that removes rows must know what happens to the claim.

- Rows removed at the low end are noticed: then the lowest row left has rows below it (fn + tn > 0), and
  thresholds below it are unknown.
- Rows removed from the middle or from the high end cannot be noticed, since the counts of the rows left are
  those of a log with fewer scores. Functions that choose rows therefore call them "grid"
  (``without_claims``), and so must a caller who filters exact counts by anything but a key or the lowest
  threshold.

What no filter changes: tp, fp, fn and tn of each row left, and so TPR, FPR, the size of each class and the
observed prevalence.
"""

from collections.abc import Collection

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats


def one_score(columns: Collection[str]) -> pl.Expr:
    """Return for each row whether the log's rows from its threshold to before the next share one score."""
    if "resolution" not in columns:
        return pl.lit(value=False)
    return (pl.col("resolution") == "exact").fill_null(value=False)


def no_score_below() -> pl.Expr:
    """Return for each row of counts whether no score lies below its threshold."""
    # Sums of weights are rounded: a weight that does not change the sum counts as 0.
    return (pl.col("tp") + pl.col("fn") == pl.col("tp")) & (pl.col("fp") + pl.col("tn") == pl.col("fp"))


def in_precision_of(scores: Floats, thresholds: Floats) -> Floats:
    """Return thresholds as they compare with scores: rounded to Float32 where the scores are.

    A Float32 score that was logged as 0.95 is 0.949999988 in Float64, and a decision at 0.95 is positive.
    Counts do not say what the scores were: they were Float32 if all of them are such numbers, and some have
    too many digits to have been written so in Float64.

    >>> in_precision_of(np.array([0.2, 0.949999988079071]), np.array([0.95])).tolist()
    [0.95]
    >>> in_precision_of(np.array([0.20000000298023224, 0.949999988079071]), np.array([0.95])).tolist()
    [0.949999988079071]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = thresholds.astype(np.float32).astype(np.float64)
        # Thresholds of other counts of the log are: the scores need not be looked at.
        if np.array_equal(rounded, thresholds, equal_nan=True):
            return thresholds
        # A few scores in Float64 are enough to tell.
        for some in (scores[:1000], scores):
            if not np.array_equal(some.astype(np.float32), some, equal_nan=True):
                return thresholds
        return thresholds if np.array_equal(scores.round(7), scores, equal_nan=True) else rounded


def runs_with_every_score(counts: pl.DataFrame, first: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each run of sorted counts has a row for every distinct score.

    It has if no other score lies between any threshold and the next, and none below the lowest.

    Parameters
    ----------
    counts
        Counts of which every group is one run of rows with ascending thresholds.
    first
        The first row of each run.
    """
    if "resolution" not in counts.columns or not len(first):
        return np.zeros(len(first), np.bool_)
    one = counts.select(one_score(counts.columns)).to_series().to_numpy()
    # An operating point that was not attained has no counts.
    none_below = counts[first].select(no_score_below().fill_null(value=False)).to_series().to_numpy()
    return np.asarray(np.logical_and.reduceat(one, first) & none_below)


def without_claims(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows selected from counts or rates without the claim that no scores lie between them."""
    if "resolution" not in frame.columns:
        return frame
    resolution = pl.col("resolution")
    return frame.with_columns(resolution=pl.when(resolution.is_not_null()).then(pl.lit("grid")))
