"""Paired differences -> two-sided p-values of their means."""

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.resampling.draws import draw_with_replacement, stream

Flags = NDArray[np.bool_]

#: Differences are computed from doubles: so much of the values is rounding.
_ROUNDING = 1e-12


def moments(values: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return how many values along the last axis are defined, their mean and their squared deviations."""
    defined = ~np.isnan(values)
    n = defined.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(defined, values, 0).sum(axis=2) / n
        squares = np.where(defined, (values - mean[:, :, None]) ** 2, 0).sum(axis=2)
    return n, mean, squares


def t_test(differences: Floats, ratio: float) -> Floats:
    """Return two-sided p-values of the means along the last axis; NaN marks a missing fold."""
    from scipy.special import stdtr  # noqa: PLC0415  (what does not need it does not wait for it)

    n, mean, squares = moments(differences)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = mean / np.sqrt(squares / (n - 1) * (1 / n + ratio))
    p_value = 2 * stdtr(np.maximum(n - 1, 1), -np.abs(statistic))
    return np.where((mean == 0) & (squares == 0), 1.0, p_value)


def bootstrap_test(differences: Floats, repeats: int, seed: int) -> Floats:
    """Return two-sided p-values of the means over resampled folds, the same ones for all models."""
    cases, models, folds = differences.shape
    times = draw_with_replacement(stream(seed, {}), np.ones(folds, np.int64), repeats).astype(np.float64)
    p_value = np.ones((cases, models))
    for model in range(models):
        difference = differences[:, model]
        sums = times @ np.nan_to_num(difference).T
        drawn = times @ (~np.isnan(difference)).astype(np.float64).T > 0
        below, above = (np.sum(side & drawn, axis=0) for side in (sums <= 0, sums >= 0))
        p_value[:, model] = np.minimum(1, 2 * (1 + np.minimum(below, above)) / (1 + drawn.sum(axis=0)))
    return p_value


def without_spread(differences: Floats, values: Floats) -> tuple[Flags, Flags]:
    """Return whether all differences are 0, and whether they are one other number, but for rounding."""
    finite = np.isfinite(differences)
    scale = np.where(np.isfinite(values), np.abs(values), 0).max(axis=2, initial=0)
    # Both models of a difference have values; the largest of any model is an upper bound of their size.
    rounding = _ROUNDING * scale.max(axis=1, initial=0)[:, None]
    highest = np.where(finite, differences, -np.inf).max(axis=2, initial=-np.inf)
    lowest = np.where(finite, differences, np.inf).min(axis=2, initial=np.inf)
    equal = finite.any(axis=2) & (np.maximum(np.abs(highest), np.abs(lowest)) <= rounding)
    return equal, finite.any(axis=2) & (highest - lowest <= rounding) & ~equal
