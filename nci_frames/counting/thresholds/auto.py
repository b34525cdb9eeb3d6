"""Thresholds as fine as certified areas need, and no finer."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.grid import holds_one_score
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.thresholds.grids import AutoThresholds
from nci_frames.counting.thresholds.refining import ModelCounts, fewest, refine_scan, worst

#: A log of up to this many rows is counted at every distinct score: some 400 MB of counts.
EXACT_ROWS = 1 << 22


@dataclass(frozen=True, slots=True)
class Chosen:
    """Thresholds, and the greatest width of the certified bounds of the areas of a model counted on them."""

    #: None stands for every distinct score.
    grid: Floats | None
    #: Of each threshold, whether no other score lies from it to before the next. None stands for all or none.
    resolved: NDArray[np.bool_] | None = None
    #: None if it was not requested.
    reached: float | None = None
    tolerance: float | None = None


def choose_thresholds(scan: Scan, wish: AutoThresholds, *, budget: Budget, progress: bool = False) -> Chosen:
    """Choose thresholds for a log of more rows than ``EXACT_ROWS``.

    Parameters
    ----------
    scan
        The log.
    wish
        The areas to bound, and the tolerance.
    budget
        How much memory each pass may take.
    progress
        Whether to show the progress of each pass over the log.
    """
    measure = functools.partial(_widths, prevalence=wish.prevalence)
    dtype = scan.score_type
    fine = refine_scan(scan, measure, wish.tolerance, progress=progress, budget=budget)
    # Fewer thresholds need not be better than the finest grid, if that misses the tolerance.
    enough = max(wish.tolerance, 1.02 * worst(measure(fine)))
    kept = fewest(fine, measure, enough, dtype)
    grid = np.union1d(fine.grid[kept], wish.also)
    return Chosen(grid, holds_one_score(grid, dtype), worst(measure(fine.only(kept, dtype))), wish.tolerance)


def _widths(counts: ModelCounts, *, prevalence: tuple[float, ...]) -> Floats:
    """Return how much every bin adds to the width of the bounds, for each area (row) of each model.

    The worst case is slightly overestimated (by the precision at the start of the bin with all its negatives
    already counted), which avoids a logarithm; the certified bounds are narrower.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        # From the highest bin down; a model that lacks a class has no areas.
        recall = counts.positives[:, ::-1] / counts.positives.sum(axis=1, keepdims=True)
        false = counts.negatives[:, ::-1] / counts.negatives.sum(axis=1, keepdims=True)
        tpr1, fpr1 = recall.cumsum(axis=1), false.cumsum(axis=1)
        tpr0, fpr0 = tpr1 - recall, fpr1 - false
        widths = [recall * false]
        for eta in prevalence:
            k = (1 - eta) / eta
            best = tpr1 / (tpr1 + k * fpr0)
            least = tpr0 / (tpr0 + k * fpr1)
            widths.append(recall * (best - np.where(np.isnan(least), best, least)))
    stacked = np.nan_to_num(np.vstack(widths)[:, ::-1], nan=0.0)
    return np.where(counts.tied, 0.0, np.maximum(stacked, 0.0))
