"""Scores of traffic as mixtures of the scores of positives and of negatives, in a few bins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nci_frames.typing import Floats

__all__ = ["Mixtures", "joined_bins"]

Rows = NDArray[np.int64]

#: Bins are made at so many quantiles of each class.
_QUANTILES = np.linspace(0, 1, 8)[1:-1]
#: Fewer negatives, or rows of the traffic, in a bin would make its weight a matter of chance.
_LEAST_IN_BIN = 10


@dataclass(frozen=True)
class Mixtures:
    """The rows of positives, negatives and traffic of several groups, each in the same bins.

    All have the shape (groups, bins), lowest scores first. The last bins of a group with fewer have no rows.
    """

    positives: Rows
    negatives: Rows
    traffic: Rows

    @classmethod
    def of(cls, groups: Sequence[tuple[Rows, Rows, Rows]]) -> Self:
        """Return groups with different numbers of bins together."""
        most = max((len(group[0]) for group in groups), default=0)
        padded = np.zeros((3, len(groups), most), np.int64)
        for place, group in enumerate(groups):
            for kind, rows in enumerate(group):
                padded[kind, place, : len(rows)] = rows
        return cls(*padded)

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Which bins a group has."""
        return (self.positives + self.negatives + self.traffic) > 0

    @cached_property
    def rows(self) -> tuple[Floats, Floats, Floats]:
        """The numbers of positives, negatives and rows of traffic of each group."""
        kinds = (self.positives, self.negatives, self.traffic)
        positives, negatives, traffic = (rows.sum(axis=1).astype(np.float64) for rows in kinds)
        return positives, negatives, traffic

    @cached_property
    def laws(self) -> tuple[Floats, Floats, Floats]:
        """The shares of the bins among positives, negatives and traffic."""
        kinds = (self.positives, self.negatives, self.traffic)
        positives, negatives, traffic = (
            rows / total[:, None] for rows, total in zip(kinds, self.rows, strict=True)
        )
        return positives, negatives, traffic


def joined_bins(positives: Rows, negatives: Rows, traffic: Rows) -> tuple[Rows, Rows, Rows]:
    """Return the rows in a few bins: quantiles of both classes, each with enough rows to compare.

    Parameters
    ----------
    positives, negatives, traffic
        How many rows reach each bin: first all, then those that reach each threshold, the lowest first.
    """
    wanted = {
        len(reached) - int(few)
        for reached in (positives, negatives)
        for few in np.searchsorted(reached[::-1], _QUANTILES * reached[0], side="right")
    }
    edges = sorted(wanted - {len(traffic)}, reverse=True)
    kept: list[int] = []
    last = (0, 0)
    for edge, *rows in zip(edges, negatives[edges].tolist(), traffic[edges].tolist(), strict=True):
        if rows[0] - last[0] >= _LEAST_IN_BIN and rows[1] - last[1] >= _LEAST_IN_BIN:
            kept.append(edge)
            last = (rows[0], rows[1])
    # The lowest bin, too, must have enough rows.
    while kept and min(int(rows[0] - rows[kept[-1]]) for rows in (negatives, traffic)) < _LEAST_IN_BIN:
        kept.pop()
    places = np.array([0, *kept[::-1]])
    found = [
        reached[places] - np.append(reached[places[1:]], 0) for reached in (positives, negatives, traffic)
    ]
    return found[0], found[1], found[2]
