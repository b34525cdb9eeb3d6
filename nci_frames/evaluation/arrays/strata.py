"""Counts by weight -> the rows of each stratum in each bin, and their weighted sums."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats, Rows
from nci_frames.counts.strata import has_strata
from nci_frames.evaluation.arrays.buckets import BucketCounts, bucket_counts
from nci_frames.evaluation.arrays.histograms import Histogram, each_histogram
from nci_frames.schemas.columns import WEIGHT


@dataclass(frozen=True, slots=True)
class StrataCounts:
    """The rows of one group, by class, weight and bin, highest scores first."""

    #: A bucket for each weight; not weighted.
    rows: BucketCounts
    #: Of each bucket.
    weights: Floats
    #: Of each weight, the rows of the log that are in other groups of the model: in which is chance.
    elsewhere: Rows
    #: The sums of weights.
    histogram: Histogram = field(init=False)

    def __post_init__(self) -> None:
        positives: Any
        negatives: Any
        positives, negatives = (np.asarray(of_class.T @ self.weights) for of_class in self.classes)
        summed = replace(self.rows.histogram, positives=positives, negatives=negatives)
        object.__setattr__(self, "histogram", summed)

    @property
    def classes(self) -> tuple[Any, Any]:
        """The positives and the negatives, of shape (strata, bins)."""
        return self.rows.positives, self.rows.negatives

    @property
    def same_within_classes(self) -> bool:
        """Whether all positives weigh the same, and all negatives."""
        return all(np.count_nonzero(rows * (self.weights > 0)) <= 1 for rows in self.rows.rows)

    @property
    def sizes(self) -> tuple[float, float]:
        """How many rows of one weight know as much of each class: (Σw)²/Σw² (Kish)."""
        positives, negatives = (self._even(rows) for rows in self.rows.rows)
        return positives, negatives

    def _even(self, rows: Floats) -> float:
        total, squares = float(self.weights @ rows), float(self.weights**2 @ rows)
        return total**2 / squares if squares > 0 else 0.0

    @property
    def heaviest(self) -> tuple[float, float]:
        """The highest weight of a positive, and of a negative; 0 without any."""
        positives, negatives = (float(np.max(self.weights[rows > 0], initial=0.0)) for rows in self.rows.rows)
        return positives, negatives

    def coarser(self, thresholds: Sequence[float]) -> "StrataCounts":
        """Return the counts of bins between these thresholds; see ``Histogram.coarser``."""
        return replace(self, rows=self.rows.coarser(thresholds))

    def condensed(self) -> "StrataCounts":
        """Merge neighbouring bins without positives, as ``Histogram.condensed`` does."""
        return replace(self, rows=self.rows.condensed())

    def strata(self) -> Iterator[tuple[float, Rows, Rows, int]]:
        """Yield weight, positives and negatives by bin, and rows elsewhere, of each stratum that weighs."""
        for place, weight in enumerate(self.weights.tolist()):
            if weight > 0:
                positives, negatives = (
                    np.asarray(of_class[[place]].toarray()[0], np.int64) for of_class in self.classes
                )
                yield weight, positives, negatives, int(self.elsewhere[place])


def strata_counts(counts: pl.DataFrame) -> Iterator[StrataCounts]:
    """Yield the rows by weight of all groups of counts, in the order of the keys; without a key all weigh 1.

    Raises
    ------
    ParameterError
        If the strata of a group have different thresholds of a grid.
    """
    if not has_strata(counts):
        counts = counts.with_columns(pl.lit(1.0).alias(WEIGHT))
    weights = counts[WEIGHT].unique().sort().to_numpy()
    found = bucket_counts(counts, WEIGHT, least=1)
    drawn: dict[object, Rows] = {}
    for group in found:
        model = group.histogram.group["model"][0]
        drawn[model] = drawn.get(model, 0) + np.sum(group.rows, axis=0)
    for group in found:
        of_model = drawn[group.histogram.group["model"][0]]
        yield StrataCounts(group, weights, (of_model - np.sum(group.rows, axis=0)).astype(np.int64))


def sums_of_weights(counts: pl.DataFrame) -> Iterator[Histogram]:
    """Yield the rows of all groups of counts, in the order of the keys; of strata their sums of weights."""
    if has_strata(counts):
        return (of_group.histogram for of_group in strata_counts(counts))
    return each_histogram(counts)
