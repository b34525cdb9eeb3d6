"""Counts of many resampled logs -> the highest F-beta of each among all thresholds, without a table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats

Rows = NDArray[np.int64] | Floats

_CELLS_AT_A_TIME = 1 << 20


def has_no_limits(prevalence: Sequence[float], beta: Sequence[float]) -> bool:
    """Return whether F-beta is the quotient of its definition everywhere, and no limit of it."""
    return all(0 < eta <= 1 for eta in prevalence) and all(0 < weight < np.inf for weight in beta)


def best_f_beta(
    true: Rows, false: Rows, classes: tuple[Rows, Rows], prevalence: Sequence[float], beta: Sequence[float]
) -> Floats:
    """Return the highest F-beta of each log at each prevalence and beta.

    Parameters
    ----------
    true, false
        True and false positives, of shape (logs, thresholds).
    classes
        Positives and negatives of each log.
    prevalence, beta
        As in ``has_no_limits``.

    Returns
    -------
    Array of shape (logs, prevalences x betas), the betas fastest; NaN where a class is missing.
    """
    values = np.full((len(true), len(prevalence) * len(beta)), np.nan)
    some = max(1, _CELLS_AT_A_TIME // max(true.size // max(len(true), 1), 1))
    for start in range(0, len(true), some):
        logs = slice(start, start + some)
        with np.errstate(invalid="ignore", divide="ignore"):
            tpr, fpr = (
                hits[logs] / size[logs, None] for hits, size in zip((true, false), classes, strict=True)
            )
            for place, (eta, weight) in enumerate((e, b) for e in prevalence for b in beta):
                squared = weight * weight
                found = (1 + squared) * eta * tpr / (squared * eta + eta * tpr + (1 - eta) * fpr)
                # NaN, where it is, is at every threshold.
                values[logs, place] = found.max(axis=1)
    return values
