"""Weighted sums of squared normal variables -> the probability of exceeding a value."""

import numpy as np

from nci_frames.typing import Floats

__all__ = ["exceedance"]

_STEPS = 200
#: Of the largest weight: smaller ones are rounding of an eigenvalue that is 0.
_ROUNDING = 1e-12
#: So near to the mean the approximation divides 0 by 0; its limit is within 1e-4 of it.
_NEAR = 1e-3


def exceedance(value: float, weights: Floats, freedom: float = 1.0) -> float:
    """Return the probability that a sum of weights times chi-square variables is above a value.

    By the saddlepoint approximation, whose relative error is a few percent far into the tail. Each weight
    belongs to a chi-square variable with the given degrees of freedom; if all are equal, it is exact.

    References
    ----------
    Kuonen (1999), Saddlepoint approximations for distributions of quadratic forms in normal variables,
    Biometrika 86(4), 929-935, doi:10.1093/biomet/86.4.929.

    Examples
    --------
    >>> round(exceedance(3.841459, np.array([1.0])), 3)
    0.05
    """
    from scipy.special import chdtrc, ndtr  # noqa: PLC0415  (what does not need it does not wait for it)

    large = weights > _ROUNDING * weights.max(initial=0)
    weights, each = weights[large], np.full(int(large.sum()), float(freedom))
    if not len(weights) or value <= 0:
        return 1.0
    if weights.max() - weights.min() <= _ROUNDING * weights.max():
        return float(chdtrc(each.sum(), value / weights[0]))
    # In units of the largest weight.
    value, weights = value / weights.max(), weights / weights.max()
    mean = float(each @ weights)
    second, third = 2 * float(each @ weights**2), 8 * float(each @ weights**3)
    if abs(value - mean) < _NEAR * np.sqrt(second):
        return float(0.5 - third / (6 * np.sqrt(2 * np.pi) * second**1.5))

    def slope(t: float) -> float:
        return float(each @ (weights / (1 - 2 * t * weights)))

    # The slope of the cumulant function grows without end towards t = 1/2, and to 0 for t -> -inf.
    low, high = (0.0, 0.5) if value > mean else (-0.5 * each.sum() / value - 1, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < value else (low, middle)
    t = (low + high) / 2
    cumulant = -0.5 * float(each @ np.log1p(-2 * t * weights))
    curvature = 2 * float(each @ ((weights / (1 - 2 * t * weights)) ** 2))
    w = np.sign(t) * np.sqrt(max(2 * (t * value - cumulant), 0))
    v = t * np.sqrt(curvature)
    return float(np.clip(ndtr(-(w + np.log(v / w) / w)), 0, 1))
