"""One group with too many rows to be counted at once -> its counts, piece by piece.

A piece has the rows between two scores, or all rows of one score. What lies above and below it is known
before it is counted, from the places of the scores in the sorted runs.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.counting.engine.distinct import Floats, Part, count_one
from nci_frames.counting.out_of_memory.spilling import Chunk, Spill

#: Of so many sorted rows, one is a sample: the last.
_STEP = 1 << 11

#: How many rows of each run, or of each class: negatives and positives.
_Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Run:
    """Sorted rows of one class of the group in one block."""

    spill: Spill
    begin: int
    rows: int

    def scores(self, low: int, high: int) -> Floats:
        """Return the scores of the rows from one place to before another."""
        found: Floats = self.spill.read(self.begin, self.spill.row, slice(low, high))["score"]
        return found

    def samples(self) -> Floats:
        """Return the last of every so many scores."""
        places = range(_STEP - 1, self.rows, _STEP)
        return np.concatenate([self.scores(0, 0), *(self.scores(place, place + 1) for place in places)])

    def places(self, cuts: Floats) -> list[int]:
        """Return how many rows lie before each cut, and how many before and at it, in turn."""
        samples, found = self.samples(), [0]
        sides: tuple[Literal["left", "right"], ...] = ("left", "right")
        for cut, side in itertools.product(cuts, sides):
            # The samples tell it but for less than a step.
            low = int(np.searchsorted(samples, cut, side)) * _STEP
            near = self.scores(low, min(low + _STEP - 1, self.rows))
            found.append(low + int(np.searchsorted(near, cut, side)))
        return [*found, self.rows]


def pieces_of(spill: Spill, chunk: Chunk, most: int) -> Iterator[Callable[[], list[Part]]]:
    """Yield functions that count the pieces of a group, from the lowest scores to the highest.

    Parameters
    ----------
    spill
        The rows.
    chunk
        The group.
    most
        How many rows a piece may have, unless they have one score.

    Raises
    ------
    ParameterError
        If the rows have weights, which are added at once, or there are so many runs that pieces cannot be so
        small.
    """
    if spill.weighted:
        raise _too_large("rows of one group, whose weights are added at once", chunk.rows, most)
    runs = []
    for block, groups, rows in chunk.parts:
        _, (sizes,) = spill.index(block, groups)
        begins = block.rows + spill.row.itemsize * (rows.start + np.append(0, sizes[:-1]))
        # Negatives, then positives.
        runs += [_Run(spill, int(begin), int(size)) for begin, size in zip(begins, sizes, strict=True)]
    samples = most // _STEP - len(runs)
    if samples < 1:
        needed = (len(runs) + 1) * _STEP
        raise _too_large(f"a group of {chunk.rows:,} rows in {len(runs):,} runs", needed, most)
    ordered = np.sort(np.concatenate([run.samples() for run in runs]))
    cuts = np.unique(ordered[samples::samples])
    places = np.array([run.places(cuts) for run in runs]).T
    before = np.array([[at[label::2].sum() for label in (0, 1)] for at in places])
    for piece, (low, high) in enumerate(itertools.pairwise(places)):
        # Every other piece is one score, of which there may be more rows than fit.
        score = cuts[piece // 2] if piece % 2 else None
        if (high > low).any():
            around = before[piece], before[piece + 1], before[-1]
            yield functools.partial(_count, chunk.numbers, runs, low, high, score, around)


def _too_large(what: str, needed: int, most: int) -> ParameterError:
    msg = "the rows that must be counted together do not fit into memory"
    found = f"{what}: {needed:,} rows together, and {most:,} fit"
    return ParameterError(msg, found=found, hint="raise memory_limit")


def _count(
    numbers: NDArray[np.int64],
    runs: list[_Run],
    low: _Places,
    high: _Places,
    score: np.floating | None,
    around: tuple[_Places, _Places, _Places],
) -> list[Part]:
    """Count the rows of a piece, given how many of each class lie before it, up to its end, and in all."""
    before, until, every = around
    if score is None:
        mine = zip(runs, low.tolist(), high.tolist(), strict=True)
        scores = np.concatenate([run.scores(begin, end) for run, begin, end in mine])
        scores, tp, fp, fn, tn = count_one(scores, np.repeat(np.arange(len(runs)) % 2 == 1, high - low))
    else:
        scores = np.array([score])
        fp, tp = (until - before)[:, np.newaxis]
        fn, tn = np.zeros((2, 1), np.int64)
    fn, tn, tp, fp = fn + before[1], tn + before[0], tp + (every - until)[1], fp + (every - until)[0]
    return [Part(numbers, np.array([len(scores)]), (scores, tp, fp, fn, tn))]
