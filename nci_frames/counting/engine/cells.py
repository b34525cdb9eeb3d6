"""Cell codes -> how often each occurred."""

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

#: Int64 where rows are counted, Float64 where weights are summed.
Counts = NDArray[np.int64] | NDArray[np.float64]

#: Up to this many cells (groups x bins x classes) are counted in an array of their own and then added: with
#: more that takes longer than to add the rows one by one. 32 Mi cells of 8 bytes are 256 MiB.
_FEW_CELLS = 1 << 25
#: Codes collected before they are counted together, so that a pass over the cells costs little per row.
_WAITING = 1 << 23

#: Codes, and their weights if they have any, that wait to be counted.
_Block = tuple[NDArray[np.int64], NDArray[np.float64]]


class CellCounts:
    """Counts how often each code occurred, or sums weights over it, in a thread of its own.

    Rows are added in the order in which they come, whatever the batches, so sums of weights are repeatable
    to the bit.
    """

    def __init__(self, *, weighted: bool) -> None:
        self._weighted = weighted
        self._cells = self._zeros(0)
        # One block is filled while the other is counted. Both are used again and again: a new array of this
        # size would be cleared by the system page by page.
        self._filling, self._other = (
            (np.empty(_WAITING, np.int64), np.empty(_WAITING if weighted else 0)) for _ in range(2)
        )
        self._rows = 0
        # Counting waits for memory without the GIL, so the next codes are computed in parallel.
        self._thread = ThreadPoolExecutor(1)
        self._counting: Future[None] | None = None

    def add(self, codes: NDArray[np.int64], weights: NDArray[np.float64] | None) -> None:
        """Add one to the cell of every code, or its weight."""
        for start in range(0, len(codes), _WAITING):
            part = slice(start, start + _WAITING)
            if self._rows + len(codes[part]) > _WAITING:
                self._count_meanwhile()
            place = slice(self._rows, self._rows + len(codes[part]))
            self._filling[0][place] = codes[part]
            if weights is not None:
                self._filling[1][place] = weights[part]
            self._rows = place.stop

    def take(self, size: int) -> Counts:
        """Return the count or sum of every cell from 0 to before *size*, and forget them."""
        self._finish()
        self._thread.shutdown()
        self._count(self._filling, self._rows)
        cells, self._cells = self._grown(size), self._zeros(0)
        return cells

    def _count_meanwhile(self) -> None:
        """Count what is there in the thread, and continue with the other block."""
        self._finish()
        try:
            self._counting = self._thread.submit(self._count, self._filling, self._rows)
        except BaseException:
            # An interrupt while the thread starts would leave it running, unknown to the code that ends
            # it at exit.
            self._thread.shutdown(wait=False)
            raise
        self._filling, self._other, self._rows = self._other, self._filling, 0

    def _finish(self) -> None:
        if self._counting is not None:
            self._counting.result()

    def _zeros(self, size: int) -> Counts:
        return np.zeros(size, np.float64) if self._weighted else np.zeros(size, np.int64)

    def _grown(self, size: int) -> Counts:
        """Return the cells resized to *size*; cells cut off never occurred."""
        if size <= len(self._cells):
            return self._cells[:size]
        grown = self._zeros(size)
        grown[: len(self._cells)] = self._cells
        return grown

    def _count(self, block: _Block, rows: int) -> None:
        if not rows:
            return
        codes, weights = block[0][:rows], block[1][:rows]
        needed = int(codes.max()) + 1
        if needed > len(self._cells):
            self._cells = self._grown(max(needed, min(2 * len(self._cells), _FEW_CELLS)))
        if not self._weighted and needed <= _FEW_CELLS:
            counted = np.bincount(codes)
            self._cells[: len(counted)] += counted
        else:
            np.add.at(self._cells, codes, weights if self._weighted else 1)
