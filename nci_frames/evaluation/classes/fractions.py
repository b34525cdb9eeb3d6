"""Kappa and the MCC, fractions of polynomials along a line of mixes -> where two models are equal."""

import itertools

import numpy as np

from nci_frames.base.typing import Floats
from nci_frames.evaluation.classes.values import Mix, fraction_of

#: Where differences are evaluated: they are polynomials of at most this degree.
_DEGREE = 6
_NODES = (1 + np.polynomial.chebyshev.chebpts1(_DEGREE + 1)) / 2
#: Coefficients that are smaller than this part of the largest are rounding, as are imaginary parts below it.
_ROUNDING, _REAL = 1e-14, 1e-7


def places_of_equality(metric: str, mixes: list[Mix]) -> Floats:
    """Return where two models are equal: *mixes* has those of each model at ``nodes()``.

    With the value N/D of each, N₁·D₂ - N₂·D₁ is a polynomial; its roots are eigenvalues of its companion
    matrix in Chebyshev's basis.
    """
    above, below = (np.array(side) for side in zip(*(fraction_of(metric, mix) for mix in mixes), strict=True))
    found = [np.empty(0)]
    chebyshev = np.polynomial.chebyshev
    to_coefficients = np.linalg.inv(chebyshev.chebvander(2 * _NODES - 1, _DEGREE))
    for one, other in itertools.combinations(range(len(mixes)), 2):
        terms = above[one] * below[other], above[other] * below[one]
        coefficients = to_coefficients @ (terms[0] - terms[1])
        if not np.isfinite(coefficients).all():
            continue  # one of them is undefined on the whole line
        least = _ROUNDING * max(np.abs(terms).max(), 1e-300)
        kept = chebyshev.chebtrim(coefficients, least)
        if len(kept) > 1:
            roots = chebyshev.chebroots(kept)
            found.append((1 + roots.real[np.abs(roots.imag) < _REAL]) / 2)
    return np.unique(np.concatenate(found))


def nodes() -> Floats:
    """Return the places at which models are evaluated."""
    return np.asarray(_NODES)
