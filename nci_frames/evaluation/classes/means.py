"""Metrics that are means of fractions of the classes, along a line of mixes -> where two models are equal."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats, Places
from nci_frames.evaluation.classes.values import Mix, fractions
from nci_frames.evaluation.crossovers.search import roots

#: The ends of the line, where a fraction may be 0/0.
_END = 1e-12
#: How often a part of the line is halved, and how many parts there are at most.
_HALVINGS, _MOST_PARTS = 30, 1 << 20
#: Differences below this are rounding.
_ROUNDING = 1e-15


@dataclass(frozen=True, slots=True)
class Means:
    """The fractions of some models: above/below of each class, times a weight.

    All three are linear in the place along the line, and have the shape (ends, models, classes).
    """

    above: Floats
    below: Floats
    weight: Floats

    @classmethod
    def of(cls, metric: str, mixes: list[Mix], only: int | None) -> "Means":
        """Return the fractions of a metric, of one class or of all.

        *mixes* has those of each model at both ends of the line.
        """
        sides = zip(*(fractions(metric, mix) for mix in mixes), strict=True)
        above, below = (np.stack(side, axis=1) for side in sides)
        counted = mixes[0].classes if only is None else np.arange(above.shape[-1]) == only
        used = (below > 0).any(axis=0) & counted
        if metric == "weighted_f_beta":
            weight = np.stack([mix.priors for mix in mixes], axis=1)
        else:
            weight = np.broadcast_to(1 / np.maximum(used.sum(axis=-1, keepdims=True), 1), above.shape)
        return cls(np.where(used, above, 0.0), np.where(used, below, 1.0), np.where(used, weight, 0.0))

    def values(self, models: Places, places: Floats) -> Floats:
        """Return the metric of some models, each at a place."""
        above, below, weight = (_between(part[:, models], places) for part in self._parts)
        return np.asarray((weight * above / below).sum(axis=-1))

    def slopes(self, models: Places, places: Floats) -> Floats:
        """Return how the part of each class changes there; each slope is monotone along the line."""
        above, below, weight = self._parts
        crossed = above[1] * below[0] - above[0] * below[1]
        at, under, by = (_between(part[:, models], places) for part in self._parts)
        return np.asarray((weight[1] - weight[0])[models] * at / under + by * crossed[models] / under**2)

    @property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        return self.above, self.below, self.weight

    def places_of_equality(self) -> Floats:
        """Return where two models are equal.

        A part of the line has no such place if the difference at its middle is more than the steepest slope
        makes up for, and at most one if the slope has one sign; other parts are halved.
        """
        one, other = np.triu_indices(self.above.shape[1], 1)
        row = np.flatnonzero(self._vary(one, other))
        low, high = np.full(len(row), _END), np.full(len(row), 1 - _END)
        once: list[tuple[Places, Floats, Floats]] = [(row[:0], low[:0], high[:0])]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            least, most = self._slopes_between(low, high, one[row], other[row])
            reach = np.maximum(np.abs(least), np.abs(most)) * (high - low) / 2
            meets = np.abs(self._gap(middle, one[row], other[row])) <= reach + _ROUNDING
            single = (least > 0) | (most < 0)
            once.append((row[meets & single], low[meets & single], high[meets & single]))
            row, low, middle, high = (part[meets & ~single] for part in (row, low, middle, high))
            row = np.concatenate([row, row])
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            if not 0 < len(row) < _MOST_PARTS:
                break
        touched = (low + high) / 2
        row, low, high = (np.concatenate(part) for part in zip(*once, strict=True))
        ends = [self._gap(place, one[row], other[row]) for place in (low, high)]
        crosses = ends[0] * ends[1] <= 0
        row, low, high = row[crosses], low[crosses], high[crosses]
        return np.unique(np.append(touched, roots(
            lambda place, pair: self._gap(place, one[pair], other[pair]), low, high, row
        )))  # fmt: skip

    def _vary(self, one: Places, other: Places) -> NDArray[np.bool_]:
        """Return whether the difference of two models varies.

        Sums of so few fractions whose difference is the same at so many places have it everywhere.
        """
        _, models, classes = self.above.shape
        nodes = np.linspace(0.01, 0.99, 4 * classes + 3)
        values = np.array([self.values(np.arange(models), np.full(models, at)) for at in nodes])
        return np.asarray(np.ptp(values[:, one] - values[:, other], axis=0) > 10 * _ROUNDING)

    def _gap(self, places: Floats, one: Places, other: Places) -> Floats:
        return self.values(one, places) - self.values(other, places)

    def _slopes_between(self, low: Floats, high: Floats, one: Places, other: Places) -> tuple[Floats, Floats]:
        """Return the least and the largest slope that the difference of two models has between two places."""
        first = self.slopes(one, low), self.slopes(one, high)
        second = self.slopes(other, low), self.slopes(other, high)
        least = (np.minimum(*first) - np.maximum(*second)).sum(axis=-1)
        most = (np.maximum(*first) - np.minimum(*second)).sum(axis=-1)
        return least, most


def _between(ends: Floats, places: Floats) -> Floats:
    """Return numbers between those at both ends of the line."""
    return np.asarray((1 - places)[:, None] * ends[0] + places[:, None] * ends[1])
