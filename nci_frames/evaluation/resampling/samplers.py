"""Counts -> resampled logs: rows of each class, or whole buckets of units."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.arrays.buckets import BucketCounts, bucket_counts
from nci_frames.evaluation.arrays.histograms import Histogram, histograms
from nci_frames.evaluation.resampling.draws import (
    draw_with_replacement,
    draw_without_replacement,
    stream,
    times_drawn,
)
from nci_frames.evaluation.resampling.resampling import Resampling

Rows = NDArray[np.int64]

_CELLS_AT_A_TIME = 1 << 21


Counts = TypeVar("Counts", Histogram, BucketCounts)


@dataclass(frozen=True, slots=True)
class Sampler(ABC, Generic[Counts]):
    """Resamples the rows of a group."""

    counts: Counts

    @property
    @abstractmethod
    def histogram(self) -> Histogram:
        """The rows of the log itself."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[float, float]:
        """How many positives and negatives are drawn from, or buckets of equal size that have them."""

    def coarser(self, thresholds: Sequence[float]) -> Self:
        """Return the sampler of bins between these thresholds."""
        return replace(self, counts=self.counts.coarser(thresholds))

    def condensed(self) -> Self:
        """Return the sampler of fewer bins, with the same areas and the same best F-beta."""
        return replace(self, counts=self.counts.condensed())

    @abstractmethod
    def draws(self, logs: Resampling) -> Iterator[tuple[Rows, Rows]]:
        """Yield positives and negatives of some resampled logs at a time, of shape (logs, bins)."""

    @abstractmethod
    def halves(self, logs: Resampling) -> Iterator[tuple[Rows, Rows]]:
        """Yield positives and negatives, in each bin, of one half of the log, drawn at random each time.

        The other half has the other rows. Identical models are divided alike, and with buckets the halves of
        all models have the same units.
        """


def samplers_of(frame: pl.DataFrame, logs: Resampling) -> Iterator[Sampler[Any]]:
    """Yield a sampler for each group of whole counts, in the order of the keys.

    The values of the key ``over`` have a sampler each, one after the other, with the same name and so with
    the same draws of ``units``.

    Raises
    ------
    ParameterError
        If there are too few buckets, or rows without one; if there is ``over`` without ``units``.
    """
    if logs.over is not None:
        return _of_repeats(frame, logs.units, logs.over)
    if logs.units is None:
        return map(_Rows, histograms(frame))
    return map(_Buckets, bucket_counts(frame, logs.units))


def _of_repeats(frame: pl.DataFrame, units: str | None, over: str) -> Iterator[Sampler[Any]]:
    if units is None or units == over:
        raise ParameterError(
            "over needs units: another log has other units, whose rows belong together in all repeats",
            found=f"over={over!r} with units={units!r}",
            hint="count by unit_buckets(predictions), and pass units='bucket'",
        )
    last = [*(name for name in frame.columns if name not in (over, units)), over, units]

    def sampler(counts: BucketCounts) -> "_Buckets":
        histogram = replace(counts.histogram, group=counts.histogram.group.drop(over))
        return _Buckets(replace(counts, histogram=histogram))

    return map(sampler, bucket_counts(frame.select(last), units))


def _blocks(repeats: int, bins: int) -> list[int]:
    """Split the replicates into parts whose arrays are not too large."""
    some = max(1, _CELLS_AT_A_TIME // bins)
    return [min(some, repeats - start) for start in range(0, repeats, some)]


@dataclass(frozen=True, slots=True)
class _Rows(Sampler[Histogram]):
    """Rows are resampled with replacement, separately for positives and negatives."""

    @property
    def histogram(self) -> Histogram:
        return self.counts

    @property
    def sizes(self) -> tuple[float, float]:
        return int(self.histogram.positives.sum()), int(self.histogram.negatives.sum())

    def draws(self, logs: Resampling) -> Iterator[tuple[Rows, Rows]]:
        rng = stream(logs.seed, self.histogram.group.row(0, named=True))
        for some in _blocks(logs.repeats, len(self.histogram.positives)):
            positives = draw_with_replacement(rng, self.histogram.positives, some)
            yield positives, draw_with_replacement(rng, self.histogram.negatives, some)

    def halves(self, logs: Resampling) -> Iterator[tuple[Rows, Rows]]:
        rng = stream(logs.seed, self.histogram.group.drop("model").row(0, named=True))
        positives, negatives = self.histogram.positives, self.histogram.negatives
        for _ in range(logs.repeats):
            some = draw_without_replacement(rng, positives, int(positives.sum()) // 2)
            yield some, draw_without_replacement(rng, negatives, int(negatives.sum()) // 2)


@dataclass(frozen=True, slots=True)
class _Buckets(Sampler[BucketCounts]):
    """Whole buckets are resampled with replacement, the same ones for every model."""

    @property
    def histogram(self) -> Histogram:
        return self.counts.histogram

    @property
    def sizes(self) -> tuple[float, float]:
        return self.counts.even

    def draws(self, logs: Resampling) -> Iterator[tuple[Rows, Rows]]:
        positives, negatives = self.counts.positives, self.counts.negatives
        # All at once: the blocks depend on the bins, which may differ between models, but the draws must not.
        group = self.histogram.group.drop("model").row(0, named=True)
        times = times_drawn(logs.seed, group, self.counts.buckets, logs.repeats)
        for part in np.split(times, np.cumsum(_blocks(logs.repeats, positives.shape[1]))[:-1]):
            # Sums of whole numbers below 2^53 are exact in Float64.
            yield (positives.T @ part.T).T.astype(np.int64), (negatives.T @ part.T).T.astype(np.int64)

    def halves(self, logs: Resampling) -> Iterator[tuple[Rows, Rows]]:
        rng = stream(logs.seed, self.histogram.group.drop("model").row(0, named=True))
        positives, negatives = self.counts.positives.T, self.counts.negatives.T
        half = (np.arange(self.counts.buckets) < self.counts.buckets // 2).astype(np.float64)
        for _ in range(logs.repeats):
            drawn = rng.permutation(half)
            yield (positives @ drawn).astype(np.int64), (negatives @ drawn).astype(np.int64)
