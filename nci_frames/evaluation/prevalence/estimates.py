"""A mixture -> the share of positives in it, with bounds, and a test of whether it is a mixture at all.

Every method here weighs the bins, and solves sum(weights * (traffic - eta * positives - (1 - eta) *
negatives)) = 0, where the three are shares of the bins. They differ in the weights alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from nci_frames.evaluation.prevalence.mixtures import Mixture
from nci_frames.typing import Floats

__all__ = ["METHODS", "Estimate", "estimate", "misfit"]

_ROUNDS = 200
_CLOSE = 1e-9
#: With nothing but positives, a bin without any would have infinite weight.
_MOST = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """A prevalence with its bounds."""

    prevalence: float
    lower: float
    upper: float


def _likelihood_weights(mixture: Mixture) -> Floats:
    """Return the weights with which the solution is that of maximum likelihood."""
    p, n, t = mixture.laws
    eta = 0.5
    for _ in range(_ROUNDS):
        # Newton's method on the log-likelihood, which is concave: EM has the same limit, in more steps.
        weights = (p - n) / (eta * p + (1 - eta) * n)
        slope, curve = float(weights @ t), float(weights**2 @ t)
        new = min(max(eta + slope / curve, 0.0), _MOST) if curve else eta
        if abs(new - eta) <= _CLOSE * eta:
            break
        eta = new
    return np.asarray((p - n) / (eta * p + (1 - eta) * n))


def _threshold_weights(mixture: Mixture) -> Floats:
    """Return 1 for the bins above the threshold at which TPR - FPR is largest, and 0 below."""
    p, n, _ = mixture.laws
    differences = (p - n)[::-1].cumsum()[::-1]
    return np.asarray(np.arange(len(p)) >= np.argmax(differences), np.float64)


def _matching_weights(mixture: Mixture) -> Floats:
    """Return the weights with which the solution is the mixture at the least squared distance."""
    p, n, _ = mixture.laws
    return np.asarray((p - n) / (p + n))


METHODS: Mapping[str, Callable[[Mixture], Floats]] = {
    "em": _likelihood_weights,
    "adjusted_count": _threshold_weights,
    "matching": _matching_weights,
}


def estimate(mixture: Mixture, method: str, z: float) -> Estimate | None:
    """Return the share of positives, and the shares that are not rejected; None if none is.

    A share is rejected if the weighted difference is more than *z* of its standard errors. They are those
    that this share implies, as in Wilson's interval, and include the noise of the reference.
    """
    weights = METHODS[method](mixture)
    p, n, t = mixture.laws
    rows_p, rows_n, rows_t = mixture.rows
    of_p, of_n = float(weights @ p), float(weights @ n)
    squares_p, squares_n = float(weights**2 @ p), float(weights**2 @ n)
    var_p, var_n = (squares_p - of_p**2) / rows_p, (squares_n - of_n**2) / rows_n
    slope, start = of_p - of_n, float(weights @ (t - n))
    # (start - slope eta)^2 <= z^2 (var_t(eta) + eta^2 var_p + (1 - eta)^2 var_n), all quadratic in eta.
    a = slope**2 - z**2 * (var_p + var_n - slope**2 / rows_t)
    b = -2 * slope * start - z**2 * ((squares_p - squares_n - 2 * of_n * slope) / rows_t - 2 * var_n)
    c = start**2 - z**2 * ((squares_n - of_n**2) / rows_t + var_n)
    if a <= 0 or slope <= 0:
        return None
    middle, half = -b / (2 * a), np.sqrt(max(b * b - 4 * a * c, 0.0)) / (2 * a)
    lower, upper = (min(max(float(side), 0.0), 1.0) for side in (middle - half, middle + half))
    return Estimate(min(max(start / slope, lower), upper), lower, upper)


def misfit(mixture: Mixture, prevalence: float) -> tuple[float, int]:
    """Return the squared distance of the traffic from the nearest mixture, and its degrees of freedom.

    Measured in the covariance of the difference, reference included, it follows a chi-squared distribution
    if the traffic is a mixture of the two classes.
    """
    p, n, t = mixture.laws
    eta = min(prevalence, _MOST)
    mixed = eta * p + (1 - eta) * n
    shares = zip((1.0, eta, 1 - eta), (mixed, p, n), mixture.rows[::-1][:1] + mixture.rows[:2], strict=True)
    covariance = sum(share**2 * (np.diag(law) - np.outer(law, law)) / rows for share, law, rows in shares)
    # One bin follows from the others.
    rest, direction = (t - mixed)[1:], (p - n)[1:]
    solved = np.linalg.solve(np.asarray(covariance)[1:, 1:], np.stack([rest, direction], axis=1))
    along, across = float(direction @ solved[:, 1]), float(direction @ solved[:, 0])
    distance = float(rest @ solved[:, 0]) - (across**2 / along if along > 0 else 0.0)
    return max(distance, 0.0), len(t) - 2
