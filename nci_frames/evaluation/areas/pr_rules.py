"""The rules for the area under a precision-recall curve, and the bounds of each.

Between two thresholds of a grid the curve is unknown, but it is monotone: at every recall of the step its FPR
lies between that of the two ends. So the area lies between those of the two extreme curves, whatever the rows
were.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats

Method = Literal["average_precision", "interpolated", "trapezoid"]
Areas = tuple[Floats, Floats, Floats]

#: Up to this y, 1 - log1p(y)/y is computed by its series.
_SHORT = 0.02
_TERMS = 5


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of ROC curves: true and false positives as shares of all rows, at both ends."""

    recall: Floats  # the step in recall, never 0
    true0: Floats
    true1: Floats
    false0: Floats
    false1: Floats
    origin: NDArray[np.int64]  # the steps that begin where nothing is predicted positive


def _average_precision(steps: Steps) -> Areas:
    """Sum precision at the end of each step times the step in recall: no interpolation, no anchor."""
    value = steps.recall * (steps.true1 / (steps.true1 + steps.false1))
    upper = steps.recall * (steps.true1 / (steps.true1 + steps.false0))
    return value, _integral(steps, steps.false1, steps.false1), upper


def _interpolated(steps: Steps) -> Areas:
    """Integrate precision with FPR linear in TPR; from (0, 0) on it is the precision of the first point."""
    value = _integral(steps, steps.false0, steps.false1)
    lower = _integral(steps, steps.false1, steps.false1)
    return value, lower, _integral(steps, steps.false0, steps.false0)


def _trapezoid(steps: Steps) -> Areas:
    """Take precision as linear in recall, starting at the first attained point; nothing before it counts."""
    at_end = steps.true1 / (steps.true1 + steps.false1)
    at_start = steps.true0 / (steps.true0 + steps.false0)
    # If only negatives are predicted positive, precision is 0, also in the limit of eta = 1.
    at_start[np.isnan(at_start) & (steps.true0 == 0) & (steps.true1 > 0)] = 0.0
    value = steps.recall * (at_start + at_end) / 2
    value[steps.origin] = 0.0
    lower = steps.recall * (steps.true0 / (steps.true0 + steps.false1))
    upper = steps.recall * (steps.true1 / (steps.true1 + steps.false0))
    return value, np.where(steps.true0 == 0, 0.0, lower), upper


PR_RULES: dict[str, Callable[[Steps], Areas]] = {
    "average_precision": _average_precision,
    "interpolated": _interpolated,
    "trapezoid": _trapezoid,
}


def _integral(steps: Steps, false0: Floats, false1: Floats) -> Floats:
    """Return the integral of precision over recall, false positives growing linearly with the true ones.

    With d = true + false from d0 to d1, y = (d1-d0)/d0 and g(y) = 1 - log1p(y)/y, it is
    recall/d0·(true0·(1-g) + (true1-true0)·g/y): a sum of positive numbers, in which nothing cancels.
    """
    d0, d1 = steps.true0 + false0, steps.true1 + false1
    g, g_over_y = _missing_of_log((d1 - d0) / d0)
    area = steps.true1 - steps.true0
    area *= g_over_y
    g *= steps.true0
    area -= g
    area += steps.true0
    area *= steps.recall
    area /= d0
    # Along a step from (0, 0) precision is constant; 0/0 remains where eta is 0.
    origin = d0 == 0
    area[origin] = (steps.recall * (steps.true1 / d1))[origin]
    return area


def _missing_of_log(y: Floats) -> tuple[Floats, Floats]:
    """Return 1 - log1p(y)/y and that over y, for y >= 0, to full precision also where y is small."""
    # With z = y/(2+y): log1p(y) = 2·(z + z³/3 + z⁵/5 + ...), and so
    # 1 - log1p(y)/y = z·(1 - (1-z)·z·(1/3 + z²/5 + ...)).
    z = y / (2 + y)
    square = z * z
    rest = np.full_like(z, 1 / (2 * _TERMS + 1))
    for term in range(_TERMS - 1, 0, -1):
        rest *= square
        rest += 1 / (2 * term + 1)
    left = 1 - z
    rest *= left
    rest *= z
    np.subtract(1, rest, out=rest)
    left *= rest
    left /= 2
    rest *= z
    g, g_over_y = rest, left
    far = np.flatnonzero(z > _SHORT)
    if len(far):
        long = y[far]
        log = np.where(np.isinf(long), 0.0, np.log1p(long) / long)
        g[far], g_over_y[far] = 1 - log, (1 - log) / long
    return g, g_over_y
