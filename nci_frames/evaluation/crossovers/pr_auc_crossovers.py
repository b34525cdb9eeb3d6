"""Counts -> where the average precisions of models change places, without missing any.

With t = logit eta, precision p grows by p·(1-p) per unit of t, so average precision by at most 1/4, by at
most itself, and by at most what it lacks to 1. An interval is proven free of crossovers if the difference at
its ends is too large to reach zero and return; every other interval is bisected.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.evaluation.areas.replicated import average_precisions
from nci_frames.evaluation.crossovers.search import axis_value, roots
from nci_frames.schemas import COUNTS
from nci_frames.typing import Floats

__all__ = ["AreaCurves", "AreaMeetings", "area_curves"]

Indices = NDArray[np.intp]

#: The search covers logit eta from minus this to plus this: eta from 1e-12 to 1 - 1e-12.
_END = float(-np.log(1e-12))
_FIRST_PLACES = 257
#: Undecided intervals of logit eta are not bisected below this width.
_SHORTEST = 1e-5
#: A difference within the rounding error of a sum of precisions has no sign.
_ROUNDING = 1e-13
_PAIRS_AT_A_TIME = 1 << 12


@dataclass(frozen=True, slots=True)
class AreaMeetings:
    """Where pairs of models change places."""

    first: Indices  # of each, the index of the first model among all
    second: Indices
    place: Floats  # in logit eta
    first_is_better_below: NDArray[np.bool_]

    @property
    def prevalence(self) -> Floats:
        """The prevalence of each."""
        return axis_value("prevalence", self.place)


@dataclass(frozen=True, slots=True)
class AreaCurves:
    """The models of one comparison that have both classes, by average precision over logit eta."""

    models: pl.Series
    rows: list[tuple[NDArray[np.int64], NDArray[np.int64]]]  # positives and negatives, as falls the score
    at_first: Floats  # of each model, the area at each of the first points

    def at(self, model: Indices, place: Floats) -> Floats:
        """Return the area of each model at its own point."""
        areas = np.empty(len(place))
        order = np.argsort(model, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(model[order])) + 1):
            if len(mine):
                # Neighbouring pairs need the same points.
                unique, back = np.unique(place[mine], return_inverse=True)
                areas[mine] = _areas(self.rows[model[mine[0]]], unique)[back]
        return areas

    def best_at_first(self) -> int:
        """Return the model with the largest area at the lowest prevalence."""
        best = np.arange(len(self.models))
        for areas in self.at_first.T:
            # As prevalence tends to 0, areas may be equal except for rounding; the next point decides.
            best = best[areas[best] >= areas[best].max() * (1 - 2 * _ROUNDING)]
        return int(best[0])

    def meetings(self, first: Indices, second: Indices) -> AreaMeetings:
        """Return where the models of some pairs change places."""
        found = [
            self._meetings(first[some], second[some])
            for some in np.array_split(np.arange(len(first)), -(-len(first) // _PAIRS_AT_A_TIME) or 1)
        ]
        one, other, place, below = (np.concatenate(column) for column in zip(*found, strict=True))
        return AreaMeetings(one, other, place, below)

    def _meetings(
        self, first: Indices, second: Indices
    ) -> tuple[Indices, Indices, Floats, NDArray[np.bool_]]:
        places = np.linspace(-_END, _END, _FIRST_PLACES)
        one, other = self.at_first[first], self.at_first[second]
        difference = np.where(np.abs(one - other) > _ROUNDING * (one + other), one - other, 0.0)
        # Between neighbouring points at which the difference has a sign.
        pair, at = np.nonzero(difference)
        same = np.flatnonzero(pair[1:] == pair[:-1])
        pair, left, right = pair[same], at[same], at[same + 1]
        low, high = (
            np.stack([places[at], difference[pair, at], *_extremes(one[pair, at], other[pair, at])])
            for at in (left, right)
        )
        found = [(pair[:0], np.empty((3, 0)))]
        while low.shape[1]:
            length = high[0] - low[0]
            same = np.sign(low[1]) == np.sign(high[1])
            steepest = np.minimum(0.25, np.minimum(high[2], 1 - low[3]))
            proven = same & (np.abs(low[1]) + np.abs(high[1]) > length * steepest)
            settled = proven | (length < _SHORTEST)
            change = settled & ~same
            found.append((pair[change], np.stack([low[0], high[0], low[1]])[:, change]))
            pair, low, high = pair[~settled], low[:, ~settled], high[:, ~settled]
            middle = self._middle(first[pair], second[pair], low, high)
            pair = np.concatenate([pair, pair])
            low, high = np.hstack([low, middle]), np.hstack([middle, high])
        pairs = np.concatenate([pair for pair, _ in found])
        left, right, before = np.hstack([stretch for _, stretch in found])

        def lead(place: Floats, pair: Indices) -> Floats:
            return self.at(first[pair], place) - self.at(second[pair], place)

        return first[pairs], second[pairs], roots(lead, left, right, pairs), before > 0

    def _middle(self, first: Indices, second: Indices, low: Floats, high: Floats) -> Floats:
        """Return the areas and differences in the middle of intervals."""
        places = (low[0] + high[0]) / 2
        one, other = self.at(first, places), self.at(second, places)
        # A zero takes the sign before it.
        difference = np.where(one == other, np.sign(low[1]) * np.finfo(float).tiny, one - other)
        return np.stack([places, difference, *_extremes(one, other)])


def _extremes(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    return np.maximum(one, other), np.minimum(one, other)


def _areas(rows: tuple[NDArray[np.int64], NDArray[np.int64]], places: Floats) -> Floats:
    positives, negatives = rows
    prevalence: list[float] = axis_value("prevalence", places).tolist()
    areas: Floats = average_precisions(positives[np.newaxis], negatives[np.newaxis], prevalence)[0]
    return areas


def area_curves(counts: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, AreaCurves]]:
    """Yield the models of every value of the keys, with the keys: one row."""
    keys = COUNTS.keys(counts.columns)
    ordered = counts.sort(*keys, "model", -pl.col("threshold"), maintain_order=True)
    groups = ordered.partition_by(keys, maintain_order=True) if keys else [ordered]
    places = np.linspace(-_END, _END, _FIRST_PLACES)
    for group in groups:
        models, rows = [], []
        for part in group.partition_by("model", maintain_order=True):
            classes = [
                np.diff(part[reached].to_numpy(), prepend=0, append=part[reached][0] + part[missed][0])
                for reached, missed in (("tp", "fn"), ("fp", "tn"))
            ]
            if all(of_class.sum() > 0 for of_class in classes):
                models.append(part["model"][0])
                rows.append((classes[0], classes[1]))
        at_first = np.array([_areas(mine, places) for mine in rows]).reshape(len(rows), len(places))
        yield (
            group[:1].select(keys),
            AreaCurves(pl.Series("model", models, dtype=group.schema["model"]), rows, at_first),
        )
