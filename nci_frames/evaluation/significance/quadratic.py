"""Weighted sums of squared normal variables -> the probability of exceeding a value."""

import numpy as np

from nci_frames.base.typing import Floats

_STEPS = 60
#: Weights smaller than this share of the largest are eigenvalues of 0, up to rounding.
_ROUNDING = 1e-12
#: Within this many standard deviations of the mean, where the approximation is 0/0, its limit is used; the
#: error is below 1e-4.
_NEAR = 1e-3


def bridge_weights(below: Floats, weight: Floats) -> Floats:
    """Return the weights of the sum of squares of a Brownian bridge, as a sum of chi-square variables.

    The bridge is taken at the shares *below*; *weight* is the weight of each square.
    """
    scale = np.sqrt(weight)
    covariance = np.minimum(below[:, None], below) - below[:, None] * below
    return np.asarray(np.linalg.eigvalsh(covariance * scale[:, None] * scale), np.float64)


def exceedances(values: Floats, weights: Floats, freedom: float = 1.0, known: float = np.inf) -> Floats:
    """Return the probability that a weighted sum of chi-square variables exceeds each of several values.

    It is computed by the saddlepoint approximation, with a relative error of a few percent far into the tail;
    exactly if all weights are equal. *freedom* is the degrees of freedom of each chi-square variable. If the
    scale of the weights is estimated with *known* degrees of freedom, each value is multiplied by a
    chi-square variable over these degrees of freedom, as in an F distribution.

    References
    ----------
    Kuonen (1999), Saddlepoint approximations for distributions of quadratic forms in normal variables,
    Biometrika 86(4), 929-935, doi:10.1093/biomet/86.4.929.

    Examples
    --------
    >>> exceedances(np.array([3.841459]), np.array([1.0])).round(3).tolist()
    [0.05]
    """
    from scipy.special import chdtrc, fdtrc, ndtr  # noqa: PLC0415  (SciPy is slow to import)

    weights = weights[weights > _ROUNDING * weights.max(initial=0)]
    found = np.ones(len(values))
    if not len(weights):
        return found
    if weights.max() - weights.min() <= _ROUNDING * weights.max():
        above = values > 0
        together, scaled = freedom * len(weights), values[above] / weights[0]
        exact = np.isinf(known)
        found[above] = chdtrc(together, scaled) if exact else fdtrc(together, known, scaled / together)
        return found
    # In units of the largest weight.
    values, weights = values / weights.max(), weights / weights.max()
    mean = freedom * float(weights.sum())
    second = 2 * freedom * float(weights @ weights) + 2 * mean**2 / known
    third = 8 * freedom * float((weights**3).sum()) - 8 * mean**3 / known**2
    near = np.abs(values - mean) < _NEAR * np.sqrt(second)
    found[near] = 0.5 - third / (6 * np.sqrt(2 * np.pi) * second**1.5)
    other = (values > 0) & ~near
    value = values[other]

    # The slope of the cumulant function grows without end towards t = 1/2, and falls below 0 for t -> -inf.
    low = np.where(
        value > mean, 0.0, np.maximum(-0.5 * freedom * len(weights) / value - 1, -known / (2 * value))
    )
    high = np.where(value > mean, 0.5, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        slope = freedom * (weights / (1 - 2 * middle[:, None] * weights)).sum(axis=1)
        below = slope < value / (1 + 2 * middle * value / known)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    t = (low + high) / 2
    cumulant = -0.5 * freedom * np.log1p(-2 * t[:, None] * weights).sum(axis=1)
    moved = t * value if np.isinf(known) else known / 2 * np.log1p(2 * t * value / known)
    curvature = 2 * freedom * ((weights / (1 - 2 * t[:, None] * weights)) ** 2).sum(axis=1)
    curvature += 2 / known * (value / (1 + 2 * t * value / known)) ** 2
    w = np.sign(t) * np.sqrt(np.maximum(2 * (moved - cumulant), 0))
    v = t * np.sqrt(curvature)
    found[other] = np.clip(ndtr(-(w + np.log(v / w) / w)), 0, 1)
    return found
