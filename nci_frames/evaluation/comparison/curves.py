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
    tpr, fpr = pl.col("tpr"), pl.col("fpr")
    # A copy of the other columns would take much memory.
    defined = (
        rates.select("model", "tpr", "fpr")
        .with_row_index("__row")
        .filter(pl.col("model").is_in(models), tpr.is_not_null(), fpr.is_not_null())
    )
    if defined.height <= _MANY_POINTS:
        return rates[defined["__row"]]
    least = fpr.filter(fpr > 0).min()
    width, height = _CANVAS
    across = pl.max_horizontal("fpr", least / 10).log()
    ordered = defined.with_columns(across=across).sort("model", "fpr", "tpr")
    # A rising curve passes a column of pixels between the first and the last of its points there.
    column = ((pl.col("across") / pl.col("across").min()) * width).floor()
    run = ordered.select(pl.struct("model", column).rle_id()).to_series()
    ends = run.ne_missing(run.shift()) | run.ne_missing(run.shift(-1))
    passing = ordered.filter(ends)
    kept = thin_curves(passing, "across", "tpr", by="model", width=width, height=height)
    return without_claims(rates[kept["__row"]])


def project_curves(curves: pl.DataFrame, prevalence: Sequence[float]) -> pl.DataFrame:
    """Project what is drawn over recall, at those prevalences at which both classes occur."""
    inside = [eta for eta in prevalence if 0 < eta < 1] or list(prevalence)
    return project_rates(curves, metrics=["precision", "pos_fraction", "recall"], prevalence=inside)
