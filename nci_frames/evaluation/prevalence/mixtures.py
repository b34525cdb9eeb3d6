"""Scores of traffic as mixtures of the scores of positives and of negatives, in a few bins.

Every method here weighs the bins, and solves sum(weights * (traffic - eta * positives - (1 - eta) *
negatives)) = 0, where the three are shares of the bins. They differ in the weights alone.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.evaluation.arrays.buckets import strata_counts
from nci_frames.schemas import beside

#: Of positives, negatives and traffic: rows in each bin. Of weighted rows, as many of one weight as know it.
Triple = tuple[Floats, Floats, Floats]

#: Bins are made at so many quantiles of each class.
_QUANTILES = np.linspace(0, 1, 8)[1:-1]
#: Fewer negatives, or rows of the traffic, in a bin would make its weight a matter of chance.
_LEAST_IN_BIN = 10
#: The test of fit looks at the highest scores in finer bins, at these quantiles of the positives.
_TAIL = np.array([0.95, 0.99])
#: So many positives, and rows of the traffic, a bin of the tail has at least.
_LEAST_IN_TAIL = 5
#: Of a class in the reference, and of the traffic, fewer tell nothing.
_LEAST_ROWS = 10


class Bins(NamedTuple):
    """The rows of one group in bins of scores, the lowest first."""

    #: In bins with enough rows of each kind for weights, by which the prevalence is estimated.
    estimated: Triple
    #: In these bins, of which the highest is divided: positives that score higher than those of the reference
    #: are seen there, where there are hardly any negatives.
    tested: Triple
    #: In the bins of ``estimated``, the variance of a positive, and of a negative, over that of such a row.
    spread: tuple[Floats, Floats]


@dataclass(frozen=True)
class Mixtures:
    """The rows of positives, negatives and traffic of several groups, each in the same bins.

    Bins begin with the lowest scores; the last ones of a group with fewer have no rows.
    """

    #: Of shape (3, groups, bins).
    counted: Floats
    #: Of positives and negatives, the variance of a row as a share of that of a row that is drawn by itself.
    spread: Floats

    @classmethod
    def of(cls, groups: Sequence[Triple], spreads: Sequence[tuple[Floats, Floats]] | None = None) -> Self:
        """Return groups with different numbers of bins together."""
        most = max((len(group[0]) for group in groups), default=1)
        counted, spread = np.zeros((3, len(groups), most)), np.ones((2, len(groups), most))
        for place, group in enumerate(groups):
            counted[:, place, : len(group[0])] = group
            if spreads is not None:
                spread[:, place, : len(group[0])] = spreads[place]
        return cls(counted, spread)

    @cached_property
    def used(self) -> Flags:
        """Which bins a group has."""
        return np.asarray(self.counted.sum(axis=0) > 0)

    @cached_property
    def rows(self) -> Floats:
        """The numbers of positives, negatives and rows of traffic of each group."""
        return np.asarray(self.counted.sum(axis=2))

    @cached_property
    def laws(self) -> Floats:
        """The shares of the bins among positives, negatives and traffic."""
        return self.counted / self.rows[:, :, None]

    def estimates(self, method: str, z: float) -> "Estimates":
        """Return the share of positives in each mixture, and the shares that are not rejected.

        A share is rejected if the weighted difference is more than *z* of its standard errors. They are those
        that this share implies, as in Wilson's interval, and include the noise of the reference.
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
        return Estimates(np.minimum(np.maximum(start / slope, lower), upper), lower, upper)

    def misfits(self) -> tuple[Floats, Floats]:
        """Return the likelihood-ratio statistic of each traffic against all mixtures, and its freedom.

        The shares of the bins in both classes are unknown, and the reference is a sample, too: all three logs
        are compared with what they would be expected to have under the mixture that explains them best. The
        statistic follows a chi-squared distribution if the traffic is a mixture, also where bins have few
        rows of a class; its degrees of freedom are the bins less 2, or less 1 where the best prevalence is 0
        or 1.

        Notes
        -----
        With a positives, b negatives and t rows of traffic in a bin, N_p, N_n and T of them in all bins, and
        m = eta p + (1 - eta) n, the likelihood is largest where p = a / (N_p + eta (T - u)) and n = b / (N_n
        + (1 - eta) (T - u)) with u = t / m. Of each bin that is a quadratic equation for u; the sum of p is 1
        at eta.
        """
        low = np.full((self.counted.shape[1], 1), -_FARTHEST)
        high = -low
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            p, _ = self._laws(middle)
            below = p.sum(axis=1, keepdims=True) > 1
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        logit = (low + high) / 2
        p, n = self._laws(logit)
        eta = 1 / (1 + np.exp(-logit))
        expected = (p, n, eta * p + (1 - eta) * n)
        statistic = np.zeros(len(eta))
        for rows, law, total in zip(self.counted, expected, self.rows, strict=True):
            scale = law * total[:, None]
            ratio = np.divide(rows, scale, out=np.ones_like(rows), where=(rows > 0) & (scale > 0))
            statistic += 2 * (rows * np.log(ratio)).sum(axis=1)
        # A prevalence of 0 or 1 was not fitted: another one beyond it would explain the scores better.
        fitted = np.abs(logit[:, 0]) < _FARTHEST - 1
        return np.maximum(statistic, 0.0), self.used.sum(axis=1) - 1.0 - fitted

    def _laws(self, logit: Floats) -> tuple[Floats, Floats]:
        """Return the shares of the bins in both classes that are likeliest at a prevalence."""
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
        # Where the reference has none of a class in a bin, the traffic may still tell of some.
        mixed = _quotient(t, u)
        p = np.where(some_p, p, np.maximum(mixed - rest * n, 0.0) / eta)
        return p, np.where(some_n, n, np.maximum(mixed - eta * p, 0.0) / rest)


def _edges_of_bins(positives: Rows, negatives: Rows, traffic: Rows) -> tuple[list[int], list[int]]:
    """Return where a few bins begin, those of ``Bins.estimated`` and of ``Bins.tested``.

    They are at quantiles of both classes, each with enough rows to compare.

    Parameters
    ----------
    positives, negatives, traffic
        How many rows reach each bin: first all, then those that reach each threshold, the lowest first.
    """
    wanted = {edge for reached in (positives, negatives) for edge in _edges(reached, _QUANTILES)}
    few = [0, *_spaced(wanted - {len(traffic)}, np.stack([negatives, traffic]), 0, _LEAST_IN_BIN)]
    tail = {*_edges(positives, 1 - _TAIL)} - {len(traffic)}
    return few, [*few, *_spaced(tail, np.stack([positives, traffic]), few[-1], _LEAST_IN_TAIL)]


def _edges(reached: Rows, quantiles: Floats) -> list[int]:
    """Return the first bins that at most such shares of the rows reach."""
    few = np.searchsorted(reached[::-1], quantiles * reached[0], side="right")
    return [len(reached) - int(edge) for edge in few]


def _spaced(edges: Collection[int], reached: Rows, lowest: int, least: int) -> list[int]:
    """Return the edges, ascending, that leave enough rows of each kind between them.

    So many must also be above the highest, and between the edge *lowest* and the lowest.
    """
    found: list[int] = []
    above = np.zeros_like(reached[:, lowest])
    for edge in sorted(edges, reverse=True):
        here = reached[:, edge]
        if min(*(here - above), *(reached[:, lowest] - here)) >= least:
            found.append(edge)
            above = here
    return found[::-1]


def _between(reached: Floats, places: list[int]) -> tuple[Floats, Floats]:
    """Return the rows between some edges, as many of one weight as know no bin better, and their spread.

    *reached* has the rows that reach each edge, the sums of their weights and of the squares of these.
    """
    rows, sums, squares = reached[:, places] - np.append(reached[:, places[1:]], np.zeros((3, 1)), axis=1)
    # What is left of sums where there is no row is rounding.
    mean = np.divide(squares, sums, out=np.zeros(len(sums)), where=(rows > 0) & (sums > 0))
    heaviest = mean.max(initial=0.0)
    known = np.divide(sums, heaviest, out=np.zeros(len(sums)), where=mean > 0)
    return known, np.divide(mean, heaviest, out=np.ones(len(sums)), where=mean > 0)


def common_bins(
    reference: pl.DataFrame, traffic: pl.DataFrame, *, shared: Sequence[str], kept: Sequence[str]
) -> tuple[pl.DataFrame, list[Bins | str]]:
    """Return the groups of the traffic, and of each its bins or the reason why it has none.

    Parameters
    ----------
    reference
        Whole counts with the keys *shared*.
    traffic
        The same with the keys *kept*, in which all rows are negatives.
    shared, kept
        The keys of the two; those of the reference are among those of the traffic.
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
    """Raise SchemaError if a key has values in one frame that cannot equal those in the other."""
    for key in shared:
        here, there = reference.schema[key], traffic.schema[key]
        if here != there and not (here.is_integer() and there.is_integer()):
            raise SchemaError.wrong_type(key, "the reference", str(here), f"{there}, as in the traffic")


@dataclass(frozen=True, slots=True)
class _Group:
    """The thresholds of a group, ascending, and each class: all rows, and those that reach each threshold.

    A class has rows, sums of weights and of the squares of these. No row reaches what is after the last
    threshold.
    """

    threshold: Floats
    positives: Floats
    negatives: Floats
    #: Whether it is known how many rows reach any threshold.
    every_score: bool

    @classmethod
    def each(cls, counts: pl.DataFrame, group: list[str]) -> tuple[pl.DataFrame, list[Self]]:
        """Return the groups of whole counts, sorted, and what each holds."""
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
    """Return the bins between the thresholds that both have, or why there are none."""
    in_field = np.arange(len(field.threshold))
    in_known = np.searchsorted(known.threshold, field.threshold)
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
    every = (
        known.positives[:, np.append(0, in_known + 1)],
        known.negatives[:, np.append(0, in_known + 1)],
        field.negatives[:, np.append(0, in_field + 1)],
    )
    few, finer = _edges_of_bins(*(reached[0] for reached in every))
    if len(few) < 2:
        return "no threshold has enough rows on both sides"
    (positives, p), (negatives, n), (traffic, _) = (_between(reached, few) for reached in every)
    tested = [_between(reached, finer)[0] for reached in every]
    return Bins((positives, negatives, traffic), (tested[0], tested[1], tested[2]), (p, n))


_ROUNDS = 200
_CLOSE = 1e-9
#: With nothing but positives, a bin without any would have infinite weight.
_MOST = 1 - 1e-9
#: Halvings of the range of logit(eta), which is +-_FARTHEST.
_HALVINGS = 40
_FARTHEST = 25.0
#: Of a difference of two numbers that is 0 but for rounding.
_ROUNDING = 1e-12


class Estimates(NamedTuple):
    """The prevalence of each group with its bounds; NaN where the classes are not separated."""

    prevalence: Floats
    lower: Floats
    upper: Floats


def _quotient(above: Floats, below: Floats) -> Floats:
    """Return above / below, and 0 in bins that a group does not have."""
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def _likelihood_weights(mixtures: Mixtures) -> Floats:
    """Return the weights with which the solution is that of maximum likelihood."""
    p, n, t = mixtures.laws
    eta = np.full((len(t), 1), 0.5)
    for _ in range(_ROUNDS):
        # Newton's method on the log-likelihood, which is concave: EM has the same limit, in more steps.
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
    """Return the weights with which the solution is the mixture at the least squared distance."""
    p, n, _ = mixtures.laws
    return _quotient(p - n, p + n)


METHODS: Mapping[str, Callable[[Mixtures], Floats]] = {
    "em": _likelihood_weights,
    "adjusted_count": _threshold_weights,
    "matching": _matching_weights,
}
