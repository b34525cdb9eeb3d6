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
#: Halvings of the range of logit(eta), which is +-_FARTHEST.
_HALVINGS = 40
_FARTHEST = 25.0
#: Of a difference of two numbers that is 0 but for rounding.
_ROUNDING = 1e-12


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
    var_p, var_n = (
        (spread * law * (weights - mean[:, None]) ** 2).sum(axis=1) / rows
        for spread, law, mean, rows in zip(
            mixtures.spread, (p, n), (of_p, of_n), (rows_p, rows_n), strict=True
        )
    )
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


def misfits(mixtures: Mixtures) -> tuple[Floats, Floats]:
    """Return the likelihood-ratio statistic of each traffic against all mixtures, and its degrees of freedom.

    The shares of the bins in both classes are unknown, and the reference is a sample, too: all three logs are
    compared with what they would be expected to have under the mixture that explains them best. The statistic
    follows a chi-squared distribution if the traffic is a mixture, also where bins have few rows of a class;
    its degrees of freedom are the bins less 2, or less 1 where the best prevalence is 0 or 1.

    Notes
    -----
    With a positives, b negatives and t rows of traffic in a bin, N_p, N_n and T of them in all bins, and m =
    eta p + (1 - eta) n, the likelihood is largest where p = a / (N_p + eta (T - u)) and n = b / (N_n + (1 -
    eta) (T - u)) with u = t / m. Of each bin that is a quadratic equation for u; the sum of p is 1 at eta.
    """
    a, b, t = (rows.astype(np.float64) for rows in (mixtures.positives, mixtures.negatives, mixtures.traffic))
    low = np.full((len(t), 1), -_FARTHEST)
    high = -low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        p, _ = _laws(mixtures, middle)
        below = p.sum(axis=1, keepdims=True) > 1
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    logit = (low + high) / 2
    p, n = _laws(mixtures, logit)
    eta = 1 / (1 + np.exp(-logit))
    expected = (p, n, eta * p + (1 - eta) * n)
    statistic = np.zeros(len(t))
    for rows, law, total in zip((a, b, t), expected, mixtures.rows, strict=True):
        scale = law * total[:, None]
        ratio = np.divide(rows, scale, out=np.ones_like(rows), where=(rows > 0) & (scale > 0))
        statistic += 2 * (rows * np.log(ratio)).sum(axis=1)
    # A prevalence of 0 or 1 was not fitted: another one beyond it would explain the scores better.
    fitted = np.abs(logit[:, 0]) < _FARTHEST - 1
    return np.maximum(statistic, 0.0), mixtures.used.sum(axis=1) - 1.0 - fitted


def _laws(mixtures: Mixtures, logit: Floats) -> tuple[Floats, Floats]:
    """Return the shares of the bins in both classes that are likeliest at a prevalence."""
    a, b, t = mixtures.positives, mixtures.negatives, mixtures.traffic
    rows_p, rows_n, rows_t = (total[:, None] for total in mixtures.rows)
    eta, rest = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(logit))
    alpha, gamma = rows_p + eta * rows_t, rows_n + rest * rows_t
    half = (t * (alpha * rest + gamma * eta) + eta * a * gamma + rest * b * alpha) / 2
    product = eta * rest * (a + b + t) * t * alpha * gamma
    root = np.sqrt(np.maximum(half**2 - product, 0.0))
    u = np.divide(t * alpha * gamma, half + root, out=np.zeros(t.shape), where=t > 0)
    left_p, left_n = alpha - eta * u, gamma - rest * u
    some_p, some_n = left_p > _ROUNDING * alpha, left_n > _ROUNDING * gamma
    p = np.divide(a, left_p, out=np.zeros(t.shape), where=some_p)
    n = np.divide(b, left_n, out=np.zeros(t.shape), where=some_n)
    # Where the reference has none of a class in a bin, the traffic may still tell of some.
    mixed = np.divide(t, u, out=np.zeros(t.shape), where=u > 0)
    p = np.where(some_p, p, np.maximum(mixed - rest * n, 0.0) / eta)
    return p, np.where(some_n, n, np.maximum(mixed - eta * p, 0.0) / rest)
