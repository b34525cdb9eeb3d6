"""Corrections of p-values for the number of tests."""

import numpy as np

from nci_frames.base.typing import Floats


def holm(p_values: Floats) -> Floats:
    """Return Holm's adjusted p-values of each row of an array; NaN means no test, and stays NaN.

    The k-th smallest of n p-values is multiplied by n - k + 1; then each is raised to the largest before it
    and capped at 1. The probability of any false rejection in a row is then at most the significance level,
    even if the tests are dependent.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70, https://www.jstor.org/stable/4615733.
    """
    order = np.argsort(p_values, axis=-1)  # NaN last
    ascending = np.take_along_axis(p_values, order, axis=-1)
    tests = np.sum(~np.isnan(p_values), axis=-1, keepdims=True)
    adjusted = np.minimum(ascending * (tests - np.arange(p_values.shape[-1])), 1)
    adjusted = np.where(np.isnan(ascending), np.nan, np.fmax.accumulate(adjusted, axis=-1))
    result = np.empty_like(p_values)
    np.put_along_axis(result, order, adjusted, axis=-1)
    return result


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return the adjusted p-values of Benjamini and Hochberg; NaN means no test, and stays NaN.

    The k-th smallest of n p-values is multiplied by n / k; then each is lowered to the smallest after it. If
    those below a level are called findings, the expected share of false findings is at most that level.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate: a practical and powerful approach to
    multiple testing, doi:10.1111/j.2517-6161.1995.tb02031.x.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested])]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted
