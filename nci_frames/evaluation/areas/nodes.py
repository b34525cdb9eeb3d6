"""The few prevalences whose areas determine the areas at every prevalence between.

Precision at a point, as a function of x = logit(prevalence), is TPR/(TPR + FPR·exp(-x)): analytic for complex
x within a distance of pi from the real axis. Each rule of a PR area is a sum of such functions, however many
thresholds there are, so the polynomial through the area at Chebyshev's points converges geometrically.
"""

import math

import numpy as np

#: The largest error that interpolation between the nodes adds to an area.
TOLERANCE = 1e-11


def area_nodes(low: float, high: float) -> list[float]:
    """Return Chebyshev's points of the logit between two prevalences, as many as areas need, ascending.

    With M a bound of the area on an ellipse around the interval, whose half-axes add up to rho half-lengths,
    the error of n points is at most 4·M/((rho - 1)·rho^(n-1)) (Trefethen, Approximation Theory and
    Approximation Practice, theorem 8.2, doi:10.1137/1.9781611975949).

    >>> len(area_nodes(1e-4, 0.5)), len(area_nodes(1e-9, 0.999))
    (49, 141)
    """
    start, end = (math.log(eta) - math.log1p(-eta) for eta in (low, high))
    half = (end - start) / 2
    # Up to this distance from the real axis |1 + r·exp(-x)| is at least its sine, whatever r is.
    distance = np.linspace(np.pi / 2, np.pi, 200, endpoint=False)
    rho = distance / half + np.hypot(distance / half, 1)
    bound = 4 / (np.sin(distance) * (rho - 1) * TOLERANCE)
    count = int(np.ceil(1 + np.log(bound) / np.log(rho)).min())
    places = -np.cos((2 * np.arange(count) + 1) * np.pi / (2 * count))
    logits = (start + end) / 2 + half * places
    return [float(eta) for eta in 1 / (1 + np.exp(-logits))]
