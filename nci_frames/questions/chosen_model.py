"""Ranked values with bounds -> bounds of the first model that allow for its choice by the same log."""

import math

import numpy as np
import polars as pl

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats
from nci_frames.evaluation.metrics import Metric, better_sign
from nci_frames.schemas import undefined_is_nan

_LEVEL = 0.95


def for_the_first(ranked: pl.DataFrame, metric: Metric, *, at: str = "prevalence") -> pl.DataFrame:
    """Widen the interval of the first model at each place, a value of *at*, on its worse side.

    Among equally good models, the luckiest one ranks first, so it may be worse than it seems, but not better.
    The interval of its share of alerts, if there is one, is widened on both sides.
    Only models whose intervals overlap with that of the first could have ranked first: their number corrects
    the level (Bonferroni over these alone, as in Zrnic and Fithian (2024), doi:10.48550/arXiv.2212.09009).

    The interval of a value that other rows judge than those that chose its threshold is that of the
    ``optimistic`` value, so its distance is measured from there.

    A metric varies less near the end of its range, so a lucky log shows too little variation. If the range is
    finite, the distance of the bound is therefore stretched in log-odds.
    """
    if "lower" not in ranked.columns:
        return ranked
    first = pl.col("rank") == 1
    low, high = pl.col("lower").filter(first).min(), pl.col("upper").filter(first).max()
    overlaps = (pl.col("upper") >= low) & (pl.col("lower") <= high)
    # Models ranked far behind are not resampled, and have no bounds.
    rivals = overlaps.fill_null(pl.col("value").is_between(low, high)).sum().over(at)
    usual = normal_quantile(_LEVEL)
    numbers = ranked.select(rivals).to_series().to_list()
    wider = {number: normal_quantile(1 - (1 - _LEVEL) / max(number, 1)) / usual for number in {*numbers}}
    factor = np.array([wider[number] for number in numbers], np.float64)
    side = "lower" if better_sign(metric) > 0 else "upper"
    value = pl.col("value")
    if "optimistic" in ranked.columns:
        # From an infinite value no distance is known.
        value = pl.when(pl.col("optimistic").is_finite()).then("optimistic").otherwise("value")
    bounds = {side: (value, metric.lower, metric.upper)}
    for bound in {"pos_fraction_lower", "pos_fraction_upper"} & {*ranked.columns}:
        bounds[bound] = pl.col("pos_fraction"), 0.0, 1.0
    honest = []
    for bound, (value, *ends) in bounds.items():
        of = ranked.select(value).to_series().to_numpy()
        stretched = _stretched(of, ranked[bound].to_numpy(), factor, *ends)
        honest.append(pl.when(first).then(pl.Series(bound, stretched, nan_to_null=True)).otherwise(bound))
    return ranked.with_columns(honest)


def _stretched(value: Floats, bound: Floats, factor: Floats, low: float, high: float) -> Floats:
    """Return a bound whose distance from the value, within a range, is multiplied; NaN stays NaN."""
    with undefined_is_nan():
        # From an infinite value the distance is infinite, too.
        moved = value + (bound - value) * factor
        if math.isfinite(high - low):
            begin, end = (np.log((of - low) / (high - of)) for of in (value, bound))
            odds = np.exp(begin + (end - begin) * factor)
            within = low + (high - low) * odds / (1 + odds)
            moved = np.where(np.isfinite(within), within, moved)
        moved = np.clip(moved, low, high)
    return np.where(factor > 1, moved, bound)
