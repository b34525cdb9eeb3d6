"""Thresholds between which lie equal numbers of rows, found by counting in bounded memory."""

import functools

import numpy as np

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.thresholds.refining import ModelCounts, refine_scan
from nci_frames.schemas.checked import checked

_MOST = 8_191


@checked
def quantile_thresholds(predictions: Predictions, /, n: int, *, progress: bool = False) -> list[float]:
    """Return thresholds that cut the rows of a log, all models together, into *n* parts of nearly one size.

    Parameters
    ----------
    predictions
        What ``scan_predictions`` returned, or a frame or Arrow table with the columns of predictions.
    n
        Number of parts, 2 to 8,191.
    progress
        Whether to show progress, if standard error is a terminal.

    Returns
    -------
    Ascending thresholds, the first of which every finite score reaches. The share of rows at or above the
    j-th of them differs from 1 - j/n by at most 1/(4n), unless rows are tied there: rows with equal scores
    are never split, and then there are fewer thresholds than *n*.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan was not told to drop such rows.
    ParameterError
        If *n* is outside its range.
    SchemaError
        If *predictions* lacks a column.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> nf.quantile_thresholds(log, 2)
    [0.1, 0.4]
    """
    if not 2 <= n <= _MOST:
        raise ParameterError.out_of_range("n", n, f"within 2 to {_MOST:,}")
    too_many = functools.partial(_too_many, n=n)
    counts = refine_scan(scan_behind(predictions), too_many, 1 / (4 * n), progress=progress)
    rows = (counts.positives + counts.negatives).sum(axis=0)
    below = np.cumsum(rows)[:-1]
    below = below[below < rows.sum()]  # a threshold that no row reaches splits nothing
    if not len(below):
        return []
    wanted = np.arange(n) / n * rows.sum()
    after = np.clip(np.searchsorted(below, wanted), 1, max(len(below) - 1, 1))
    before_is_nearer = wanted - below[after - 1] <= below[np.minimum(after, len(below) - 1)] - wanted
    nearest = np.where(before_is_nearer, after - 1, np.minimum(after, len(below) - 1))
    # Of thresholds that split rows equally, the highest, which is a score if there are few scores.
    highest = np.searchsorted(below, below[nearest], side="right") - 1
    return [float(threshold) for threshold in counts.grid[np.unique(highest)]]


def _too_many(counts: ModelCounts, *, n: int) -> Floats:
    """Return the share of rows of the bins that hold more than a quarter of a part and can be split."""
    rows: Floats = (counts.positives + counts.negatives).sum(axis=0)
    shares = rows / max(float(rows.sum()), 1.0)
    return np.where((shares > 1 / (4 * n)) & ~counts.tied, shares, 0.0)[np.newaxis]
