"""One group with too many rows to be counted at once -> its counts, piece by piece.

A piece has the rows from one score to before another. What lies above and below it is known before it is
counted: of rows from their places in the sorted runs, of weights from the pieces above, which are added
first.
"""

import functools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.counting.engine.distinct import NOTHING, Columns, Floats, Part, Sums, count_one, sums_from
from nci_frames.counting.out_of_memory import dividing
from nci_frames.counting.out_of_memory.dividing import Cut, cuts_of
from nci_frames.counting.out_of_memory.restoring import Chunk, Run, load_between, runs_of
from nci_frames.counting.out_of_memory.spilling import Spill

__all__ = ["pieces_of"]


def pieces_of(spill: Spill, chunk: Chunk, most: int) -> Iterator[Callable[[], list[Part]]]:
    """Yield functions that count the pieces of a group, from the lowest scores to the highest.

    Parameters
    ----------
    spill
        The rows.
    chunk
        The group.
    most
        How many rows a piece may have.

    Raises
    ------
    ParameterError
        If there are so many runs that pieces cannot be so small, or too many rows with weights have one
        score.
    """
    runs = runs_of(spill, chunk)
    samples = most // dividing.STEP - len(runs)
    if samples < 1:
        needed = (len(runs) + 1) * dividing.STEP
        raise _too_large(f"a group of {chunk.rows:,} rows in {len(runs):,} runs", needed, most)
    cuts = cuts_of(np.sort(np.concatenate([run.samples for run in runs])), samples)
    inner = [[run.place(spill, cut) for run in runs] for cut in cuts]
    places = np.array([[0] * len(runs), *inner, [run.rows for run in runs]])
    ends: list[Cut | None] = [None, *cuts, None]
    pieces = [
        _Piece(spill, chunk.numbers, runs, places, place, _one_score(ends[place], ends[place + 1]))
        for place in range(len(cuts) + 1)
    ]
    pieces = [piece for piece in pieces if piece.rows]
    if not spill.weighted:
        for piece in pieces:
            yield piece.count
        return
    for piece in pieces:
        if piece.rows > most:
            raise _too_large("rows of one group and score, whose weights are added at once", piece.rows, most)
    above = [NOTHING]
    for piece in reversed(pieces):
        above.append(piece.sums(above[-1]))
    of_all = above.pop()
    for piece, mine in zip(pieces, reversed(above), strict=True):
        yield functools.partial(piece.weigh, mine, of_all)


def _too_large(what: str, needed: int, most: int) -> ParameterError:
    msg = "the rows that must be counted together do not fit into memory"
    found = f"{what}: {needed:,} rows together, and {most:,} fit"
    return ParameterError(msg, found=found, hint="raise memory_limit")


def _one_score(low: Cut | None, high: Cut | None) -> np.floating | None:
    """Return the score between two cuts that has so many rows that there is a cut before and after it."""
    if low is None or high is None or not high.after or low != Cut(high.score, after=False):
        return None
    return low.score


class _Piece:
    """The rows of a group between two cuts."""

    def __init__(
        self,
        spill: Spill,
        number: NDArray[np.int64],
        runs: list[Run],
        places: NDArray[np.int64],
        place: int,
        score: np.floating | None,
    ) -> None:
        self._spill, self._number, self._runs, self._score = spill, number, runs, score
        self._low, self._high = places[place], places[place + 1]
        self._all = places[-1]
        self.rows = int((self._high - self._low).sum())

    def count(self) -> list[Part]:
        """Count the rows."""
        true = np.array([run.label for run in self._runs])
        if self._score is not None:
            # All rows of one score, which may be more than fit: their number is known.
            positives, negatives = ((self._high - self._low)[mine].sum() for mine in (true, ~true))
            scores = np.array([self._score])
            tp, fp, fn, tn = (np.array([rows]) for rows in (positives, negatives, 0, 0))
        else:
            known, labels, _ = load_between(self._spill, self._runs, self._low, self._high)
            scores, tp, fp, fn, tn = count_one(known, labels)
        above, below = self._all - self._high, self._low
        tp += above[true].sum()
        fp += above[~true].sum()
        fn += below[true].sum()
        tn += below[~true].sum()
        return self._part(scores, tp, fp, fn, tn)

    def sums(self, above: Sums) -> Sums:
        """Return the weights of positives and negatives from this piece up."""
        _, tp, fp = self._weights(above)
        return float(tp[0]), float(fp[0])

    def weigh(self, above: Sums, of_all: Sums) -> list[Part]:
        """Sum the weights of the rows."""
        scores, tp, fp = self._weights(above)
        return self._part(scores, tp, fp, of_all[0] - tp, of_all[1] - fp)

    def _weights(self, above: Sums) -> tuple[Floats, NDArray[np.float64], NDArray[np.float64]]:
        scores, labels, weights = load_between(self._spill, self._runs, self._low, self._high)
        return sums_from(scores, labels, weights, above)

    def _part(self, *columns: *Columns) -> list[Part]:
        return [Part(self._number, np.array([len(columns[0])]), columns)]
