"""The area under the precision-recall curve: its rules, and their certified bounds.

Between two thresholds of a grid the ROC curve is unknown, but monotone: at every recall of the step, FPR lies
between its values at the two ends. So the area lies between those of the two extreme curves.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from nci_frames.base.typing import FloatPair, Floats, Rows
from nci_frames.evaluation.areas.area import CELLS_IN_CACHE, LACKS, Area, Areas, Bound, Etas, Logs, enclosed
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.support.rule import PR_SUPPORT

Method = Literal["average_precision", "interpolated", "trapezoid"]

#: Up to this z = y/(2+y), 1 - log1p(y)/y is computed by its series.
_SHORT = 0.02
_TERMS = 5
#: Steps of curves to compute together; larger arrays do not fit into the processor's cache.
_STEPS_AT_ONCE = 1 << 13


#: The area of each step, and the functions that return its lower and upper bounds.
Parts = tuple[Floats, Bound, Bound]


class Steps(NamedTuple):
    """Steps of ROC curves: true and false positives as shares of all rows, at both ends.

    The shares have one row per prevalence.
    """

    recall: Floats  # increase of recall, never 0
    row: Floats  # recall of one positive; 0 if weights were summed
    true0: Floats
    true1: Floats
    false0: Floats
    false1: Floats
    origin: Rows  # indices of the steps that begin at (0, 0)


def _average_precision(steps: Steps) -> Parts:
    """Sum precision at the end of each step times the step in recall: no interpolation, no anchor."""
    value = steps.recall * (steps.true1 / (steps.true1 + steps.false1))
    return value, lambda: _lowest_of(steps), lambda: _highest_of(steps)


def _lowest_of(steps: Steps) -> Floats:
    """Return areas that the positives of each step have at least if they score below its negatives.

    The first positive has the precision at its own recall. The others have at least the integral from there,
    since precision grows with each.
    """
    if not steps.row.any():
        return _integral(steps, steps.false1, steps.false1)
    first = np.minimum(steps.row, steps.recall)
    true = steps.true0 + (steps.true1 - steps.true0) * (first / steps.recall)
    others = steps._replace(recall=steps.recall - first, true0=true)
    return first * (true / (true + steps.false1)) + _integral(others, steps.false1, steps.false1)


def _highest_of(steps: Steps) -> Floats:
    """Return the areas if the positives of each step score above its negatives."""
    return steps.recall * (steps.true1 / (steps.true1 + steps.false0))


def _interpolated(steps: Steps) -> Parts:
    """Integrate precision with FPR linear in TPR; from (0, 0) to the first point precision is constant."""
    ends = ((steps.false0, steps.false1), (steps.false1, steps.false1), (steps.false0, steps.false0))
    value, lower, upper = (partial(_integral, steps, *end) for end in ends)
    return value(), lower, upper


def _trapezoid(steps: Steps) -> Parts:
    """Integrate precision linear in recall, from the first attained point on."""
    at_end = steps.true1 / (steps.true1 + steps.false1)
    at_start = steps.true0 / (steps.true0 + steps.false0)
    # If only negatives are predicted positive, precision is 0, even in the limit eta = 1.
    at_start[np.isnan(at_start) & (steps.true0 == 0) & (steps.true1 > 0)] = 0.0
    value = steps.recall * (at_start + at_end) / 2
    value[:, steps.origin] = 0.0 * at_end[:, steps.origin]

    def lower() -> Floats:
        area = steps.recall * (steps.true0 / (steps.true0 + steps.false1))
        return np.where(steps.true0 == 0, 0.0, area)

    return value, lower, lambda: _highest_of(steps)


PR_RULES: dict[str, Callable[[Steps], Parts]] = {
    "average_precision": _average_precision,
    "interpolated": _interpolated,
    "trapezoid": _trapezoid,
}


def _integral(steps: Steps, false0: Floats, false1: Floats) -> Floats:
    """Return the integral of precision over recall, with false positives linear in true positives.

    With d = true + false from d0 to d1, y = (d1-d0)/d0 and g(y) = 1 - log1p(y)/y, it is
    recall/d0·(true0·(1-g) + (true1-true0)·g/y): a sum of positive terms, without cancellation.
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
    # Precision is constant along a step from (0, 0); 0/0 remains if eta is 0.
    origin = d0 == 0
    area[origin] = (steps.recall * (steps.true1 / d1))[origin]
    return area


def _missing_of_log(y: Floats) -> FloatPair:
    """Return g = 1 - log1p(y)/y and g/y, for y >= 0, to full precision even for small y."""
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
        long = y.ravel()[far]
        log = np.where(np.isinf(long), 0.0, np.log1p(long) / long)
        g.ravel()[far], g_over_y.ravel()[far] = 1 - log, (1 - log) / long
    return g, g_over_y


def _certified(curves: Curves, etas: Etas, method: Method) -> list[Areas]:
    """Return the area at each prevalence; for short curves, at many prevalences in one NumPy call."""
    at_once = max(_STEPS_AT_ONCE // max(len(curves.tpr0), 1), 1)
    origin = curves.start[(curves.tpr0[curves.start] == 0) & (curves.fpr0[curves.start] == 0)]
    found: list[Areas] = []
    for first in range(0, len(etas), at_once):
        # One row per prevalence.
        eta = np.stack([curves.each_step(eta) for eta in etas[first : first + at_once]])
        true0, true1 = eta * curves.tpr0, eta * curves.tpr1
        false0, false1 = (1 - eta) * curves.fpr0, (1 - eta) * curves.fpr1
        row = curves.each_step(curves.row)
        steps = Steps(curves.tpr1 - curves.tpr0, row, true0, true1, false0, false1, origin)
        found += zip(*enclosed(curves, *PR_RULES[method](steps)), strict=True)
    return found


def _highest_average_precision(curves: Curves, eta: float | Floats) -> Floats:
    """Return the largest average precision of curves below the given ones.

    At recall r, precision is that of the first score that reaches r. Tied rows of this score may end at a
    higher recall, perhaps in a later step, where precision may be higher.
    """
    of_step = curves.each_step(eta)
    true = of_step * curves.tpr1
    precision = true / (true + (1 - of_step) * curves.fpr0)
    for start, size in zip(curves.start, curves.size, strict=True):
        later = precision[start : start + size][::-1]
        np.maximum.accumulate(later, out=later)
    return curves.sum((curves.tpr1 - curves.tpr0) * precision)


def _average_precisions(logs: Logs, prevalence: Sequence[float]) -> Floats:
    """Return the average precision of each log at each prevalence; NaN without a class, or for 0/0."""
    positives, negatives, _ = logs
    etas = np.asarray(prevalence, np.float64)
    areas = np.empty((len(positives), len(etas)))
    # Skip bins without positives, where recall does not grow.
    steps = np.flatnonzero(positives.any(axis=0))
    some = max(1, CELLS_IN_CACHE // max(1, len(steps)))
    for start in range(0, len(positives), some):
        part = slice(start, start + some)
        true, false = positives[part].cumsum(axis=1), negatives[part].cumsum(axis=1)
        recall = positives[part, steps]
        tpr, fpr = true[:, steps] / true[:, -1:], false[:, steps] / false[:, -1:]
        ratio = np.where((recall == 0) & ~np.isnan(fpr), 1.0, fpr / tpr)
        recall = recall / true[:, -1:]
        # Precision is 1/(1 + k·FPR/TPR).
        odds = np.divide(1 - etas, etas)
        many = max(1, CELLS_IN_CACHE // max(1, ratio.size))
        for place in range(0, len(etas), many):
            work = ratio[:, np.newaxis] * odds[place : place + many, np.newaxis]
            work += 1
            np.divide(recall[:, np.newaxis], work, out=work)
            areas[part, place : place + many] = np.minimum(work.sum(axis=2), 1)
    areas[~positives.any(axis=1) | ~negatives.any(axis=1)] = np.nan
    return areas


def pr_area(method: Method) -> Area:
    """Return PR-AUC by one of its rules."""
    certified = partial(_certified, method=method)
    return replace(PR_AUC, method=method, certified=certified, highest=_HIGHEST[method])


def _highest(curves: Curves, etas: Etas) -> list[Floats]:
    return [_highest_average_precision(curves, eta) for eta in etas]


#: "trapezoid" has no band: between two points its curve may leave the band.
_HIGHEST: dict[str, Callable[[Curves, Etas], list[Floats]] | None] = {
    "average_precision": _highest,
    "interpolated": lambda curves, etas: [upper for *_, upper in _certified(curves, etas, "interpolated")],
    "trapezoid": None,
}

PR_AUC = Area(
    "pr_auc",
    title="PR-AUC",
    formula="∫ precision dTPR",
    undefined_when=f"{LACKS}, or eta is 0 and a recall has FPR 0",
    computed_by="compute_areas(counts, prevalence=...)",
    method="average_precision",
    certified=partial(_certified, method="average_precision"),
    highest=_highest,
    replicated=_average_precisions,
    support=PR_SUPPORT,
    band_if_unsure=True,
)
