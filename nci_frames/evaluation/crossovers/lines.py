"""Metrics that are ordered by lines: F-beta over lambda, and metrics that are linear in the prevalence.

Their lower envelopes and crossings are exact.
"""

from typing import NamedTuple, Self

import numpy as np

from nci_frames.base.typing import Flags, Floats, Places
from nci_frames.evaluation.crossovers.contest import Contest

#: Relative difference up to which places are taken for one: rounding parts those at which three lines meet.
_ROUNDING = 1e-13


class Envelope(NamedTuple):
    """The lower envelope of lines over x from 0 to infinity: line ``lines[i]`` begins at ``starts[i]``."""

    lines: Places
    starts: Floats
    intercepts: Floats
    slopes: Floats

    def at(self, x: Floats) -> Places:
        """Return the index, within this envelope, of the lowest line at each x."""
        return np.searchsorted(self.starts, x, side="right") - 1


def lower_envelope(intercepts: Floats, slopes: Floats) -> Envelope:
    """Return the lower envelope of lines over x >= 0, in O(n log n).

    Of equal lines the first is kept. A line that is lowest only at a single point is omitted.

    Parameters
    ----------
    intercepts, slopes
        Finite numbers, one per line.
    """
    order = np.lexsort((slopes, intercepts))
    # A line that starts higher must fall faster than all lines that start lower.
    ordered = slopes[order]
    least_before = np.append(np.inf, np.minimum.accumulate(ordered)[:-1])
    lines = order[ordered < least_before]
    while True:
        meets = np.diff(intercepts[lines]) / -np.diff(slopes[lines])
        # A line that is overtaken before it overtakes is nowhere below both neighbours: drop it.
        hidden = meets[1:] <= meets[:-1] * (1 + _ROUNDING)
        if not hidden.any():
            return Envelope(lines, np.append(0.0, meets)[: len(lines)], intercepts[lines], slopes[lines])
        lines = lines[np.append(np.append(True, ~hidden), True)]


def crossings(one: Envelope, other: Envelope, end: float) -> tuple[Floats, Places, Places, Flags]:
    """Return the crossings of two envelopes between 0 and *end*, which may be infinite; not where they touch.

    The result is the x of each crossing, the line of either envelope there, and whether the first one was
    lower before. If the two coincide over a range and change order, the crossing is where the range begins.
    """
    # The difference is linear between consecutive starts of lines.
    x = np.union1d(one.starts, other.starts)
    i, j = one.at(x), other.at(x)
    level, slope = one.intercepts[i] - other.intercepts[j], one.slopes[i] - other.slopes[j]
    height = np.abs(one.intercepts[i]) + np.abs(other.intercepts[j])
    steepness = np.abs(one.slopes[i]) + np.abs(other.slopes[j])
    # At infinity the slope decides.
    at_end = np.sign(slope[-1] or level[-1])
    if np.isfinite(end):
        at_end = _signs(level[-1] + slope[-1] * end, height[-1] + steepness[-1] * end)
    signs = np.append(_signs(level + slope * x, height + steepness * x), at_end)
    # The sign is 0 where they coincide or touch: skip zeros, and compare the signs before and after.
    told = np.flatnonzero(signs)
    changed = np.flatnonzero(np.diff(signs[told]))
    found = told[changed]
    meet = np.where(slope[found] == 0, x[found], -level[found] / slope[found])
    meet = np.clip(meet, x[found], np.append(x[1:], end)[found])
    return meet, one.lines[i[found]], other.lines[j[found]], signs[found] < 0


def _signs(difference: Floats | float, size: Floats | float) -> Floats:
    """Return the sign of differences of numbers of the given size; 0 within rounding error."""
    return np.where(np.abs(difference) <= 8 * np.finfo(float).eps * size, 0.0, np.sign(difference))


def f_beta_envelope(tpr: Floats, fpr: Floats) -> Envelope:
    """Return the points with the highest F-beta over lambda from 0 to infinity.

    Points without true positives score 0 everywhere; if there are no others, the first is returned.
    """
    some = np.flatnonzero(tpr > 0)
    if not len(some):
        return Envelope(np.zeros(1, np.intp), np.zeros(1), np.ones(1), np.zeros(1))
    found = lower_envelope(1 / tpr[some], fpr[some] / tpr[some])
    lines = some[found.lines]
    # Where three lines meet, rounding may let the second begin after the third.
    starts = np.maximum.accumulate(np.append(0.0, _equal_f_beta(tpr, fpr, lines[:-1], lines[1:])))
    wide = np.append(np.diff(starts) > _ROUNDING * starts[:-1], True)
    return Envelope(lines[wide], starts[wide], found.intercepts[wide], found.slopes[wide])


def _equal_f_beta(tpr: Floats, fpr: Floats, one: Places, other: Places) -> Floats:
    """Return the lambda at which two points have equal F-beta, from the rates, to avoid rounded quotients."""
    return np.asarray((tpr[one] - tpr[other]) / (fpr[one] * tpr[other] - fpr[other] * tpr[one]))


class LineContest(NamedTuple):
    """Operating points as lines over x from 0 to an end; the lowest line is the best."""

    contest: Contest
    end: float
    #: Whether the axis of the contest rises with x.
    ascending: bool
    #: Height of each line at x = 0 and at x = 1; for F-beta, TPR and FPR instead.
    at_0: Floats
    at_1: Floats

    @classmethod
    def of(cls, contest: Contest) -> Self:
        """Return the lines of a contest that ``has_lines``."""
        points = contest.points
        if contest.name == "f_beta":
            return cls(contest, np.inf, False, points.tpr, points.fpr)
        ends = (np.full(len(points.frame), eta) for eta in (0.0, 1.0))
        at_0, at_1 = (-contest.sign * contest.values(points.frame, eta) for eta in ends)
        return cls(contest, 1.0, True, at_0, at_1)

    def envelope(self, rows: Places) -> Envelope:
        """Return the best of the given points over x."""
        if self.contest.name == "f_beta":
            found = f_beta_envelope(self.at_0[rows], self.at_1[rows])
        else:
            found = lower_envelope(self.at_0[rows], self.at_1[rows] - self.at_0[rows])
        inside = found.starts < self.end
        return Envelope(
            rows[found.lines][inside], found.starts[inside], found.intercepts[inside], found.slopes[inside]
        )

    def meet(self, x: Floats, first: Places, second: Places) -> Floats:
        """Return the x at which two lines cross near the given *x*, to floating-point precision."""
        if self.contest.name != "f_beta":
            return x
        exact = _equal_f_beta(self.at_0, self.at_1, first, second)
        return np.where(np.isfinite(exact), exact, x)

    def axis(self, x: Floats) -> Floats:
        """Return the prevalence or beta at x."""
        if self.contest.name != "f_beta":
            return x
        if self.contest.over == "prevalence":
            beta = self.contest.beta or 0.0
            return np.asarray(1 / (1 + x * beta * beta))
        eta = self.contest.prevalence or 0.0
        return np.asarray(np.sqrt((1 - eta) / eta / x))
