"""Thresholds found by counting: as fine as certified areas need, or between equal numbers of rows.

A grid is refined where it matters. The result does not depend on the order of rows; memory holds one grid.
"""

import functools
import math
from collections.abc import Iterator
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
from nci_frames.counting.thresholds.widths import (
    STEP,
    Measure,
    ModelCounts,
    bound_widths,
    fewest,
    summed,
    worst,
)
from nci_frames.schemas import WEIGHT

_PASSES = 8
#: Passes with thresholds that cut the positives, before a grid is refined instead.
_CUTS = 3
#: Average number of parts of a bin that is cut between its negatives.
_PARTS = 4
#: Up to this many thresholds cost little more than a few.
_FEW = 1 << 14
#: Bytes that refining takes per model and threshold: some twenty arrays of Float64.
_REFINING = 160

#: Logs of up to this many rows are counted at every distinct score. Of more rows, that makes a report twice
#: as slow as a grid, and changes its numbers by less than they are uncertain.
EXACT_ROWS = 1 << 21
#: Results with weights or buckets of units take several times the memory. With more rows than the first
#: number, they are computed on a grid, which usually has up to the second number of thresholds.
EXACT_IN_PARTS, USUAL_THRESHOLDS = EXACT_ROWS >> 1, 1 << 12
_MOST = 8_191


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
    measure = functools.partial(bound_widths, prevalence=wish.prevalence)
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
            grid = cut_positives(positives, min(tolerance / part, 2 * STEP), most)
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
