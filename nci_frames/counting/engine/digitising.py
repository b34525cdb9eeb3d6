"""Scores -> how many thresholds each reaches, at little more cost than on an even grid.

A lookup table maps a score to its cell of an even partition, and the cell to the number of thresholds below.
What is left is one comparison with the threshold inside the cell, after a binary search where a cell has
several.
"""

import numpy as np
from numpy.typing import NDArray

_CELLS = 1 << 16


class Digitiser:
    """Counts the thresholds that scores reach, compared in the precision of the scores."""

    def __init__(self, thresholds: NDArray[np.float64], dtype: type[np.floating]) -> None:
        with np.errstate(over="ignore"):  # what single precision cannot hold is infinite in it
            edges = thresholds.astype(dtype)
        self.bins = len(edges) + 1
        finite = edges[np.isfinite(edges)]
        low, high = (finite[0], finite[-1]) if len(finite) else (dtype(0), dtype(0))
        with np.errstate(over="ignore", divide="ignore"):
            scale = dtype(_CELLS) / (high - low)
        # With one finite threshold, or a range that exceeds the precision, all thresholds are in one cell.
        self._even = bool(np.isfinite(scale) and scale > 0)
        self._low, self._scale = low, scale
        cells = self._cell(edges)
        per_cell = np.bincount(cells, minlength=_CELLS)
        below = np.concatenate([[0], np.cumsum(per_cell)[:-1]]).astype(np.intp)
        # The complement of the number, which is negative, marks a cell with several thresholds.
        self._below = np.where(per_cell > 1, ~below, below)
        # A comparison with NaN fails, so the search never passes the last threshold.
        most = int(per_cell.max(initial=0))
        self._steps = [1 << power for power in reversed(range(most.bit_length()))]
        self._edges = np.append(edges, np.full(2 * most + 1, np.nan, dtype))

    def __call__(self, scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the number of thresholds <= score of each score; scores are never NaN."""
        reached = self._below.take(self._cell(scores))
        several = np.flatnonzero(reached < 0)
        if len(several):
            reached[several] = self._search(~reached[several], scores[several])
        # It changes nothing where a search has found the number: the next threshold is above the score.
        reached += scores >= self._edges.take(reached)
        return reached

    def _search(self, reached: NDArray[np.intp], scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the number of thresholds <= score of scores that reach at least so many."""
        for step in self._steps:
            reached += (scores >= self._edges.take(reached + (step - 1))) * step
        return reached

    def _cell(self, scores: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the cell of each score. It must only be monotone in the score."""
        if not self._even:
            return np.zeros(len(scores), np.intp)
        with np.errstate(over="ignore"):
            place = scores - self._low
            place *= self._scale
        np.clip(place, 0, _CELLS - 1, out=place)
        return place.astype(np.intp)
