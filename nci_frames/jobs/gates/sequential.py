"""A test that stays valid under repeated use: the beta-binomial martingale.

If a share p of rows is at least a limit, each new row multiplies the likelihood ratio of any smaller share by
a factor with mean <= 1. A mixture of these ratios over a beta prior is a nonnegative supermartingale M, so
that P(M >= 1/alpha at any time) <= alpha (Ville's inequality), for one test or for a test in every night of a
year.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from nci_frames.base.typing import Floats

#: Parameter of the mixture over shares: Jeffreys' prior, truncated at the limit.
_PRIOR = 0.5


def log_martingale(successes: ArrayLike, failures: ArrayLike, limit: float, *, below: bool) -> Floats:
    """Return the log evidence against the hypothesis that a share is at least, or at most, a limit.

    Parameters
    ----------
    successes, failures
        Numbers of rows of either kind since the beginning.
    limit
        The limit of the share, in [0, 1].
    below
        Whether the evidence is for shares below the limit (hypothesis "at least"), or above it.

    Returns
    -------
    log M, which exceeds log(1/alpha) with probability at most alpha if the hypothesis is true.

    Notes
    -----
    For "at least": M = B(a+s, b+f) I(a+s, b+f) / (B(a, b) I(a, b) limit^s (1-limit)^f), with the beta
    function B and its regularised incomplete form I at the limit. "At most" is the same for the failures.

    References
    ----------
    H. Robbins (1970), Statistical methods related to the law of the iterated logarithm,
    doi:10.1214/aoms/1177696786; S. Howard et al. (2021), Time-uniform, nonparametric, nonasymptotic
    confidence sequences, doi:10.1214/20-AOS1991.

    Examples
    --------
    Of 100 positives 70 were found, where at least 80 % were promised:

    >>> bool(log_martingale(70, 30, 0.8, below=True) > math.log(1 / 0.05))
    False
    >>> bool(log_martingale(60, 40, 0.8, below=True) > math.log(1 / 0.05))
    True
    """
    s, f = np.asarray(successes, np.float64), np.asarray(failures, np.float64)
    if not below:
        s, f, limit = f, s, 1 - limit
    if limit <= 0:
        # No share is below 0, so there is no evidence.
        return np.full(np.broadcast(s, f).shape, -math.inf)
    from scipy.special import betaln, xlogy  # noqa: PLC0415  (SciPy is slow to import)

    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = xlogy(s, limit) + xlogy(f, 1 - limit)
        mixture = betaln(_PRIOR + s, _PRIOR + f) + _log_beta_cdf(limit, _PRIOR + s, _PRIOR + f)
        prior = betaln(_PRIOR, _PRIOR) + _log_beta_cdf(limit, _PRIOR, _PRIOR)
        return np.asarray(mixture - prior - likelihood)


def _log_beta_cdf(limit: float, a: ArrayLike, b: ArrayLike) -> Floats:
    """Return log I(a, b) at a limit, computed from the smaller tail for full precision."""
    # Importing scipy.stats instead would take half a second.
    from scipy.special import betainc, betaincc  # noqa: PLC0415  (as above)

    below, above = betainc(a, b, limit), betaincc(a, b, limit)
    return np.asarray(np.where(below < above, np.log(below), np.log1p(-above)))
