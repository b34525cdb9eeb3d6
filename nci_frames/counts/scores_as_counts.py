"""Score counts -> counts in which all rows are negatives, so that they can be checked, pooled and joined."""

import polars as pl

from nci_frames.schemas import COUNTS, SCORE_COUNTS, collect

__all__ = ["scores_as_counts"]


def scores_as_counts(scored: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return score counts as counts without positives.

    Raises
    ------
    SchemaError
        If *scored* is not a frame of score counts, or its groups are not those of one log each.
    """
    none = 0 * pl.col("above")
    counts = collect(scored, SCORE_COUNTS).with_columns(tp=none, fp="above", fn=none, tn="below")
    return collect(counts.drop("above", "below"), COUNTS)
