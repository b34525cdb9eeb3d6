"""Runs of rows with the same keys: where each group of a sorted frame begins."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["group_starts", "is_sorted"]

#: Rows whose keys are compared at a time, since comparing copies strings.
_KEYS_AT_A_TIME = 1 << 20


def group_starts(frame: pl.DataFrame, keys: list[str]) -> NDArray[np.int64]:
    """Return the first row of every run of rows with the same keys."""
    changed = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift()) for key in keys)
    found = []
    for begin in range(0, len(frame), _KEYS_AT_A_TIME):
        # Parts overlap by one row, so that no border is missed.
        before = max(begin - 1, 0)
        starts = frame[before : begin + _KEYS_AT_A_TIME].select(changed).to_series().to_numpy().copy()
        starts[0] = begin == 0
        found.append(np.flatnonzero(starts) + before)
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, np.int64)


def is_sorted(frame: pl.DataFrame, keys: list[str], first: NDArray[np.int64]) -> bool:
    """Return whether every group is one run of rows with ascending thresholds, as counting leaves them."""
    thresholds = frame["threshold"].to_numpy()
    ascending = np.append(True, thresholds[1:] > thresholds[:-1])[: len(frame)]
    ascending[first] = True
    return bool(ascending.all()) and bool(frame[first].select(keys).is_unique().all())
