"""A metric of some models along a line of mixes -> where two of them are equal."""

from collections.abc import Callable, Iterator

import numpy as np

from nci_frames.base.typing import Floats

#: The degree of the polynomials, and where they are fitted: never at the ends, where a fraction may be 0/0.
_DEGREE = 16
_NODES = np.polynomial.chebyshev.chebpts1(_DEGREE + 1)
_TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(_NODES, _DEGREE)).T
#: How often a part of the line is halved, and how many parts there are at most.
_HALVINGS, _MOST_PARTS = 45, 1 << 16
#: Parts of the largest value that are rounding; and so are imaginary parts, and distances from an end.
_ROUNDING, _REAL, _AT_END = 1e-14, 1e-7, 1e-10


def places_of_equality(values: Callable[[Floats], Floats]) -> Floats:
    """Return where two models are equal, from 0 to 1.

    Parameters
    ----------
    values
        Returns the metric of each model at places, of shape (models, places): smooth between 0 and 1.

    Notes
    -----
    Parts of the line where polynomials of degree 16 do not hold all values to rounding are halved. Two models
    are equal at the roots of the difference of theirs: the eigenvalues of its companion matrix in Chebyshev's
    basis (Boyd 2002, doi:10.1137/S0036142901398325).
    """
    low, width = np.zeros(1), np.ones(1)
    found = [np.empty(0)]
    for halving in range(_HALVINGS):
        places = low[:, None] + width[:, None] * (1 + _NODES) / 2
        at = values(places.ravel())
        at = at[np.isfinite(at).all(axis=1)].reshape(-1, *places.shape)
        if len(at) < 2:
            break
        coefficients = at @ _TO_COEFFICIENTS
        least = _ROUNDING * np.abs(at).max(axis=(0, 2))
        held = (np.abs(coefficients[..., -2:]).max(axis=(0, 2)) <= least) | (halving == _HALVINGS - 1)
        for part in np.flatnonzero(held | (len(low) > _MOST_PARTS)):
            roots = [*_roots(coefficients[:, part], least[part])]
            found.append(low[part] + width[part] * (1 + np.array(roots)) / 2)
        low, width = low[~held], width[~held] / 2
        if not 0 < len(low) <= _MOST_PARTS:
            break
        low, width = np.concatenate([low, low + width]), np.tile(width, 2)
    return np.unique(np.concatenate(found))


def _roots(coefficients: Floats, least: float) -> Iterator[float]:
    """Yield where two of some polynomials are equal, from -1 to 1, given their coefficients."""
    one, other = np.triu_indices(len(coefficients), 1)
    differences = coefficients[one] - coefficients[other]
    # No term exceeds its coefficient.
    may_meet = np.abs(differences[:, 0]) <= np.abs(differences[:, 1:]).sum(axis=1) + least
    for difference in differences[may_meet]:
        roots = np.polynomial.chebyshev.chebroots(np.polynomial.chebyshev.chebtrim(difference, least))
        real = roots.real[(np.abs(roots.imag) < _REAL) & (np.abs(roots.real) <= 1 + _AT_END)]
        # The next part may find the same root at its other end.
        yield from np.where(np.abs(real) >= 1 - _AT_END, np.sign(real), real).tolist()
