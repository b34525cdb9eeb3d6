"""Tails of the binomial distribution.

They use the beta function, which has no limit of 2**31 rows, unlike SciPy's binomial distribution. Hits and
rows need not be whole, as effective rows are not.
"""

from typing import Any

import numpy as np

from nci_frames.base.typing import Floats


def at_most(hits: Any, rows: Any, rate: Any) -> Floats:
    """Return the probability of at most *hits* hits in *rows* rows.

    >>> at_most(np.array([-1, 0, 1, 2]), 2, 0.5).tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    from scipy.special import betaincc  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    inside = (hits > -1) & (hits < rows)
    found = betaincc(np.where(inside, hits + 1, 1.0), np.where(inside, rows - hits, 1.0), rate)
    return np.asarray(np.where(inside, found, hits >= rows), np.float64)


def at_least(hits: Any, rows: Any, rate: Any) -> Floats:
    """Return the probability of at least *hits* hits in *rows* rows.

    >>> at_least(np.array([0, 1, 2, 3]), 2, 0.5).tolist()
    [1.0, 0.75, 0.25, 0.0]
    """
    from scipy.special import betainc  # noqa: PLC0415  (as above)

    inside = (hits > 0) & (hits < rows + 1)
    found = betainc(np.where(inside, hits, 1.0), np.where(inside, rows - hits + 1, 1.0), rate)
    return np.asarray(np.where(inside, found, hits <= 0), np.float64)
