"""Scores of traffic as mixtures of the scores of positives and of negatives, in a few bins.

Every method solves sum(weights * (traffic - eta * positives - (1 - eta) * negatives)) = 0, where the three
are shares of the bins. Methods differ only in the weights.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.base.typing import Flags, FloatPair, Floats, Rows
from nci_frames.counts.resolution import in_precision_of
from nci_frames.evaluation.arrays.buckets import strata_counts
from nci_frames.schemas import beside

#: Rows in each bin of positives, negatives and traffic; effective numbers if rows are weighted.
Triple = tuple[Floats, Floats, Floats]

#: Quantiles of each class at which bins are made.
_QUANTILES = np.linspace(0, 1, 8)[1:-1]
#: Least negatives and rows of traffic in a bin, and twice the least positives; with fewer its weight would be
#: random, and where most traffic is positive the estimate too low.
_LEAST_IN_BIN = 10
#: Quantiles of the positives at which the test of fit splits the highest bin.
_TAIL = np.array([0.95, 0.99])
#: Least positives and rows of traffic in a bin of the tail.
_LEAST_IN_TAIL = 5
#: Least rows of each class of the reference, and of the traffic.
_LEAST_ROWS = 10


class Bins(NamedTuple):
    """The rows of one group in bins of scores, the lowest first."""

    #: Bins with enough rows of each kind, for the estimate.
    estimated: Triple
    #: The same bins with the highest one split, for the test of fit: positives that score higher than in the
    #: reference are found there, where there are hardly any negatives.
    tested: Triple
    #: Variance of positives and of negatives relative to effective rows, in the bins of ``estimated``.
    spread: FloatPair


@dataclass(frozen=True)
class Mixtures:
    """The rows of positives, negatives and traffic of several groups, in bins.

    The bins of a group ascend by score; groups with fewer bins are padded with empty bins.
    """

    #: Rows, of shape (3, groups, bins).
    counted: Floats
    #: Variance of positives and of negatives relative to independent rows, of shape (2, groups, bins).
    spread: Floats

    @classmethod
    def of(cls, groups: Sequence[Triple], spreads: Sequence[FloatPair] | None = None) -> Self:
        """Return the mixtures of groups with different numbers of bins."""
        most = max((len(group[0]) for group in groups), default=1)
        counted, spread = np.zeros((3, len(groups), most)), np.ones((2, len(groups), most))
        for place, group in enumerate(groups):
            counted[:, place, : len(group[0])] = group
            if spreads is not None:
                spread[:, place, : len(group[0])] = spreads[place]
        return cls(counted, spread)

    @cached_property
    def used(self) -> Flags:
        """Mask of the bins that each group has."""
        return np.asarray(self.counted.sum(axis=0) > 0)

    @cached_property
    def rows(self) -> Floats:
        """Numbers of positives, negatives and rows of traffic of each group."""
        return np.asarray(self.counted.sum(axis=2))

    @cached_property
    def laws(self) -> Floats:
        """Shares of the bins among positives, negatives and traffic."""
        return self.counted / self.rows[:, :, None]

    def estimates(self, method: str, z: float) -> tuple[Floats, Floats, Floats]:
        """Return the share of positives in each mixture, with the bounds of the shares that are not rejected.

        A share is rejected if the weighted difference exceeds *z* standard errors. These are computed at this
        share, as in Wilson's interval, and include the sampling error of the reference. All three are NaN if
        the scores do not separate the classes.
        """
        weights = METHODS[method](self)
        p, n, t = self.laws
        rows_t = self.rows[2]
        of_p, of_n = (weights * p).sum(axis=1), (weights * n).sum(axis=1)
        squares_p, squares_n = (weights**2 * p).sum(axis=1), (weights**2 * n).sum(axis=1)
        var_p, var_n = (
            (spread * law * (weights - mean[:, None]) ** 2).sum(axis=1) / rows
            for spread, law, mean, rows in zip(self.spread, (p, n), (of_p, of_n), self.rows, strict=False)
        )
        slope, start = of_p - of_n, (weights * (t - n)).sum(axis=1)
        # (start - slope eta)^2 <= z^2 (var_t(eta) + eta^2 var_p + (1 - eta)^2 var_n), all quadratic in eta.
        a = slope**2 - z**2 * (var_p + var_n - slope**2 / rows_t)
        b = -2 * slope * start - z**2 * ((squares_p - squares_n - 2 * of_n * slope) / rows_t - 2 * var_n)
        c = start**2 - z**2 * ((squares_n - of_n**2) / rows_t + var_n)
        separated = (a > 0) & (slope > 0)
        a, slope = np.where(separated, a, np.nan), np.where(separated, slope, np.nan)
        middle, half = -b / (2 * a), np.sqrt(np.maximum(b * b - 4 * a * c, 0.0)) / (2 * a)
        lower, upper = (np.clip(side, 0.0, 1.0) for side in (middle - half, middle + half))
        return np.minimum(np.maximum(start / slope, lower), upper), lower, upper

    def misfits(self) -> FloatPair:
        """Return the likelihood-ratio statistic of each traffic against all mixtures, and its freedom.

        The shares of the bins in both classes are unknown, since the reference is a sample, too. So the rows
        of positives, negatives and traffic are compared with those expected under the best mixture. If the
        traffic is a mixture, the statistic has a chi-squared distribution, even if bins have few rows of a
        class. Its degrees of freedom are the bins minus 2, or minus 1 if the best prevalence is 0 or 1.

        Notes
        -----
        With a positives, b negatives and t rows of traffic in a bin, N_p, N_n and T of them in all bins, and
        m = eta p + (1 - eta) n, the likelihood is largest where p = a / (N_p + eta (T - u)) and n = b / (N_n
        + (1 - eta) (T - u)) with u = t / m. This is a quadratic equation for u in each bin; eta is where p
        sums to 1.
        """
        low = np.full((self.counted.shape[1], 1), -_FARTHEST)
        high = -low
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            p, _ = self._laws(middle)
            below = p.sum(axis=1, keepdims=True) > 1
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        logit = (low + high) / 2
        # Of many rows the statistic would show that the sums miss 1 by rounding.
        p, n = (law / law.sum(axis=1, keepdims=True) for law in self._laws(logit))
        eta = 1 / (1 + np.exp(-logit))
        expected = (p, n, eta * p + (1 - eta) * n)
        statistic = np.zeros(len(eta))
        for rows, law, total in zip(self.counted, expected, self.rows, strict=True):
            scale = law * total[:, None]
            ratio = np.divide(rows, scale, out=np.ones_like(rows), where=(rows > 0) & (scale > 0))
            statistic += 2 * (rows * np.log(ratio)).sum(axis=1)
        # A prevalence of 0 or 1 is a boundary, not a fitted parameter.
        fitted = np.abs(logit[:, 0]) < _FARTHEST - 1
        rounding = 64 * np.finfo(np.float64).eps * self.rows.sum(axis=0)
        return np.where(statistic > rounding, statistic, 0.0), self.used.sum(axis=1) - 1.0 - fitted

    def _laws(self, logit: Floats) -> FloatPair:
        """Return the maximum likelihood shares of the bins in both classes at a prevalence."""
        (a, b, t), (rows_p, rows_n, rows_t) = self.counted, self.rows[:, :, None]
        eta, rest = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(logit))
        alpha, gamma = rows_p + eta * rows_t, rows_n + rest * rows_t
        half = (t * (alpha * rest + gamma * eta) + eta * a * gamma + rest * b * alpha) / 2
        product = eta * rest * (a + b + t) * t * alpha * gamma
        root = np.sqrt(np.maximum(half**2 - product, 0.0))
        u = np.divide(t * alpha * gamma, half + root, out=np.zeros(t.shape), where=t > 0)
        left_p, left_n = alpha - eta * u, gamma - rest * u
        some_p, some_n = left_p > _ROUNDING * alpha, left_n > _ROUNDING * gamma
        p = np.divide(a, left_p, out=np.zeros(t.shape), where=some_p)
        n = np.divide(b, left_n, out=np.zeros(t.shape), where=some_n)
        # If the reference has no row of a class in a bin, its share follows from the traffic.
        mixed = _quotient(t, u)
        p = np.where(some_p, p, np.maximum(mixed - rest * n, 0.0) / eta)
        return p, np.where(some_n, n, np.maximum(mixed - eta * p, 0.0) / rest)


def _edges_of_bins(positives: Rows, negatives: Rows, traffic: Rows) -> tuple[list[int], list[int]]:
    """Return the lower edges of the bins of ``Bins.estimated`` and of ``Bins.tested``.

    Edges are at quantiles of both classes, with enough rows between them.

    Parameters
    ----------
    positives, negatives, traffic
        Number of rows that reach each edge: first all rows, then those that reach each threshold, ascending.
    """
    wanted = {edge for reached in (positives, negatives) for edge in _edges(reached, _QUANTILES)}
    wanted -= {len(traffic)}
    every = np.stack([2 * positives, negatives, traffic])
    several = _spaced(wanted, every, 0, _LEAST_IN_BIN)
    # Of two bins the weights do not matter, and the lower one may lack positives; not the higher one, since
    # scores with few positives by chance would seem to separate the classes in reverse.
    high = {edge for edge in wanted if 2 * positives[edge] >= _LEAST_IN_BIN}
    few = [0, *(several or _spaced(high, every[1:], 0, _LEAST_IN_BIN)[-1:])]
    tail = {*_edges(positives, 1 - _TAIL)} - {len(traffic)}
    return few, [*few, *_spaced(tail, np.stack([positives, traffic]), few[-1], _LEAST_IN_TAIL)]


def _edges(reached: Rows, quantiles: Floats) -> list[int]:
    """Return the first edge that at most each share *quantiles* of the rows reaches."""
    few = np.searchsorted(reached[::-1], quantiles * reached[0], side="right")
    return [len(reached) - int(edge) for edge in few]


def _spaced(edges: Collection[int], reached: Rows, lowest: int, least: int) -> list[int]:
    """Return the edges, ascending, with at least *least* rows of each kind between them.

    As many must lie above the highest edge, and between the edge *lowest* and the first.
    """
    found: list[int] = []
    above = np.zeros_like(reached[:, lowest])
    for edge in sorted(edges, reverse=True):
        here = reached[:, edge]
        if min(*(here - above), *(reached[:, lowest] - here)) >= least:
            found.append(edge)
            above = here
    return found[::-1]


def _between(reached: Floats, places: list[int]) -> FloatPair:
    """Return the effective rows between the edges at *places*, and their relative variance.

    *reached* has the rows that reach each edge, the sums of their weights and of their squared weights. No
    bin gets more effective rows than it is worth: sums are divided by the largest mean weight of a bin.
    """
    rows, sums, squares = reached[:, places] - np.append(reached[:, places[1:]], np.zeros((3, 1)), axis=1)
    # Bins without rows may have nonzero sums by rounding.
    mean = np.divide(squares, sums, out=np.zeros(len(sums)), where=(rows > 0) & (sums > 0))
    heaviest = mean.max(initial=0.0)
    known = np.divide(sums, heaviest, out=np.zeros(len(sums)), where=mean > 0)
    return known, np.divide(mean, heaviest, out=np.ones(len(sums)), where=mean > 0)


def common_bins(
    reference: pl.DataFrame, traffic: pl.DataFrame, *, shared: Sequence[str], kept: Sequence[str]
) -> tuple[pl.DataFrame, list[Bins | str]]:
    """Return the groups of the traffic, and for each its bins or the reason why it has none.

    Parameters
    ----------
    reference
        Whole counts with the keys *shared*.
    traffic
        Whole counts with the keys *kept*, in which all rows are negatives.
    shared, kept
        Keys of the two frames; *shared* is a subset of *kept*.
    """
    labelled, known = _Group.each(reference, ["model", *shared])
    groups, field = _Group.each(traffic, ["model", *kept])
    places = beside(groups, labelled.with_row_index("__place"), ["model", *shared])["__place"]
    found = [
        "the reference has no counts for this group" if place is None else _bins(known[place], group)
        for place, group in zip(places, field, strict=True)
    ]
    return groups, found


def check_key_types(reference: pl.DataFrame, traffic: pl.DataFrame, shared: Sequence[str]) -> None:
    """Raise SchemaError if the types of a key in the two frames cannot be compared."""
    for key in shared:
        here, there = reference.schema[key], traffic.schema[key]
        if here != there and not (here.is_integer() and there.is_integer()):
            raise SchemaError.wrong_type(key, "the reference", str(here), f"{there}, as in the traffic")


@dataclass(frozen=True, slots=True)
class _Group:
    """The thresholds of a group, ascending, and the rows of each class that reach them.

    A class has three lines: rows, sums of weights, and sums of squared weights. The first column has all
    rows, then one column follows per threshold, and the last column is 0.
    """

    threshold: Floats
    positives: Floats
    negatives: Floats
    #: Whether the counts determine the rows that reach any threshold.
    every_score: bool

    @classmethod
    def each(cls, counts: pl.DataFrame, group: list[str]) -> tuple[pl.DataFrame, list[Self]]:
        """Return the groups of whole counts, sorted, and the rows of each."""
        found, groups = [], [counts.select(group).clear()]
        for strata in strata_counts(counts.select(*group, pl.exclude(group))):
            powers = strata.weights[:, None] ** np.arange(3)
            above = (np.cumsum(of_class.T @ powers, axis=0)[::-1].T for of_class in strata.classes)
            positives, negatives = (np.append(reached, np.zeros((3, 1)), axis=1) for reached in above)
            histogram = strata.histogram
            found.append(cls(histogram.thresholds[::-1], positives, negatives, histogram.every_score))
            groups.append(histogram.group)
        return pl.concat(groups), found


def _bins(known: _Group, field: _Group) -> Bins | str:
    """Return the bins between the common thresholds, or the reason why there are none."""
    in_field = np.arange(len(field.threshold))
    in_known = np.searchsorted(known.threshold, in_precision_of(known.threshold, field.threshold))
    if not known.every_score:
        _, in_known, in_field = np.intersect1d(
            known.threshold, field.threshold, assume_unique=True, return_indices=True
        )
    if not len(in_field):
        return "the reference was not counted at thresholds of this group"
    for what, rows in (
        ("positives in the reference", known.positives),
        ("negatives in the reference", known.negatives),
        ("rows of traffic", field.negatives),
    ):
        if rows[0, 0] < _LEAST_ROWS:
            return f"fewer than {_LEAST_ROWS} {what}"
    reached_at = ((known.positives, in_known), (known.negatives, in_known), (field.negatives, in_field))
    every = [reached[:, np.append(0, at + 1)] for reached, at in reached_at]
    few, finer = _edges_of_bins(*(reached[0] for reached in every))
    if len(few) < 2:
        return "no threshold has enough rows on both sides"
    (positives, p), (negatives, n), (traffic, _) = (_between(reached, few) for reached in every)
    tested = [_between(reached, finer)[0] for reached in every]
    return Bins((positives, negatives, traffic), (tested[0], tested[1], tested[2]), (p, n))


_ROUNDS = 200
_CLOSE = 1e-9
#: Largest eta: at 1, a bin without positives would have infinite weight.
_MOST = 1 - 1e-9
#: Halvings of the range of logit(eta), which is +-_FARTHEST.
_HALVINGS = 40
_FARTHEST = 25.0
#: Relative rounding error of a difference.
_ROUNDING = 1e-12


def _quotient(above: Floats, below: Floats) -> Floats:
    """Return above / below; 0 in bins that a group does not have."""
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def _likelihood_weights(mixtures: Mixtures) -> Floats:
    """Return the weights that give the maximum likelihood solution."""
    p, n, t = mixtures.laws
    eta = np.full((len(t), 1), 0.5)
    for _ in range(_ROUNDS):
        # Newton's method on the concave log-likelihood has the same limit as EM, in fewer steps.
        weights = _quotient(p - n, eta * p + (1 - eta) * n)
        slope = (weights * t).sum(axis=1, keepdims=True)
        curve = (weights**2 * t).sum(axis=1, keepdims=True)
        new = np.clip(eta + _quotient(slope, curve), 0.0, _MOST)
        moving = np.abs(new - eta) > _CLOSE * eta
        if not moving.any():
            break
        eta = np.where(moving, new, eta)
    return _quotient(p - n, eta * p + (1 - eta) * n)


def _threshold_weights(mixtures: Mixtures) -> Floats:
    """Return 1 for the bins above the threshold at which TPR - FPR is largest, and 0 below."""
    p, n, _ = mixtures.laws
    differences = (p - n)[:, ::-1].cumsum(axis=1)[:, ::-1]
    above = np.arange(p.shape[1]) >= differences.argmax(axis=1)[:, None]
    return np.asarray(above & mixtures.used, np.float64)


def _matching_weights(mixtures: Mixtures) -> Floats:
    """Return the weights that give the mixture with the least squared distance."""
    p, n, _ = mixtures.laws
    return _quotient(p - n, p + n)


METHODS: Mapping[str, Callable[[Mixtures], Floats]] = {
    "em": _likelihood_weights,
    "adjusted_count": _threshold_weights,
    "matching": _matching_weights,
}
