"""Areas under many curves at once: rows of the arrays are logs, columns are bins, highest scores first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.pr_gain import check_gain_prevalences, gained
from nci_frames.evaluation.metrics import PR_AUC, PR_GAIN_AUC, ROC_AUC

Rows = NDArray[np.int64]

# A work space of this many cells fits into the cache of a core.
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
    etas = np.asarray(prevalence, np.float64)
    areas = np.empty((len(positives), len(etas)))
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
            # Precision is 1/(1 + k·FPR/TPR).
            odds = np.divide(1 - etas, etas)
            many = max(1, _CELLS_IN_CACHE // max(1, ratio.size))
            for place in range(0, len(etas), many):
                work = ratio[:, np.newaxis] * odds[place : place + many, np.newaxis]
                work += 1
                np.divide(recall[:, np.newaxis], work, out=work)
                areas[logs, place : place + many] = work.sum(axis=2)
    areas[~positives.any(axis=1) | ~negatives.any(axis=1)] = np.nan
    return areas


def roc_aucs(positives: Rows, negatives: Rows) -> Floats:
    """Return the area under the ROC curve of each log, ties as half; NaN where a class is missing."""
    above = positives.cumsum(axis=1) - positives / 2
    with np.errstate(invalid="ignore"):
        fpr = negatives / negatives.sum(axis=1, keepdims=True)
        return np.asarray((fpr * (above / positives.sum(axis=1, keepdims=True))).sum(axis=1))


def pr_gain_aucs(positives: Rows, negatives: Rows, prevalence: Sequence[float]) -> Floats:
    """Return the area under the precision-recall-gain curve of each log at each prevalence.

    Parameters and result are those of ``average_precisions``, each prevalence between 0 and 1.
    """
    areas = np.full((len(positives), len(prevalence)), np.nan)
    some = max(1, _CELLS_IN_CACHE // positives.shape[1])
    for start in range(0, len(positives), some):
        logs = slice(start, start + some)
        with np.errstate(invalid="ignore"):
            tpr, fpr = (
                np.pad(rows[logs].cumsum(axis=1) / rows[logs].sum(axis=1, keepdims=True), ((0, 0), (1, 0)))
                for rows in (positives, negatives)
            )
        for place, eta in enumerate(prevalence):
            steps = gained(tpr[:, :-1], tpr[:, 1:], fpr[:, :-1], fpr[:, 1:], eta)
            areas[logs, place] = steps.sum(axis=1)
    areas[~positives.any(axis=1) | ~negatives.any(axis=1)] = np.nan
    return areas


@dataclass(frozen=True, slots=True)
class ReplicatedArea:
    """How an area of many logs is computed."""

    #: Takes positives and negatives of each log, of shape (logs, bins), and the prevalences; returns an array
    #: of shape (logs, prevalences), or (logs, 1) if it does not depend on them.
    areas: Callable[[Rows, Rows, Sequence[float]], Floats]
    #: The rule of the PR area.
    method: str | None = None
    #: Raises ParameterError if it is undefined at one of the prevalences that a caller gives.
    check: Callable[[Sequence[float] | None], None] = lambda _: None


#: The areas that can be resampled, by the name of their metric.
REPLICATED: dict[str, ReplicatedArea] = {
    PR_AUC.name: ReplicatedArea(average_precisions, "average_precision"),
    PR_GAIN_AUC.name: ReplicatedArea(pr_gain_aucs, check=check_gain_prevalences),
    ROC_AUC.name: ReplicatedArea(lambda positives, negatives, _: roc_aucs(positives, negatives)[:, None]),
}
