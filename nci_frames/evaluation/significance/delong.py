"""Counts -> ROC-AUC with its standard error and interval, by DeLong's method."""

from typing import Literal, get_args

import numpy as np
import polars as pl

from nci_frames.arguments import check_level
from nci_frames.errors import ParameterError
from nci_frames.evaluation.arrays.histograms import Histogram, histograms, whole_counts
from nci_frames.normal import normal_quantile
from nci_frames.schemas import AUC_INTERVALS, COUNTS

__all__ = ["auc_interval"]

Method = Literal["delong"]


def auc_interval(
    counts: pl.DataFrame | pl.LazyFrame, /, *, method: Method = "delong", level: float = 0.95
) -> pl.DataFrame:
    """Return ROC-AUC of every group of counts, with its standard error and interval.

    Parameters
    ----------
    counts
        A counts frame of whole rows. If it is on a grid, the rows between two thresholds are taken as tied.
    method
        "delong".
    level
        Confidence level, in (0, 1).

    Returns
    -------
    A row per group, sorted by model and keys:

    =========== ======= ========================================== ==================================
    column      dtype   meaning                                    null where
    =========== ======= ========================================== ==================================
    model, keys          as in *counts*                            as in *counts*
    method      String  "delong"                                   never
    value       Float64 ROC-AUC, ties as half, in [0, 1]           the group lacks a class
    std_error   Float64 standard error of it                       a class has fewer than two rows
    lower,      Float64 value -/+ z·std_error, clipped to [0, 1]   a class has fewer than two rows
    upper
    reason      String  why there is no interval                   there is one
    =========== ======= ========================================== ==================================

    Raises
    ------
    ParameterError
        If the method is unknown, the level outside (0, 1), or the counts are sums of weights.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    The placement of a positive is the share of negatives below it, ties as half; of a negative, the share of
    positives above it. The variance of the area is that of the first over the number of positives, plus that
    of the second over the number of negatives. All rows of a bin have one placement, so the counts give it
    exactly. If the classes are separated completely, the standard error is 0, which is too optimistic.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), doi:10.2307/2531595.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> table = nf.auc_interval(nf.count_confusion(log))
    >>> table.select(pl.col("value", "std_error", "lower", "upper").round(4)).row(0)
    (0.75, 0.3536, 0.057, 1.0)
    """
    if method not in get_args(Method):
        raise ParameterError.unknown_choice("method", method, get_args(Method))
    check_level(level)
    frame = whole_counts(counts)
    found = histograms(frame)
    if not found:
        return AUC_INTERVALS.empty(frame.select("model", *COUNTS.keys(frame.columns)))
    results = np.array([_delong(histogram) for histogram in found])
    value, error = (pl.Series(column, nan_to_null=True) for column in results.T)
    width = normal_quantile(level) * error
    few = (pl.lit(f"fewer than two {rows}") for rows in ("positives", "negatives"))
    lacking = (
        pl.Series([histogram.positives.sum() < 2 for histogram in found]),
        pl.Series([histogram.negatives.sum() < 2 for histogram in found]),
    )
    table = pl.concat(histogram.group for histogram in found).with_columns(
        pl.lit(method).alias("method"),
        value.alias("value"),
        error.alias("std_error"),
        (value - width).clip(0, 1).alias("lower"),
        (value + width).clip(0, 1).alias("upper"),
        pl.coalesce(pl.when(lack).then(why) for lack, why in zip(lacking, few, strict=True)).alias("reason"),
    )
    return AUC_INTERVALS.finish(table)


def _delong(histogram: Histogram) -> tuple[float, float]:
    """Return the area and its standard error; NaN where undefined."""
    positives, negatives = histogram.positives, histogram.negatives
    m, n = int(positives.sum()), int(negatives.sum())
    if not (m and n):
        return float("nan"), float("nan")
    of_positives = 1 - (negatives.cumsum() - negatives / 2) / n
    of_negatives = (positives.cumsum() - positives / 2) / m
    area = float(negatives @ of_negatives / n)
    if min(m, n) < 2:
        return area, float("nan")
    variance = (positives @ (of_positives - area) ** 2) / (m - 1) / m
    variance += (negatives @ (of_negatives - area) ** 2) / (n - 1) / n
    return area, float(np.sqrt(variance))
