"""Rates -> the curves of a report, and what they become at a few prevalences."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.resolution import without_claims
from nci_frames.evaluation.arrays.thinning import thin_curves
from nci_frames.evaluation.projection.projection import project_rates

__all__ = ["project_curves", "report_curves"]

#: Curves with more points than this are thinned before they are projected, on a canvas far finer than any
#: screen.
_MANY_POINTS, _CANVAS = 10_000, (20_000, 10_000)


def report_curves(rates: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """Return the defined points of the models, thinned on logarithmic FPR if they are many.

    On that axis, precision keeps its shape at any prevalence.
    """
    fpr = pl.col("fpr")
    defined = pl.col("model").is_in(models) & pl.col("tpr").is_not_null() & fpr.is_not_null()
    rows = rates.select(pl.arg_where(defined)).to_series()
    if len(rows) <= _MANY_POINTS:
        return rates[rows]
    width, height = _CANVAS
    lowest, least = rates.select(fpr.filter(defined).min(), least=fpr.filter(defined & (fpr > 0)).min()).row(
        0
    )
    across = pl.max_horizontal("fpr", pl.lit(least, pl.Float64) / 10).log()
    left = pl.lit(None if least is None else max(lowest, least / 10), pl.Float64).log()
    # A rising curve passes a column of pixels between the first and the last of its points there.
    run = (across / left * width).floor().rle_id()
    ends = run.ne_missing(run.shift()) | run.ne_missing(run.shift(-1))
    # One model after the other: a copy of the rates of all of them would take much memory.
    places = rates.select("model", "tpr", "fpr").with_row_index("__row").lazy()
    passing = pl.concat(
        places.filter(defined, pl.col("model") == model).sort("fpr", "tpr").filter(ends).collect()
        for model in sorted(model for model in models if model is not None)
    ).with_columns(across=across)
    kept = thin_curves(passing, "across", "tpr", by="model", width=width, height=height)
    return without_claims(rates[kept["__row"]])


def project_curves(curves: pl.DataFrame, prevalence: Sequence[float]) -> pl.DataFrame:
    """Project what is drawn over recall, at those prevalences at which both classes occur."""
    inside = [eta for eta in prevalence if 0 < eta < 1] or list(prevalence)
    return project_rates(curves, metrics=["precision", "pos_fraction", "recall"], prevalence=inside)
