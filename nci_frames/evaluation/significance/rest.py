"""Counts of segments -> which segments have other score distributions than the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.evaluation.arrays.buckets import even_buckets
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.arrays.members import Members
from nci_frames.evaluation.rates.clusters import jackknife_weights
from nci_frames.evaluation.significance.corrections import benjamini_hochberg
from nci_frames.evaluation.significance.quadratic import bridge_weights, exceedances
from nci_frames.evaluation.significance.shift import LEAST_ROWS, joined_cells

#: The rest is found in so many rounds at most, of each kind.
_ROUNDS = 50
#: A cell has so many rows of a segment on average, or the segment is compared at fewer borders.
_ROWS_OF_CELL = 5
#: Cells are not quite equal: so much of that must be expected on either side of a border.
_NEARLY = 0.9


@dataclass(frozen=True, slots=True)
class AgainstRest:
    """One test of each segment against its rest, and how its scores differ from those of the rest."""

    classes: Sequence["_ClassRows"]
    #: Whether a segment belongs to the rest of the others.
    ordinary: Flags
    #: The class that differs most: whether it is the positives.
    positives: Flags
    statistic: Floats
    p_value: Floats
    adjusted: Floats

    @classmethod
    def of(cls, classes: Sequence["_ClassRows"], ordinary: Flags, tested: Flags) -> Self:
        """Test the rows of both classes, negatives first."""
        statistics, p_values = zip(*(rows.tests(ordinary, tested) for rows in classes), strict=True)
        first = np.argmin(np.nan_to_num(np.stack(p_values), nan=2.0), axis=0)
        least = np.choose(first, p_values)
        # Of two independent p-values the smaller one.
        both = ~np.isnan(p_values[0]) & ~np.isnan(p_values[1])
        p_value = np.where(both, least * (2 - least), least)
        adjusted = benjamini_hochberg(p_value)
        return cls(classes, ordinary, first == 1, np.choose(first, statistics), p_value, adjusted)

    @property
    def effect(self) -> Floats:
        """The largest distance between the shares of scores >= a threshold, in that class; or NaN."""
        effects = np.choose(self.positives, [rows.effects(self.ordinary) for rows in self.classes])
        return np.where(np.isnan(self.p_value), np.nan, effects)


def compare_with_rest(
    segments: Members, pooled: Histogram, tested: Flags, effects: Floats, *, level: float
) -> AgainstRest:
    """Test each segment against the rest, separately for positives and negatives.

    The rest are all other segments but for those that differ themselves: else one of them would make the
    others differ from a rest that contains it. They are taken out in rounds, in each the half of the findings
    that differ most, until there is no finding among those that remain, or half of the tested segments are
    left. Then all without a finding are the rest, until that changes nothing. Segments that are not tested
    are part of it, but too small to be all of it.

    Parameters
    ----------
    segments
        The rows of each segment.
    pooled
        Those of all segments.
    tested
        Whether each segment is tested.
    effects
        The design effects of positives and of negatives in each segment; 1 for independent rows.
    level
        One minus the expected share of false findings.
    """
    classes = [_ClassRows.of(segments, pooled, of_class, effects[of_class]) for of_class in (1, 0)]
    ordinary = np.ones(len(tested), np.bool_)
    most_out = max(int(tested.sum()) - 1, 0) // 2
    found = AgainstRest.of(classes, ordinary, tested)
    for _ in range(_ROUNDS):
        findings = np.flatnonzero(ordinary & (found.adjusted < 1 - level))
        room = most_out - int((~ordinary).sum())
        if not len(findings) or not room:
            break
        # Of p-values that are all 0 the larger statistic is further out.
        order = np.lexsort((-found.statistic[findings], found.p_value[findings]))
        ordinary[findings[order[: min(-(-len(findings) // 2), room)]]] = False
        found = AgainstRest.of(classes, ordinary, tested)
    # A large segment may have been taken out only because the rest was not clean yet.
    for _ in range(_ROUNDS):
        again = ~(found.adjusted < 1 - level)
        if (~again).sum() > most_out or (again == ordinary).all():
            break
        ordinary = again
        found = AgainstRest.of(classes, ordinary, tested)
    return found


class _ClassRows:
    """The rows of one class, by segment and cell of neighbouring scores, lowest scores first."""

    def __init__(self, by_cell: Floats, effects: Floats, by_bucket: Sequence[Any], *, weighted: bool) -> None:
        self.rows, self.weighted = by_cell.sum(axis=1), weighted
        #: So many times the variance of a share is that of one independent row, times the square of the rows.
        self.spread = self.rows * effects
        self.worth = self.rows / effects
        self.reached = by_cell.cumsum(axis=1)
        #: Sparse, of shape (buckets, cells), for each segment; nothing where rows are independent.
        self.by_bucket = by_bucket
        whole = self.reached.sum(axis=0)
        below = whole[:-1] / max(whole[-1], 1)
        # Borders that a segment is compared at: fewer of them if it has few rows, whose cells would be empty.
        borders = len(below)
        coarsest = max(int(np.log2(max(borders, 1))) - 1, 0)
        wanted = np.maximum(self.worth / _ROWS_OF_CELL, 1)
        steps = np.clip(np.ceil(np.log2((borders + 1) / wanted)), 0, coarsest).astype(np.int64)
        with np.errstate(divide="ignore"):
            least = _NEARLY * _ROWS_OF_CELL / self.worth
        # Of ties and thresholds the cells may be small: beyond a border with few rows one more is "much".
        kept = (np.minimum(below, 1 - below) >= least[:, None]).sum(axis=1)
        self.levels = []
        for step, borders in np.unique(np.stack([steps, kept]), axis=1).T.tolist():
            members = np.flatnonzero((steps == step) & (kept == borders))
            self.levels.append((members, self._weights(below, 2**step, least[members].max())))

    @classmethod
    def of(cls, members: Members, pooled: Histogram, of_class: int, effects: Floats) -> Self:
        """Read the positives (0) or the negatives (1); *pooled* has those of all segments."""
        cell = joined_cells(pooled.classes[of_class])
        # Lowest scores first.
        cell = cell.max(initial=0) - cell
        by_cell, by_bucket = members.classes[of_class].by_cell(cell), members.by_bucket(of_class, cell)
        return cls(by_cell, effects, by_bucket, weighted=pooled.positives.dtype.kind == "f")

    @staticmethod
    def _weights(below: Floats, step: int, least: float) -> Floats:
        """Return the weight of each border: of each *step*-th with the *least* share on either side."""
        weights = np.zeros(len(below))
        kept = np.arange(step - 1, len(below), step)
        kept = kept[np.minimum(below, 1 - below)[kept] >= least]
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
        """Return a statistic of each segment against its rest, and its p-value."""
        apart, size = self._compared(ordinary)
        compared = tested & (self.worth >= LEAST_ROWS) & (size >= LEAST_ROWS)
        statistic, p_value = np.full(len(tested), -1.0), np.full(len(tested), np.nan)
        for members, weight in self.levels:
            here = members[compared[members]]
            statistic[here], p_value[here] = (
                self._by_units(here, apart[here], weight, ordinary)
                if self.by_bucket
                else self._by_rows(here, apart[here], size[here], weight, ordinary)
            )
        return statistic, p_value

    def _by_rows(
        self, here: Rows, apart: Floats, size: Floats, weight: Floats, ordinary: Flags
    ) -> tuple[Floats, Floats]:
        """Return Anderson and Darling's statistic of the segments *here*, for independent rows."""
        # Without a difference, each segment is drawn from the scores of the rest.
        reached = self.reached[ordinary].sum(axis=0)
        below = reached[:-1] / max(reached[-1], 1)
        used = np.flatnonzero(weight)
        weights = bridge_weights(below[used], weight[used])
        worth = self.worth[here] * size / (self.worth[here] + size)
        statistic = worth * (apart**2 @ weight)
        return statistic, exceedances(statistic, weights)

    def _by_units(self, here: Rows, apart: Floats, weight: Floats, ordinary: Flags) -> tuple[Floats, Floats]:
        """Return the same over its mean, as the buckets of units tell it, which has an F distribution."""
        used = np.flatnonzero(weight)
        together = sum(rows for rows, some in zip(self.by_bucket, ordinary, strict=True) if some).toarray()
        found = np.full((2, len(here)), np.nan)
        for place, segment in enumerate(here.tolist()):
            own = self.by_bucket[segment].toarray()
            sides = own, together - own * ordinary[segment]
            moved = [_moved(rows, used) for rows in sides]
            spread = (moved[0] - moved[1]) * np.sqrt(weight[used])
            if self.weighted:
                # A segment may lack heavy rows by chance: it varies no less than as many rows of the rest.
                as_rest = moved[1] * np.sqrt(weight[used] * (1 + sides[1].sum() / own.sum()))
                spread = max(spread, as_rest, key=np.linalg.norm)
            product = spread @ spread.T if len(spread) < len(used) else spread.T @ spread
            # The buckets know the variance as well as so many of equal size do.
            shares = sum((rows.sum(axis=1) / rows.sum()) ** 2 for rows in sides)
            known = np.maximum(even_buckets(np.asarray(shares)) - 1, 1.0)
            mean, distance = np.trace(product), apart[place] ** 2 @ weight
            if mean == distance == 0:
                found[:, place] = 0.0, 1.0
            elif mean > 0:
                freedom = known * mean**2 / (product**2).sum()
                statistic = distance / mean
                p_value = exceedances(np.array([statistic]), np.linalg.eigvalsh(product) / mean, 1.0, freedom)
                found[:, place] = statistic, p_value.item()
        return found[0], found[1]

    def effects(self, ordinary: Flags) -> Floats:
        """Return the largest distance between the shares of each segment and those of its rest."""
        apart, _ = self._compared(ordinary)
        return np.asarray(np.abs(apart).max(axis=1, initial=0.0))


def _moved(rows: Floats, used: Rows) -> Floats:
    """Return by how much each bucket moves the shares of a class below the borders *used*."""
    of_bucket = rows.sum(axis=1)
    reached = rows.cumsum(axis=1)[:, used]
    apart = reached - of_bucket[:, None] * (reached.sum(axis=0) / of_bucket.sum())
    return np.asarray(apart * np.sqrt(jackknife_weights(of_bucket))[:, None])
