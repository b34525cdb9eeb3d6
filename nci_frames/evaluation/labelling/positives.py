"""Which share of positives to expect in each range of scores of traffic without labels."""

import numpy as np

from nci_frames.base.typing import Floats

#: So many of the positives may be anywhere: a pilot has no positives where there are few.
_ANYWHERE = 0.003
_HALVINGS = 100


def prudent(rows: Floats, positive: Floats) -> Floats:
    """Return shares of positives, of which a few are expected in every cell."""
    return np.asarray((1 - _ANYWHERE) * positive + _ANYWHERE * (rows @ positive) / rows.sum())


def by_laws(rows: Floats, positives: Floats, negatives: Floats, prevalence: float | None) -> Floats:
    """Return the expected share of positives of each cell of traffic, by the laws of a pilot.

    Parameters
    ----------
    rows
        Rows of the traffic in each cell.
    positives, negatives
        The share of the positives, and of the negatives, of the pilot that is in each cell.
    prevalence
        The share of positives of the traffic; None for the one with which its cells are the most probable.

    Notes
    -----
    The positives are spread as those of the pilot. They are divided by the rows that the traffic has in the
    cell, so that the negatives of the pilot, of which few have high scores, are not needed there.
    """
    every = float(rows.sum())
    eta = mixed(rows, positives, negatives) if prevalence is None else prevalence
    # Where there are none, their share plays no part.
    return np.minimum(np.divide(every * eta * positives, rows, out=np.zeros(len(rows)), where=rows > 0), 1.0)


def mixed(rows: Floats, positives: Floats, negatives: Floats) -> float:
    """Return the most probable share of positives in a mixture of two laws; at least one row's worth."""
    low, high = 1 / (float(rows.sum()) + 1), 1.0
    used = (rows > 0) & (positives + negatives > 0)
    more, base = (positives - negatives)[used], negatives[used]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # The slope of the logarithm of the likelihood falls.
        if (rows[used] * more / (base + middle * more)).sum() > 0:
            low = middle
        else:
            high = middle
    return low
