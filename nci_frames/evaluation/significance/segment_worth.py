"""Counts of segments by buckets of units -> how many independent rows the rows of a segment are worth."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.few_thresholds import at_thresholds
from nci_frames.evaluation.rates.clusters import FEW_HITS, jackknife_weights, known_share
from nci_frames.schemas import COUNTS

_CELLS = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True, slots=True)
class SegmentWorth:
    """Design effects of the segments of one model: by how many its rows are divided."""

    #: Those of positives and negatives over all thresholds together, of shape (2, segments).
    of_class: Floats
    #: tp, fp, fn, tn at the operating point, of shape (4, segments, buckets); None takes rows as independent.
    cells: Floats | None

    @classmethod
    def independent(cls, segments: int) -> Self:
        """Return that every row is worth one."""
        return cls(np.ones((2, segments)), None)

    @classmethod
    def of(cls, point: pl.DataFrame, by_unit: pl.DataFrame, of_class: pl.DataFrame, units: str) -> Self:
        """Return what the rows of segments are worth.

        Parameters
        ----------
        point
            The operating point of one model in each segment.
        by_unit
            Counts of this model by segments and buckets.
        of_class
            What ``class_worth`` says of all models.
        units
            The key of the buckets.
        """
        keys = [key for key in COUNTS.keys(by_unit.columns) if key != units]
        worth = point.select("model", *keys).join(
            of_class, on=["model", *keys], how="left", nulls_equal=True, maintain_order="left"
        )
        effects = 1 / worth.select("positives_worth", "negatives_worth").to_numpy().T
        place = point.select(*keys).with_row_index("__segment")
        buckets = by_unit.select(pl.col(units).unique().sort()).with_row_index("__bucket")
        found = (
            at_thresholds(by_unit, point.select("model", *keys, "threshold"), units)
            .join(place, on=keys, nulls_equal=True)
            .join(buckets, on=units)
        )
        cells = np.zeros((4, len(point), len(buckets)))
        cells[:, found["__segment"].to_numpy(), found["__bucket"].to_numpy()] = (
            found.select(_CELLS).to_numpy().T
        )
        return cls(effects, cells)

    def positives(self, point: pl.DataFrame) -> Floats:
        """Return how many independent positives each segment has."""
        return np.asarray(point["positives"].to_numpy() / self.of_class[0])

    def effects(self, level: float) -> Floats:
        """Return the design effects of TPR, FPR and prevalence in each segment, of shape (3, segments)."""
        if self.cells is None:
            return np.ones((3, self.of_class.shape[1]))
        return _effects(self.cells, self.of_class, level)

    def effects_of_rest(self, ordinary: NDArray[np.bool_], level: float) -> Floats:
        """Return those in the rest of each segment: the other ordinary segments together."""
        if self.cells is None:
            return np.ones((3, self.of_class.shape[1]))
        rows = np.stack([self.cells[0] + self.cells[2], self.cells[1] + self.cells[3]]).sum(axis=2)
        whole, mean = _rest(rows, ordinary), _rest(rows * self.of_class, ordinary)
        of_class = np.divide(mean, whole, out=np.ones_like(whole), where=whole > 0)
        return _effects(_rest(self.cells, ordinary), of_class, level)


def _rest(of_segments: Floats, ordinary: NDArray[np.bool_]) -> Floats:
    """Return the sums over the other ordinary segments; segments are the second axis."""
    mine = ordinary.reshape(-1, *[1] * (of_segments.ndim - 2))
    together = of_segments[:, ordinary].sum(axis=1, keepdims=True)
    return np.asarray(together - np.where(mine, of_segments, 0.0))


def _effects(cells: Floats, of_class: Floats, level: float) -> Floats:
    tp, fp, fn, tn = cells
    positives, negatives = tp + fn, fp + tn
    # The share of positives has no other threshold that could stand in for it.
    least = (of_class[0], of_class[1], np.ones(cells.shape[1]))
    found = []
    for hits, rows, of_all in zip(
        (tp, fp, positives), (positives, negatives, positives + negatives), least, strict=True
    ):
        hit, size = hits.sum(axis=1), rows.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = hit / size
            apart = np.where(rows > 0, hits - rate[:, None] * rows, 0.0)
            variance = (jackknife_weights(rows) * apart**2).sum(axis=1)
            own = variance / (rate * (1 - rate) / size)
        few = np.minimum(hit, size - hit) < FEW_HITS
        effect = np.fmax(np.where(few, np.fmax(own, of_all), own), 1.0)
        found.append(effect / known_share(rows, level))
    return np.stack(found)
