"""Operating points of segments -> values there and in the rest, the causes of differences, and bounds."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Flags, FloatPair, Floats
from nci_frames.evaluation.arrays.buckets import BucketCounts
from nci_frames.evaluation.arrays.few_thresholds import at_thresholds
from nci_frames.evaluation.metrics import CalledMetric
from nci_frames.evaluation.rates.clusters import FEW_HITS, class_worth, jackknife_weights, known_share
from nci_frames.evaluation.rates.strata import WORTH
from nci_frames.evaluation.significance.propagation import Function, p_values, propagated
from nci_frames.schemas import CELLS, RATES, WEIGHT, beside, has_strata


class SegmentWorth(NamedTuple):
    """Design effects of the segments of one model, by which rows (or weights) are divided."""

    #: Design effects of positives and negatives over all thresholds, and of all rows; of shape (3, segments).
    of_class: Floats
    #: Least design effects of TPR, FPR and prevalence; of shape (3, segments).
    least: Floats
    #: tp, fp, fn, tn at the operating point, of shape (4, segments, buckets); None for independent rows.
    cells: Floats | None
    #: The same as unweighted numbers of rows, of shape (4, segments).
    drawn: Floats

    @classmethod
    def of(cls, point: pl.DataFrame, counts: pl.DataFrame, groups: Sequence[BucketCounts] | None) -> Self:
        """Return the design effects from the buckets of each segment.

        Parameters
        ----------
        point
            The operating point of one model in each segment.
        counts
            Counts of this model by segment; for strata also by weight.
        groups
            The rows of each segment by bucket; None for independent rows, whose design effects are 1.
        """
        if groups is None:
            ones = np.ones((3, len(point)))
            return cls(ones, ones, None, np.zeros((4, len(point))))
        keys = ["model", *RATES.keys(point.columns)]
        worth = class_worth(counts, "", groups).select("positives_worth", "negatives_worth").to_numpy().T
        at = zip(groups, point["threshold"].to_list(), strict=True)
        cells = np.stack([_at(group, threshold) for group, threshold in at], axis=1)
        even = np.array([group.even for group in groups]).T
        size = (cells[:2] + cells[2:]).sum(axis=2)
        # Squared weights, as size times the weight of an effective row.
        squares = np.divide(size**2, even, out=np.zeros_like(size), where=even > 0)
        sizes, all_squares = (np.vstack([each, each.sum(axis=0)]) for each in (size, squares))
        of_class = np.divide(all_squares, sizes, out=np.ones_like(sizes), where=sizes > 0)
        of_class[:2] /= worth
        if not has_strata(counts):
            return cls(of_class, np.ones_like(of_class), cells, cells.sum(axis=2))
        known = point.select(pl.col(WORTH).fill_null(np.nan)).to_numpy().T
        least = np.vstack([np.nan_to_num(size / known), np.zeros(len(point))])
        rows = at_thresholds(counts, point.select(*keys, "threshold"), WEIGHT)
        drawn = rows.group_by(keys).agg(pl.col(CELLS).sum())
        return cls(of_class, least, cells, beside(point.select(keys), drawn, keys).select(CELLS).to_numpy().T)

    def effects(self, level: float) -> Floats:
        """Return the design effects of TPR, FPR and prevalence in each segment, of shape (3, segments)."""
        if self.cells is None:
            return self.of_class
        return _effects(self.cells, self.drawn, self.of_class, self.least, level)

    def effects_of_rest(self, ordinary: Flags, level: float) -> Floats:
        """Return the design effects in the rest of each segment: the other ordinary segments together."""
        if self.cells is None:
            return self.of_class
        rows = (self.cells[:2] + self.cells[2:]).sum(axis=2)
        rows = np.vstack([rows, rows.sum(axis=0)])
        whole, mean = _rest(rows, ordinary), _rest(rows * self.of_class, ordinary)
        of_class = np.divide(mean, whole, out=np.ones_like(whole), where=whole > 0)
        least = np.broadcast_to(self.least[2], whole.shape)
        return _effects(_rest(self.cells, ordinary), _rest(self.drawn, ordinary), of_class, least, level)


def _at(group: BucketCounts, threshold: float) -> Floats:
    """Return tp, fp, fn and tn of each bucket of a group at a threshold."""
    reached = int(group.histogram.reached([threshold])[0])
    hits = [np.asarray(rows[:, :reached].sum(axis=1)) for rows in group.classes]
    return np.stack([*hits, *(size - hit for size, hit in zip(group.rows, hits, strict=True))])


def _rest(of_segments: Floats, ordinary: Flags) -> Floats:
    """Return the sums over the other ordinary segments; segments are the second axis."""
    mine = ordinary.reshape(-1, *[1] * (of_segments.ndim - 2))
    together = of_segments[:, ordinary].sum(axis=1, keepdims=True)
    return np.asarray(together - np.where(mine, of_segments, 0.0))


def _effects(cells: Floats, drawn: Floats, of_class: Floats, least: Floats, level: float) -> Floats:
    hits, misses = _hits_and_misses(cells)
    rows = hits + misses
    hit, size = hits.sum(axis=-1), rows.sum(axis=-1)
    rate = hit / size
    apart = np.where(rows > 0, hits - rate[..., None] * rows, 0.0)
    variance = (jackknife_weights(rows) * apart**2).sum(axis=-1)
    own = variance / (rate * (1 - rate) / size)
    few = np.minimum(*_hits_and_misses(drawn)) < FEW_HITS
    effect = np.fmax(np.where(few, np.fmax(own, of_class), own), least)
    return np.asarray(effect / known_share(rows, level))


def _hits_and_misses(cells: Floats) -> FloatPair:
    """Return hits and misses of TPR, FPR and the prevalence."""
    tp, fp, fn, tn = cells
    return np.stack([tp, fp, tp + fn]), np.stack([fn, tn, fp + tn])


def compared_values(
    point: pl.DataFrame,
    ordinary: Flags,
    known: Flags,
    worth: SegmentWorth,
    called: CalledMetric,
    *,
    prevalence: float,
    beta: float,
    level: float,
    weights: tuple[float, float],
) -> dict[str, Floats]:
    """Return the metric in each segment and in its rest, the parts of their difference, and bounds.

    Parameters
    ----------
    point
        The counts of one operating point in each segment.
    ordinary
        Whether a segment belongs to the rest of the others.
    known
        Whether a segment has enough rows for a test. The others get no p-value, which is slow to compute.
    worth
        Design effects of each segment.
    called
        The metric.
    prevalence
        The common prevalence.
    beta
        Weight of recall.
    level
        Confidence of each interval.
    weights
        Weight of a positive, and of a negative.
    """
    z, weight, (positive, negative) = normal_quantile(level), beta_value(beta), weights

    def function(rates: Floats) -> Floats:
        """Return the metric at TPR, FPR and the unweighted share of positives."""
        share = rates[2]
        if positive != negative:
            share = share * positive / (share * positive + (1 - share) * negative)
        return called.at(rates, share, weight)

    cells = point.select(CELLS).to_numpy().astype(np.float64).T
    (rates, rows), (rest_rates, rest_rows) = _rates_of(cells), _rates_of(_rest(cells, ordinary))
    trials, rest_trials = rows / worth.effects(level), rest_rows / worth.effects_of_rest(ordinary, level)

    both, both_trials = np.concatenate([rates, rest_rates]), np.concatenate([trials, rest_trials])
    found: dict[str, Floats] = {}
    _, *at_eta = propagated(lambda of: called.at(of, prevalence, weight), rates[:2], trials[:2], z)
    own, *at_own = propagated(function, rates, trials, z)
    for name, sides in (("", at_eta), ("own_", at_own)):
        found[f"{name}lower"], found[f"{name}upper"] = (
            np.clip(side, called.metric.lower, called.metric.upper) for side in sides
        )
    found["own_value"], found["rest_value"] = own, function(rest_rates)
    found["difference"] = own - found["rest_value"]

    parts: dict[str, Function] = {
        "due_to_prevalence": lambda of: _parts(function, of)[0],
        "due_to_rates": lambda of: _parts(function, of)[1],
    }
    for name, part in parts.items():
        names = (name, f"{name}_lower", f"{name}_upper")
        found |= dict(zip(names, propagated(part, both, both_trials, z), strict=True))
    found["p_value"] = np.full(len(point), np.nan)
    found["p_value"][known] = p_values(parts["due_to_rates"], both[:, known], both_trials[:, known])
    return {name: np.where(np.isfinite(column), column, np.nan) for name, column in found.items()}


def _rates_of(cells: Floats) -> FloatPair:
    """Return TPR, FPR and prevalence, and the number of rows behind each."""
    hits, misses = _hits_and_misses(cells)
    trials = hits + misses
    return hits / trials, trials


def _parts(function: Function, rates: Floats) -> FloatPair:
    """Return the parts of the difference due to prevalence and due to rates."""
    cases = rates.shape[1]
    here, there = rates[:3], rates[3:]
    mixed = np.hstack([here, there, np.stack([*there[:2], here[2]]), np.stack([*here[:2], there[2]])])
    own, rest, eta_moved, rates_moved = function(mixed).reshape(4, cases)
    return (eta_moved - rest + own - rates_moved) / 2, (rates_moved - rest + own - eta_moved) / 2
