"""Where to divide sorted rows that are too many to be counted at once, by some of them as samples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.engine.distinct import Floats

__all__ = ["STEP", "Cut", "cuts_of", "samples_of"]

#: Of so many sorted rows, one is a sample: the last.
STEP = 1 << 11


@dataclass(frozen=True, slots=True)
class Cut:
    """A place between scores: before all rows with a score, or after them."""

    score: np.floating
    after: bool

    def place(self, scores: Floats) -> int:
        """Return how many of some sorted scores lie before the cut."""
        return int(np.searchsorted(scores, self.score, "right" if self.after else "left"))


def cuts_of(samples: Floats, most: int) -> list[Cut]:
    """Return cuts between which there are at most so many samples, or one score.

    A score with more samples has a cut before it and one after it.
    """
    cuts: list[Cut] = []
    begin = 0
    while len(samples) - begin > most:
        score = samples[begin + most]
        cut = Cut(score, after=bool(cuts) and cuts[-1] == Cut(score, after=False))
        begin = cut.place(samples)
        cuts.append(cut)
    return cuts


def samples_of(scores: Floats, sizes: NDArray[np.int64], step: int) -> Floats:
    """Return every *step*-th of some scores, counted anew in each of the runs that they are made of."""
    samples = sizes // step
    begins = np.repeat(np.cumsum(sizes) - sizes, samples)
    within = np.arange(len(begins)) - np.repeat(np.cumsum(samples) - samples, samples)
    return scores[begins + step * (within + 1) - 1]
