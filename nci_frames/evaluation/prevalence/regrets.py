"""How far an operating point is behind the best one, at the worst prevalence of a range."""

import itertools

import numpy as np

from nci_frames.base.typing import Floats
from nci_frames.evaluation.crossovers.contest import Contest, Points
from nci_frames.evaluation.crossovers.envelope import Places
from nci_frames.evaluation.crossovers.winners import best_rows

#: Places of a piece of the range, and the most that a piece spans of the log odds.
_PLACES, _SPAN = 9, 0.7
#: How often the place of the worst prevalence is looked at more closely, and at how many places.
_ZOOMS, _CLOSER = 7, 17
_AT_A_TIME = 8
_LEAST = 1e-15
_VALUES_AT_A_TIME = 1 << 22


class Regrets:
    """The distance to the best point, at any threshold of any model, over a range of prevalence."""

    def __init__(self, points: Points, contest: Contest, start: float, end: float) -> None:
        self._points, self._contest = points, contest
        self._ends, self._best = best_rows(points, contest, start, end)
        # At prevalence 0 and 1 the regret is its limit.
        borders = np.unique(np.clip([start, end, *self._ends[1:-1]], _LEAST, 1 - _LEAST))
        borders = np.log(borders) - np.log1p(-borders)
        pieces = [
            np.linspace(low, high, max(1, int(np.ceil((high - low) / _SPAN))) * (_PLACES - 1) + 1)
            for low, high in itertools.pairwise(borders)
        ]
        #: Log odds at which every point is looked at; neighbours have no border between them.
        self._places = np.unique(np.concatenate(pieces)) if pieces else borders

    def at(self, rows: Places, eta: Floats) -> Floats:
        """Return how far points are behind the best, each at the prevalence beside it; NaN if undefined."""
        piece = np.clip(np.searchsorted(self._ends, eta, side="right") - 1, 0, len(self._best) - 1)
        rates = self._points.frame.select("tpr", "fpr")
        best = self._contest.values(rates[self._best[piece]], eta)
        own = self._contest.values(rates[rows], eta)
        return np.maximum(self._contest.sign * (best - own), 0.0)

    def smallest(self, rows: Places) -> tuple[int, float, float]:
        """Return which of some points has the smallest largest regret, that regret, and where it is.

        -1 and NaN if all are undefined somewhere in the range.
        """
        seen = self._largest_seen(rows)
        order = np.argsort(seen, kind="stable")
        order = order[~np.isnan(seen[order])]
        found = -1, np.nan, np.nan
        # What was seen is no more than the largest, so no later point can be better once this holds.
        for some in np.split(order, range(_AT_A_TIME, len(order), _AT_A_TIME)):
            if not len(some) or (found[0] >= 0 and seen[some[0]] >= found[1]):
                break
            largest, where = self.largest(rows[some])
            place = int(np.argmin(largest))
            if found[0] < 0 or largest[place] < found[1]:
                found = int(rows[some[place]]), float(largest[place]), float(where[place])
        return found

    def largest(self, rows: Places) -> tuple[Floats, Floats]:
        """Return the largest regret of each point, and the prevalence where it is."""
        table = self._table(rows)
        each = np.arange(len(rows))
        top = np.argmax(np.where(np.isnan(table), -np.inf, table), axis=1)
        value, place = table[each, top], self._places[top]
        low = self._places[np.maximum(top - 1, 0)]
        high = self._places[np.minimum(top + 1, len(self._places) - 1)]
        for _ in range(_ZOOMS):
            closer = np.linspace(low, high, _CLOSER, axis=1)
            near = self.at(np.repeat(rows, _CLOSER), _eta(closer.ravel())).reshape(len(rows), -1)
            near = np.where(np.isnan(near), -np.inf, near)
            top = np.argmax(near, axis=1)
            better = near[each, top] > value
            value, place = (
                np.where(better, near[each, top], value),
                np.where(better, closer[each, top], place),
            )
            low = closer[each, np.maximum(top - 1, 0)]
            high = closer[each, np.minimum(top + 1, _CLOSER - 1)]
        undefined = np.isnan(table).any(axis=1)
        return np.where(undefined, np.nan, value), np.where(undefined, np.nan, _eta(place))

    def _largest_seen(self, rows: Places) -> Floats:
        size = max(1, _VALUES_AT_A_TIME // len(self._places))
        parts = np.split(rows, range(size, len(rows), size))
        return np.concatenate([self._table(part).max(axis=1) for part in parts])

    def _table(self, rows: Places) -> Floats:
        each = np.repeat(rows, len(self._places))
        return self.at(each, np.tile(_eta(self._places), len(rows))).reshape(len(rows), -1)


def _eta(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-log_odds)))
