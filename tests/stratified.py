"""Logs whose rows were drawn by score: densely where it is high, thinly elsewhere."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.stats import norm, truncnorm

ENDS = (-np.inf, 1.0, 2.5, np.inf)


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
