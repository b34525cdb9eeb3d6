"""Positives, negatives and traffic in bins -> whether the traffic is a mixture of the two classes."""

import numpy as np

from nci_frames.base.typing import Floats
from nci_frames.evaluation.prevalence.mixtures import Mixtures

#: Halvings of the range of logit(eta), which is +-_FARTHEST.
_ROUNDS = 40
_FARTHEST = 25.0
#: Of a difference of two numbers that is 0 but for rounding.
_ROUNDING = 1e-12


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
    for _ in range(_ROUNDS):
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
