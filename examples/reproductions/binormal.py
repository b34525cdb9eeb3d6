"""Counts of classifiers whose scores are normal in both classes, so that the true curves are known."""

from statistics import NormalDist

import numpy as np
import polars as pl


def binormal_counts(
    model: str, mean: float, spread: float, *, positives: int = 10**7, negatives: int = 10**9
) -> pl.DataFrame:
    """Return counts of positives from N(mean, spread²) and negatives from N(0, 1), at 2000 thresholds."""
    negative, positive = NormalDist(), NormalDist(mean, spread)
    thresholds = [float(x) for x in np.linspace(-4, max(6, mean + 4 * spread), 2000)]
    # 1 - cdf(x) loses its digits far out; by symmetry, cdf on the other side does not.
    tp = [round(positives * positive.cdf(2 * mean - x)) for x in thresholds]
    fp = [round(negatives * negative.cdf(-x)) for x in thresholds]
    frame = pl.DataFrame({"model": model, "threshold": thresholds, "tp": tp, "fp": fp})
    return frame.with_columns(fn=positives - pl.col("tp"), tn=negatives - pl.col("fp"))
