"""Labels of ranges of scores -> the expected width of the interval of ``bootstrap``.

It is wider than the error of the value, since it must hold even if a heavy row that was not drawn is a
positive.
"""

import numpy as np
import polars as pl

from nci_frames.evaluation.labelling.allocation import Rows
from nci_frames.evaluation.labelling.goals import Cells, values
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.evaluation.resampling.point_metrics import unseen_shares

#: Number of resampled logs, and the fixed seed.
_RESAMPLED, _SEED = 1000, 0
#: Number of simulated logs of random rows, and of resampled logs of each.
_LOGS, _REPEATS = 40, 100


def planned_half_width(
    cells: Cells, labels: Rows, metric: str | pl.Expr, beta: float, level: float = 0.95
) -> float:
    """Return the half-width with these labels of each range, if the positives are as expected.

    Logs are resampled as strata are (``draw_smoothly``, ``UnseenRows``), at one threshold.
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
