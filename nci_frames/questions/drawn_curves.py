"""Rates -> the curves of a report."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.resolution import without_claims

#: Curves with more points than this are thinned before they are projected: on axes with so many cells, some
#: to each pixel of a screen.
_MANY_POINTS, _CELLS = 10_000, 2_000


def report_curves(counts: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """Return the defined points of the models, of which the first and the last in each cell if they are many.

    They are rows of the counts, or of rates.

    The cells are those of TPR and of the logarithms of TPR and FPR: within one, a step of a curve cannot be
    seen, whatever the prevalence and the axis.
    """
    defined = (pl.col("tp") + pl.col("fn") > 0) & (pl.col("fp") + pl.col("tn") > 0)
    # One model after the other: the rates of all of them would take much memory.
    rows = [
        counts.select(pl.arg_where((pl.col("model") == model) & defined)).to_series()
        for model in sorted(model for model in models if model is not None)
    ]
    if sum(map(len, rows)) <= _MANY_POINTS:
        return counts[pl.concat(rows).sort()] if rows else counts.clear()
    kept = (_rising(counts, of_model).filter(_ends_of_cell()) for of_model in rows)
    return without_claims(counts[pl.concat(kept)["__row"].sort()])


def _ends_of_cell() -> pl.Expr:
    """Return whether a point of a rising curve is the first or the last in its cell."""
    cell = pl.struct(
        (pl.col("tpr") * _CELLS / 2).floor(), *(_steps(rate) for rate in ("tpr", "fpr"))
    ).rle_id()
    return cell.ne_missing(cell.shift(1)) | cell.ne_missing(cell.shift(-1))


def _steps(rate: str) -> pl.Expr:
    """Return the cell of a rate on a logarithmic axis that begins below its lowest value above 0."""
    least = pl.col(rate).filter(pl.col(rate) > 0).min() / 10
    return (pl.max_horizontal(rate, least).log() / least.log() * _CELLS).floor().alias(f"{rate} cell")


def _rising(counts: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """Return TPR and FPR of some rows from the lowest point up, with the numbers of the rows."""
    cells = counts.select("tp", "fp", "fn", "tn")[rows]
    tpr, fpr = (pl.col(hit) / (pl.col(hit) + pl.col(missed)) for hit, missed in (("tp", "fn"), ("fp", "tn")))
    points = cells.select(tpr=tpr, fpr=fpr).with_columns(__row=rows).reverse()
    if all(points[name].is_sorted() for name in ("tpr", "fpr")):
        return points
    return points.sort("fpr", "tpr")
