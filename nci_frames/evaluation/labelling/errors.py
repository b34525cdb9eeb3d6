"""Labels of cells -> the error of the resulting value, by simulation.

A value that depends on few positives is not linear in them. Its linearised variance may be half of the true
one, and the best division of labels by that variance may be far from the best.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.labelling.allocation import Rows
from nci_frames.evaluation.labelling.goals import Cells, values

#: This number of samples gives the error to about 2 %. The fixed seed makes it reproducible.
_SAMPLES, _SEED = 2000, 0
#: If the number of positives is only an estimate, a plan is judged with all of them and with an eighth, but
#: with at least one positive per 20 labels.
_DOUBT, _LABELS_EACH = 0.125, 20


Measure = Callable[[Cells, Rows, str | pl.Expr, float], float]


def doubtful(measure: Measure, cells: Cells, labels: Rows, metric: str | pl.Expr, beta: float) -> float:
    """Return the geometric mean of a measure with the expected positives and with fewer."""
    least = labels.sum() / _LABELS_EACH / (cells.rows @ cells.positive)
    shares = [np.minimum(max(part, least) * cells.positive, 1.0) for part in (1.0, _DOUBT)]
    found = [measure(replace(cells, positive=share), labels, metric, beta) for share in shares]
    return float(np.sqrt(np.prod(found)))


def simulated_error(cells: Cells, labels: Rows, metric: str | pl.Expr, beta: float) -> float:
    """Return the root mean squared error of the value with these labels of each cell."""
    rng = np.random.default_rng(_SEED)
    found = rng.binomial(labels, cells.positive, (_SAMPLES, len(labels))) * (cells.rows / labels)
    return _error(cells, found, cells.rows, metric, beta)


def uniform_error(cells: Cells, labels: int, metric: str | pl.Expr, beta: float) -> float:
    """Return the root mean squared error of the value with labels of a uniform sample."""
    rng = np.random.default_rng(_SEED)
    every = cells.rows.sum()
    rows = rng.multinomial(labels, cells.rows / every, _SAMPLES)
    found = rng.binomial(rows, cells.positive)
    return _error(cells, found * (every / labels), rows * (every / labels), metric, beta)


def _error(cells: Cells, found: Floats, rows: Floats, metric: str | pl.Expr, beta: float) -> float:
    truth = values(cells, (cells.rows * cells.positive)[None], cells.rows[None], metric, beta)
    return float(np.sqrt(np.nanmean((values(cells, found, rows, metric, beta) - truth) ** 2)))
