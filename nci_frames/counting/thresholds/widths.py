"""The counts of all models on a grid -> how wide the bounds of areas are, and few thresholds that suffice."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.arguments import MOST_THRESHOLDS
from nci_frames.base.typing import Floats
from nci_frames.counting.engine.grid import holds_one_score

#: Largest step of the root of recall: 5 % of a recall of 0.01, 1.6 % of one of 0.1.
STEP = 0.0025
#: Bins whose widths are computed at a time.
_BINS = 512
#: Relative error of a sum of many contributions.
_ROUNDING = 1e-9

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """The rows of every model that reach each threshold of a grid, after a first column with all rows.

    A bin reaches from one place to below the next; the first one lies below all thresholds.
    """

    grid: Floats
    positives: Floats  # model x (1 + threshold)
    negatives: Floats  # model x (1 + threshold)
    dtype: type[np.floating]  # of the scores
    lightest: Floats  # model x 1: the least weight of a positive; 0 if it is unknown

    @property
    def bins(self) -> tuple[Places, Places]:
        """The first place of each bin, and the first one after it."""
        begin = np.arange(1 + len(self.grid))
        return begin, begin + 1

    def tied(self, begin: Places, end: Places) -> NDArray[np.bool_]:
        """Return whether bins can hold only one score, so that their rows are certainly tied."""
        one = np.append(False, holds_one_score(self.grid, self.dtype))
        return np.asarray(one[begin] & (end - begin == 1))

    def only(self, kept: NDArray[np.intp]) -> "ModelCounts":
        """Return the counts at a subset of the thresholds, given by ascending indices."""
        places = np.append(0, kept + 1)
        return replace(
            self,
            grid=self.grid[kept],
            positives=self.positives[:, places],
            negatives=self.negatives[:, places],
        )


#: Function that returns the contribution of bins to each quantity to minimise, of shape (quantities, models,
#: bins). Bins are given by their first places and the first ones after them.
Measure = Callable[[ModelCounts, Places, Places], Floats]


def worst(counts: ModelCounts, measure: Measure) -> float:
    """Return the largest quantity."""
    return float(summed(counts, measure)[1].max(initial=0))


def summed(counts: ModelCounts, measure: Measure) -> tuple[Floats, Floats]:
    """Return the largest contribution of each bin to a quantity of each model, and its largest quantity."""
    begin, end = counts.bins
    most, sums = np.empty((len(counts.positives), len(begin))), np.zeros(1)
    # Some bins at a time, whose contributions to the areas of all models fit into the cache.
    for first in range(0, len(begin), _BINS):
        some = slice(first, first + _BINS)
        parts = measure(counts, begin[some], end[some])
        parts.max(axis=0, out=most[:, some])
        sums = sums + parts.sum(axis=2)
    return most, sums.max(axis=0)


def fewest(
    counts: ModelCounts,
    measure: Measure,
    enough: float,
    *,
    most: int = MOST_THRESHOLDS,
) -> NDArray[np.intp]:
    """Return the indices of few thresholds of a grid that keep every quantity, and steps of recall, small.

    Starting from the coarsest grid, the bins that contribute most are split in two by their rows, until the
    quantities are small enough, the thresholds are too many, or no bin can be split. So are bins in which the
    root of the recall of a model changes by more than ``STEP``: areas may need none of the thresholds at
    which a good model keeps a budget of alerts.
    """
    last = len(counts.grid) - 1
    positives = counts.positives
    root = np.sqrt(positives[:, 1:] / np.maximum(positives[:, :1], np.finfo(float).tiny))
    reached = [part.sum(axis=0) for part in (counts.positives, counts.negatives)]
    below = -sum(rows[1:] / max(rows[0], 1) for rows in reached)  # up to a constant
    kept = np.unique([0, last])
    # The bin at place 0 is that below all thresholds.
    begin = np.append(0, kept + 1)
    parts = measure(counts, begin, np.append(begin[1:], last + 2))
    sums, most_of = parts.sum(axis=2), parts.max(axis=(0, 1), initial=0)[1:-1]
    while True:
        low, high = kept[:-1], kept[1:]
        whole = high - low == 1
        adds = np.where(whole, 0, most_of)
        excess = sums.max(initial=0) / enough
        cut = ~whole & ((root[:, low] - root[:, high]).max(axis=0, initial=0) > STEP)
        # By rounding, sums may be smaller than those of ``worst``.
        if excess > 1 - _ROUNDING:
            # Smaller steps near the goal avoid unneeded thresholds.
            cut |= adds > adds.max(initial=0) / np.clip(excess, 1.5, 64)
        if len(kept) >= most or not cut.any():
            return kept
        low, high = low[cut], high[cut]
        middle = np.searchsorted(below, (below[low] + below[high]) / 2)
        middle = np.clip(middle, low + 1, high - 1)
        one, two, both = (
            measure(counts, begin + 1, end + 1) for begin, end in ((low, middle), (middle, high), (low, high))
        )
        sums += one.sum(axis=2) + two.sum(axis=2) - both.sum(axis=2)
        places = np.flatnonzero(cut)
        most_of[places] = one.max(axis=(0, 1))
        most_of = np.insert(most_of, places + 1, two.max(axis=(0, 1)))
        kept = np.insert(kept, places + 1, middle)


def bound_widths(counts: ModelCounts, begin: Places, end: Places, *, prevalence: tuple[float, ...]) -> Floats:
    """Return the contribution of bins to the width of the bounds of each area of each model.

    It is slightly overestimated (by the precision at the start of the bin with all its negatives already
    counted), which avoids a logarithm; the certified bounds are narrower.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        # A model that lacks a class has no areas.
        classes = counts.positives, counts.negatives
        tpr1, fpr1 = (rows[:, begin] / rows[:, :1] for rows in classes)
        # No row is above the last bin.
        last = len(counts.grid)
        after = np.minimum(end, last)
        tpr0, fpr0 = (np.where(end > last, 0.0, rows[:, after] / rows[:, :1]) for rows in classes)
        recall = tpr1 - tpr0
        # Recall grows row by row, so the first positive of a bin reaches this recall.
        one = np.where(recall > 0, counts.lightest / counts.positives[:, :1], 0)
        tpr0 = np.minimum(tpr0 + one, tpr1)
        widths = np.empty((1 + len(prevalence), *recall.shape))
        np.multiply(recall, fpr1 - fpr0, out=widths[0])
        for place, eta in enumerate(prevalence, start=1):
            best, least = (1 - eta) / eta * fpr0, (1 - eta) / eta * fpr1
            for precision, tpr in ((best, tpr1), (least, tpr0)):
                np.add(tpr, precision, out=precision)
                np.divide(tpr, precision, out=precision)
            best -= least
            np.multiply(recall, best, out=widths[place])
    # 0/0 is a bin without rows.
    np.fmax(widths, 0, out=widths)
    widths[..., counts.tied(begin, end)] = 0
    return widths
