"""Sizes and spreads of strata -> whole numbers of labels, which add up to the budget."""

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats

Rows = NDArray[np.int64]

_HALVINGS = 64


def allocate(spread: Floats, rows: Rows, budget: int, least: int) -> Rows:
    """Return how many rows of each stratum to label, so that the variance is the smallest.

    Parameters
    ----------
    spread
        Of each stratum, its rows times the standard deviation of what a row adds to the value.
    rows
        Its rows: no more are labelled.
    budget
        Labels in all; at least *least* for each stratum. With fewer rows all are labelled.
    least
        Labels of each stratum, or all its rows.

    Notes
    -----
    The variance is the sum of spread²/labels. One label more, after n, takes spread²/(n(n+1)) from it, so the
    labels are those with the largest spread/√(n(n+1)): Neyman's allocation, in whole numbers.

    References
    ----------
    Neyman (1934), doi:10.2307/2342192; Wright (2012), The equivalence of Neyman optimum allocation for
    sampling and equal proportions for apportioning the U.S. House of Representatives,
    doi:10.1080/00031305.2012.733679.
    """
    first = np.minimum(least, rows)
    if budget >= rows.sum():
        return rows.copy()

    def worth(price: float) -> Rows:
        """Return the labels that are worth their price."""
        ratio = np.minimum(spread / price, 1e15)
        most = (np.sqrt(1 + 4 * ratio**2) - 1) / 2
        found: Rows = np.clip(np.ceil(np.minimum(most, rows)).astype(np.int64), first, rows)
        return found

    # The price at which the labels just exceed the budget, on a logarithmic scale.
    low, high = -700.0, 700.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if worth(np.exp(middle)).sum() > budget else (low, middle)
    labels = worth(np.exp(high))
    # Labels of one price, and strata in which no label is worth anything.
    while (left := budget - int(labels.sum())) > 0:
        gain = np.where(labels < rows, spread**2 / (labels * (labels + 1.0)), -1.0)
        if not gain.max() > 0:
            return _shared(labels, rows, left)
        labels[gain.argmax()] += 1
    return labels


def _shared(labels: Rows, rows: Rows, left: int) -> Rows:
    """Add so many labels in proportion to the rows that have none."""
    free = (rows - labels).astype(np.float64)
    whole = np.floor(free * (left / free.sum())).astype(np.int64)
    order = np.argsort(-(free * (left / free.sum()) - whole), kind="stable")
    short = left - int(whole.sum())
    for place in order:
        if short and labels[place] + whole[place] < rows[place]:
            whole[place] += 1
            short -= 1
    return np.asarray(labels + whole)
