"""Corrections of p-values for the number of tests."""

import numpy as np

from nci_frames.typing import Floats

__all__ = ["holm"]


def holm(p_values: Floats) -> Floats:
    """Return Holm's adjusted p-values of each row of an array; NaN means no test and stays NaN.

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
