"""Logs of decisions among classes, and the plain count that theirs is compared with."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl


def scored_log(classes: Sequence[Any], rows: int = 300, seed: int = 0) -> tuple[pl.DataFrame, dict[Any, str]]:
    """A log with ties, two models, keys, weights and units, and a score column for each class."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, len(classes), rows)
    scores = rng.dirichlet(np.ones(len(classes)), rows)
    scores[np.arange(rows), place] += 0.3
    columns = {name: f"p{number}" for number, name in enumerate(classes)}
    log = pl.DataFrame(
        {
            "model": rng.choice(["forest", "linear"], rows),
            "label": pl.Series([classes[number] for number in place]),
            "country": pl.Series(rng.choice(["at", "de", None], rows).tolist(), dtype=pl.String),
            "w": rng.choice([0.0, 1.0, 2.5], rows),
            "unit": rng.integers(0, 60, rows),
            **{column: scores[:, number].round(1) for number, column in enumerate(columns.values())},
        }
    )
    return log, columns


def plain_decisions(
    log: pl.DataFrame, columns: dict[Any, str], factors: Iterable[float] | None = None
) -> list[Any]:
    """The class of the highest score, of equal ones the first, by a loop."""
    names, weights = list(columns), list(factors or [1.0] * len(columns))
    found = []
    for row in log.select(columns.values()).rows():
        moved = [score * weight if weight else -1 for score, weight in zip(row, weights, strict=True)]
        found.append(names[moved.index(max(moved))])
    return found


def plain_counts(rows: Iterable[tuple[Any, ...]], weights: Iterable[float] | None = None) -> Counter[Any]:
    """How often each tuple occurs, or the sum of its weights."""
    found: Counter[Any] = Counter()
    for row, weight in zip(rows, weights, strict=True) if weights is not None else ((row, 1) for row in rows):
        found[row] += weight
    return found
