"""Rates -> bounds of them that still hold where these rates choose the threshold."""

from typing import cast

import polars as pl

from nci_frames.evaluation.rates.criteria import SURE_FPR, SURE_TPR, Wish
from nci_frames.evaluation.rates.intervals import rate_interval, require_row_counts
from nci_frames.evaluation.rates.simultaneous import simultaneous_interval

#: Of the error, the part of TPR where both rates are bounded: positives are few of all rows in the field.
_OF_TPR = 0.1
#: The bounds at which a target is hardest to meet: of TPR and of FPR, 0 the lower one and 1 the upper one.
_HARDEST = {"tpr": (0, None), "fpr": (None, 1), "pos_fraction": (1, 1), "precision": (0, 1)}


def with_sure_rates(rates: pl.DataFrame, wish: Wish) -> pl.DataFrame:
    """Add the bounds of the rates at which a target must be met to be met with confidence.

    TPR, FPR and the share of positive decisions fall as the threshold rises. So one test at each threshold,
    in this order and up to the first that fails, needs no correction for their number (Learn then Test with a
    fixed sequence): each bound is that of Clopper and Pearson at its own threshold. Precision need not rise
    with the threshold: its bounds hold at all thresholds at once.

    Raises
    ------
    ParameterError
        If counts are sums of weights.
    """
    if wish.confidence is None:
        return rates
    require_row_counts(rates)
    sides = _HARDEST[wish.name]
    target = cast("float", wish.target)
    # What misses the target in the log itself is not known to meet it: its bounds, which are slow, are left
    # out. A share of all rows is at least half of the one rate or of the other, whatever the prevalence is.
    possible = {
        "tpr": pl.col("tpr") >= target,
        "fpr": pl.col("fpr") <= target,
        "pos_fraction": pl.min_horizontal("tpr", "fpr") <= 2 * target,
        "precision": pl.lit(value=True),
    }[wish.name]
    error = 1 - wish.confidence
    parts = (error * _OF_TPR, error * (1 - _OF_TPR)) if None not in sides else (error, error)
    sure = {}
    for name, rate, hits, rows, side, part in zip(
        (SURE_TPR, SURE_FPR), ("tpr", "fpr"), ("tp", "fp"), ("positives", "negatives"), sides, parts,
        strict=True,
    ):  # fmt: skip
        if side is None:
            continue
        worth = f"effective_{rows}"
        hit, trials = pl.col(hits), pl.col(rows)
        if worth in rates.columns:
            hit, trials = pl.col(rate) * pl.col(worth), pl.col(worth)
        hit = pl.when(possible).then(hit)
        if wish.name == "precision":
            bounds = simultaneous_interval(hit, trials, pl.col(rows), level=wish.confidence)
        else:
            bounds = rate_interval("clopper_pearson", hit, trials, level=1 - 2 * part)
        sure[name] = bounds[side]
    return rates.with_columns(**sure)
