"""Where curves change places that no formula gives: places along an axis, and roots between them."""

from collections.abc import Callable

import numpy as np

from nci_frames.evaluation.crossovers.contest import Over
from nci_frames.typing import Floats

__all__ = ["axis_value", "changes_of_best", "places_along", "sign_changes"]

#: Searched are so many places: in logit eta, or in log beta.
_PLACES = 4_001
_SMALLEST = {"prevalence": 1e-12, "beta": 1e-6}


def places_along(over: Over) -> Floats:
    """Return ascending places at which to look first."""
    small = _SMALLEST[over]
    end = np.log(small) - np.log1p(-small) if over == "prevalence" else np.log(small)
    return np.linspace(end, -end, _PLACES)


def axis_value(over: Over, places: Floats) -> Floats:
    """Return the prevalence or beta of each place."""
    value: Floats = 1 / (1 + np.exp(-places)) if over == "prevalence" else np.exp(places)
    return value


def sign_changes(difference: Callable[[float], float], places: Floats, at_places: Floats) -> Floats:
    """Return where a function changes its sign between neighbouring places, given its values there.

    Places where it is zero or NaN tell nothing: the sign before them is compared with the one after.
    """
    from scipy.optimize import brentq  # noqa: PLC0415  (slow to import, and seldom needed)

    told = np.flatnonzero(np.nan_to_num(at_places))
    changed = np.flatnonzero(np.diff(np.sign(at_places[told])))
    return np.array([brentq(difference, places[told[c]], places[told[c + 1]], xtol=1e-14) for c in changed])


def changes_of_best(
    best_at: Callable[[Floats], "np.ndarray[tuple[int], np.dtype[np.intp]]"], places: Floats
) -> Floats:
    """Return the places, to the precision of numbers, where the best of some competitors changes.

    Parameters
    ----------
    best_at
        Returns the best competitor at each of some places.
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
        # A third competitor in between makes two changes of one.
        left, right = at_middle != at_low, at_middle != at_high
        low, high = np.concatenate([low[left], middle[right]]), np.concatenate([middle[left], high[right]])
        at_low = np.concatenate([at_low[left], at_middle[right]])
        at_high = np.concatenate([at_middle[left], at_high[right]])
    return np.sort(np.concatenate(found))
