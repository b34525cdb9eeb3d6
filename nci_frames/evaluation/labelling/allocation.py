"""Sizes and spreads of strata -> whole numbers of labels that sum to the budget."""

import numpy as np

from nci_frames.base.typing import Floats, Rows

_HALVINGS = 64


def allocate(spread: Floats, rows: Rows, budget: int, least: int) -> Rows:
    """Return the number of rows of each stratum to label for the smallest variance.

    Parameters
    ----------
    spread
        Rows of each stratum times the standard deviation of the contribution of a row.
    rows
        Rows of each stratum, the most that can be labelled.
    budget
        Total number of labels. If there are fewer rows, all are labelled.
    least
        Least number of labels of each stratum, unless it has fewer rows.

    Notes
    -----
    The variance is the sum of spread²/labels. One label more than n reduces it by spread²/(n(n+1)), so labels
    go where spread/√(n(n+1)) is largest: Neyman's allocation, in whole numbers.

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
        """Return the labels that reduce the variance by more than their price."""
        ratio = np.minimum(spread / price, 1e15)
        most = (np.sqrt(1 + 4 * ratio**2) - 1) / 2
        found: Rows = np.clip(np.ceil(np.minimum(most, rows)).astype(np.int64), first, rows)
        return found

    # The price at which the labels just exceed the budget, on a logarithmic scale.
    low, high = -700.0, 700.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        spent = worth(np.exp(middle)).sum()
        low, high = (middle, high) if spent > budget else (low, middle)
        if spent == budget:
            break
    labels = worth(np.exp(high))
    # Spend the rest one by one; if no label reduces the variance, by size.
    while (left := budget - int(labels.sum())) > 0:
        gain = np.where(labels < rows, spread**2 / (labels * (labels + 1.0)), -1.0)
        if not gain.max() > 0:
            return _shared(labels, rows, left)
        labels[gain.argmax()] += 1
    return labels


def _shared(labels: Rows, rows: Rows, left: int) -> Rows:
    """Add *left* labels in proportion to the unlabelled rows."""
    free = (rows - labels).astype(np.float64)
    whole = np.floor(free * (left / free.sum())).astype(np.int64)
    order = np.argsort(-(free * (left / free.sum()) - whole), kind="stable")
    short = left - int(whole.sum())
    for place in order:
        if short and labels[place] + whole[place] < rows[place]:
            whole[place] += 1
            short -= 1
    return np.asarray(labels + whole)
