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


#: How often each of three classes is decided as which.
RATES = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.02, 0.18, 0.8]])


def counts_of_rows(rows: Any, model: str = "m") -> pl.DataFrame:
    """Class counts of one model, from its rows of each class, by decision."""
    cells = [(model, a, b, int(n)) for a, of_class in enumerate(rows) for b, n in enumerate(of_class)]
    return pl.DataFrame(cells, schema=["model", "label", "decision", "rows"], orient="row")


def drawn_rows(rng: np.random.Generator, sizes: Sequence[int], rates: Any = RATES) -> Any:
    """Draw so many rows of each class, and how each is decided."""
    return np.stack([rng.multinomial(size, of_class) for size, of_class in zip(sizes, rates, strict=True)])


def counts_of_models(models: Iterable[str], classes: int = 3, seed: int = 0) -> pl.DataFrame:
    """Class counts of models that are good at other classes each."""
    rng, tables = np.random.default_rng(seed), []
    for model in models:
        rates = rng.dirichlet(np.ones(classes), classes) * 0.6 + 0.4 * np.eye(classes)
        rows = [rng.multinomial(rng.integers(20, 200), of_class) for of_class in rates]
        tables.append(counts_of_rows(rows, model))
    return pl.concat(tables)
