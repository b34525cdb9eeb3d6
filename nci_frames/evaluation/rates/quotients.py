"""Counts -> the quotients of their rows."""

import polars as pl

from nci_frames.schemas import CELLS

#: Of more rows the rates are computed part by part.
_ROWS_AT_A_TIME = 1 << 18


def rates_of(counts: pl.DataFrame) -> pl.DataFrame:
    """Add the rates to counts that were checked, or that the library made."""
    shares = _shares()
    if len(counts) <= _ROWS_AT_A_TIME:
        return counts.with_columns(**shares)
    # What is computed on the way takes as much memory as the rates: some rows at a time.
    parts = (part.select(**shares) for part in counts.select(CELLS).iter_slices(_ROWS_AT_A_TIME))
    return counts.with_columns(pl.concat(parts, rechunk=False).get_columns())


def _shares() -> dict[str, pl.Expr]:
    """Return what rates add to counts."""
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
