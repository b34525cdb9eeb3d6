"""The standard normal distribution: its quantile, two-sided p-values, and bounds on the logit scale."""

import numpy as np

from nci_frames.base.typing import FloatPair, Floats


def normal_quantile(level: float) -> float:
    """Return z such that a standard normal variable lies in [-z, z] with probability *level*.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    from scipy.special import ndtri  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    return -float(ndtri((1 - level) / 2))


def two_sided_p_values(z: Floats) -> Floats:
    """Return the probability that a standard normal variable is at least this far from 0; NaN stays NaN.

    >>> two_sided_p_values(np.array([0.0, 1.959964])).round(4).tolist()
    [1.0, 0.05]
    """
    from scipy.special import ndtr  # noqa: PLC0415  (as above)

    return np.asarray(2 * ndtr(-np.abs(z)), np.float64)


def on_logit(value: Floats, half: Floats) -> FloatPair:
    """Return the ends of value ± half on the logit scale, for values inside (0, 1).

    At 0 and 1, where the logit is infinite, an end is NaN.

    >>> with np.errstate(invalid="ignore"):
    ...     [end.round(3).tolist() for end in on_logit(np.array([0.5, 1.0]), np.array([0.1, 0.0]))]
    [[0.401, nan], [0.599, nan]]
    """
    from scipy.special import expit, logit  # noqa: PLC0415  (as above)

    apart = half / (value * (1 - value))
    return expit(logit(value) - apart), expit(logit(value) + apart)
