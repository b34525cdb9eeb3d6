"""Counting on a grid of thresholds: rows -> cell codes -> counts, batch by batch in bounded memory.

A cell is a group, a class, and a bin between two thresholds. Polars reads the rows and hashes their keys;
NumPy converts each batch to cell codes and counts these. Memory is needed for cells, not for rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan

#: Number of lookup cells of a digitiser: as many as fit the cache of a core, or more with many thresholds,
#: since otherwise most rows would need a search.
_CELLS, _CELLS_OF_A_THRESHOLD, _MOST_CELLS = 1 << 16, 16, 1 << 18

#: Int64 for numbers of rows, Float64 for sums of weights.
Counts = NDArray[np.int64] | NDArray[np.float64]
#: Codes collected before they are counted, so that the cells stay in the cache while counting.
_WAITING = 1 << 22
#: Maximum number of rows that cells of Int32 can count.
_MOST = int(np.iinfo(np.int32).max)
#: The cell codes of some rows, and their weights, if these are summed.
Codes = tuple[NDArray[np.int64], NDArray[np.float64] | None]


class Digitiser:
    """Function from scores to the number of thresholds they reach, in the precision of the scores."""

    def __init__(self, thresholds: NDArray[np.float64], dtype: type[np.floating]) -> None:
        with np.errstate(over="ignore"):  # what single precision cannot hold is infinite in it
            edges = thresholds.astype(dtype)
        self.bins = len(edges) + 1
        finite = edges[np.isfinite(edges)]
        ends = finite[[0, -1]] if len(finite) else np.zeros(2, dtype)
        cells = min(max(_CELLS, _CELLS_OF_A_THRESHOLD * len(edges)), _MOST_CELLS)
        # Use the division that leaves fewer thresholds in the same cell.
        ways = (_Even(ends[0], ends[1], cells), _ByDigits(ends[0], ends[1], cells))
        found = [(cell, np.bincount(cell(edges), minlength=cells)) for cell in ways]
        self._cell, per_cell = min(found, key=lambda way: int(way[1][way[1] > 1].sum()))
        below = np.concatenate([[0], np.cumsum(per_cell)[:-1]]).astype(np.intp)
        # The (negative) complement of the number marks a cell with several thresholds.
        self._below = np.where(per_cell > 1, ~below, below)
        # A comparison with NaN fails, so the search never passes the last threshold.
        most = int(per_cell.max(initial=0))
        self._steps = [1 << power for power in reversed(range(most.bit_length()))]
        self._edges = np.append(edges, np.full(2 * most + 1, np.nan, dtype))

    def __call__(self, scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the number of thresholds <= score of each score; scores are never NaN."""
        reached = self._below.take(self._cell(scores))
        if len(self._steps) > 1:
            several = np.flatnonzero(reached < 0)
            reached[several] = self._search(~reached[several], scores[several])
        # This does not change finished searches, since the next threshold is above the score.
        reached += scores >= self._edges.take(reached)
        return reached

    def _search(self, reached: NDArray[np.intp], scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the number of thresholds <= score, given a lower bound *reached* of it."""
        for step in self._steps:
            reached += (scores >= self._edges.take(reached + (step - 1))) * step
        return reached


class _Even:
    """Cells of equal width between two numbers. A cell must only be monotone in the score."""

    def __init__(self, low: np.floating, high: np.floating, cells: int) -> None:
        with np.errstate(over="ignore", divide="ignore"):
            scale = type(low)(cells) / (high - low)
        # With one finite threshold, or a range that exceeds the precision, all thresholds are in one cell.
        self._even = bool(np.isfinite(scale) and scale > 0)
        self._low, self._scale, self._last = low, scale, cells - 1

    def __call__(self, scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the cell of each score."""
        if not self._even:
            return np.zeros(len(scores), np.intp)
        with np.errstate(over="ignore"):
            place = scores - self._low
            place *= self._scale
        np.clip(place, 0, self._last, out=place)
        return place.astype(np.intp)


class _ByDigits:
    """Cells with equal numbers of floats: their widths grow with the magnitude of the score."""

    def __init__(self, low: np.floating, high: np.floating, cells: int) -> None:
        self._negative = bool(low < 0)
        first, last = map(int, self._ranks(np.array([low, high]) + 0))  # -0.0 becomes 0.0
        # Shift out at least one bit, so that the distance of two ranks cannot overflow.
        self._shift = 1
        while (last >> self._shift) - (first >> self._shift) >= cells:
            self._shift += 1
        self._first, self._last = first >> self._shift, cells - 1

    def __call__(self, scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the cell of each score."""
        ranks = self._ranks(scores) >> self._shift
        ranks -= self._first
        np.clip(ranks, 0, self._last, out=ranks)
        return ranks.astype(np.intp)

    def _ranks(self, scores: NDArray[np.floating]) -> NDArray[np.signedinteger]:
        """Return an integer that increases with the score; negative only if cells begin below 0."""
        kind: type[np.signedinteger] = np.int32 if scores.dtype == np.float32 else np.int64
        if not self._negative:  # all below 0, also -0.0, are in the first cell
            return scores.view(kind)
        bits = (scores + 0).view(kind)  # -0.0 becomes 0.0
        bits ^= (bits >> np.iinfo(kind).bits - 1) & np.iinfo(kind).max
        return bits


class CellCounts:
    """Number of occurrences, or sum of weights, of each code.

    Weights are added in the order of the rows, whatever the batches, so that sums are reproducible bit for
    bit.
    """

    def __init__(self, size: int = 0, *, weighted: bool) -> None:
        # Half the size of Int64, so that more cells fit into the cache.
        self._cells: NDArray[Any] = np.zeros(size, np.float64 if weighted else np.int32)
        self._size = size
        self._most = _MOST  # rows that may still be counted in them
        self._before = np.zeros(0, np.int64)
        self._waiting = np.empty(0 if weighted else _WAITING, np.int64)
        self._rows = 0

    def grow(self, size: int) -> None:
        """Provide a cell for each code below *size*."""
        self._cells, self._size = _grown(self._cells, size), size

    def add(self, codes: NDArray[np.int64], weights: NDArray[np.float64] | None) -> None:
        """Add 1, or the weight, to the cell of every code; at most ``_WAITING`` codes."""
        if weights is not None:
            np.add.at(self._cells, codes, weights)
            return
        if self._rows + len(codes) > len(self._waiting):
            self._count()
        self._waiting[self._rows : self._rows + len(codes)] = codes
        self._rows += len(codes)

    def take(self) -> Counts:
        """Return the count or sum of every cell."""
        self._count()
        cells = self._cells if self._cells.dtype == np.float64 else self._counted()
        return cells[: self._size]

    def _count(self) -> None:
        if self._rows > self._most:
            self._before, self._most = self._counted(), _MOST
            self._cells[:] = 0
        # Int32(1), since a number of another type is many times slower.
        np.add.at(self._cells, self._waiting[: self._rows], np.int32(1))
        self._most -= self._rows
        self._rows = 0

    def _counted(self) -> NDArray[np.int64]:
        counts = self._cells.astype(np.int64)
        counts[: len(self._before)] += self._before
        return counts


def _grown(cells: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array of at least *size* cells, with spare room to grow rarely; new cells are empty."""
    if size <= len(cells):
        return cells
    grown = np.zeros(max(size, 2 * len(cells)), cells.dtype)
    grown[: len(cells)] = cells
    return grown


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one pass, on a grid or at all scores, by any engine."""

    #: Sorted: keys, threshold, tp, fp, fn, tn.
    counts: pl.DataFrame
    #: Number of rows by code of validity.
    rows_by_code: dict[int, int]
    #: The keys of each group.
    groups: pl.DataFrame
    #: The counts at the additional thresholds; None if there are none.
    also: pl.DataFrame | None = None


def count_cells(
    scan: Scan, groups: GroupNumbers, grid: Floats, *, budget: Budget, progress: bool = False
) -> tuple[Counts, dict[int, int]]:
    """Return the cells (group, class, bin) as an array, and the rows by code of validity.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan does not drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    """
    digitise = Digitiser(grid, scan.score_type)
    rows_by_code: dict[int, int] = {}

    def codes() -> Iterator[Codes]:
        for batch in read_batches(scan, groups, rows_by_code, progress=progress):
            found = batch.numbers
            found *= 2
            found += batch.labels
            found *= digitise.bins
            found += digitise(batch.scores)
            yield found, batch.weights

    counted = count_codes(codes(), groups, 2, digitise.bins, weighted=scan.weighted, budget=budget)
    return counted, rows_by_code


def count_codes(
    codes: Iterable[Codes], groups: GroupNumbers, classes: int, bins: int, *, weighted: bool, budget: Budget
) -> Counts:
    """Return the cells (group, class, bin) as an array, from batches of their codes.

    The cells of a class are contiguous: if one class is rare, the cells of the other stay in the cache.

    Raises
    ------
    ParameterError
        If the counts take more memory than the budget has.
    """
    known = 0
    cells = CellCounts(weighted=weighted)
    for found, weights in codes:
        if len(groups) > known:
            known = len(groups)
            budget.need_cells(groups, bins)
            cells.grow(known * classes * bins)
        cells.add(found, weights)
    return cells.take().reshape(len(groups), classes, bins)


def holds_one_score(grid: Floats, dtype: type[np.floating]) -> NDArray[np.bool_]:
    """Return for each threshold whether no other score can lie between it and the next."""
    edges = grid.astype(dtype)
    return np.append(edges[1:] <= successors(edges[:-1], dtype), np.isinf(edges[-1:]))


def successors(values: NDArray[np.floating], dtype: type[np.floating]) -> NDArray[np.floating]:
    """Return the next float of *dtype* after each value; infinity after the largest."""
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(dtype), dtype(np.inf))


def joined(grid: Floats, also: Floats | None) -> Floats:
    """Return the thresholds of both grids, ascending."""
    return grid if also is None else np.union1d(grid, also)


def counted_cells(
    groups: GroupNumbers, grid: Floats, also: Floats | None, in_bins: Counts, rows_by_code: dict[int, int]
) -> Counted:
    """Accumulate the cells (group, class, bin) of both grids, and return them by group.

    The cells are overwritten.
    """
    # In place, from the highest bin down: the cells may take most of the memory.
    np.cumsum(in_bins[..., ::-1], axis=2, out=in_bins[..., ::-1])
    thresholds, order = joined(grid, also), groups.order()

    def table(values: Floats) -> pl.DataFrame:
        # The first bin is below every threshold: its rows are never predicted positive, but count.
        return _table(groups, order, values, in_bins, np.searchsorted(thresholds, values) + 1)

    apart = None if also is None else table(also)
    return Counted(table(grid), rows_by_code, groups.frame(), also=apart)


def _table(
    groups: GroupNumbers,
    order: NDArray[np.int64],
    thresholds: Floats,
    reached: Counts,
    bins: NDArray[np.intp],
) -> pl.DataFrame:
    """Return sorted keys, threshold, tp, fp, fn, tn, given the number of rows that reach each bin."""
    # Column by column, since the table is larger than all cells.
    table = groups.repeated(order, len(thresholds)).with_columns(
        threshold=pl.Series(np.tile(thresholds, len(groups)))
    )
    for label, positive, negative in ((1, "tp", "fn"), (0, "fp", "tn")):
        above = reached[order[:, None], label, bins]
        table = table.with_columns(pl.Series(positive, above.ravel()))
        below = np.subtract(reached[order, label, :1], above)
        table = table.with_columns(pl.Series(negative, below.ravel()))
    return table.select(*groups.keys, "threshold", "tp", "fp", "fn", "tn")
