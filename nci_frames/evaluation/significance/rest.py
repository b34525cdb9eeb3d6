"""Counts of segments -> tests of which segments have other score distributions than the rest."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from nci_frames.base.binomial import at_least, at_most
from nci_frames.base.typing import Flags, FloatPair, Floats, Rows
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.arrays.members import Members, by_cell, stacked, sum_of_some
from nci_frames.evaluation.rates.clusters import jackknife_weights
from nci_frames.evaluation.significance.corrections import benjamini_hochberg
from nci_frames.evaluation.significance.quadratic import bridge_weights, exceedances
from nci_frames.evaluation.significance.shift import LEAST_ROWS, joined_cells

#: Largest number of rounds to find the rest, of each kind.
_ROUNDS = 50
#: Least mean number of rows of a segment per cell; smaller segments are compared at fewer borders.
_ROWS_OF_CELL = 5
#: Cells are not quite equal: share of *_ROWS_OF_CELL* that must be expected on either side of a border.
_NEARLY = 0.9
#: Larger p-values are no findings, whatever the binomial tails.
_SMALL = 0.1


class AgainstRest(NamedTuple):
    """A test of each segment against its rest, with the difference of their scores."""

    classes: Sequence["_ClassRows"]
    #: Whether a segment belongs to the rest of other segments.
    ordinary: Flags
    #: Whether the class that differs most is the positives.
    positives: Flags
    statistic: Floats
    p_value: Floats
    adjusted: Floats

    @classmethod
    def of(cls, classes: Sequence["_ClassRows"], ordinary: Flags, tested: Flags) -> Self:
        """Test each segment by the rows of both classes, negatives first in *classes*."""
        statistics, p_values = zip(*(rows.tests(ordinary, tested) for rows in classes), strict=True)
        first = np.argmin(np.nan_to_num(np.stack(p_values), nan=2.0), axis=0)
        least = np.choose(first, p_values)
        # p-value of the smaller of two independent p-values.
        both = ~np.isnan(p_values[0]) & ~np.isnan(p_values[1])
        p_value = np.where(both, least * (2 - least), least)
        adjusted = benjamini_hochberg(p_value)
        return cls(classes, ordinary, first == 1, np.choose(first, statistics), p_value, adjusted)

    @property
    def effect(self) -> Floats:
        """Largest distance of the shares of scores >= a threshold, in the class that differs most; or NaN."""
        effects = np.choose(self.positives, [rows.effects(self.ordinary) for rows in self.classes])
        return np.where(np.isnan(self.p_value), np.nan, effects)


def compare_with_rest(
    segments: Members, pooled: Histogram, tested: Flags, effects: Floats, *, level: float
) -> AgainstRest:
    """Test each segment against the rest, separately for positives and negatives.

    The rest consists of all other segments without significant differences; otherwise one outlier would make
    the others differ from a rest that contains it. Outliers are removed in rounds: in each, the half of the
    findings that differ most, until there are no findings among the remaining segments, or half of the tested
    segments are left. Then the rest is set to all segments without a finding, until it does not change.
    Segments that are not tested always belong to it.

    Parameters
    ----------
    segments
        The rows of each segment.
    pooled
        The rows of all segments together.
    tested
        Whether each segment is tested.
    effects
        Design effects of positives and of negatives in each segment; 1 for independent rows.
    level
        1 minus the expected share of false findings.
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
        # Order by p-value, then by statistic, since several p-values may be 0.
        order = np.lexsort((-found.statistic[findings], found.p_value[findings]))
        ordinary[findings[order[: min(-(-len(findings) // 2), room)]]] = False
        found = AgainstRest.of(classes, ordinary, tested)
    # A large segment may have been removed only because the rest still contained outliers.
    for _ in range(_ROUNDS):
        again = ~(found.adjusted < 1 - level)
        if (~again).sum() > most_out or (again == ordinary).all():
            break
        ordinary = again
        found = AgainstRest.of(classes, ordinary, tested)
    return found


class _ClassRows:
    """The rows of one class, by segment and cell of neighbouring scores, lowest scores first."""

    def __init__(
        self, in_cells: Floats, effects: Floats, by_bucket: Sequence[Any], *, weighted: bool
    ) -> None:
        self.rows, self.weighted = in_cells.sum(axis=1), weighted
        #: Variance of the count of each segment, relative to that of a single independent row.
        self.spread = self.rows * effects
        self.worth = self.rows / effects
        self.reached = in_cells.cumsum(axis=1)
        #: Sparse arrays of shape (buckets, cells), one per segment; empty if rows are independent.
        self.by_bucket = by_bucket
        self._stacked = stacked(by_bucket) if by_bucket else None
        whole = self.reached.sum(axis=0)
        below = whole[:-1] / max(whole[-1], 1)
        # A segment with few rows is compared at fewer borders, so that its cells are not empty.
        borders = len(below)
        coarsest = max(int(np.log2(max(borders, 1))) - 1, 0)
        wanted = np.maximum(self.worth / _ROWS_OF_CELL, 1)
        steps = np.clip(np.ceil(np.log2((borders + 1) / wanted)), 0, coarsest).astype(np.int64)
        least = _NEARLY * _ROWS_OF_CELL / self.worth
        # Ties and thresholds can make cells small: beyond a border with few rows, one more row seems much.
        kept = (np.minimum(below, 1 - below) >= least[:, None]).sum(axis=1)
        self.levels = []
        for step, borders in np.unique(np.stack([steps, kept]), axis=1).T.tolist():
            members = np.flatnonzero((steps == step) & (kept == borders))
            self.levels.append((members, self._weights(below, 2**step, least[members].max())))

    @classmethod
    def of(cls, members: Members, pooled: Histogram, of_class: int, effects: Floats) -> Self:
        """Return the positives (0) or the negatives (1); *pooled* has all segments together."""
        cell, rows = joined_cells(pooled.classes[of_class]), members.classes[of_class]
        # Lowest scores first.
        cell = cell[-1] - cell
        in_cells = by_cell(rows, cell, int(cell[0]) + 1).toarray()
        by_bucket = members.by_bucket(of_class, cell, np.arange(len(in_cells)))
        return cls(in_cells, effects, by_bucket, weighted=pooled.positives.dtype.kind == "f")

    @staticmethod
    def _weights(below: Floats, step: int, least: float) -> Floats:
        """Return border weights; 0 except for every *step*-th with the *least* share on either side."""
        weights = np.zeros(len(below))
        kept = np.arange(step - 1, len(below), step)
        kept = kept[np.minimum(below, 1 - below)[kept] >= least]
        inside = below[kept]
        shares = np.diff(inside, prepend=0, append=1)
        weights[kept] = (shares[:-1] + shares[1:]) / 2 / (inside * (1 - inside))
        return weights

    def _compared(self, ordinary: Flags) -> FloatPair:
        """Return the distances of the shares of each segment from its rest, and the rest's effective rows."""
        rest = self.reached[ordinary].sum(axis=0) - np.where(ordinary[:, None], self.reached, 0.0)
        size = rest[:, -1]
        apart = self.reached[:, :-1] / self.rows[:, None] - rest[:, :-1] / size[:, None]
        spread = self.spread[ordinary].sum() - np.where(ordinary, self.spread, 0.0)
        return apart, np.divide(size**2, spread, out=np.zeros_like(size), where=size > 0)

    def tests(self, ordinary: Flags, tested: Flags) -> FloatPair:
        """Return a statistic of each segment against its rest, and its p-value."""
        apart, size = self._compared(ordinary)
        compared = tested & (self.worth >= LEAST_ROWS) & (size >= LEAST_ROWS)
        statistic, p_value = np.full(len(tested), -1.0), np.full(len(tested), np.nan)
        together = None if self._stacked is None else sum_of_some(self._stacked, ordinary)
        for members, weight in self.levels:
            here = members[compared[members]]
            statistic[here], found = (
                self._by_units(here, apart[here], weight, ordinary, together)
                if together is not None
                else self._by_rows(here, apart[here], size[here], weight, ordinary)
            )
            p_value[here] = found
            here = here[found < _SMALL]
            p_value[here] = np.maximum(
                p_value[here], self._binomial(here, apart[here], np.flatnonzero(weight))
            )
        return statistic, p_value

    def _by_rows(self, here: Rows, apart: Floats, size: Floats, weight: Floats, ordinary: Flags) -> FloatPair:
        """Return the Anderson-Darling statistic and p-value of the segments *here*, for independent rows."""
        # Under the null hypothesis, each segment is a sample of the scores of the rest.
        reached = self.reached[ordinary].sum(axis=0)
        below = reached[:-1] / max(reached[-1], 1)
        used = np.flatnonzero(weight)
        weights = bridge_weights(below[used], weight[used])
        worth = self.worth[here] * size / (self.worth[here] + size)
        statistic = worth * (apart**2 @ weight)
        return statistic, exceedances(statistic, weights)

    def _binomial(self, here: Rows, apart: Floats, used: Rows) -> Floats:
        """Return twice the binomial tail of the share of each segment at the border where it is smallest.

        It is that of effective rows, given the share of the rest. Few rows beyond a border have heavier tails
        than the normal law.
        """
        own, rows = (self.reached[here] / self.rows[here][:, None])[:, used], self.worth[here][:, None]
        rest, hits = np.clip(own - apart[:, used], 0, 1), own * rows
        tails = np.minimum(at_least(hits, rows, rest), at_most(hits, rows, rest))
        return np.asarray(2 * tails.min(axis=1, initial=0.5))

    def _by_units(
        self, here: Rows, apart: Floats, weight: Floats, ordinary: Flags, together: Floats
    ) -> FloatPair:
        """Return the statistic over its mean from the buckets of units, and the p-value of an F-like law."""
        used = np.flatnonzero(weight)
        found = np.full((2, len(here)), np.nan)
        for place, segment in enumerate(here.tolist()):
            own = self.by_bucket[segment].toarray()
            sides = own, together - own * ordinary[segment]
            moved = [_moved(rows, used) * np.sqrt(weight[used]) for rows in sides]
            shares = [((rows.sum(axis=1) / rows.sum()) ** 2).sum() for rows in sides]
            # A segment may lack a kind of units, or heavy rows, by chance: it varies no less than as many
            # units, or weighted rows, of the rest, nor than its effective rows.
            fewer = sides[1].sum() / own.sum() if self.weighted else shares[0] / shares[1]
            below = sides[1].sum(axis=0).cumsum()[used] / sides[1].sum()
            alone, of_rest = map(np.linalg.norm, moved)
            least = max(of_rest**2 * fewer, below * (1 - below) @ weight[used] / self.worth[segment])
            lacks = alone**2 < least
            if lacks and alone == 0:
                spread = moved[1] * np.sqrt(1 + least / (of_rest**2 or 1.0))
            else:
                spread = moved[0] * (np.sqrt(least) / alone if lacks else 1.0) - moved[1]
            product = spread @ spread.T if len(spread) < len(used) else spread.T @ spread
            # Degrees of freedom of the variance: the effective number of buckets minus one.
            known = max(1 / (shares[1] if lacks else sum(shares)) - 1, 1.0)
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
    """Return the contribution of each bucket to the shares of a class below the borders *used*."""
    of_bucket = rows.sum(axis=1)
    reached = rows.cumsum(axis=1)[:, used]
    apart = reached - of_bucket[:, None] * (reached.sum(axis=0) / of_bucket.sum())
    return np.asarray(apart * np.sqrt(jackknife_weights(of_bucket))[:, None])
