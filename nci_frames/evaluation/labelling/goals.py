"""A metric, or the difference of two models in it -> its derivatives by the rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Flags, Floats
from nci_frames.evaluation.metrics import called_metric

#: Step of the derivatives, as a share of the smallest cell of the confusion matrix.
_STEP = 1e-3
#: Signs of the two models in their difference.
_SIGNS = (1, -1)


class Cells(NamedTuple):
    """Groups of similar rows: those in one range of scores, or flagged by the same models."""

    #: Number of rows of each cell.
    rows: Floats
    #: Expected share of positives of each cell.
    positive: Floats
    #: Whether a model flags the rows, of shape (models, cells).
    flagged: Flags


class Moves(NamedTuple):
    """The expected value, and its derivatives by the rows of each cell."""

    value: float
    #: Change by one positive more in each cell, at a fixed number of rows.
    positive: Floats
    #: Change by one row more in each cell.
    row: Floats


def moves(cells: Cells, metric: str | pl.Expr, beta: float) -> Moves:
    """Return the expected value of the cells, and its derivatives.

    The value is that of the only model, or the difference of the first and the second model. Half a row is
    added to each cell of the confusion matrix, so that no rate is 0 or 1.

    Raises
    ------
    ParameterError
        If the metric is an area, or undefined here.
    """
    value, of_positives = 0.0, 0.0
    by_positive, by_row = np.zeros(len(cells.rows)), np.zeros(len(cells.rows))
    every = cells.rows.sum() + 2
    for sign, flagged in zip(_SIGNS, cells.flagged, strict=False):
        point = _points(flagged, cells.rows * cells.positive, cells.rows)
        true, positives, alerts = point
        step = _STEP * min(true, positives - true, alerts - true, every - positives - alerts + true)
        points = np.vstack([point, point + step * np.eye(3), point - step * np.eye(3)])
        here = _metric(points, every, metric, beta)
        slope = (here[1:4] - here[4:]) / (2 * step)
        value += sign * float(here[0])
        by_positive += sign * slope[0] * flagged
        of_positives += sign * slope[1]
        by_row += sign * slope[2] * flagged
    if np.isnan(value):
        msg = "the metric is undefined at the rates that are expected"
        raise ParameterError(msg, found=f"{called_metric(metric).label} of {cells.rows.sum():,.0f} rows")
    return Moves(value, by_positive + of_positives, by_row)


class Logs(NamedTuple):
    """Some labelled logs of the same cells."""

    cells: Cells
    #: Number of positives in each cell, a line for each log.
    found: Floats
    #: Number of rows of each cell, in each log or in all of them.
    rows: Floats


def values(logs: Sequence[Logs], metric: str | pl.Expr, beta: float) -> list[Floats]:
    """Return the values of all logs, evaluated at once: a call takes as long as a thousand values."""
    every = [np.broadcast_to(some.rows.sum(axis=-1) + 2, len(some.found)) for some in logs]
    found_of_models = []
    for model, sign in zip(range(len(logs[0].cells.flagged)), _SIGNS, strict=False):
        points = [_points(some.cells.flagged[model], some.found, some.rows) for some in logs]
        found_of_models.append(sign * _metric(np.concatenate(points), np.concatenate(every), metric, beta))
    ends = np.cumsum([len(some.found) for some in logs])
    return np.split(np.sum(found_of_models, axis=0), ends[:-1])


def _points(flagged: Flags, found: Floats, rows: Floats) -> Floats:
    """Return true positives, positives and flagged rows."""
    sums = (found[..., flagged].sum(-1) + 0.5, found.sum(-1) + 1, rows[..., flagged].sum(-1) + 1)
    return np.stack(np.broadcast_arrays(*sums), axis=-1)


def _metric(points: Floats, every: Floats, metric: str | pl.Expr, beta: float) -> Floats:
    """Return the metric of each point."""
    tp, p, a = points.T
    return called_metric(metric).at(np.stack([tp / p, (a - tp) / (every - p)]), p / every, float(beta))
