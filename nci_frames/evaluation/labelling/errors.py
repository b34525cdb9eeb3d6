"""Labels of cells -> the error of the value that they will give, by simulated samples.

A value that depends on few positives is no linear function of them, so that its linearised variance may be
half of the true one, and a division of labels that is the best by it far from the best.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.labelling.allocation import Rows
from nci_frames.evaluation.labelling.goals import Cells, values

#: The error is known to about 2 % by so many samples. They are the same whenever they are asked for.
_SAMPLES, _SEED = 2000, 0
#: Where the number of positives is only estimated, a plan is judged by as many, and by an eighth of them; but
#: never by fewer than one for so many labels.
_DOUBT, _LABELS_EACH = 0.125, 20


Measure = Callable[[Cells, Rows, str | pl.Expr, float], float]


def doubtful(measure: Measure, cells: Cells, labels: Rows, metric: str | pl.Expr, beta: float) -> float:
    """Return the geometric mean of a measure with as many positives as expected, and with fewer."""
    least = labels.sum() / _LABELS_EACH / (cells.rows @ cells.positive)
    shares = [np.minimum(max(part, least) * cells.positive, 1.0) for part in (1.0, _DOUBT)]
    found = [measure(replace(cells, positive=share), labels, metric, beta) for share in shares]
    return float(np.sqrt(np.prod(found)))


def simulated_error(cells: Cells, labels: Rows, metric: str | pl.Expr, beta: float) -> float:
    """Return the root mean squared error of a value with so many labels of each cell."""
    rng = np.random.default_rng(_SEED)
    found = rng.binomial(labels, cells.positive, (_SAMPLES, len(labels))) * (cells.rows / labels)
    return _error(cells, found, cells.rows, metric, beta)


def uniform_error(cells: Cells, labels: int, metric: str | pl.Expr, beta: float) -> float:
    """Return that of so many labels of rows that are drawn from all alike."""
    rng = np.random.default_rng(_SEED)
    every = cells.rows.sum()
    rows = rng.multinomial(labels, cells.rows / every, _SAMPLES)
    found = rng.binomial(rows, cells.positive)
    return _error(cells, found * (every / labels), rows * (every / labels), metric, beta)


def _error(cells: Cells, found: Floats, rows: Floats, metric: str | pl.Expr, beta: float) -> float:
    truth = values(cells, (cells.rows * cells.positive)[None], cells.rows[None], metric, beta)
    return float(np.sqrt(np.nanmean((values(cells, found, rows, metric, beta) - truth) ** 2)))
