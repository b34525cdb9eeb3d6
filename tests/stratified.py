"""Logs whose rows have weights; most were drawn by score: densely where it is high, thinly elsewhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm, truncnorm

ENDS = (-np.inf, 1.0, 2.5, np.inf)


def mixed_log(seed: int, rows: int = 600, weights: Sequence[float] = (0.5, 2.0, 30.0)) -> pl.DataFrame:
    """Rows whose weights do not depend on the score."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.3
    score, weight = rng.normal(label * 1.5, 1).round(1), rng.choice(weights, rows)
    return pl.DataFrame({"model": "a", "label": label, "score": score, "weight": weight})


def stratified_log(
    rng: np.random.Generator, rows: int, eta: float, distance: float, shares: Sequence[float]
) -> pl.DataFrame:
    """Draw as many rows of each range of scores as its share of *rows* rows of traffic says.

    Scores of negatives are standard normal, those of positives lie *distance* higher.
    """
    parts = []
    for share, low, high in zip(shares, ENDS[:-1], ENDS[1:], strict=True):
        positive = eta * (norm.cdf(high - distance) - norm.cdf(low - distance))
        negative = (1 - eta) * (norm.cdf(high) - norm.cdf(low))
        size = round(share * rows * (positive + negative))
        true = rng.binomial(size, positive / (positive + negative))
        above = truncnorm.rvs(low - distance, high - distance, size=true, random_state=rng)
        below = truncnorm.rvs(low, high, size=size - true, random_state=rng)
        score, label = np.append(distance + above, below), np.arange(size) < true
        parts.append(pl.DataFrame({"model": "a", "label": label, "score": score, "weight": 1 / share}))
    return pl.concat(parts)


def holds(rates: pl.DataFrame, distance: float) -> Any:
    """Whether the bounds of TPR (first) and FPR hold the true rates of such scores, row by row."""
    at = rates["threshold"].to_numpy()
    lower, upper = (rates.select(f"tpr_{side}", f"fpr_{side}").to_numpy().T for side in ("lower", "upper"))
    true = norm.sf([at - distance, at])
    return (lower <= true) & (true <= upper)
