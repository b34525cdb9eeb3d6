"""Loops over rows."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counting.kernels import library
from nci_frames.counting.kernels.library import call

#: Number of lookup cells of thresholds: as many as fit the cache of a core, or more with many thresholds, so
#: that few cells have several.
_CELLS, _CELLS_OF_A_THRESHOLD, _MOST_CELLS = 1 << 16, 16, 1 << 18
#: Odd multiplier that spreads numbers: 2 to the 64th, divided by the golden ratio.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class HashTable:
    """Numbers of distinct 64-bit hashes, in the order in which they were added."""

    def __init__(self) -> None:
        self.hashes = np.empty(0, np.uint64)
        self._bits = 0
        self._slots = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.hashes)

    def add(self, hashes: NDArray[np.uint64]) -> None:
        """Give new hashes the next numbers."""
        first = len(self)
        self.hashes = np.concatenate([self.hashes, hashes])
        # Collisions of a few groups are rare: most slots are unused, and take no space in the cache.
        bits = max(14, min(18, (16 * len(self)).bit_length()), (2 * len(self)).bit_length())
        if bits > self._bits:
            first, self._bits, self._slots = 0, bits, np.full(1 << bits, -1)
        if library.LIBRARY is not None:
            call("insert_groups", first, len(self), self.hashes, self._bits, self._slots)
        else:
            self._slots[self._slots_of(self.hashes[first:])] = np.arange(first, len(self))

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of each hash; -1 if it is unknown."""
        if not len(self):
            return np.full(len(hashes), -1)
        if library.LIBRARY is not None:
            numbers = np.empty(len(hashes), np.int64)
            call("find_groups", len(hashes), hashes, self.hashes, self._bits, self._slots, numbers)
            return numbers
        # A slot has the last of its hashes; the others are searched.
        numbers = self._slots.take(self._slots_of(hashes))
        others = np.flatnonzero(self.hashes.take(numbers) != hashes)
        if len(others):
            order = np.argsort(self.hashes)
            found = order.take(np.searchsorted(self.hashes, hashes[others], sorter=order), mode="clip")
            numbers[others] = np.where(self.hashes[found] == hashes[others], found, -1)
        return numbers

    def _slots_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (hashes >> np.uint64(64 - self._bits)).view(np.int64)


class Bins:
    """The bins between ascending thresholds, in the precision of the scores.

    The bin of a score is the number of thresholds that it reaches. A table maps cells, which are monotone in
    the score, to bins; only in cells with thresholds, scores are compared with these.
    """

    def __init__(self, thresholds: Floats, dtype: type[np.floating]) -> None:
        with np.errstate(over="ignore"):  # what single precision cannot hold is infinite in it
            self._edges = np.append(thresholds, np.nan).astype(dtype)
        self._type = np.dtype(dtype).name
        size = min(max(_CELLS, _CELLS_OF_A_THRESHOLD * len(thresholds)), _MOST_CELLS)
        self._below: NDArray[np.integer] = np.empty(size, np.int32)
        self._cells = np.zeros(4, np.int64)  # a structure of at most 32 bytes
        if library.LIBRARY is not None:
            call(f"make_cells_{self._type}", len(thresholds), self._edges, size, self._cells, self._below)
            return
        finite = self._edges[np.isfinite(self._edges)]
        self._low = finite.min(initial=np.inf)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            self._scale = dtype(size) / (finite.max(initial=-np.inf) - self._low)
        # With one finite threshold, or a range that exceeds the precision, there are no cells of equal width.
        self._even = bool(np.isfinite(self._scale) and self._scale > 0)
        if self._even:
            of_cells = np.bincount(self._even_cells(self._edges[:-1]), minlength=size)
            self._below = np.where(of_cells, -1, of_cells.cumsum())

    def __len__(self) -> int:
        return len(self._edges)

    def codes(
        self, numbers: NDArray[np.int64], labels: NDArray[np.bool_] | None, scores: NDArray[np.floating]
    ) -> NDArray[np.int64]:
        """Return the code of each row: its cell among those of all groups, classes and bins.

        The array of group *numbers* is overwritten. Without labels there is one class. Scores are not NaN.
        """
        if library.LIBRARY is None:
            groups = numbers if labels is None else numbers * 2 + labels
            return groups * len(self) + self._searched(scores)
        scores = np.ascontiguousarray(scores, self._type)
        table = self._edges, self._cells, self._below
        call(f"code_rows_{self._type}", len(scores), numbers, labels, scores, len(self) - 1, *table)
        return numbers

    def _searched(self, scores: NDArray[np.floating]) -> NDArray[np.integer]:
        if not self._even:
            return np.searchsorted(self._edges[:-1], scores, side="right")
        bins: NDArray[np.integer] = self._below.take(self._even_cells(scores))
        near = np.flatnonzero(bins < 0)
        bins[near] = np.searchsorted(self._edges[:-1], scores[near], side="right")
        return bins

    def _even_cells(self, scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the cells of scores, which have equal widths here, and equal numbers of floats in C."""
        with np.errstate(over="ignore"):
            place = (scores - self._low) * self._scale
        cells: NDArray[np.intp] = np.clip(place, 0, len(self._below) - 1).astype(np.intp)
        return cells


class CellCounts:
    """Number of occurrences, or sum of weights, of each code.

    Weights are added in the order of the rows, whatever the batches, so that sums are reproducible bit for
    bit.
    """

    def __init__(self, size: int = 0, *, weighted: bool) -> None:
        self._counts: NDArray[Any] = np.zeros(size, np.float64 if weighted else np.int64)
        # Up to 255 occurrences, kept apart, since far more of such cells fit into the cache.
        self._low = np.zeros(size, np.uint8)
        self._size = size

    def grow(self, size: int) -> None:
        """Provide a cell for each code below *size*."""
        self._counts, self._low, self._size = _grown(self._counts, size), _grown(self._low, size), size

    def add(self, codes: NDArray[np.int64], weights: NDArray[np.float64] | None = None) -> None:
        """Add 1, or the weight, to the cell of every code."""
        if library.LIBRARY is None:
            # Int64(1), since a number of another type is many times slower.
            np.add.at(self._counts, codes, np.int64(1) if weights is None else weights)
        elif weights is None:
            call("count_codes", len(codes), codes, self._low, self._counts)
        else:
            call("sum_codes", len(codes), codes, np.ascontiguousarray(weights), self._counts)

    def take(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return the count or sum of every cell."""
        self._counts += self._low
        self._low[:] = 0
        return self._counts[: self._size]


def _grown(cells: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array of at least *size* cells, with spare room to grow rarely; new cells are empty."""
    if size <= len(cells):
        return cells
    grown = np.zeros(max(size, 2 * len(cells)), cells.dtype)
    grown[: len(cells)] = cells
    return grown


def highest(scores: Sequence[NDArray[np.floating]]) -> tuple[NDArray[np.int64], bool]:
    """Return the place of the highest of several scores of each row, and whether a score may be NaN.

    Among ties, the first one is the highest. Beside a NaN, the place means nothing.
    """
    if library.LIBRARY is None:
        return np.argmax(scores, axis=0), any(np.isnan(score.max(initial=0)) for score in scores)
    kind = np.result_type(*scores)
    columns = [np.ascontiguousarray(column, kind) for column in scores]
    places = np.empty(len(columns[0]), np.int64)
    pointers = np.array([library.address(column) for column in columns], np.uintp)
    doubtful = call(f"find_highest_{kind.name}", len(places), len(columns), pointers, places)
    return places, bool(doubtful)


def cells_of_strata(
    scores: NDArray[np.floating], lower: Floats, bits: int, hashes: NDArray[np.uint64] | None = None
) -> NDArray[np.int64]:
    """Return the cell of each row: the number of its stratum, followed by the first bits of its hash.

    *lower* are the ascending lower ends of the strata, compared in the precision of the scores; the first has
    no end. Without hashes, those of the scores are used.
    """
    borders = lower[1:].astype(scores.dtype)
    if library.LIBRARY is not None:
        rows, cells = np.ascontiguousarray(scores), np.empty(len(scores), np.int64)
        name = f"cells_of_strata_{borders.dtype.name}"
        call(name, len(rows), rows, len(borders), borders, hashes, bits, cells)
        return cells
    if hashes is None:
        # -0.0 is 0.0.
        hashes = np.add(scores, 0.0, dtype=np.float64).view(np.uint64) * _GOLDEN
    strata = np.searchsorted(borders, scores, side="right")
    return (strata << bits) | (hashes >> np.uint64(64 - bits)).view(np.int64)


def by_group(
    numbers: Sequence[NDArray[np.int64]],
    scores: Sequence[NDArray[np.floating]],
    labels: Sequence[NDArray[np.bool_]],
    weights: Sequence[NDArray[np.float64]],
) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger], NDArray[np.float64] | None]:
    """Return the bounds of runs of rows, and the rows and weights in the order of runs.

    The runs are the rows of the first group with a negative score, its other rows, those of the next group,
    and so on; they keep the order of rows. A row is twice the bits of the magnitude of its score, plus its
    class.

    All come in pieces, of which group *numbers* are overwritten; without *weights* they are None.
    """
    kind = np.result_type(*scores)
    scores = [np.ascontiguousarray(piece, kind) for piece in scores]
    for piece, score in zip(numbers, scores, strict=True):
        if library.LIBRARY is None:
            np.add(2 * piece, score >= 0, out=piece)
        else:
            call(f"number_runs_{kind.name}", len(piece), piece, score)
    # The last run of a group may have no row.
    rows_of = CellCounts(2 + max(piece.max(initial=-2) for piece in numbers) // 2 * 2, weighted=False)
    for piece in numbers:
        rows_of.add(piece)
    bounds = np.append(0, rows_of.take().cumsum())
    unsigned = f"u{kind.itemsize}"
    if library.LIBRARY is None:
        every = np.concatenate(numbers)
        # The stable sort of 16-bit numbers is a radix sort.
        order = np.argsort(every.astype(np.uint16) if len(bounds) <= 1 << 16 else every, kind="stable")
        rows: NDArray[np.unsignedinteger] = np.concatenate(scores).view(unsigned)
        np.left_shift(rows, 1, out=rows)
        rows |= np.concatenate(labels)
        return bounds, rows[order], np.concatenate(weights)[order] if weights else None
    placed = np.empty(bounds[-1], unsigned), np.empty(bounds[-1]) if weights else None
    following = bounds.copy()
    for piece, score, label, weight in zip_longest(numbers, scores, labels, weights):
        weighing = None if weight is None else np.ascontiguousarray(weight)
        given = len(piece), piece, score, np.ascontiguousarray(label), weighing
        call(f"place_rows_{kind.name}", *given, following, *placed)
    return bounds, *placed


def count_sorted(
    rows: NDArray[np.unsignedinteger], below: int, dtype: np.dtype[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct scores of rows in their order, and tp, fp, fn and tn at each.

    Rows are those of ``by_group`` for scores of type *dtype*; the first *below* have negative scores. The
    array of rows is overwritten.
    """
    if library.LIBRARY is not None:
        sizes = np.empty(2, np.int64)
        call(f"survey_sorted_{dtype.name}", len(rows), rows, below, sizes)
        distinct, positives = sizes.tolist()
        # Not one array for all, for which NumPy would ask for huge pages: not every system has them at hand.
        threshold, (tp, fp, fn, tn) = np.empty(distinct), (np.empty(distinct, np.int64) for _ in range(4))
        found = threshold, tp, fp, fn, tn
        call(f"count_sorted_{dtype.name}", len(rows), rows, below, distinct, positives, *found)
        return found
    true_before = np.append(0, (rows & 1).cumsum(dtype=np.int64))
    scores = np.right_shift(rows, 1, out=rows).view(dtype)
    np.negative(scores[:below], out=scores[:below])
    first = np.flatnonzero(np.append(True, scores[1:] != scores[:-1])[: len(scores)])
    true, fn = true_before[-1], true_before[first]
    tn = first - fn
    return scores[first].astype(np.float64), true - fn, len(rows) - true - tn, fn, tn
