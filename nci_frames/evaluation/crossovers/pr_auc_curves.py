"""Counts -> average precision of each model as polynomials of logit eta, to floating-point precision."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.replicated import average_precisions
from nci_frames.evaluation.crossovers.search import axis_value
from nci_frames.schemas import COUNTS

__all__ = ["ROUNDING", "AreaCurves", "area_curves", "halves"]

Indices = NDArray[np.intp]

#: A difference within the rounding error of a sum of precisions has no sign.
ROUNDING = 1e-13

#: The curves cover logit eta from minus this to plus this: eta from 1e-12 to 1 - 1e-12.
_END = float(-np.log(1e-12))

# Precision is analytic in logit eta within a distance of pi from the real axis, so that its Chebyshev series
# converges geometrically. On 32 pieces, each 1.7 long, 21 terms have 15 digits.
_PIECES = 32
_TERMS = 21
_WIDTH = 2 * _END / _PIECES
_ORDERS = np.arange(_TERMS)
_ANGLES = (2 * _ORDERS + 1) * np.pi / (2 * _TERMS)
_NODES = np.cos(_ANGLES)
#: Values at the nodes -> coefficients of Chebyshev's polynomials.
_SERIES = np.cos(np.outer(_ANGLES, _ORDERS)) * np.where(_ORDERS == 0, 1, 2) / _TERMS


@dataclass(frozen=True, slots=True)
class AreaCurves:
    """The models of one comparison that have both classes, by average precision over logit eta."""

    models: pl.Series
    rows: list[tuple[NDArray[np.int64], NDArray[np.int64]]]  # positives and negatives, as falls the score
    series: Floats  # of each model and piece, the coefficients of Chebyshev's polynomials

    @property
    def borders(self) -> Floats:
        """The ends of the pieces, ascending."""
        return np.linspace(-_END, _END, _PIECES + 1)

    @property
    def at_borders(self) -> Floats:
        """The area of each model at each of the borders."""
        starts = self.series @ (-1.0) ** _ORDERS
        return np.column_stack([starts, self.series[:, -1].sum(axis=1)])

    def at(self, model: Indices, place: Floats) -> Floats:
        """Return the area of each model at its own place."""
        areas = np.empty(len(place))
        order = np.argsort(model, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(model[order])) + 1):
            if len(mine):
                areas[mine] = _areas(self.rows[model[mine[0]]], place[mine])
        return areas

    def lead(self, first: Indices, second: Indices, place: Floats) -> Floats:
        """Return by how much the area of one model exceeds that of another, at a place of each pair."""
        piece = np.clip(((place + _END) / _WIDTH).astype(np.intp), 0, _PIECES - 1)
        x = (place + _END) / _WIDTH * 2 - 2 * piece - 1
        series = (self.series[first, piece] - self.series[second, piece]).T
        return np.asarray(np.polynomial.chebyshev.chebval(x, series, tensor=False))

    def best_at_first(self) -> int:
        """Return the model with the largest area at the lowest prevalence."""
        best = np.arange(len(self.models))
        for areas in self.at_borders.T:
            # As prevalence tends to 0, areas may be equal except for rounding; the next point decides.
            best = best[areas[best] >= areas[best].max() * (1 - 2 * ROUNDING)]
        return int(best[0])


def halves() -> tuple[Floats, Floats]:
    """Return the matrices from the series on an interval to those on its left and its right half."""
    left, right = (np.cos(np.outer(np.arccos((_NODES + side) / 2), _ORDERS)).T @ _SERIES for side in (-1, 1))
    return left, right


def _areas(rows: tuple[NDArray[np.int64], NDArray[np.int64]], places: Floats) -> Floats:
    positives, negatives = rows
    # Neighbouring pairs of models need the same places.
    unique, back = np.unique(places, return_inverse=True)
    prevalence: list[float] = axis_value("prevalence", unique).tolist()
    areas: Floats = average_precisions(positives[np.newaxis], negatives[np.newaxis], prevalence)[0]
    return areas[back]


def area_curves(counts: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, AreaCurves]]:
    """Yield the models of every value of the keys, with the keys: one row."""
    keys = COUNTS.keys(counts.columns)
    ordered = counts.sort(*keys, "model", -pl.col("threshold"), maintain_order=True)
    groups = ordered.partition_by(keys, maintain_order=True) if keys else [ordered]
    places = (np.arange(_PIECES)[:, None] + (_NODES + 1) / 2) * _WIDTH - _END
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
        at_nodes = np.array([_areas(mine, places.ravel()) for mine in rows])
        yield (
            group[:1].select(keys),
            AreaCurves(
                pl.Series("model", models, dtype=group.schema["model"]),
                rows,
                at_nodes.reshape(len(rows), _PIECES, _TERMS) @ _SERIES,
            ),
        )
