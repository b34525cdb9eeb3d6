"""Rows of bins -> bounds of the share of positives in them."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats, Places
from nci_frames.evaluation.probabilities.spread import Spread
from nci_frames.evaluation.rates.intervals import rate_interval

#: A band is made of intervals of runs of so many groups of rows: some of equal size, and some that get
#: smaller towards the highest scores, where positives are if they are rare.
_EVEN, _TOP = 16, 24


def own_bounds(classes: Sequence[Spread], level: float) -> tuple[Floats, Floats]:
    """Return bounds of the share of positives in bins, at prevalence 1/2, from the rows of either class.

    They are exact (Clopper-Pearson) if all rows of a class weigh the same. Otherwise the rows count as so
    many of one weight, which is that of the bin with one more row, the heaviest of the class: a bin may lack
    heavy rows by chance.
    """
    with np.errstate(invalid="ignore"):
        each = [(rows.squares + rows.heaviest**2) / (rows.share + rows.heaviest) for rows in classes]
        hits, misses = (np.nan_to_num(rows.share / one) for rows, one in zip(classes, each, strict=True))
        bounds = rate_interval("clopper_pearson", pl.col("hits"), pl.col("trials"), level=level)
        found = pl.DataFrame({"hits": hits, "trials": hits + misses}).select(lower=bounds[0], upper=bounds[1])
        # Without rows it may be anything.
        lower, upper = found["lower"].fill_null(0.0).to_numpy(), found["upper"].fill_null(1.0).to_numpy()
        return _evenly(lower, each), _evenly(upper, each)


def _evenly(share: Floats, each: Sequence[Floats]) -> Floats:
    """Return a share of rows as that of the weights they stand for, if both classes have the same total."""
    true, false = share * each[0], (1 - share) * each[1]
    return true / (true + false)


def isotonic_bounds(
    classes: Sequence[Spread], first: Places, last: Places, level: float
) -> tuple[Floats, Floats]:
    """Return bounds of the share of positives in blocks of scores, all of which hold at once.

    They are those at prevalence 1/2. They hold if the share does not fall with the score, however the blocks
    were chosen: each interval of a run of groups of rows, which labels do not choose, bounds the blocks whose
    scores are as high or higher.

    Parameters
    ----------
    classes
        The positives and the negatives of each step, scores ascending.
    first, last
        The first and the last step of each block.
    level
        Confidence that all of them hold.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke and Ziegel (2023), Honest calibration assessment for binary outcome
    predictions, doi:10.1093/biomet/asac068.
    """
    above = np.cumsum(sum(rows.share / rows.squares.sum() for rows in classes))
    total, steps = above[-1], len(above)
    cuts = [total * np.arange(1, _EVEN) / _EVEN, total - total ** (np.arange(_TOP) / _TOP)]
    ends = np.unique(np.append(np.searchsorted(above, np.concatenate(cuts)), steps - 1))
    ends = ends[ends < steps]
    begins = np.append(0, ends[:-1] + 1)
    runs = np.triu_indices(len(begins))
    of_runs = []
    for rows in classes:
        share, squares = (_sums(np.add.reduceat(each, begins), runs) for each in (rows.share, rows.squares))
        of_runs.append(Spread(share, squares, rows.heaviest))
    lows, highs = own_bounds(of_runs, 1 - (1 - level) / len(runs[0]))
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
