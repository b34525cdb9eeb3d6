"""Counts by buckets of units -> bounds of operating points, and counts at a few thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.arguments import LEAST_BUCKETS
from nci_frames.counts.pooling import pool_counts
from nci_frames.counts.resolution import one_score
from nci_frames.evaluation.rates.rates import clustered_bounds, compute_rates
from nci_frames.schemas import COUNTS

__all__ = ["BUCKET", "Drawn", "at_thresholds"]

#: The key of ``unit_buckets``.
BUCKET = "bucket"

_BOUNDS = ("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper")
_CELLS = ("tp", "fp", "fn", "tn")


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


def at_thresholds(counts: pl.DataFrame, points: pl.DataFrame, units: str) -> pl.DataFrame:
    """Return the counts of each bucket at the thresholds of its model, which may be no score of the bucket.

    Parameters
    ----------
    counts
        Counts by model and *units*, at every score or on a grid that has the thresholds.
    points
        model, threshold.
    units
        The key of the buckets.
    """
    cells = pl.col(_CELLS)
    wanted = points.select("model", "threshold")
    if not counts.select(one_score(counts.columns)).to_series().all():
        # On a grid every bucket has every threshold.
        found = counts.join(wanted, on=["model", "threshold"], how="semi", nulls_equal=True)
        return found.select("model", units, "threshold", cells)
    numbered = counts.with_columns(group=pl.struct("model", units).rank("dense")).select(
        "model", units, "group", "threshold", cells
    )
    totals = numbered.group_by("model", units, "group").agg(
        positives=(pl.col("tp") + pl.col("fn")).first(), negatives=(pl.col("fp") + pl.col("tn")).first()
    )
    asked = totals.join(wanted, on="model", nulls_equal=True)
    found = asked.sort("threshold").join_asof(
        numbered.select("group", "threshold", "tp", "fp").sort("threshold"),
        on="threshold",
        by="group",
        strategy="forward",
        check_sortedness=False,
    )
    # No score of the bucket reaches such a threshold.
    hits = found.with_columns(pl.col("tp", "fp").fill_null(0))
    return hits.select(
        "model",
        units,
        "threshold",
        "tp",
        "fp",
        fn=pl.col("positives") - pl.col("tp"),
        tn=pl.col("negatives") - pl.col("fp"),
    ).sort("model", units, "threshold")
