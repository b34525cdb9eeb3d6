"""Counts by buckets of units -> bounds of operating points."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.arguments import LEAST_BUCKETS
from nci_frames.counts.pooling import pool_counts
from nci_frames.evaluation.rates.rates import clustered_bounds, compute_rates
from nci_frames.schemas import COUNTS

__all__ = ["BUCKET", "Drawn"]

#: The key of ``unit_buckets``.
BUCKET = "bucket"

_BOUNDS = ("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn from another log like this one: whole buckets of units, or rows."""

    #: The counts by segments and, if there are any, by buckets of units.
    counts: pl.DataFrame
    segments: tuple[str, ...]
    #: The key of the buckets; None takes the rows as independent.
    units: str | None
    #: How many buckets there are; None where rows are drawn.
    buckets: int | None

    @classmethod
    def of(cls, counts: pl.DataFrame, segments: Sequence[str]) -> "Drawn":
        """Return what can be drawn from counts: buckets, where they have the key of ``unit_buckets``."""
        keys = COUNTS.keys(counts.columns)
        units = BUCKET if BUCKET in keys and BUCKET not in segments else None
        apart = [key for key in segments if key in keys]
        kept = [*apart, *([] if units is None else [units])]
        return cls(
            _pooled(counts, [key for key in keys if key not in kept]),
            tuple(apart),
            units,
            None if units is None else counts[units].n_unique(),
        )

    @property
    def enough(self) -> bool:
        """Whether there are enough buckets, or rows, to see how another log would differ."""
        return self.buckets is None or self.buckets >= LEAST_BUCKETS

    @property
    def total(self) -> pl.DataFrame:
        """The counts with all segments pooled."""
        return _pooled(self.counts, self.segments)

    def bounded(self, points: pl.DataFrame) -> pl.DataFrame:
        """Add Wilson's bounds to operating points, by segments or of all; null where buckets cannot tell."""
        if self.units is None:
            return compute_rates(points, interval="wilson")
        by_segment = COUNTS.keys(points.columns)
        if not self.enough or not set(by_segment) <= set(self.segments):
            return points.with_columns(pl.lit(None, pl.Float64).alias(name) for name in _BOUNDS)
        counts = self.counts if by_segment else self.total
        return clustered_bounds(points, counts, units=self.units, interval="wilson", level=0.95)


def _pooled(counts: pl.DataFrame, over: Sequence[str]) -> pl.DataFrame:
    return pool_counts(counts, over=over) if over else counts
