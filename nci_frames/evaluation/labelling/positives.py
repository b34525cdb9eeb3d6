"""The expected share of positives in each range of scores of unlabelled traffic."""

import numpy as np

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Floats

#: Share of positives spread evenly over all rows, since a pilot may lack positives where they are rare.
_ANYWHERE = 0.003
_HALVINGS = 100


def prudent(rows: Floats, positive: Floats) -> Floats:
    """Return the shares of positives with a few positives added in every cell.

    Raises
    ------
    ParameterError
        If none are expected anywhere.
    """
    if not rows @ positive > 0:
        msg = "no positives are expected in the log: no positive of the pilot has a score as its rows have"
        raise ParameterError(msg, found=quantity(int(rows.sum()), "row"), hint="are both of the same model?")
    return np.asarray((1 - _ANYWHERE) * positive + _ANYWHERE * (rows @ positive) / rows.sum())


def by_laws(rows: Floats, positives: Floats, negatives: Floats, prevalence: float | None) -> Floats:
    """Return the expected share of positives in each cell of traffic, from the distributions of a pilot.

    Parameters
    ----------
    rows
        Rows of the traffic in each cell.
    positives, negatives
        Shares of the pilot's positives and negatives in each cell.
    prevalence
        Share of positives in the traffic; None for the maximum likelihood estimate.

    Notes
    -----
    Positives are distributed as in the pilot, and divided by the rows of the traffic in the cell. So the
    negatives of the pilot, few of which have high scores, are not needed.
    """
    every = float(rows.sum())
    eta = mixed(rows, positives, negatives) if prevalence is None else prevalence
    # The share in an empty cell has no effect.
    return np.minimum(np.divide(every * eta * positives, rows, out=np.zeros(len(rows)), where=rows > 0), 1.0)


def mixed(rows: Floats, positives: Floats, negatives: Floats) -> float:
    """Return the maximum likelihood share of positives in a mixture of two distributions; at least a row."""
    low, high = 1 / (float(rows.sum()) + 1), 1.0
    used = (rows > 0) & (positives + negatives > 0)
    more, base = (positives - negatives)[used], negatives[used]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # The log-likelihood is concave, so its slope falls.
        if (rows[used] * more / (base + middle * more)).sum() > 0:
            low = middle
        else:
            high = middle
    return low
