"""Thresholds found by counting: as fine as certified areas need, or between equal numbers of rows.

A grid is refined where it matters. The result does not depend on the order of rows; memory holds one grid.
"""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import MOST_THRESHOLDS
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counting.engine.grid import Counted, Reached, holds_one_score, successors
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import Scores, count_at, find_scores, reached_at
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.thresholds.grids import AutoThresholds
from nci_frames.counting.thresholds.recall import Positives, cut_positives, cut_wide, read_positives
from nci_frames.schemas import WEIGHT

_PASSES = 8
#: Passes with thresholds that cut the positives, before a grid is refined instead.
_CUTS = 3
#: Largest step of the root of recall: 5 % of a recall of 0.01, 1.6 % of one of 0.1.
_STEP = 0.0025
#: Average number of parts of a bin that is cut between its negatives.
_PARTS = 4
#: Up to this many thresholds cost little more than a few.
_FEW = 1 << 14
#: Bins whose widths are computed at a time.
_BINS = 512
#: Relative error of a sum of many contributions.
_ROUNDING = 1e-9
#: Bytes that refining takes per model and threshold: some twenty arrays of Float64.
_REFINING = 160

#: Logs of up to this many rows are counted at every distinct score. Of more rows, that makes a report twice
#: as slow as a grid, and changes its numbers by less than they are uncertain.
EXACT_ROWS = 1 << 21
#: Results with weights or buckets of units take several times the memory. With more rows than the first
#: number, they are computed on a grid, which usually has up to the second number of thresholds.
EXACT_IN_PARTS, USUAL_THRESHOLDS = EXACT_ROWS >> 1, 1 << 12
_MOST = 8_191


Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """The rows of every model that reach each threshold of a grid, after a first column with all rows.

    A bin reaches from one place to below the next; the first one lies below all thresholds.
    """

    grid: Floats
    positives: Floats  # model x (1 + threshold)
    negatives: Floats  # model x (1 + threshold)
    dtype: type[np.floating]  # of the scores
    lightest: Floats  # model x 1: the least weight of a positive; 0 if it is unknown

    @property
    def bins(self) -> tuple[Places, Places]:
        """The first place of each bin, and the first one after it."""
        begin = np.arange(1 + len(self.grid))
        return begin, begin + 1

    def tied(self, begin: Places, end: Places) -> NDArray[np.bool_]:
        """Return whether bins can hold only one score, so that their rows are certainly tied."""
        one = np.append(False, holds_one_score(self.grid, self.dtype))
        return np.asarray(one[begin] & (end - begin == 1))

    def only(self, kept: NDArray[np.intp]) -> "ModelCounts":
        """Return the counts at a subset of the thresholds, given by ascending indices."""
        places = np.append(0, kept + 1)
        return replace(
            self,
            grid=self.grid[kept],
            positives=self.positives[:, places],
            negatives=self.negatives[:, places],
        )


#: Function that returns the contribution of bins to each quantity to minimise, of shape (quantities, models,
#: bins). Bins are given by their first places and the first ones after them.
Measure = Callable[[ModelCounts, Places, Places], Floats]


def refine_scan(
    scan: Scan,
    measure: Measure,
    tolerance: float,
    *,
    progress: bool = False,
    budget: Budget | None = None,
) -> ModelCounts:
    """Count every model on a grid that is refined until each quantity is within a tolerance.

    Parameters
    ----------
    scan
        The log.
    measure
        Function that returns the contribution of each bin to each quantity.
    tolerance
        Maximum of each quantity. It may be missed if more passes would not help.
    progress
        Whether to show the progress of each pass.
    budget
        Memory limit of each pass.

    Returns
    -------
    The counts on the last grid.
    """
    dtype = scan.score_type
    scan = replace(scan, sums_weights=True)  # strata would multiply the counts of the finest grid
    mine = replace(budget or Budget.of(None), overhead=_REFINING, most_counts=math.inf)

    def count(grid: Floats) -> ModelCounts:
        return _by_model(count_at(scan, ["model"], grid, budget=mine, progress=progress).counts, grid, dtype)

    counts = count(_first_grid(find_scores(scan), dtype))
    for _ in range(_PASSES):
        if worst(counts, measure) <= tolerance:
            break
        kept = counts.only(fewest(counts, measure, tolerance / 4, most=MOST_THRESHOLDS // 2))
        finer = _split(kept.grid, summed(kept, measure)[0], dtype)
        if np.isin(finer, counts.grid).all():
            break
        counts = count(finer)
    return counts


def worst(counts: ModelCounts, measure: Measure) -> float:
    """Return the largest quantity."""
    return float(summed(counts, measure)[1].max(initial=0))


def summed(counts: ModelCounts, measure: Measure) -> tuple[Floats, Floats]:
    """Return the largest contribution of each bin to a quantity of each model, and its largest quantity."""
    begin, end = counts.bins
    most, sums = np.empty((len(counts.positives), len(begin))), np.zeros(1)
    # Some bins at a time, whose contributions to the areas of all models fit into the cache.
    for first in range(0, len(begin), _BINS):
        some = slice(first, first + _BINS)
        parts = measure(counts, begin[some], end[some])
        parts.max(axis=0, out=most[:, some])
        sums = sums + parts.sum(axis=2)
    return most, sums.max(axis=0)


def fewest(
    counts: ModelCounts,
    measure: Measure,
    enough: float,
    *,
    most: int = MOST_THRESHOLDS,
) -> NDArray[np.intp]:
    """Return the indices of few thresholds of a grid that keep every quantity, and steps of recall, small.

    Starting from the coarsest grid, the bins that contribute most are split in two by their rows, until the
    quantities are small enough, the thresholds are too many, or no bin can be split. So are bins in which the
    root of the recall of a model changes by more than ``_STEP``: areas may need none of the thresholds at
    which a good model keeps a budget of alerts.
    """
    last = len(counts.grid) - 1
    positives = counts.positives
    root = np.sqrt(positives[:, 1:] / np.maximum(positives[:, :1], np.finfo(float).tiny))
    reached = [part.sum(axis=0) for part in (counts.positives, counts.negatives)]
    below = -sum(rows[1:] / max(rows[0], 1) for rows in reached)  # up to a constant
    kept = np.unique([0, last])
    # The bin at place 0 is that below all thresholds.
    begin = np.append(0, kept + 1)
    parts = measure(counts, begin, np.append(begin[1:], last + 2))
    sums, most_of = parts.sum(axis=2), parts.max(axis=(0, 1), initial=0)[1:-1]
    while True:
        low, high = kept[:-1], kept[1:]
        whole = high - low == 1
        adds = np.where(whole, 0, most_of)
        excess = sums.max(initial=0) / enough
        cut = ~whole & ((root[:, low] - root[:, high]).max(axis=0, initial=0) > _STEP)
        # By rounding, sums may be smaller than those of ``worst``.
        if excess > 1 - _ROUNDING:
            # Smaller steps near the goal avoid unneeded thresholds.
            cut |= adds > adds.max(initial=0) / np.clip(excess, 1.5, 64)
        if len(kept) >= most or not cut.any():
            return kept
        low, high = low[cut], high[cut]
        middle = np.searchsorted(below, (below[low] + below[high]) / 2)
        middle = np.clip(middle, low + 1, high - 1)
        one, two, both = (
            measure(counts, begin + 1, end + 1) for begin, end in ((low, middle), (middle, high), (low, high))
        )
        sums += one.sum(axis=2) + two.sum(axis=2) - both.sum(axis=2)
        places = np.flatnonzero(cut)
        most_of[places] = one.max(axis=(0, 1))
        most_of = np.insert(most_of, places + 1, two.max(axis=(0, 1)))
        kept = np.insert(kept, places + 1, middle)


def _by_model(table: pl.DataFrame, grid: Floats, dtype: type[np.floating]) -> ModelCounts:
    shape = (len(table) // max(len(grid), 1), len(grid))

    def reached(above: str, below: str) -> Floats:
        at, rest = (table[name].to_numpy().reshape(shape).astype(np.float64) for name in (above, below))
        return np.hstack([(at + rest).max(axis=1, initial=0, keepdims=True), at])

    lightest = np.full((shape[0], 1), float(table["tp"].dtype.is_integer()))
    return ModelCounts(grid, reached("tp", "fn"), reached("fp", "tn"), dtype, lightest)


def _first_grid(found: Scores, dtype: type[np.floating]) -> Floats:
    """Return the initial grid: few scores and their successors, or a grid dense at both ends."""
    if not found.many:
        return _distinct(np.append(found.scores, successors(found.scores, dtype)), dtype)
    ends = found.finite[[0, -1]]
    third = MOST_THRESHOLDS // 3 - 4
    logit = 1 / (1 + np.exp(-np.linspace(-25, 25, third)))
    share = np.append(np.linspace(0, 1, third), logit)
    # Not ends[1] - ends[0], which may overflow.
    by_value = ends[0] * (1 - share) + ends[1] * share
    by_digit = _between(ends[:1], ends[1:], np.array([third]), dtype)
    # Separate minus infinity from all finite scores.
    lowest = [-np.inf, np.nextafter(dtype(-np.inf), dtype(0))] if np.isneginf(found.scores[0]) else []
    return _distinct(
        np.concatenate([lowest, ends, by_value, by_digit, successors(ends, dtype), [np.inf]]), dtype
    )


def _distinct(values: NDArray[np.floating], dtype: type[np.floating]) -> Floats:
    return np.unique(values.astype(dtype)).astype(np.float64)


def _split(grid: Floats, parts: Floats, dtype: type[np.floating], *, most: int = MOST_THRESHOLDS) -> Floats:
    """Return a grid with more thresholds, at most *most*, inside the bins that contribute much.

    The contribution of a bin falls with the square of its width, so the number of new thresholds grows with
    the square root of the contribution.
    """
    wide = np.sqrt(parts.max(axis=0))[1:-1]  # no scores are below the first threshold or above the last
    wide[np.isinf(grid[1:])] = 0
    room = most - len(grid)
    pieces = np.floor(room * wide / max(wide.sum(), np.finfo(float).tiny)).astype(np.intp)
    return _distinct(np.append(grid, _between(grid[:-1], grid[1:], pieces, dtype)), dtype)


def _between(low: Floats, high: Floats, pieces: NDArray[np.intp], dtype: type[np.floating]) -> Floats:
    """Return *pieces* values from each low to below each high, evenly spaced among the floats of *dtype*.

    This separates scores of any magnitude, and isolates a single score within a few rounds.
    """
    of = np.repeat(np.arange(len(pieces)), pieces)
    share = (np.arange(len(of)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[of]
    first, last = _place(low.astype(dtype)), _place(high.astype(dtype))
    # Unsigned, since the distance from the lowest to the highest float overflows a signed integer.
    steps = ((last - first).view(np.uint64)[of] * share).astype(np.uint64)
    return _number((first.view(np.uint64)[of] + steps).view(np.int64), dtype).astype(np.float64)


def _place(numbers: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the rank of each number among all floats of its type, 0 for zero."""
    kind = np.int32 if numbers.dtype == np.float32 else np.int64
    bits = (numbers + 0).view(kind).astype(np.int64)
    return np.where(bits < 0, np.iinfo(kind).min - bits, bits)


def _number(places: NDArray[np.int64], dtype: type[np.floating]) -> NDArray[np.floating]:
    """Return the number of each rank."""
    kind = np.int32 if dtype is np.float32 else np.int64
    bits = np.where(places < 0, np.iinfo(kind).min - places, places)
    return bits.astype(kind).view(dtype)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Thresholds, and the width of the certified bounds of areas counted at them."""

    #: None means every distinct score.
    grid: Floats | None
    #: Whether no other score lies between each threshold and the next; None means all or none, by *grid*.
    resolved: NDArray[np.bool_] | None = None
    #: Largest width of the bounds of any model; None if not requested.
    reached: float | None = None
    tolerance: float | None = None


def count_to_tolerance(
    scan: Scan, group: list[str], wish: AutoThresholds, *, budget: Budget, progress: bool = False
) -> tuple[Chosen, Counted]:
    """Count a log of more rows than ``EXACT_ROWS`` at thresholds that bound the areas of every model.

    Thresholds that cut the positives nearly always suffice; unneeded ones are dropped from the
    counts. If the positives do not fit into memory, a grid is refined pass by pass.

    Parameters
    ----------
    scan
        The log.
    group
        The model and the keys to keep.
    wish
        The areas to bound, and the tolerance.
    budget
        Memory limit of each pass.
    progress
        Whether to show the progress of each pass over the log.
    """
    measure = functools.partial(_widths, prevalence=wish.prevalence)
    dtype = scan.score_type
    positives = None if scan.source.elsewhere is not None else read_positives(scan, budget)
    cuts = _cuts(positives or [], wish.tolerance)
    grid = next(cuts, None)
    for _ in range(_CUTS):
        if positives is None or grid is None or len(grid) + len(wish.also) > MOST_THRESHOLDS:
            break
        grid = np.union1d(grid, wish.also)
        try:
            reached = reached_at(scan, group, grid, budget=budget, progress=progress)
        except ParameterError:
            # With many groups, only fewer thresholds fit into memory.
            grid = next(cuts, None)
            continue
        fine = _of_models(reached, dtype)
        widths, of_models = summed(fine, measure)
        if of_models.max() <= wish.tolerance:
            kept = np.union1d(fewest(fine, measure, wish.tolerance), np.searchsorted(grid, wish.also))
            return _chosen(fine.only(kept), measure, wish), reached.at(grid[kept])
        some = np.flatnonzero(fine.positives[:, 0])
        if len(some) < len(positives):
            # The positives of a model weigh 0.
            break
        wider = cut_wide(grid, positives, widths[some], of_models[some], 0.7 * wish.tolerance)
        if not len(grid) < len(wider) <= MOST_THRESHOLDS:
            # Bins with a single positive of each model are cut between their negatives.
            wider = _split(grid, widths, dtype, most=min(_PARTS * len(grid), MOST_THRESHOLDS))
        grid = wider
    fine = refine_scan(scan, measure, wish.tolerance, progress=progress, budget=budget)
    # If the finest grid misses the tolerance, fewer thresholds only have to match that grid.
    enough = max(wish.tolerance, 1.02 * worst(fine, measure))
    kept = fewest(fine, measure, enough)
    chosen = _chosen(fine.only(kept), measure, wish)
    return chosen, count_at(scan, group, chosen.grid, budget=budget, progress=progress)


def _chosen(counts: ModelCounts, measure: Measure, wish: AutoThresholds) -> Chosen:
    grid = np.union1d(counts.grid, wish.also)
    return Chosen(grid, holds_one_score(grid, counts.dtype), worst(counts, measure), wish.tolerance)


def _cuts(positives: Positives, tolerance: float) -> Iterator[Floats]:
    """Yield thresholds that probably bound all areas, the best ones to try first.

    Bins with two thirds of the tolerance bound the areas of nearly all models with thousands of positives; a
    few more thresholds cost less than a second pass.
    """
    if positives:
        for part, most in ((1.5, _FEW), (1, MOST_THRESHOLDS)):
            grid = cut_positives(positives, min(tolerance / part, 2 * _STEP), most)
            if grid is not None:
                yield grid


def _of_models(reached: Reached, dtype: type[np.floating]) -> ModelCounts:
    """Add the counts, or weights, of all groups of a model."""
    keys, order, cells = reached.groups.frame(), reached.groups.order(), reached.cells
    weights = keys[WEIGHT].to_numpy() if WEIGHT in keys.columns else np.ones(len(keys))
    first = np.flatnonzero(keys["model"][order].rle_id().diff().fill_null(1).to_numpy())
    groups = np.split(order, first[1:])
    sums = np.stack([np.einsum("g,gcb->cb", weights[mine], cells[mine]) for mine in groups])
    # The least weight of a row is unknown if weights were summed.
    lightest = np.zeros((len(groups), 1))
    if np.issubdtype(cells.dtype, np.integer):
        some = np.where((cells[:, 1, 0] > 0) & (weights > 0), weights, np.inf)
        lightest[:, 0] = [some[mine].min() for mine in groups]
    return ModelCounts(reached.grid, sums[:, 1], sums[:, 0], dtype, lightest)


def _widths(counts: ModelCounts, begin: Places, end: Places, *, prevalence: tuple[float, ...]) -> Floats:
    """Return the contribution of bins to the width of the bounds of each area of each model.

    It is slightly overestimated (by the precision at the start of the bin with all its negatives already
    counted), which avoids a logarithm; the certified bounds are narrower.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        # A model that lacks a class has no areas.
        classes = counts.positives, counts.negatives
        tpr1, fpr1 = (rows[:, begin] / rows[:, :1] for rows in classes)
        # No row is above the last bin.
        last = len(counts.grid)
        after = np.minimum(end, last)
        tpr0, fpr0 = (np.where(end > last, 0.0, rows[:, after] / rows[:, :1]) for rows in classes)
        recall = tpr1 - tpr0
        # Recall grows row by row, so the first positive of a bin reaches this recall.
        one = np.where(recall > 0, counts.lightest / counts.positives[:, :1], 0)
        tpr0 = np.minimum(tpr0 + one, tpr1)
        widths = np.empty((1 + len(prevalence), *recall.shape))
        np.multiply(recall, fpr1 - fpr0, out=widths[0])
        for place, eta in enumerate(prevalence, start=1):
            best, least = (1 - eta) / eta * fpr0, (1 - eta) / eta * fpr1
            for precision, tpr in ((best, tpr1), (least, tpr0)):
                np.add(tpr, precision, out=precision)
                np.divide(tpr, precision, out=precision)
            best -= least
            np.multiply(recall, best, out=widths[place])
    # 0/0 is a bin without rows.
    np.fmax(widths, 0, out=widths)
    widths[..., counts.tied(begin, end)] = 0
    return widths
