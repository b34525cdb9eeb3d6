"""Where to put thresholds, found by counting: a fine grid that is made finer where it matters.

Nothing here depends on the order of rows or files, and the memory is that of the grid.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.grid import count_grid, holds_one_score
from nci_frames.counting.engine.groups import with_group_numbers
from nci_frames.counting.logs.rows import REASON
from nci_frames.counting.logs.scan import Scan
from nci_frames.counting.thresholds.grids import MOST_THRESHOLDS
from nci_frames.typing import Floats

__all__ = ["ModelCounts", "fewest", "refine", "worst"]

#: A log with no more distinct scores than this gets a threshold at each.
_FEW_SCORES = 16_384
_PASSES = 8


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """The rows of every model in every bin of a grid; the first bin lies below all thresholds."""

    grid: Floats
    positives: Floats  # model x bin
    negatives: Floats  # model x bin
    #: Whether a bin can hold but one score, so that its rows are known to be tied.
    tied: NDArray[np.bool_]

    def only(self, kept: NDArray[np.intp], dtype: type[np.floating]) -> "ModelCounts":
        """Return the counts on some of the thresholds, given by their ascending places."""
        starts = np.append(0, kept + 1)
        return ModelCounts(
            self.grid[kept],
            np.add.reduceat(self.positives, starts, axis=1),
            np.add.reduceat(self.negatives, starts, axis=1),
            _tied(self.grid[kept], dtype),
        )


#: Tells of each bin how much it adds to what is to become small.
Measure = Callable[[ModelCounts], Floats]


def refine(
    scan: Scan, measure: Measure, tolerance: float, *, progress: bool = False
) -> tuple[ModelCounts, type[np.floating]]:
    """Count every model on a grid that is refined until what its bins add up to is within a tolerance.

    Parameters
    ----------
    scan
        What to count.
    measure
        Returns, for each quantity and bin, how much the bin adds to the quantity.
    tolerance
        How large a quantity may be. It is not reached where more passes would not help.
    progress
        Whether to show how far each pass is.

    Returns
    -------
    The counts on the last grid, and the type of the scores.
    """
    dtype: type[np.floating] = np.float32 if scan.raw.collect_schema()["score"] == pl.Float32 else np.float64
    grid = _first_grid(scan, dtype)
    counts = _count(scan, grid, dtype, progress)
    for _ in range(_PASSES):
        if worst(measure(counts)) <= tolerance:
            break
        kept = counts.only(fewest(counts, measure, tolerance / 4, dtype, most=MOST_THRESHOLDS // 2), dtype)
        finer = _split(kept.grid, measure(kept), dtype)
        if np.isin(finer, counts.grid).all():
            break
        counts = _count(scan, finer, dtype, progress)
    return counts, dtype


def worst(parts: Floats) -> float:
    """Return the largest quantity, given what each bin adds to each."""
    return float(parts.sum(axis=1).max(initial=0))


def fewest(
    counts: ModelCounts,
    measure: Measure,
    enough: float,
    dtype: type[np.floating],
    *,
    most: int = MOST_THRESHOLDS,
) -> NDArray[np.intp]:
    """Return the places of few thresholds of a grid that keep every quantity small.

    From the coarsest grid on, the bins that add most are cut in two by their rows, until the quantities are
    small enough, the thresholds too many, or nothing is left to cut.
    """
    last = len(counts.grid) - 1
    rows = (counts.positives.sum(axis=0) / max(counts.positives.sum(), 1)) + (
        counts.negatives.sum(axis=0) / max(counts.negatives.sum(), 1)
    )
    below = np.cumsum(rows)[:-1]  # rows below each threshold
    kept = np.unique([0, last])
    while True:
        parts = measure(counts.only(kept, dtype))
        low, high = kept[:-1], kept[1:]
        adds = np.where(high - low > 1, parts.max(axis=0)[1:-1], 0)
        most_added = adds.max(initial=0)
        excess = worst(parts) / enough
        if excess <= 1 or len(kept) >= most or most_added == 0:
            return kept
        # The nearer the goal, the smaller the steps, so that few thresholds are cut in vain.
        cut = adds > most_added / np.clip(excess, 1.5, 64)
        low, high = low[cut], high[cut]
        middle = np.searchsorted(below, (below[low] + below[high]) / 2)
        kept = np.union1d(kept, np.clip(middle, low + 1, high - 1))


def _tied(grid: Floats, dtype: type[np.floating]) -> NDArray[np.bool_]:
    return np.append(False, holds_one_score(grid, dtype))


def _count(scan: Scan, grid: Floats, dtype: type[np.floating], progress: bool) -> ModelCounts:
    table, _ = with_group_numbers(
        {"model": pl.String()}, lambda groups: count_grid(scan, groups, grid, progress=progress)
    )
    shape = (len(table) // max(len(grid), 1), len(grid))

    def in_bins(reached: str, below: str) -> Floats:
        at = table[reached].to_numpy().reshape(shape).astype(np.float64)
        lowest = table[below].to_numpy().reshape(shape)[:, :1]
        return np.hstack([lowest, at[:, :-1] - at[:, 1:], at[:, -1:]])

    return ModelCounts(grid, in_bins("tp", "fn"), in_bins("fp", "tn"), _tied(grid, dtype))


def _first_grid(scan: Scan, dtype: type[np.floating]) -> Floats:
    """Return every score and its successor if there are few, else a grid that is dense at both ends."""
    scores = scan.raw.filter(pl.col(REASON) == 0).select("score")
    few = _few_scores(scores)
    if few is not None:
        return _distinct(np.append(few, np.nextafter(few.astype(dtype), dtype(np.inf))), dtype)
    finite = pl.col("score").filter(pl.col("score").is_finite())
    ends = np.array(scores.select(finite.min().alias("low"), finite.max().alias("high")).collect().row(0))
    third = MOST_THRESHOLDS // 3 - 4
    logit = 1 / (1 + np.exp(-np.linspace(-25, 25, third)))
    by_value = ends[0] + np.append(np.linspace(0, 1, third), logit) * (ends[1] - ends[0])
    by_digit = _between(ends[:1], ends[1:], np.array([third]), dtype)
    successors = np.nextafter(ends.astype(dtype), dtype(np.inf))
    return _distinct(np.concatenate([ends, by_value, by_digit, successors, [np.inf]]), dtype)


def _distinct(values: NDArray[np.floating], dtype: type[np.floating]) -> Floats:
    return np.unique(values.astype(dtype)).astype(np.float64)


def _few_scores(scores: pl.LazyFrame) -> Floats | None:
    """Return the distinct scores, or None as soon as there are too many."""
    known = np.empty(0)
    for batch in scores.collect_batches(chunk_size=1 << 17, maintain_order=False):
        known = np.union1d(known, batch["score"].unique().to_numpy())
        if len(known) > _FEW_SCORES:
            return None
    return known


def _split(grid: Floats, parts: Floats, dtype: type[np.floating]) -> Floats:
    """Return a grid with more thresholds inside the bins that add much.

    What a bin adds falls with the square of its width, so it gets thresholds as the square root of it.
    """
    wide = np.sqrt(parts.max(axis=0))[1:-1]  # nothing can be put below the first threshold or above the last
    wide[np.isinf(grid[1:])] = 0
    room = MOST_THRESHOLDS - len(grid)
    pieces = np.floor(room * wide / max(wide.sum(), np.finfo(float).tiny)).astype(np.intp)
    return _distinct(np.append(grid, _between(grid[:-1], grid[1:], pieces, dtype)), dtype)


def _between(low: Floats, high: Floats, pieces: NDArray[np.intp], dtype: type[np.floating]) -> Floats:
    """Return so many numbers from each low to before each high, evenly among the numbers that the type has.

    So scores of any magnitude are told apart, and a single one is singled out within a few rounds.
    """
    of = np.repeat(np.arange(len(pieces)), pieces)
    share = (np.arange(len(of)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[of]
    first, last = _place(low.astype(dtype)), _place(high.astype(dtype))
    # Unsigned, since from the most negative to the most positive number is more than half of all integers.
    steps = ((last - first).view(np.uint64)[of] * share).astype(np.uint64)
    return _number((first.view(np.uint64)[of] + steps).view(np.int64), dtype).astype(np.float64)


def _place(numbers: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the place of each number among all of its type, from the most negative up; 0 for zero."""
    kind = np.int32 if numbers.dtype == np.float32 else np.int64
    bits = (numbers + 0).view(kind).astype(np.int64)
    return np.where(bits < 0, np.iinfo(kind).min - bits, bits)


def _number(places: NDArray[np.int64], dtype: type[np.floating]) -> NDArray[np.floating]:
    """Return the number of each place."""
    kind = np.int32 if dtype is np.float32 else np.int64
    bits = np.where(places < 0, np.iinfo(kind).min - places, places)
    return bits.astype(kind).view(dtype)
