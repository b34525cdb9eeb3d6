"""Hits of two classes -> score interval of the ratio of their rates."""

import numpy as np

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats

#: Natural logarithm of the largest ratio that is looked at; its reciprocal is the smallest.
_FARTHEST = 80.0
_HALVINGS = 64


def ratio_interval(
    hits: Floats, trials: Floats, other_hits: Floats, other_trials: Floats, *, level: float
) -> tuple[Floats, Floats]:
    """Return the bounds of (hits/trials) / (other_hits/other_trials), within [0, inf]; NaN without trials.

    The interval holds every ratio r for which the score statistic is at most z:

        |p - r·q| / √(p̃(1-p̃)/m + r²·q̃(1-q̃)/n),

    where p̃ = r·q̃ and q̃ are the likeliest rates with this ratio. It is there for any outcome: without hits its
    lower bound is 0, without other hits its upper bound is inf, without either all ratios are in it.

    References
    ----------
    Koopman (1984), Biometrics 40(2), 513-517, doi:10.2307/2531405; Miettinen and Nurminen (1985),
    doi:10.1002/sim.4780040211.
    """
    z = normal_quantile(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate, other = hits / trials, other_hits / other_trials
    bounds = []
    for side in (1.0, -1.0):
        low, high = np.full(np.shape(hits), -_FARTHEST), np.full(np.shape(hits), _FARTHEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ratio = np.exp(middle)
            beyond = _score(ratio, rate, other, trials, other_trials) > side * z
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        bounds.append(np.exp((low + high) / 2))
    lower = np.where(hits > 0, bounds[0], 0.0)
    upper = np.where(other_hits > 0, bounds[1], np.inf)
    known = (trials > 0) & (other_trials > 0)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def _score(ratio: Floats, rate: Floats, other: Floats, m: Floats, n: Floats) -> Floats:
    """Return the statistic, which falls as the ratio grows."""
    # The likeliest other rate solves a·q² - b·q + c = 0; the smaller root, without a difference.
    a = (m + n) * ratio
    b = m * (ratio + rate) + n * (1 + other * ratio)
    c = m * rate + n * other
    with np.errstate(invalid="ignore", divide="ignore"):
        likely_other = 2 * c / (b + np.sqrt(np.maximum(b * b - 4 * a * c, 0)))
        likely = ratio * likely_other
        variance = likely * np.maximum(1 - likely, 0) / m
        variance = variance + ratio * likely * np.maximum(1 - likely_other, 0) / n
        difference = rate - ratio * other
        return np.asarray(np.where(difference == 0, 0.0, difference / np.sqrt(variance)))
