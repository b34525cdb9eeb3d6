"""ROC-AUC and the numbers of rows -> Newcombe's score interval, which also few rows of a class support."""

import numpy as np

from nci_frames.base.typing import Floats

_HALVINGS = 60


def newcombe_variance(area: Floats, m: Floats, n: Floats) -> Floats:
    """Return the variance that an area of m positives and n negatives would have; NaN without a class."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = (m + n) / 2 - 1
        terms = 1 + rows * (1 - area) / (2 - area) + rows * area / (1 + area)
        return np.asarray(area * (1 - area) / (m * n) * terms)


def score_bounds(value: Floats, m: Floats, n: Floats, factor: Floats | float) -> tuple[Floats, Floats]:
    """Return the least and the greatest area t with (t - value)² <= factor·V(t); NaN stays NaN.

    Parameters
    ----------
    value
        Areas of the log.
    m, n
        Independent positives and negatives, > 0; they need not be whole.
    factor
        The squared quantile of the normal distribution, if the variance is V.

    References
    ----------
    Newcombe (2006), Statistics in Medicine 25(4), 559-573, doi:10.1002/sim.2324, method 5.
    """
    return _farthest(value, m, n, 0.0, factor), _farthest(value, m, n, 1.0, factor)


def _farthest(value: Floats, m: Floats, n: Floats, end: float, factor: Floats | float) -> Floats:
    """Return the area farthest from the value, towards an end, whose deviation is still likely."""
    inside, outside = value.copy(), np.full_like(value, end)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        likely = (middle - value) ** 2 <= factor * newcombe_variance(middle, m, n)
        inside, outside = np.where(likely, middle, inside), np.where(likely, outside, middle)
    return np.where(np.isnan(value), np.nan, (inside + outside) / 2)
