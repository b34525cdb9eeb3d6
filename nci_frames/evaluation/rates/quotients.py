"""Counts -> the quotients of their rows."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.schemas import CELLS

#: Of more rows the rates are computed part by part.
_ROWS_AT_A_TIME = 1 << 18


def rates_of(counts: pl.DataFrame) -> pl.DataFrame:
    """Add the rates to counts that were checked, or that the library made."""
    shares = _shares()
    cells = counts.select(CELLS)
    if len(counts) <= _ROWS_AT_A_TIME or counts.n_chunks() > 1 or any(cells.null_count().row(0)):
        return counts.with_columns(**shares)
    # What is computed on the way takes as much memory as the rates: some rows at a time.
    columns: dict[str, NDArray[np.generic]] = {}
    undefined = set()
    for begin in range(0, len(cells), _ROWS_AT_A_TIME):
        part = cells.slice(begin, _ROWS_AT_A_TIME).select(**shares)
        for share in part:
            values = share.to_numpy()
            columns.setdefault(share.name, np.empty(len(cells), values.dtype))[begin : begin + len(part)] = (
                values
            )
            undefined |= {share.name} if share.has_nulls() else set()
    return counts.with_columns(
        pl.Series(name, values, nan_to_null=name in undefined) for name, values in columns.items()
    )


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
