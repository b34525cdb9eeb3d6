"""Simulated traffic without labels, and a labelled reference of the same scores."""

from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from tests.logs import counts_of_bins

EDGES = np.linspace(-4, 6, 101)


def law(mean: float) -> np.ndarray[Any, Any]:
    """The shares of normal scores in the bins between the thresholds."""
    return np.diff(norm.cdf(np.concatenate([[-np.inf], EDGES, [np.inf]]), mean, 1))


def simulated(
    eta: float,
    *,
    rows: int,
    repeats: int,
    field: np.ndarray[Any, Any] | None = None,
    seed: int = 0,
    labelled: tuple[int, int] = (1000, 10_000),
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A reference and traffic of many segments, of which each is a sample of its own."""
    rng = np.random.default_rng(seed)
    p, n = law(2.0), law(0.0)
    mixed = eta * (p if field is None else field) + (1 - eta) * n
    positives, negatives = (
        rng.multinomial(size, of_class, repeats) for size, of_class in zip(labelled, (p, n), strict=True)
    )
    reference = counts_of_bins(positives, negatives, EDGES)
    scored = rng.multinomial(rows, mixed, repeats)
    traffic = counts_of_bins(0 * scored, scored, EDGES)
    return reference, traffic.select("model", "segment", "threshold", above="fp", below="tn")
