"""Ranked values with bounds -> bounds of the first model that allow for its choice by the same log."""

import math

import polars as pl

from nci_frames.base.normal import normal_quantile
from nci_frames.evaluation.metrics import Metric, better_sign

_LEVEL = 0.95


def for_the_first(ranked: pl.DataFrame, metric: Metric, *, at: str = "prevalence") -> pl.DataFrame:
    """Widen the interval of the first model at each place, a value of *at*, on its worse side.

    Among equally good models, the luckiest one ranks first, so it may be worse than it seems, but not better.
    The interval of its share of alerts, if there is one, is widened on both sides.
    Only models whose intervals overlap with that of the first could have ranked first: their number corrects
    the level (Bonferroni over these alone, as in Zrnic and Fithian (2024), doi:10.48550/arXiv.2212.09009).

    A metric varies less near the end of its range, so a lucky log shows too little variation. If the range is
    finite, the distance of the bound is therefore stretched in log-odds.
    """
    if "lower" not in ranked.columns:
        return ranked
    first = pl.col("rank") == 1
    low, high = pl.col("lower").filter(first).min().over(at), pl.col("upper").filter(first).max().over(at)
    overlaps = (pl.col("upper") >= low) & (pl.col("lower") <= high)
    # Models ranked far behind are not resampled, and have no bounds.
    rivals = overlaps.fill_null(pl.col("value").is_between(low, high)).sum().over(at)
    usual = normal_quantile(_LEVEL)
    numbers = range(1, len(ranked) + 1)
    wider = {number: normal_quantile(1 - (1 - _LEVEL) / number) / usual for number in numbers}
    factor = rivals.replace_strict(wider, default=1.0, return_dtype=pl.Float64)
    side = "lower" if better_sign(metric) > 0 else "upper"
    honest = {side: _stretched("value", side, factor, metric.lower, metric.upper)}
    for bound in {"pos_fraction_lower", "pos_fraction_upper"} & {*ranked.columns}:
        honest[bound] = _stretched("pos_fraction", bound, factor, 0.0, 1.0)
    chosen = first & (factor > 1)
    return ranked.with_columns(
        pl.when(chosen).then(new).otherwise(name).alias(name) for name, new in honest.items()
    )


def _stretched(value: str, bound: str, factor: pl.Expr, low: float, high: float) -> pl.Expr:
    """Return a bound whose distance from the value, within a range, is multiplied."""
    moved = pl.col(value) + (pl.col(bound) - pl.col(value)) * factor
    size = high - low
    if math.isfinite(size):
        begin, end = (((pl.col(name) - low) / (high - pl.col(name))).log() for name in (value, bound))
        odds = (begin + (end - begin) * factor).exp()
        within = low + size * odds / (1 + odds)
        moved = pl.when(within.is_finite()).then(within).otherwise(moved)
    # From an infinite value the distance is infinite, too.
    return moved.clip(low, high).fill_nan(None)
