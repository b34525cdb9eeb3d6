"""Areas under many curves at once: a row of the arrays is a log, a column a bin of falling score."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nci_frames.typing import Floats

__all__ = ["average_precisions", "roc_aucs"]

Rows = NDArray[np.int64]

# So many cells of the work space stay in the cache of a core.
_CELLS_IN_CACHE = 1 << 15


def average_precisions(positives: Rows, negatives: Rows, prevalence: Sequence[float]) -> Floats:
    """Return the average precision of each log at each prevalence.

    Parameters
    ----------
    positives, negatives
        Rows in each bin, of shape (logs, bins), highest scores first.
    prevalence
        P(y=1), each in [0, 1].

    Returns
    -------
    Array of shape (logs, prevalences); NaN where a class is missing, or precision is 0/0.
    """
    areas = np.empty((len(positives), len(prevalence)))
    # A bin without positives adds nothing to recall, whatever its precision.
    steps = np.flatnonzero(positives.any(axis=0))
    some = max(1, _CELLS_IN_CACHE // max(1, len(steps)))
    for start in range(0, len(positives), some):
        logs = slice(start, start + some)
        true, false = positives[logs].cumsum(axis=1), negatives[logs].cumsum(axis=1)
        recall = positives[logs, steps]
        with np.errstate(invalid="ignore", divide="ignore"):
            tpr, fpr = true[:, steps] / true[:, -1:], false[:, steps] / false[:, -1:]
            ratio = np.where((recall == 0) & ~np.isnan(fpr), 1.0, fpr / tpr)
            recall = recall / true[:, -1:]
            work = np.empty_like(ratio)
            for place, eta in enumerate(prevalence):
                # Precision is 1/(1 + k·FPR/TPR).
                np.multiply(ratio, np.divide(1 - eta, eta), out=work)
                work += 1
                np.divide(recall, work, out=work)
                areas[logs, place] = work.sum(axis=1)
    areas[~positives.any(axis=1) | ~negatives.any(axis=1)] = np.nan
    return areas


def roc_aucs(positives: Rows, negatives: Rows) -> Floats:
    """Return the area under the ROC curve of each log, ties as half; NaN where a class is missing."""
    above = positives.cumsum(axis=1) - positives / 2
    with np.errstate(invalid="ignore"):
        fpr = negatives / negatives.sum(axis=1, keepdims=True)
        return np.asarray((fpr * (above / positives.sum(axis=1, keepdims=True))).sum(axis=1))
