"""Counts -> the same counts, with all segments of few rows as one."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.pooling import pool_counts
from nci_frames.schemas import COUNTS

__all__ = ["small_segments", "with_small_pooled"]

#: The value of the key of the segments that are pooled.
_OTHER = "other"


def small_segments(
    counts: pl.DataFrame, keys: Sequence[str], *, positives: int = 0, negatives: int = 0
) -> pl.DataFrame:
    """Return the segments in which every model has fewer positives, or fewer negatives, than asked for.

    Parameters
    ----------
    counts
        A counts frame.
    keys
        The keys of the segments.
    positives, negatives
        The least number of rows of each class.
    """
    if not keys or not max(positives, negatives):
        return counts.clear().select(keys)
    groups = ["model", *COUNTS.keys(counts.columns)]
    totals = counts.group_by(groups).agg(
        positives=(pl.col("tp") + pl.col("fn")).first(), negatives=(pl.col("fp") + pl.col("tn")).first()
    )
    of_model = totals.group_by("model", *keys).agg(pl.col("positives", "negatives").sum())
    of_segment = of_model.group_by(keys).agg(pl.col("positives", "negatives").max())
    few = (pl.col("positives") < positives) | (pl.col("negatives") < negatives)
    return of_segment.filter(few).select(keys)


def with_small_pooled(counts: pl.DataFrame, small: pl.DataFrame) -> pl.DataFrame:
    """Put segments into one segment, "other"; its keys become texts."""
    keys = small.columns
    if small.is_empty():
        return counts
    marked = counts.join(small.with_columns(__small=True), on=keys, how="left", nulls_equal=True)
    before = {f"was_{place}": pl.col(key) for place, key in enumerate(keys)}
    other = pl.when(pl.col("__small")).then(pl.lit(_OTHER))
    renamed = marked.with_columns(**before).with_columns(
        other.otherwise(pl.col(key).cast(pl.String)).alias(key) for key in keys
    )
    return pool_counts(renamed.drop("__small"), over=list(before))
