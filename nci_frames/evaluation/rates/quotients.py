"""Counts -> rates, row by row."""

import polars as pl

from nci_frames.schemas import CELLS

#: Larger frames are computed in parts of this size.
_ROWS_AT_A_TIME = 1 << 18


def rates_of(counts: pl.DataFrame) -> pl.DataFrame:
    """Add the rates to counts that are known to be valid."""
    shares = _shares()
    if len(counts) <= _ROWS_AT_A_TIME:
        return counts.with_columns(**shares)
    # Parts limit the memory of intermediate results.
    parts = (part.select(**shares) for part in counts.select(CELLS).iter_slices(_ROWS_AT_A_TIME))
    return counts.with_columns(pl.concat(parts, rechunk=False).get_columns())


def _shares() -> dict[str, pl.Expr]:
    """Return the columns that rates add to counts."""
    positives = pl.col("tp") + pl.col("fn")
    negatives = pl.col("fp") + pl.col("tn")
    rows = positives + negatives
    return {
        "positives": positives,
        "negatives": negatives,
        "observed_prevalence": pl.when(rows > 0).then(positives / rows),
        "tpr": pl.when(positives > 0).then(pl.col("tp") / positives),
        "fpr": pl.when(negatives > 0).then(pl.col("fp") / negatives),
    }
