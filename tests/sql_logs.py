"""Logs whose scores are at, just below and just above thresholds, as SQL and the kernel must count them."""

from typing import Any

import numpy as np
import polars as pl

import nci_frames as nf

GRID = [-1e300, -1.0, -0.0, 1e-320, 0.1, 0.30000000000000004, 0.7, 1 - 2**-53, 1.0, 1e10]
SPECIAL = [-np.inf, -1e300, -0.0, 0.0, 5e-324, 0.1, 0.3, 0.30000000000000004, 0.7, 1.0, 1e10, np.inf]

#: Rows of every invalid kind, and two that are valid.
BAD = pl.DataFrame(
    {
        "model": "a",
        "country": "c",
        "label": [0, 1, 2, None, 1, 0, 1],
        "score": [0.2, 0.8, 0.5, 0.5, None, float("nan"), float("nan")],
    }
)


def log_of(scores: np.ndarray[Any, Any], seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = len(scores)
    return pl.DataFrame(
        {
            "model": rng.choice(["a", 'b\'s "x"; --'], rows),
            "country": [None if value == 2 else f"c{value}" for value in rng.integers(0, 3, rows)],
            "label": rng.integers(0, 2, rows),
            "score": scores,
        }
    )


def near(grid: list[float], dtype: type[np.floating]) -> np.ndarray[Any, Any]:
    """Scores at, just below and just above every threshold, and special values."""
    values = np.array([*grid, *SPECIAL, *np.random.default_rng(1).random(200)])
    with np.errstate(over="ignore"):
        exact = values.astype(dtype)
    return np.concatenate([exact, np.nextafter(exact, dtype(-np.inf)), np.nextafter(exact, dtype(np.inf))])


def counted(log: pl.DataFrame, grid: list[float] = GRID) -> pl.DataFrame:
    return nf.count_confusion(nf.scan_predictions(log, segments="country"), thresholds=grid)
