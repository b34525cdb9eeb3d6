"""Scores of traffic as mixtures of the scores of positives and of negatives, in a few bins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats

Rows = NDArray[np.int64]
#: Of positives, negatives and traffic.
Triple = tuple[Rows, Rows, Rows]

#: Bins are made at so many quantiles of each class.
_QUANTILES = np.linspace(0, 1, 8)[1:-1]
#: Fewer negatives, or rows of the traffic, in a bin would make its weight a matter of chance.
_LEAST_IN_BIN = 10
#: The test of fit looks at the highest scores in finer bins, at these quantiles of the positives.
_TAIL = np.array([0.95, 0.99])
#: So many positives, and rows of the traffic, a bin of the tail has at least.
_LEAST_IN_TAIL = 5


class Bins(NamedTuple):
    """The rows of one group in bins of scores, the lowest first."""

    #: In bins with enough rows of each kind for weights, by which the prevalence is estimated.
    estimated: Triple
    #: In these bins, of which the highest is divided: positives that score higher than those of the reference
    #: are seen there, where there are hardly any negatives.
    tested: Triple


@dataclass(frozen=True)
class Mixtures:
    """The rows of positives, negatives and traffic of several groups, each in the same bins.

    All have the shape (groups, bins), lowest scores first. The last bins of a group with fewer have no rows.
    """

    positives: Rows
    negatives: Rows
    traffic: Rows

    @classmethod
    def of(cls, groups: Sequence[Triple]) -> Self:
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


def joined_bins(positives: Rows, negatives: Rows, traffic: Rows) -> Bins:
    """Return the rows in a few bins: quantiles of both classes, each with enough rows to compare.

    Parameters
    ----------
    positives, negatives, traffic
        How many rows reach each bin: first all, then those that reach each threshold, the lowest first.
    """
    wanted = {edge for reached in (positives, negatives) for edge in _edges(reached, _QUANTILES)}
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
    few = [0, *kept[::-1]]
    every = (positives, negatives, traffic)
    return Bins(_between(every, few), _between(every, [*few, *_tail(positives, traffic, few[-1])]))


def _edges(reached: Rows, quantiles: Floats) -> list[int]:
    """Return the first bins that at most such shares of the rows reach."""
    few = np.searchsorted(reached[::-1], quantiles * reached[0], side="right")
    return [len(reached) - int(edge) for edge in few]


def _tail(positives: Rows, traffic: Rows, lowest: int) -> list[int]:
    """Return the edges that divide the bin from *lowest* on, ascending."""
    found: list[int] = []
    above = (0, 0)
    for edge in sorted({*_edges(positives, 1 - _TAIL)} - {len(traffic)}, reverse=True):
        here = int(positives[edge]), int(traffic[edge])
        rest = int(positives[lowest]) - here[0], int(traffic[lowest]) - here[1]
        if edge > lowest and min(*rest, here[0] - above[0], here[1] - above[1]) >= _LEAST_IN_TAIL:
            found.append(edge)
            above = here
    return found[::-1]


def _between(every: Triple, places: list[int]) -> Triple:
    found = [reached[places] - np.append(reached[places[1:]], 0) for reached in every]
    return found[0], found[1], found[2]
