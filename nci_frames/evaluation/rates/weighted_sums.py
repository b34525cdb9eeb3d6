"""Rows of a class with weights -> the share of them above each threshold, and its bounds."""

import numpy as np

from nci_frames.base.normal import two_sided_p_values
from nci_frames.base.typing import Floats


def split_sums(
    rows: Floats, weights: Floats, spread: Floats, z: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the weighted rows above and below each threshold, and the bounds of the share above.

    Parameters
    ----------
    rows
        Rows in each bin, lowest scores first; one more than there are thresholds.
    weights
        What a row of each bin stands for; 0 in bins that no row can be in.
    spread
        The variance of the rows of each bin, as a share of that of a Poisson variable.
    z
        The normal quantile of the confidence.

    Notes
    -----
    Both sums have the bounds of Fay and Feuer (1997) for weighted sums of Poisson variables. A move of either
    sum to a bound moves the share; the moves in one direction are added as squares (Zou and Donner 2008).
    """
    above, above_lower, above_upper = (
        side[::-1] for side in _running(rows[::-1], weights[::-1], spread[::-1], z)
    )
    below, below_lower, below_upper = _running(rows, weights, spread, z)
    share = _share(above, below)
    down = np.hypot(share - _share(above_lower, below), share - _share(above, below_upper))
    up = np.hypot(_share(above_upper, below) - share, _share(above, below_lower) - share)
    return above, below, np.clip(share - down, 0, 1), np.clip(share + up, 0, 1)


def _running(rows: Floats, weights: Floats, spread: Floats, z: float) -> tuple[Floats, Floats, Floats]:
    """Return the weighted sums of the first bins, from one to all but the last, and their bounds."""
    from scipy.special import gammainccinv, gammaincinv  # noqa: PLC0415  (slow to import, and seldom needed)

    tail = float(two_sided_p_values(np.array([z]))[0]) / 2
    total = (weights * rows).cumsum()[:-1]
    variance = (weights**2 * spread * rows).cumsum()[:-1]
    largest = np.maximum.accumulate(weights)[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        lower = variance / total * gammaincinv(total**2 / variance, tail)
        more, wider = total + largest, variance + largest**2
        upper = wider / more * gammainccinv(more**2 / wider, tail)
    # No row does not mean that there is none, unless no row can be there.
    return total, np.where(total > 0, lower, 0.0), np.where(largest > 0, upper, 0.0)


def _share(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return above / (above + below)
