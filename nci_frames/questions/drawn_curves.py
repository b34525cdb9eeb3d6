"""Rates -> the curves of a report."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.resolution import without_claims
from nci_frames.schemas import rows_where

#: Curves with more points than this are thinned before projection, on axes with this many cells: more than
#: one per pixel.
_MANY_POINTS, _CELLS = 10_000, 2_000


def report_curves(counts: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """Return the defined points of the models; if they are many, the first and last of each cell.

    They are rows of the counts, or of rates. Cells divide TPR and the logarithms of TPR and FPR, so finely
    that steps within a cell cannot be seen, at any prevalence and on any axis.
    """
    defined = (pl.col("tp") + pl.col("fn") > 0) & (pl.col("fp") + pl.col("tn") > 0)
    # Models are read one by one, as the rates of all would take much memory.
    known = sorted(model for model in models if model is not None)
    curves = [rows_where(counts, (pl.col("model") == model) & defined) for model in known]
    if sum(map(len, curves)) <= _MANY_POINTS:
        return pl.concat(curves) if curves else counts.clear()
    kept = (_rising(curve).filter(_ends_of_cell())["__row"].sort() for curve in curves)
    return without_claims(pl.concat(curve[rows] for curve, rows in zip(curves, kept, strict=True)))


def _ends_of_cell() -> pl.Expr:
    """Return whether a point of a rising curve is the first or the last in its cell."""
    cell = pl.struct((pl.col("tpr") * _CELLS / 2).floor(), _steps("tpr"), _steps("fpr")).rle_id()
    return cell.ne_missing(cell.shift(1)) | cell.ne_missing(cell.shift(-1))


def _steps(rate: str) -> pl.Expr:
    """Return the cell of a rate on a logarithmic axis that begins below its lowest value above 0."""
    least = pl.col(rate).filter(pl.col(rate) > 0).min() / 10
    return (pl.max_horizontal(rate, least).log() / least.log() * _CELLS).floor().alias(f"{rate} cell")


def _rising(curve: pl.DataFrame) -> pl.DataFrame:
    """Return TPR and FPR of a curve in ascending order, with row numbers."""
    tpr, fpr = (pl.col(hit) / (pl.col(hit) + pl.col(missed)) for hit, missed in (("tp", "fn"), ("fp", "tn")))
    points = curve.select(tpr=tpr, fpr=fpr, __row=pl.int_range(pl.len(), dtype=pl.UInt32)).reverse()
    if all(points[name].is_sorted() for name in ("tpr", "fpr")):
        return points
    return points.sort("fpr", "tpr")
