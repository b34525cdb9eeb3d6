"""Rows of bins -> bounds of the share of positives in them."""

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.probabilities.blocks import Places
from nci_frames.evaluation.rates.intervals import rate_interval

#: A band is made of intervals of runs of so many groups of rows: some of equal size, and some that get
#: smaller towards the highest scores, where positives are if they are rare.
_EVEN, _TOP = 16, 24


def own_bounds(positives: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Return exact (Clopper-Pearson) bounds of the share of positives, from so many rows each."""
    bounds = rate_interval("clopper_pearson", pl.col("hits"), pl.col("trials"), level=level)
    found = pl.DataFrame({"hits": positives, "trials": rows}).select(lower=bounds[0], upper=bounds[1])
    # Without rows it may be anything.
    return found["lower"].fill_null(0.0).to_numpy(), found["upper"].fill_null(1.0).to_numpy()


def isotonic_bounds(
    positives: Floats, rows: Floats, first: Places, last: Places, level: float
) -> tuple[Floats, Floats]:
    """Return bounds of the share of positives in blocks of scores, all of which hold at once.

    They hold if the share does not fall with the score, however the blocks were chosen: each interval of a
    run of groups, which labels do not choose, bounds the blocks whose scores are as high or higher.

    Parameters
    ----------
    positives, rows
        Of each step, scores ascending.
    first, last
        The first and the last step of each block.
    level
        Confidence that all of them hold.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke and Ziegel (2023), Honest calibration assessment for binary outcome
    predictions, doi:10.1093/biomet/asac068.
    """
    above, total = np.cumsum(rows), rows.sum()
    cuts = [total * np.arange(1, _EVEN) / _EVEN, total - total ** (np.arange(_TOP) / _TOP)]
    ends = np.unique(np.append(np.searchsorted(above, np.concatenate(cuts)), len(rows) - 1))
    begins = np.append(0, ends[:-1] + 1)
    of_group, of_rows = (np.add.reduceat(values, begins) for values in (positives, rows))
    runs = np.triu_indices(len(begins))
    hits, trials = (_sums(values, runs) for values in (of_group, of_rows))
    lows, highs = own_bounds(hits, trials, 1 - (1 - level) / len(hits))
    least, most = np.zeros((2, len(begins) + 1, len(begins) + 1))
    most[:] = 1.0
    # Places are shifted by one, so that a block without a run below it, or above it, finds 0 or 1.
    least[1:, 1:][runs], most[:-1, :-1][runs] = lows, highs
    least = np.maximum.accumulate(np.maximum.accumulate(least, axis=0), axis=1)
    most = np.minimum.accumulate(np.minimum.accumulate(most[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
    lower = least[np.searchsorted(begins, first, "right"), np.searchsorted(ends, last, "right")]
    return lower, most[np.searchsorted(begins, first), np.searchsorted(ends, last)]


def _sums(values: Floats, runs: tuple[Places, Places]) -> Floats:
    total = np.append(0.0, np.cumsum(values))
    return np.asarray(total[runs[1] + 1] - total[runs[0]])
