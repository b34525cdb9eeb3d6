"""Scores -> blocks of scores, from the ROC hull or given bins, and the share of positives in each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nci_frames.base.arguments import check_whole
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Rows
from nci_frames.counts.resolution import in_precision_of
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.arrays.score_bins import ScoreBins, Scores, thresholds_of
from nci_frames.evaluation.probabilities.parts import Part
from nci_frames.evaluation.rates.hull import upper_hull

#: Largest number of bins, more than a chart could show.
_MOST_BINS = 10_000

#: A number of bins, or their edges.
Bins = int | Sequence[float]


class Blocks(NamedTuple):
    """Blocks of neighbouring steps of curves, group by group, highest scores first."""

    #: First step of each block, and the index of its group.
    start: Rows
    group: Rows
    #: Shares of the positives and of the negatives of the group.
    positives: Floats
    negatives: Floats

    #: One more than the last step of each block.
    stop: Rows

    @classmethod
    def of(cls, curves: Curves, bins: ScoreBins, start: Rows) -> "Blocks":
        """Return the blocks that begin at the steps *start*, which include the first step of each group."""
        group, none = np.searchsorted(curves.start, start, "right") - 1, np.empty(0)
        stop = np.append(start[1:], len(curves.tpr1))[: len(start)]
        found = cls(start, group, none, none, stop)
        positives, negatives = (found.reduce(np.add, rows) for rows in (bins.positives, bins.negatives))
        return found._replace(positives=positives, negatives=negatives)

    def only(self, kept: Rows) -> "Blocks":
        """Return some of the blocks."""
        return Blocks(*(getattr(self, name)[kept] for name in self._fields))

    def reduce(self, by: np.ufunc, of_steps: Floats) -> Floats:
        """Return the sum, the minimum or the maximum of the values of the steps of each block."""
        if not len(self.start):
            return np.empty(0)
        # Reduce from each start to its stop and from each stop to the next start; keep the former.
        ends = np.column_stack([self.start, self.stop]).ravel()
        return np.asarray(by.reduceat(of_steps, ends[ends < len(of_steps)])[::2])

    def at(self, eta: Floats) -> tuple[Floats, Scores]:
        """Return each block's share of all rows, and the share of positives in it, at each group's *eta*.

        The latter is NaN if the block has no rows.
        """
        true, false = eta[self.group] * self.positives, (1 - eta[self.group]) * self.negatives
        return true + false, Scores(true / (true + false), false / (true + false))

    def sum(self, of_blocks: Floats, groups: int) -> Floats:
        """Return the sum over the blocks of each group."""
        return np.bincount(self.group, of_blocks, groups).astype(np.float64)


def isotonic_blocks(curves: Curves, bins: ScoreBins) -> Blocks:
    """Return the blocks between the corners of the ROC convex hull.

    These are the blocks of isotonic regression of the labels on the scores, for any weights of the classes:
    they are the same at every prevalence, and only the share of positives in them changes.
    """
    some, rises = (bins.positives != 0) | (bins.negatives != 0), ~(bins.positives <= 0)
    some[curves.start] = rises[curves.start] = True
    # Steps without positives have no corner between them.
    steps, near = np.flatnonzero(some), rises.copy()
    near[steps[1:]] |= rises[steps[:-1]]
    # The last step of each group.
    near[curves.start - 1] = True
    corners, kept = upper_hull(*_points(curves.only(near), best=False)), np.flatnonzero(near)
    # A corner is the point before a step (even index) or after it (odd); the next block begins there.
    begins = np.zeros(len(near) + 1, np.bool_)
    begins[kept[corners // 2] + corners % 2] = True
    begins[curves.start] = True
    return Blocks.of(curves, bins, np.flatnonzero(begins[:-1]))


def hull_blocks(curves: Curves, *, best: bool) -> Blocks:
    """Return the blocks between the corners of the ROC convex hull, which need not be whole steps.

    Rows of a bin are tied, or if *best* its positives score higher than its negatives, which has the lowest
    loss of all orders within the bins.
    """
    of, *rates = _points(curves, best=best)
    # The hull begins at (0, 0), unlike the first step in which TPR grows.
    of = np.insert(of, 2 * curves.start, np.arange(len(curves.start)))
    rates = [np.insert(rate, 2 * curves.start, 0) for rate in rates]
    corners = upper_hull(of, *rates)
    group, none = of[corners], np.empty(0, np.int64)
    begins = np.append(True, group[1:] != group[:-1])[: len(group)]
    negatives, positives = (
        np.where(begins, rate[corners], np.diff(rate[corners], prepend=0.0)) for rate in rates
    )
    return Blocks(none, group, positives, negatives, none)


def _points(curves: Curves, *, best: bool) -> tuple[Rows, Floats, Floats]:
    """Return the group, FPR and TPR of the points before and after each step.

    If *best*, the positives of untied bins come first. A group without a class has one block.
    """
    of = np.repeat(np.arange(len(curves.start)), 2 * curves.size)
    first = np.where(curves.tied, curves.tpr0, curves.tpr1) if best else curves.tpr0
    fpr = np.nan_to_num(np.column_stack([curves.fpr0, curves.fpr1]).ravel())
    tpr = np.nan_to_num(np.column_stack([first, curves.tpr1]).ravel())
    return of, fpr, tpr


def check_bins(bins: Bins) -> None:
    """Raise ParameterError unless *bins* is a number of bins, or at least two ascending edges in [0, 1]."""
    if isinstance(bins, int):
        check_whole("bins", bins, 1, _MOST_BINS)
        return
    edges = np.asarray(bins, np.float64)
    if len(edges) < 2 or not (edges[0] >= 0 and edges[-1] <= 1 and (np.diff(edges) > 0).all()):
        allowed = "a number of bins, or at least two edges, ascending in [0, 1]"
        raise ParameterError.out_of_range("bins", bins, allowed)


def bins_of(part: Part, eta: Floats, bins: Bins) -> Blocks:
    """Return the bins of each group; bins of equal share depend on the prevalence *eta*.

    Raises
    ------
    ParameterError
        If a step has rows on either side of an edge.
    """
    if isinstance(bins, int):
        return _equal_shares(part, eta, bins)
    return _between(part, np.asarray(bins, np.float64))


def _equal_shares(part: Part, eta: Floats, number: int) -> Blocks:
    """Return bins with about equal shares of the rows; equal scores stay together."""
    shares = np.nan_to_num(np.add(*part.shares(eta)))
    above = np.cumsum(shares) - shares
    # Start from 0 in each group.
    above -= part.each_step(above[part.curves.start])
    # A tie is cut alike whatever rounds the sums, such as the groups before.
    place = np.minimum((number * (above + shares / 2 + 1e-9)).astype(np.int64), number - 1)
    return Blocks.of(part.curves, part.bins, _changes(part, place))


def _between(part: Part, edges: Floats) -> Blocks:
    low, high = thresholds_of(part.curves)
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    at = in_precision_of(low, edges) if part.bins.exact else edges
    place = np.searchsorted(at, low, "right") - 1
    ends = np.where(part.curves.tied, place, np.searchsorted(at, high, "left") - 1)
    split = np.flatnonzero((place < ends) & ((part.bins.positives > 0) | (part.bins.negatives > 0)))
    if len(split):
        between = f"{low[split[0]]:g} and {high[split[0]]:g}"
        msg = f"the edge {edges[place[split[0]] + 1]:g} of a bin is not one of the counted thresholds"
        hint = 'use counted thresholds as edges, or count with thresholds="exact"'
        raise ParameterError(msg, found=f"rows between the thresholds {between}", hint=hint)
    # The last bin includes its end.
    place[(low == at[-1]) & (part.curves.tied | (high <= at[-1]))] = len(edges) - 2
    begins = _changes(part, place)
    inside = (place[begins] >= 0) & (place[begins] < len(edges) - 1)
    return Blocks.of(part.curves, part.bins, begins).only(np.flatnonzero(inside))


def _changes(part: Part, place: Rows) -> Rows:
    begins = np.append(True, place[1:] != place[:-1]) if len(place) else np.zeros(0, np.bool_)
    begins[part.curves.start] = True
    return np.flatnonzero(begins)
