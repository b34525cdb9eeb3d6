"""Independent rates with their trials -> bounds of any function of them, and tests of whether it is 0."""

from collections.abc import Callable

import numpy as np

from nci_frames.base.normal import two_sided_p_values
from nci_frames.base.typing import FloatPair, Floats
from nci_frames.evaluation.rates.intervals import exact_bounds, wilson_bounds

#: Takes rates of shape (rates, cases), and returns a value for each case; NaN means undefined.
Function = Callable[[Floats], Floats]

#: Takes rates, trials and normal quantiles, and returns lower and upper bounds.
Bounds = Callable[[Floats, Floats, float | Floats], FloatPair]

#: Largest normal quantile in the search; its p-value is about 1e-300.
_FARTHEST = 37.0
_STEPS = 40
#: Larger p-values are no findings, by Wilson or by Clopper-Pearson bounds.
_SMALL = 0.1


def propagated(
    function: Function, rates: Floats, trials: Floats, z: float | Floats, bounds: Bounds = wilson_bounds
) -> tuple[Floats, Floats, Floats]:
    """Return the values of a function of independent rates, and their lower and upper bounds.

    Each rate is moved to its bounds while the others stay fixed. Downward changes of the function are added
    as squares, and so are upward changes. Moves that make the function undefined are ignored.

    Parameters
    ----------
    function
        Monotone in each rate, or nearly so.
    rates, trials
        Of shape (rates, cases).
    z
        Normal quantile of the confidence: one, or one per case.
    bounds
        Computes the bounds of each rate.

    References
    ----------
    Zou and Donner (2008), Construction of confidence limits about effect measures, doi:10.1002/sim.3095.
    """
    several, cases = rates.shape
    lower, upper = bounds(rates, trials, z)
    moved = np.repeat(rates[:, None, :], 1 + 2 * several, axis=1)
    for place in range(several):
        moved[place, 1 + 2 * place], moved[place, 2 + 2 * place] = lower[place], upper[place]
    values = function(moved.reshape(several, -1)).reshape(1 + 2 * several, cases)
    value = values[0]
    down, up = changes_of(value, values[1:].reshape(several, 2, cases).swapaxes(0, 1))
    return value, value - np.sqrt((down**2).sum(axis=0)), value + np.sqrt((up**2).sum(axis=0))


def changes_of(value: Floats, moved: Floats) -> FloatPair:
    """Return the largest decrease and the largest increase of a value over moves, the first axis of *moved*.

    Undefined moved values are ignored.
    """
    changes = np.nan_to_num(moved - value, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return -np.minimum(changes.min(axis=0), 0), np.maximum(changes.max(axis=0), 0)


def p_values(function: Function, rates: Floats, trials: Floats) -> Floats:
    """Return p-values: 1 minus the highest confidence at which the bounds of ``propagated`` exclude 0.

    P-values below 0.1 use Clopper-Pearson bounds: for a rate of few hits, as in the worst of many cases,
    Wilson bounds are much too narrow at high confidence. P-values are NaN where the function is undefined.
    """
    found = _excluded(function, rates, trials, wilson_bounds)
    small = found < _SMALL
    if small.any():
        found[small] = _excluded(function, rates[:, small], trials[:, small], exact_bounds)
    return found


def _excluded(function: Function, rates: Floats, trials: Floats, bounds: Bounds) -> Floats:
    low, high = np.zeros(rates.shape[1]), np.full(rates.shape[1], _FARTHEST)
    value = function(rates)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        _, lower, upper = propagated(function, rates, trials, middle, bounds)
        excluded = np.where(value > 0, lower > 0, upper < 0)
        low, high = np.where(excluded, middle, low), np.where(excluded, high, middle)
    return np.where(np.isnan(value), np.nan, two_sided_p_values(low))
