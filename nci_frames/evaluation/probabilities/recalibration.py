"""Logistic regression of labels on the logits of scores: the recalibration, and its uncertainty."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Flags, FloatPair, Floats
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.arrays.score_bins import Edges
from nci_frames.evaluation.probabilities.parts import Part

#: Value, lower and upper bound of each group, and the reason why it is undefined.
Measured = tuple[Floats, Floats, Floats, NDArray[np.str_]]

_ONE_CLASS = "at this prevalence there is one class"
_CERTAIN = "scores of 0 or 1 have no logit"
#: Overlap of the classes, as a share of all logits, that rounding may cause.
_ROUNDING = 1e-13
_APART = "the scores separate the classes, or are all equal"


def recalibrations(
    part: Part, eta: Floats, edges: Edges, quantile: Callable[[Floats], Floats], *, own: bool
) -> dict[str, Measured]:
    """Return slope, intercept and calibration in the large of each group, with bounds.

    Parameters
    ----------
    part, eta
        Groups, and the prevalence of each.
    edges
        Representative, least and greatest score of each step.
    quantile
        Returns the number of standard errors to the bounds of each group, given their degrees of freedom.
    own
        Whether the prevalence is that of the rows.
    """
    curves, (true, false) = part.curves, part.shares(eta)
    logits = [np.where(true + false > 0, np.log(each.p) - np.log(each.q), 0.0) for each in edges]
    certain = curves.sum(np.isinf(logits[0]).astype(np.float64)) > 0
    why = np.where((eta > 0) & (eta < 1), np.where(certain, _CERTAIN, ""), _ONE_CLASS)
    why_not_sloping = np.where((why == "") & _separated(curves, true, false, logits[0]), _APART, why)
    found = {}
    for names, reason in ((("in_the_large",), why), (("intercept", "slope"), why_not_sloping)):
        fine = (reason == "") & ~np.isnan(curves.sum(true + false))
        kept = part.each_step(fine.astype(np.float64)) > 0
        rows = [np.where(kept, each, 0.0) for each in (true, false, *logits)]
        sloping = len(names) > 1
        # The shift of all logits falls as any of them grows, so the ends of the bins enclose it.
        places = rows[2:3] if sloping or part.bins.exact else rows[2:]
        fits = [_Regression.of(part, rows[0], rows[1], place, sloping=sloping) for place in places]
        for name in names:
            ends = rows[3:] if sloping else []
            measured = [fit.measured(name, ends, eta, quantile, own=own) for fit in fits]
            value = np.where(fine, measured[0][0], np.nan)
            lower = np.min([low for _, low, _ in measured], axis=0)
            upper = np.max([high for _, _, high in measured], axis=0)
            known = fine & np.isfinite(lower) & np.isfinite(upper)
            told = np.where(fine & np.isnan(value), _APART, reason)
            found[name] = value, np.where(known, lower, np.nan), np.where(known, upper, np.nan), told
    return found


def _separated(curves: Curves, true: Floats, false: Floats, logit: Floats) -> Flags:
    """Return whether the classes of each group are separated by score, either way, up to rounding."""
    place = np.where(np.isfinite(logit), logit, 0.0)
    first, last = (
        [curves.reduce(by, np.where(rows > 0, place, beyond)) for rows in (true, false)]
        for by, beyond in ((np.minimum, np.inf), (np.maximum, -np.inf))
    )
    slack = _ROUNDING * (curves.reduce(np.maximum, place) - curves.reduce(np.minimum, place))
    return np.asarray((last[0] <= first[1] + slack) | (last[1] <= first[0] + slack))


class _Regression(NamedTuple):
    """The logistic regression of each group; with a slope, on standardised logits."""

    part: Part
    true: Floats
    false: Floats
    logit: Floats
    #: Mean and standard deviation of the logits of each group; None without a slope.
    scale: FloatPair | None
    #: The coefficients, and the inverse of the information matrix, as ``fitted`` returns them.
    theta: Floats
    inverse: Floats

    @classmethod
    def of(cls, part: Part, true: Floats, false: Floats, logit: Floats, *, sloping: bool) -> "_Regression":
        """Fit the regression with weights *true* and *false* of the positives and negatives of each step."""
        curves, rows = part.curves, true + false
        if sloping:
            middle = curves.sum(rows * logit)
            width = np.sqrt(curves.sum(rows * (logit - part.each_step(middle)) ** 2))
            scale = middle, np.where(width > 0, width, 1.0)
            found = fitted(curves, _columns(part, scale, logit), np.zeros_like(logit), true, rows)
            return cls(part, true, false, logit, scale, *found)
        # Rows with infinite logits count as 0 or 1, however all are shifted; the others make up for them.
        finite = np.isfinite(logit)
        some = np.where(finite, rows, 0.0)
        share = (curves.sum(true) - curves.sum(np.where(logit == np.inf, rows, 0.0))) / curves.sum(some)
        reached = (share > 0) & (share < 1)
        hits = some * part.each_step(np.where(reached, share, 0.5))
        columns = _columns(part, None, logit)
        theta, inverse = fitted(curves, columns, np.where(finite, logit, 0.0), hits, some)
        theta = np.where(reached, theta, np.where(share >= 1, np.inf, -np.inf))
        return cls(part, true, false, logit, None, theta, inverse)

    def predicted(self, logit: Floats) -> Floats:
        """Return the calibrated scores of logits."""
        sums = (self.part.each_step(self.theta) * _columns(self.part, self.scale, logit)).sum(axis=0)
        return logistic(sums if self.scale is not None else sums + logit)

    def measured(
        self, name: str, ends: list[Floats], eta: Floats, quantile: Callable[[Floats], Floats], *, own: bool
    ) -> tuple[Floats, Floats, Floats]:
        """Return a coefficient of each group and its bounds, for logits between their *ends*."""
        weights = self._weights(name)
        value = (weights * self.theta).sum(axis=0)
        direction = np.einsum("jg,jkg->kg", weights, self.inverse)
        at = [self._influence(direction, self.logit, label) for label in (1, 0)]
        alone = [each / (1 - own_part) for each, own_part in zip(at, self._leverages(eta), strict=True)]
        variance, freedom = self.part.variance(eta, alone[0], alone[1], own=own)
        if own:
            # The regression accounts for heavy rows that are missing by chance.
            variance = np.fmax(variance, self._expected(eta, at[0] - at[1]))
        unsure = quantile(freedom) * np.sqrt(variance)
        for label, rows in ((1, self.true), (0, self.false)):
            moves = [np.abs(self._influence(direction, end, label) - at[1 - label]) for end in ends]
            if moves:
                unsure = unsure + self.part.curves.sum(rows * np.where(rows > 0, np.maximum(*moves), 0.0))
        unsure = np.where(np.isfinite(unsure), unsure, np.nan)
        return value, value - unsure, value + unsure

    def _expected(self, eta: Floats, moved: Floats) -> Floats:
        """Return the variance of a coefficient if labels follow the regression.

        *moved* is the influence of a positive of each step minus that of a negative.
        """
        positives, negatives = (spread.squares for spread in self.part.spread)
        squares = self.part.each_step(eta**2) * positives + self.part.each_step((1 - eta) ** 2) * negatives
        p = self.predicted(self.logit)
        return self.part.curves.sum(np.where(squares == 0, 0.0, squares * p * (1 - p) * moved**2))

    def _weights(self, name: str) -> Floats:
        """Return the weights that convert standardised coefficients to the coefficient *name*."""
        if self.scale is None:
            return np.ones_like(self.theta)
        middle, width = self.scale
        return np.stack([0 * width, 1 / width] if name == "slope" else [1 + 0 * width, -middle / width])

    def _influence(self, direction: Floats, logit: Floats, label: int) -> Floats:
        """Return the influence on the coefficient of a row of each step, with the given logit and label."""
        rest = label - self.predicted(logit)
        moves = self.part.each_step(direction) * rest * _columns(self.part, self.scale, logit)
        return np.asarray(np.where(rest == 0, 0.0, moves).sum(axis=0))

    def _leverages(self, eta: Floats) -> list[Floats]:
        """Return the leverages of a positive and of a negative of each step."""
        columns, p = _columns(self.part, self.scale, self.logit), self.predicted(self.logit)
        moves = np.einsum("jks,js,ks->s", self.part.each_step(self.inverse), columns, columns) * p * (1 - p)
        return [
            np.minimum(rows.weight * self.part.each_step(share) * moves, 0.9)
            for share, rows in zip((eta, 1 - eta), self.part.spread, strict=True)
        ]


def _columns(part: Part, scale: FloatPair | None, logit: Floats) -> Floats:
    """Return the design matrix of a regression on logits."""
    if scale is None:
        return np.ones((1, len(logit)))
    middle, width = map(part.each_step, scale)
    return np.stack([np.ones_like(logit), (logit - middle) / width])


#: Largest number of Newton steps; a regression with a solution needs about ten.
_MOST_STEPS = 100
#: Largest step of an intercept alone: far from a solution the likelihood is flat, and a step endless.
_FARTHEST = 16.0
#: Relative change of the coefficients at convergence.
_NOTHING = 1e-13


def logistic(logit: Floats) -> Floats:
    """Return the probabilities of logits."""
    small = np.exp(-np.abs(logit))
    return np.asarray(np.where(logit >= 0, 1, small) / (1 + small))


def fitted(curves: Curves, columns: Floats, offset: Floats, hits: Floats, rows: Floats) -> FloatPair:
    """Return the coefficients of each group, by Newton's method, and the inverse information matrix.

    Their shapes are (columns, groups) and (columns, columns, groups).

    Parameters
    ----------
    curves
        The steps of the groups.
    columns
        Design matrix, of shape (columns, steps).
    offset
        Offset of the logit of each step.
    hits, rows
        Weights of the positives, and of all rows, of each step. Groups without weight get 0.
    """

    def logits(theta: Floats) -> Floats:
        return np.asarray(offset + (curves.each_step(theta) * columns).sum(axis=0))

    def likelihood(theta: Floats) -> Floats:
        logit = logits(theta)
        return curves.sum(hits * logit - rows * np.logaddexp(0, logit))

    def inverse(p: Floats) -> Floats:
        sums = np.moveaxis(curves.sum(rows * p * (1 - p) * columns * columns[:, np.newaxis]), -1, 0)
        sums[~(np.abs(sums) > 0).any(axis=(1, 2))] = np.eye(len(columns))
        # One singular matrix would end the regressions of all groups.
        sums[np.linalg.det(sums) == 0] = np.nan
        return np.moveaxis(np.asarray(np.linalg.inv(sums), np.float64), 0, -1)

    theta = np.zeros((len(columns), len(curves.start)))
    reached = likelihood(theta)
    for _ in range(_MOST_STEPS):
        p = logistic(logits(theta))
        step = np.einsum("jkg,kg->jg", inverse(p), curves.sum((hits - rows * p) * columns))
        if len(columns) == 1:
            step = np.clip(step, -_FARTHEST, _FARTHEST)
        for _ in range(_MOST_STEPS):
            found = likelihood(theta + step)
            # Ignore decreases within rounding.
            worse = found < reached - 1e-14 * np.abs(reached)
            if not worse.any():
                break
            step[:, worse] /= 2
        theta, reached = theta + step, found
        if (np.abs(step) <= _NOTHING * (1 + np.abs(theta))).all():
            break
    return theta, inverse(logistic(logits(theta)))
