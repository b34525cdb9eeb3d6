"""Counts -> rates, row by row."""

import polars as pl

from nci_frames.schemas import CELLS, NEGATIVES, POSITIVES

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
    rows = POSITIVES + NEGATIVES
    return {
        "positives": POSITIVES,
        "negatives": NEGATIVES,
        "observed_prevalence": pl.when(rows > 0).then(POSITIVES / rows),
        "tpr": pl.when(POSITIVES > 0).then(pl.col("tp") / POSITIVES),
        "fpr": pl.when(NEGATIVES > 0).then(pl.col("fp") / NEGATIVES),
    }
