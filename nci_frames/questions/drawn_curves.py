"""Rates -> the curves of a report."""

from collections.abc import Sequence
from typing import cast

import polars as pl

from nci_frames.counts.resolution import without_claims
from nci_frames.evaluation.arrays.thinning import thin_curves

#: Curves with more points than this are thinned before they are projected, on a canvas far finer than any
#: screen.
_MANY_POINTS, _CANVAS = 10_000, (20_000, 10_000)

_SMALLEST = {"lowest": pl.Float64, "least": pl.Float64}


def report_curves(rates: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """Return the defined points of the models, thinned on logarithmic FPR if they are many.

    On that axis, precision keeps its shape at any prevalence.
    """
    defined = pl.col("tpr").is_not_null() & pl.col("fpr").is_not_null()
    # One model after the other: a copy of the rates of all of them would take much memory.
    rows = [
        rates.select(pl.arg_where((pl.col("model") == model) & defined)).to_series()
        for model in sorted(model for model in models if model is not None)
    ]
    if sum(map(len, rows)) <= _MANY_POINTS:
        return rates[pl.concat(rows).sort()] if rows else rates.clear()
    width, height = _CANVAS
    smallest = [_smallest(rates["fpr"][of_model]) for of_model in rows]
    lowest, least = pl.DataFrame(smallest, schema=_SMALLEST, orient="row").min().row(0)
    across = pl.max_horizontal("fpr", pl.lit(least, pl.Float64) / 10).log()
    left = pl.lit(None if least is None else max(lowest, least / 10), pl.Float64).log()
    # A rising curve passes a column of pixels between the first and the last of its points there.
    run = (across / left * width).floor().rle_id()
    ends = run.ne_missing(run.shift()) | run.ne_missing(run.shift(-1))
    passing = pl.concat(_rising(rates, of_model).filter(ends) for of_model in rows)
    passing = passing.with_columns(across=across, model=rates["model"][passing["__row"]])
    kept = thin_curves(passing, "across", "tpr", by="model", width=width, height=height)
    return without_claims(rates[kept["__row"]])


def _smallest(fpr: pl.Series) -> tuple[float | None, float | None]:
    """Return the lowest FPR, and the lowest above 0."""
    return cast("float | None", fpr.min()), cast("float | None", fpr.filter(fpr > 0).min())


def _rising(rates: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """Return TPR and FPR of some rows from the lowest point up, with the numbers of the rows."""
    points = rates.select("tpr", "fpr")[rows].with_columns(__row=rows).reverse()
    if all(points[name].is_sorted() for name in ("tpr", "fpr")):
        return points
    return points.sort("fpr", "tpr")
