"""Labels of ranges of scores -> how wide the interval is that ``bootstrap``, and so a report, gives of them.

It is wider than the error of the value, since it must hold also if a row of a heavy weight that nobody drew
is a positive. So labelled logs are simulated, and their intervals are those of ``bootstrap`` itself.
"""

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.labelling.allocation import Rows
from nci_frames.evaluation.labelling.goals import Cells
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.schemas import WEIGHT

#: Labelled logs, the same whenever they are asked for, and how often each is resampled.
_LOGS, _REPEATS, _SEED = 40, 100, 0


def planned_half_width(
    cells: Cells, labels: Rows, *, metric: str | pl.Expr, beta: float, level: float
) -> float | None:
    """Return the median half-width with so many labels of each range; None if most logs cannot tell one."""
    drawn = np.tile(labels, (_LOGS, 1))
    return _half_width(_counts(cells, drawn, cells.rows / labels), metric, beta, level)


def uniform_half_width(
    cells: Cells, labels: int, *, metric: str | pl.Expr, beta: float, level: float
) -> float | None:
    """Return that of so many labels of rows that are drawn from all alike."""
    every = cells.rows.sum()
    drawn = np.random.default_rng(_SEED).multinomial(labels, cells.rows / every, _LOGS)
    weight = np.full(len(cells.rows), every / labels)
    return _half_width(_counts(cells, drawn, weight), metric, beta, level)


def _counts(cells: Cells, drawn: Rows, weight: Floats) -> pl.DataFrame:
    """Return counts at every score of labelled logs, each a model; the scores of a range are its number.

    Those of the lowest range that is flagged are 0.
    """
    found = np.random.default_rng(_SEED).binomial(drawn, cells.positive)
    score = np.arange(len(cells.rows)) - cells.flagged[0].argmax()
    columns = {
        "model": np.arange(_LOGS).repeat(len(score)).astype(str),
        WEIGHT: np.tile(weight, _LOGS),
        "threshold": np.tile(score.astype(np.float64), _LOGS),
        "tp": found.ravel(),
        "fp": (drawn - found).ravel(),
    }
    rows = pl.DataFrame(columns).filter(pl.col("tp") + pl.col("fp") > 0)
    reached = pl.col("tp", "fp").cum_sum(reverse=True).over("model", WEIGHT, order_by="threshold")
    missed = pl.col("tp", "fp").sum().over("model", WEIGHT) - reached
    return rows.with_columns(
        reached, missed.name.replace("tp", "fn").name.replace("fp", "tn"), resolution=pl.lit("exact")
    )


def _half_width(counts: pl.DataFrame, metric: str | pl.Expr, beta: float, level: float) -> float | None:
    told = bootstrap(counts, metric=metric, beta=(beta,), threshold=0.0, repeats=_REPEATS, level=level)
    width: float = told.select((pl.col("upper") - pl.col("lower")).fill_null(np.inf).median()).item()
    return width / 2 if np.isfinite(width) else None
