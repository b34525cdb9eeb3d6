"""Counts of segments -> which segments have other score distributions than the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.histograms import each_histogram
from nci_frames.evaluation.significance.corrections import benjamini_hochberg
from nci_frames.evaluation.significance.quadratic import exceedances
from nci_frames.evaluation.significance.shift import LEAST_ROWS, joined_cells
from nci_frames.schemas.runs import group_starts

Flags = NDArray[np.bool_]

#: The rest is found in so many rounds at most, of each kind.
_ROUNDS = 50
#: A cell has so many rows of a segment on average, or the segment is compared at fewer borders.
_ROWS_OF_CELL = 5


@dataclass(frozen=True, slots=True)
class AgainstRest:
    """How the scores of each segment differ from those of the rest."""

    #: Whether a segment belongs to the rest of the others.
    ordinary: Flags
    #: The class that differs most: whether it is the positives.
    positives: Flags
    #: The largest distance between the shares of scores >= a threshold, in that class; NaN without a test.
    effect: Floats
    p_value: Floats
    adjusted: Floats


def compare_with_rest(
    counts: pl.DataFrame,
    segments: Sequence[str],
    together: pl.DataFrame,
    tested: Flags,
    effects: Floats,
    *,
    level: float,
) -> AgainstRest:
    """Test each segment against the rest, separately for positives and negatives.

    The rest are all other segments but for those that differ themselves: else one of them would make the
    others differ from a rest that contains it. They are taken out in rounds, in each the half of the findings
    that differ most, until there is no finding among those that remain, or half of the segments are left.
    Then all without a finding are the rest, until that changes nothing.

    Parameters
    ----------
    counts
        Counts of whole rows of one model, whose only keys are *segments*, sorted by these.
    segments
        The keys.
    together
        The same counts without these keys.
    tested
        Of each segment, in the order of *counts*, whether it is tested.
    effects
        The design effects of positives and of negatives in each segment; 1 for independent rows.
    level
        One minus the expected share of false findings.
    """
    # Negatives first.
    classes = [
        _ClassRows(by_cell, effect)
        for by_cell, effect in zip(_by_cell(counts, segments, together), effects[::-1], strict=True)
    ]
    ordinary = np.ones(len(tested), np.bool_)
    least = len(tested) - (len(tested) - 1) // 2
    found = _tested(classes, ordinary, tested)
    for _ in range(_ROUNDS):
        findings = np.flatnonzero(ordinary & (found.adjusted < 1 - level))
        room = int(ordinary.sum()) - least
        if not len(findings) or not room:
            break
        # Of p-values that are all 0 the larger statistic is further out.
        order = np.lexsort((-found.statistic[findings], found.p_value[findings]))
        ordinary[findings[order[: min(-(-len(findings) // 2), room)]]] = False
        found = _tested(classes, ordinary, tested)
    # A large segment may have been taken out only because the rest was not clean yet.
    for _ in range(_ROUNDS):
        again = ~(found.adjusted < 1 - level)
        if again.sum() < least or (again == ordinary).all():
            break
        ordinary = again
        found = _tested(classes, ordinary, tested)
    effects = np.choose(found.positives, [rows.effects(ordinary) for rows in classes])
    effects = np.where(np.isnan(found.p_value), np.nan, effects)
    return AgainstRest(ordinary, found.positives, effects, found.p_value, found.adjusted)


@dataclass(frozen=True, slots=True)
class _Tests:
    """One test of each segment."""

    positives: Flags
    statistic: Floats
    p_value: Floats
    adjusted: Floats


def _tested(classes: Sequence["_ClassRows"], ordinary: Flags, tested: Flags) -> _Tests:
    statistics, p_values = zip(*(rows.tests(ordinary, tested) for rows in classes), strict=True)
    first = np.argmin(np.nan_to_num(np.stack(p_values), nan=2.0), axis=0)
    least = np.choose(first, p_values)
    # Of two independent p-values the smaller one.
    both = ~np.isnan(p_values[0]) & ~np.isnan(p_values[1])
    p_value = np.where(both, least * (2 - least), least)
    return _Tests(first == 1, np.choose(first, statistics), p_value, benjamini_hochberg(p_value))


class _ClassRows:
    """The rows of one class, by segment and cell of neighbouring scores."""

    def __init__(self, by_cell: NDArray[np.int64], effects: Floats) -> None:
        self.rows = by_cell.sum(axis=1).astype(np.float64)
        #: So many times the variance of a share is that of one independent row, times the square of the rows.
        self.spread = self.rows * effects
        self.worth = self.rows / effects
        self.reached = by_cell.cumsum(axis=1).astype(np.float64)
        whole = self.reached.sum(axis=0)
        below = whole[:-1] / max(whole[-1], 1)
        # Borders that a segment is compared at: fewer of them if it has few rows, whose cells would be empty.
        borders = len(below)
        coarsest = max(int(np.log2(max(borders, 1))) - 1, 0)
        wanted = np.maximum(self.worth / _ROWS_OF_CELL, 1)
        steps = np.clip(np.ceil(np.log2((borders + 1) / wanted)), 0, coarsest).astype(np.int64)
        self.levels = [
            (np.flatnonzero(steps == step), self._weights(below, 2**step))
            for step in np.unique(steps).tolist()
        ]

    @staticmethod
    def _weights(below: Floats, step: int) -> Floats:
        """Return the weight of each border; only each *step*-th counts."""
        weights = np.zeros(len(below))
        kept = np.arange(step - 1, len(below), step)
        kept = kept[(below[kept] > 0) & (below[kept] < 1)]
        inside = below[kept]
        shares = np.diff(inside, prepend=0, append=1)
        weights[kept] = (shares[:-1] + shares[1:]) / 2 / (inside * (1 - inside))
        return weights

    def _compared(self, ordinary: Flags) -> tuple[Floats, Floats]:
        """Return how far the shares of each segment are from those of its rest, and what that is worth."""
        rest = self.reached[ordinary].sum(axis=0) - np.where(ordinary[:, None], self.reached, 0.0)
        size = rest[:, -1]
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = self.reached[:, :-1] / self.rows[:, None] - rest[:, :-1] / size[:, None]
        spread = self.spread[ordinary].sum() - np.where(ordinary, self.spread, 0.0)
        return apart, np.divide(size**2, spread, out=np.zeros_like(size), where=size > 0)

    def tests(self, ordinary: Flags, tested: Flags) -> tuple[Floats, Floats]:
        """Return Anderson and Darling's statistic of each segment against its rest, and its p-value."""
        apart, size = self._compared(ordinary)
        compared = tested & (self.worth >= LEAST_ROWS) & (size >= LEAST_ROWS)
        statistic, p_value = np.full(len(tested), -1.0), np.full(len(tested), np.nan)
        # Without a difference, each segment is drawn from the scores of the rest.
        reached = self.reached[ordinary].sum(axis=0)
        below = reached[:-1] / max(reached[-1], 1)
        covariance = np.minimum(below[:, None], below) - below[:, None] * below
        for members, weight in self.levels:
            here = members[compared[members]]
            used = np.flatnonzero(weight)
            scale = np.sqrt(weight[used])
            weights = np.zeros(0)
            if len(used):
                weights = np.linalg.eigvalsh(covariance[np.ix_(used, used)] * scale[:, None] * scale)
            worth = self.worth[here] * size[here] / (self.worth[here] + size[here])
            statistic[here] = worth * (apart[here] ** 2 @ weight)
            p_value[here] = exceedances(statistic[here], weights)
        return statistic, p_value

    def effects(self, ordinary: Flags) -> Floats:
        """Return the largest distance between the shares of each segment and those of its rest."""
        apart, _ = self._compared(ordinary)
        return np.asarray(np.abs(apart).max(axis=1, initial=0.0))


def _by_cell(
    counts: pl.DataFrame, segments: Sequence[str], together: pl.DataFrame
) -> list[NDArray[np.int64]]:
    """Return the rows of the negatives, and of the positives, by segment and cell, lowest scores first."""
    (pooled,) = each_histogram(together)
    first = group_starts(counts, list(segments))
    segment = np.repeat(np.arange(len(first)), np.diff(first, append=len(counts)))
    # Ascending thresholds: the rows at one are those that reach it and not the next.
    at = len(pooled.thresholds) - 1 - np.searchsorted(pooled.thresholds[::-1], counts["threshold"].to_numpy())
    found = []
    for reached, missed, whole in (("fp", "tn", pooled.negatives), ("tp", "fn", pooled.positives)):
        cell = joined_cells(whole)
        cells = int(cell.max(initial=0)) + 1
        here = counts[reached].to_numpy().astype(np.int64)
        rows = here.copy()
        rows[:-1] -= np.where(segment[:-1] == segment[1:], here[1:], 0)
        place = np.append(segment * cells + cell[at], np.arange(len(first)) * cells + cell[-1])
        below = counts[missed].to_numpy()[first]
        weights = np.append(rows, below).astype(np.float64)
        by_cell = np.bincount(place, weights=weights, minlength=len(first) * cells)
        found.append(by_cell.reshape(len(first), cells).astype(np.int64)[:, ::-1])
    return found
