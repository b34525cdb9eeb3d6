"""Scores of traffic as a mixture of the scores of positives and of negatives, in a few bins."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.typing import Floats

__all__ = ["Mixture"]

Rows = NDArray[np.int64]

#: Bins are made at so many quantiles of each class.
_QUANTILES = 6
#: Fewer negatives, or rows of the traffic, in a bin would make its weight a matter of chance.
_LEAST_IN_BIN = 10


@dataclass(frozen=True, slots=True)
class Mixture:
    """The rows of positives, negatives and traffic in the same bins, ascending by score."""

    positives: Rows
    negatives: Rows
    traffic: Rows

    @property
    def rows(self) -> tuple[int, int, int]:
        """The numbers of positives, negatives and rows of traffic."""
        return int(self.positives.sum()), int(self.negatives.sum()), int(self.traffic.sum())

    @property
    def laws(self) -> tuple[Floats, Floats, Floats]:
        """The shares of the bins among positives, negatives and traffic."""
        return (
            self.positives / self.positives.sum(),
            self.negatives / self.negatives.sum(),
            self.traffic / self.traffic.sum(),
        )

    def coarse(self) -> "Mixture":
        """Join bins: what is left are quantiles of both classes, each with enough rows to compare."""
        kept = [len(self.traffic)]
        shares = [rows[::-1].cumsum()[::-1] / rows.sum() for rows in (self.positives, self.negatives)]
        wanted = np.unique(
            np.concatenate(
                [np.searchsorted(-share, -np.linspace(0, 1, _QUANTILES + 2)[1:-1]) for share in shares]
            )
        )
        reached = [np.append(rows[::-1].cumsum()[::-1], 0) for rows in (self.negatives, self.traffic)]
        for edge in wanted[::-1].tolist():
            if all(rows[edge] - rows[kept[-1]] >= _LEAST_IN_BIN for rows in reached):
                kept.append(edge)
        # The lowest bin, too, must have enough rows.
        while len(kept) > 1 and any(rows[0] - rows[kept[-1]] < _LEAST_IN_BIN for rows in reached):
            kept.pop()
        edges = np.array([0, *kept[:0:-1]])
        return Mixture(
            *(np.add.reduceat(rows, edges) for rows in (self.positives, self.negatives, self.traffic))
        )
