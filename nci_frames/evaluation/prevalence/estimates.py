"""Mixtures -> the share of positives in each, with bounds.

Every method here weighs the bins, and solves sum(weights * (traffic - eta * positives - (1 - eta) *
negatives)) = 0, where the three are shares of the bins. They differ in the weights alone.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from nci_frames.base.typing import Floats
from nci_frames.evaluation.prevalence.mixtures import Mixtures

_ROUNDS = 200
_CLOSE = 1e-9
#: With nothing but positives, a bin without any would have infinite weight.
_MOST = 1 - 1e-9


class Estimates(NamedTuple):
    """The prevalence of each group with its bounds; NaN where the classes are not separated."""

    prevalence: Floats
    lower: Floats
    upper: Floats


def _quotient(above: Floats, below: Floats) -> Floats:
    """Return above / below, and 0 in bins that a group does not have."""
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def _likelihood_weights(mixtures: Mixtures) -> Floats:
    """Return the weights with which the solution is that of maximum likelihood."""
    p, n, t = mixtures.laws
    eta = np.full((len(t), 1), 0.5)
    for _ in range(_ROUNDS):
        # Newton's method on the log-likelihood, which is concave: EM has the same limit, in more steps.
        weights = _quotient(p - n, eta * p + (1 - eta) * n)
        slope = (weights * t).sum(axis=1, keepdims=True)
        curve = (weights**2 * t).sum(axis=1, keepdims=True)
        new = np.clip(eta + _quotient(slope, curve), 0.0, _MOST)
        moving = np.abs(new - eta) > _CLOSE * eta
        if not moving.any():
            break
        eta = np.where(moving, new, eta)
    return _quotient(p - n, eta * p + (1 - eta) * n)


def _threshold_weights(mixtures: Mixtures) -> Floats:
    """Return 1 for the bins above the threshold at which TPR - FPR is largest, and 0 below."""
    p, n, _ = mixtures.laws
    differences = (p - n)[:, ::-1].cumsum(axis=1)[:, ::-1]
    above = np.arange(p.shape[1]) >= differences.argmax(axis=1)[:, None]
    return np.asarray(above & mixtures.used, np.float64)


def _matching_weights(mixtures: Mixtures) -> Floats:
    """Return the weights with which the solution is the mixture at the least squared distance."""
    p, n, _ = mixtures.laws
    return _quotient(p - n, p + n)


METHODS: Mapping[str, Callable[[Mixtures], Floats]] = {
    "em": _likelihood_weights,
    "adjusted_count": _threshold_weights,
    "matching": _matching_weights,
}


def estimates(mixtures: Mixtures, method: str, z: float) -> Estimates:
    """Return the share of positives in each mixture, and the shares that are not rejected.

    A share is rejected if the weighted difference is more than *z* of its standard errors. They are those
    that this share implies, as in Wilson's interval, and include the noise of the reference.
    """
    weights = METHODS[method](mixtures)
    p, n, t = mixtures.laws
    rows_p, rows_n, rows_t = mixtures.rows
    of_p, of_n = (weights * p).sum(axis=1), (weights * n).sum(axis=1)
    squares_p, squares_n = (weights**2 * p).sum(axis=1), (weights**2 * n).sum(axis=1)
    var_p, var_n = (squares_p - of_p**2) / rows_p, (squares_n - of_n**2) / rows_n
    slope, start = of_p - of_n, (weights * (t - n)).sum(axis=1)
    # (start - slope eta)^2 <= z^2 (var_t(eta) + eta^2 var_p + (1 - eta)^2 var_n), all quadratic in eta.
    a = slope**2 - z**2 * (var_p + var_n - slope**2 / rows_t)
    b = -2 * slope * start - z**2 * ((squares_p - squares_n - 2 * of_n * slope) / rows_t - 2 * var_n)
    c = start**2 - z**2 * ((squares_n - of_n**2) / rows_t + var_n)
    separated = (a > 0) & (slope > 0)
    a, slope = np.where(separated, a, np.nan), np.where(separated, slope, np.nan)
    middle, half = -b / (2 * a), np.sqrt(np.maximum(b * b - 4 * a * c, 0.0)) / (2 * a)
    lower, upper = (np.clip(side, 0.0, 1.0) for side in (middle - half, middle + half))
    return Estimates(np.minimum(np.maximum(start / slope, lower), upper), lower, upper)
