"""Score counts <-> counts where all rows are negatives, to check, pool and join them like counts."""

import polars as pl

from nci_frames.base.typing import Frame
from nci_frames.schemas import COUNTS, SCORE_COUNTS, collect


def scores_as_counts(scored: Frame) -> pl.DataFrame:
    """Return score counts as counts without positives; a key ``weight`` is kept.

    Raises
    ------
    SchemaError
        If *scored* is not a frame of score counts, or its groups are inconsistent.
    """
    none = 0 * pl.col("above")
    known = collect(scored, SCORE_COUNTS, strata=True)
    counts = known.with_columns(tp=none, fp="above", fn=none, tn="below").drop("above", "below")
    return collect(counts, COUNTS, strata=True)


def counts_as_scores(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the numbers of rows above and below each threshold, without regard to labels."""
    reached = counts.with_columns(above=pl.col("tp") + pl.col("fp"), below=pl.col("fn") + pl.col("tn"))
    return SCORE_COUNTS.finish(reached.drop("tp", "fp", "fn", "tn", "resolution", strict=False))
