"""Labels of cells -> the error of the resulting value, and the width of its interval, by simulation.

A value that depends on few positives is not linear in them. Its linearised variance may be half of the true
one, and the best division of labels by that variance may be far from the best. The interval of ``bootstrap``
is wider than the error, since it must hold even if a heavy row that was not drawn is a positive.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats, Rows
from nci_frames.evaluation.labelling.goals import Cells, values
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.evaluation.resampling.point_metrics import unseen_shares

#: This number of samples gives the error to about 2 %. The fixed seed makes it reproducible.
_SAMPLES, _SEED = 2000, 0
#: Number of resampled logs; of simulated logs of random rows, and of resampled logs of each.
_RESAMPLED, _LOGS, _REPEATS = 1000, 40, 100
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


def planned_half_width(
    cells: Cells, labels: Rows, metric: str | pl.Expr, beta: float, level: float = 0.95
) -> float:
    """Return the half-width with these labels of each range, if the positives are as expected.

    Logs are resampled as strata are (``draw_smoothly``, ``with_unseen_rows``), at one threshold.
    """
    rng, size = np.random.default_rng(_SEED), (_RESAMPLED, len(labels))
    found = rng.gamma(labels * cells.positive, size=size)
    rest = rng.gamma(labels * (1 - cells.positive), size=size)
    rows, weight = np.tile(cells.rows, (_RESAMPLED, 1)), cells.rows / labels
    found *= rows / (found + rest)
    for flagged in (True, False):
        heaviest = np.where(cells.flagged[0] == flagged, weight, 0.0).argmax()
        more = weight[heaviest] * unseen_shares(rng, (2, _RESAMPLED))
        found[:, heaviest] += more[0]
        rows[:, heaviest] += more.sum(axis=0)
    resampled = values(cells, found, rows, metric, beta)
    lower, upper = np.nanquantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(upper - lower) / 2


def uniform_half_width(
    cells: Cells, labels: int, metric: str | pl.Expr, beta: float, level: float
) -> float | None:
    """Return the median half-width with labels of random rows; None if most logs have no interval."""
    rng, flagged = np.random.default_rng(_SEED), cells.flagged[0]
    drawn = rng.multinomial(labels, cells.rows / cells.rows.sum(), _LOGS)
    found = rng.binomial(drawn, cells.positive)
    counts = {
        cell: rows[:, side].sum(axis=1)
        for cell, rows, side in (
            ("tp", found, flagged),
            ("fp", drawn - found, flagged),
            ("fn", found, ~flagged),
            ("tn", drawn - found, ~flagged),
        )
    }
    logs = pl.DataFrame({"model": np.arange(_LOGS).astype(str), "threshold": np.zeros(_LOGS), **counts})
    told = bootstrap(logs, metric=metric, beta=(beta,), repeats=_REPEATS, level=level)
    width: float = told.select((pl.col("upper") - pl.col("lower")).fill_null(np.inf).median()).item()
    return width / 2 if np.isfinite(width) else None
