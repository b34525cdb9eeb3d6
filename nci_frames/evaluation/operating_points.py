"""Rates -> the operating points that somebody asked for."""

import math

import polars as pl

from nci_frames.errors import ParameterError
from nci_frames.resolution import has_every_score
from nci_frames.schemas import RATES, collect

__all__ = ["select_operating_points"]


def select_operating_points(rates: pl.DataFrame | pl.LazyFrame, /, *, threshold: float) -> pl.DataFrame:
    """Return one row of rates per group: the decision ``score >= threshold``.

    Parameters
    ----------
    rates
        A rates frame.
    threshold
        Any number but NaN. Exact rates answer every threshold; those of a grid only the grid's own.

    Returns
    -------
    The columns of *rates* with ``threshold`` as asked for, sorted by model and keys, and:

    ====== ====== ============================ ====================
    column dtype  meaning                      null where
    ====== ====== ============================ ====================
    reason String why there is no such point;  the point is attained
                  counts and rates are null
    ====== ====== ============================ ====================

    Raises
    ------
    ParameterError
        If *threshold* is NaN.
    SchemaError
        If *rates* is not a rates frame.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> rates = nf.compute_rates(nf.count_confusion(nf.scan_predictions(log), thresholds="exact"))
    >>> nf.select_operating_points(rates, threshold=0.5).select("threshold", "tp", "fp").row(0)
    (0.5, 1, 0)
    """
    threshold = float(threshold)
    if math.isnan(threshold):
        raise ParameterError.out_of_range("threshold", threshold, "a number")
    frame = collect(rates, RATES).drop("reason", strict=False)
    keys = ["model", *RATES.keys(frame.columns)]
    exact = has_every_score(frame.columns, keys)
    at = pl.col("threshold")
    # Between two neighbouring scores of an exact group every threshold decides as the upper one does, and
    # above the highest score nothing is positive.
    frame = frame.with_columns(__exact=exact)
    never = frame.filter("__exact").unique(keys, keep="first").with_columns(**_never_positive(frame.columns))
    candidates = pl.concat([frame, never]).filter(
        pl.when("__exact").then(at >= threshold).otherwise(at == threshold)
    )
    points = candidates.sort("threshold", maintain_order=True).unique(keys, keep="first", maintain_order=True)
    reason = f"{threshold:g} is not among the thresholds that were counted"
    return (
        frame.select(keys)
        .unique()
        .join(points.with_columns(reason=pl.lit(None, pl.String)), on=keys, how="left", nulls_equal=True)
        .with_columns(reason=pl.when(at.is_null()).then(pl.lit(reason)), threshold=pl.lit(threshold))
        .select(pl.exclude("__exact", "reason"), "reason")
        .sort(keys)
    )


def _never_positive(columns: list[str]) -> dict[str, pl.Expr]:
    """Return what turns a row of rates into that of a threshold above every score."""
    changed = {
        "threshold": pl.lit(float("inf")),
        "tp": pl.col("tp") * 0,
        "fp": pl.col("fp") * 0,
        "fn": pl.col("positives"),
        "tn": pl.col("negatives"),
        "tpr": pl.col("tpr") * 0,
        "fpr": pl.col("fpr") * 0,
    }
    bounds = (f"{rate}_{side}" for rate in ("tpr", "fpr") for side in ("lower", "upper"))
    unknown = {name: pl.lit(None, pl.Float64) for name in bounds if name in columns}
    return changed | unknown
