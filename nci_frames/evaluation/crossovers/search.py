"""Crossings without a closed form: a grid along an axis, and roots between its points."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats, Places
from nci_frames.evaluation.crossovers.contest import Over

#: Number of grid points, in logit eta or in log beta.
_PLACES = 4_001
_SMALLEST = {"prevalence": 1e-12, "beta": 1e-6}


def places_along(over: Over) -> Floats:
    """Return the points of the grid, ascending."""
    small = _SMALLEST[over]
    end = np.log(small) - np.log1p(-small) if over == "prevalence" else np.log(small)
    return np.linspace(end, -end, _PLACES)


def axis_value(over: Over, places: Floats) -> Floats:
    """Return the prevalence or beta of each point."""
    value: Floats = 1 / (1 + np.exp(-places)) if over == "prevalence" else np.exp(places)
    return value


def sign_changes(signs: NDArray[np.int8]) -> tuple[Places, Places, Places]:
    """Return the row of each change of sign, and the places before and after it.

    Parameters
    ----------
    signs
        A row for each difference, a column for each place; a 0 has no sign, and the sign before it is
        compared with the one after.
    """
    is_end = np.ones(signs.shape, np.bool_)
    np.not_equal(signs[:, 1:], signs[:, :-1], out=is_end[:, :-1])
    row, end = np.nonzero(is_end)
    begin = np.where(np.diff(row, prepend=-1) == 0, np.append(0, end[:-1] + 1), 0)
    told = np.flatnonzero(signs[row, end])
    row, begin, end = row[told], begin[told], end[told]
    sign = signs[row, end]
    changed = (row[1:] == row[:-1]) & (sign[1:] != sign[:-1])
    return row[:-1][changed], end[:-1][changed], begin[1:][changed]


def roots(difference: Callable[[Floats, Places], Floats], low: Floats, high: Floats, row: Places) -> Floats:
    """Return a root of differences between points where their signs differ, to floating-point precision.

    Parameters
    ----------
    difference
        Returns the differences of some rows, each at a point.
    low, high
        The places.
    row
        Which difference it is.
    """
    from scipy.optimize.elementwise import find_root  # noqa: PLC0415  (slow to import, and seldom needed)

    if not len(low):
        return low
    found = find_root(
        lambda place, row: difference(place, row.astype(np.intp)), (low, high),
        args=(row.astype(np.float64),), tolerances={"xatol": 1e-14, "fatol": 0.0},
    )  # fmt: skip
    return np.where(found.success, found.x, (low + high) / 2)


def changes_of_best(best_at: Callable[[Floats], Places], places: Floats) -> Floats:
    """Return where the best of some competitors changes, to floating-point precision.

    Parameters
    ----------
    best_at
        Returns the best competitor at each of some points.
    places
        Ascending; changes back and forth between two neighbours are not seen.
    """
    best = best_at(places)
    changed = np.flatnonzero(np.diff(best))
    low, high, at_low, at_high = places[changed], places[changed + 1], best[changed], best[changed + 1]
    found = [np.empty(0)]
    while len(low):
        settled = high - low < 1e-13 * np.maximum(np.abs(low), 1)
        found.append(high[settled])
        low, high, at_low, at_high = low[~settled], high[~settled], at_low[~settled], at_high[~settled]
        middle = (low + high) / 2
        at_middle = best_at(middle)
        # A third competitor in between splits one change into two.
        left, right = at_middle != at_low, at_middle != at_high
        low, high = np.concatenate([low[left], middle[right]]), np.concatenate([middle[left], high[right]])
        at_low = np.concatenate([at_low[left], at_middle[right]])
        at_high = np.concatenate([at_middle[left], at_high[right]])
    return np.sort(np.concatenate(found))
