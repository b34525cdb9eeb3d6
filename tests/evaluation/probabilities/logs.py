"""Logs of probabilities, and what their rows say, computed row by row."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import polars as pl

import nci_frames as nf
from tests.logs import rows_of_both_classes

#: Rows of one model, of both classes, with ties and with certain scores.
rows = rows_of_both_classes(st.integers(0, 20), 40)
#: The same, with scores anywhere.
anywhere = rows_of_both_classes(st.floats(0, 1, width=32), 30)
prevalences = st.sampled_from([0.0, 1e-9, 0.001, 0.3, 0.9, 1.0])


def log_of(some: Sequence[tuple[bool, float]], top: int = 1) -> pl.DataFrame:
    """Return a log of one model, with the scores divided by *top*."""
    label, score = zip(*some, strict=True)
    return pl.DataFrame({"model": "a", "label": list(label), "score": np.array(score, np.float64) / top})


def exact(log: pl.DataFrame) -> pl.DataFrame:
    """Count a log at every score."""
    return nf.count_confusion(log, thresholds="exact")


def probability_log(rows: int = 400, seed: int = 0, models: Sequence[str] = ("a", "b")) -> pl.DataFrame:
    """Models of which the later ones are worse, and none is calibrated."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.25
    parts = []
    for place, model in enumerate(models):
        logit = rng.normal(np.where(label, 1.0, -1.0), 1.2 + place / 2)
        parts.append(pl.DataFrame({"model": model, "label": label, "score": 1 / (1 + np.exp(-logit))}))
    return pl.concat(parts)


def row_weights(label: np.ndarray, eta: float) -> np.ndarray:
    """Return the weight of each row that makes the prevalence *eta*; they add up to 1."""
    return np.where(label, eta / label.sum(), (1 - eta) / (~label).sum())


def pooled_adjacent(log: pl.DataFrame, eta: Fraction) -> dict[float, Fraction]:
    """Return the isotonic regression of the labels at a prevalence, score by score, without rounding."""
    label, score = log["label"].to_numpy(), log["score"].to_numpy()
    of_positive, of_negative = eta / int(label.sum()), (1 - eta) / int((~label).sum())
    blocks: list[tuple[Fraction, Fraction, list[float]]] = []
    for value in np.unique(score).tolist():
        here = score == value
        true, false = int(label[here].sum()) * of_positive, int((~label)[here].sum()) * of_negative
        blocks.append((true, false, [value]))
        while len(blocks) > 1 and _share(blocks[-2]) >= _share(blocks[-1]):
            later, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + later[0], before[1] + later[1], before[2] + later[2]))
    return {value: _share(block) for block in blocks for value in block[2]}


def _share(block: tuple[Fraction, Fraction, list[float]]) -> Fraction:
    return block[0] / (block[0] + block[1])


def mean_loss(
    log: pl.DataFrame, eta: float, loss: Callable[[float, bool], float], score: Callable[[float], float]
) -> float:
    """Return the mean loss of all rows at a prevalence."""
    weights = row_weights(log["label"].to_numpy(), eta)
    return sum(
        weight * loss(score(value), label)
        for weight, value, label in zip(weights, log["score"], log["label"], strict=True)
        if weight
    )
