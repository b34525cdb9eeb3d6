"""Counts -> the same counts at a few thresholds of each group."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from nci_frames.counts.resolution import every_row_exact, in_precision_of
from nci_frames.schemas import CELLS, COUNTS, NEGATIVES, POSITIVES, in_runs


def at_thresholds(counts: pl.DataFrame, points: pl.DataFrame, *units: str) -> pl.DataFrame:
    """Return the counts of each bucket at given thresholds of its group.

    Parameters
    ----------
    counts
        Counts with the keys *units*, at every score or on a grid that has the thresholds.
    points
        model, any of the other keys, threshold. A threshold need not be a score of the bucket.
    units
        Keys of the buckets, such as units or weights.
    """
    group = ["model", *(key for key in COUNTS.keys(counts.columns) if key not in units)]
    cells = pl.col(CELLS)
    on = [name for name in group if name in points.columns]
    wanted = points.select(*on, "threshold")
    if not every_row_exact(counts):
        # On a grid every bucket has every threshold.
        found = counts.join(wanted, on=[*on, "threshold"], how="semi", nulls_equal=True)
        return found.select(*group, *units, "threshold", cells)
    counts, first = in_runs(counts, [*group, *units])
    size = np.diff(first, append=len(counts))
    heads = counts[first].select(*group, *units, __positives=POSITIVES, __negatives=NEGATIVES)
    heads = heads.with_row_index("__run")
    run = np.repeat(np.arange(len(size), dtype=np.uint32), size)
    reached = counts.select("tp", "fp", __at="threshold", __run=pl.Series(run))
    scores = counts["threshold"].to_numpy()
    decided = wanted.with_columns(__at=pl.Series(in_precision_of(scores, wanted["threshold"].to_numpy())))
    return (
        heads.join(decided.sort("threshold"), on=on, nulls_equal=True, maintain_order="left_right")
        .join_asof(reached, on="__at", by="__run", strategy="forward", check_sortedness=False)
        # Null means that no score of the bucket reaches the threshold.
        .with_columns(pl.col("tp", "fp").fill_null(0))
        .with_columns(fn=pl.col("__positives") - pl.col("tp"), tn=pl.col("__negatives") - pl.col("fp"))
        .select(*group, *units, "threshold", cells)
    )


def near_threshold(counts: pl.DataFrame, *thresholds: float | Mapping[str, float]) -> pl.DataFrame:
    """Return the lowest row of each group of counts, and the rows next to *thresholds* on either side.

    They determine the decisions at these thresholds and the size of the group, as all rows do. A mapping has
    the threshold of each model.
    """
    counts, first = in_runs(counts, ["model", *COUNTS.keys(counts.columns)])
    if counts.is_empty():
        return counts
    ends = np.append(first[1:], len(counts))
    rows = [first]
    for threshold in thresholds:
        wanted: Any = threshold
        if isinstance(threshold, Mapping):
            of_each = [threshold.get(model, np.nan) for model in counts["model"][first]]
            wanted = pl.Series(np.repeat(of_each, ends - first))
        # Compare in Polars: NumPy would first copy the chunks of the column into one array.
        lower = (counts["threshold"] < wanted).cum_sum().to_numpy()
        below = np.diff(lower[ends - 1].astype(np.int64), prepend=0)
        at = (first + below)[:, None] + np.array([-1, 0, 1])
        rows.append(at[(at >= first[:, None]) & (at < ends[:, None])])
    return counts[np.unique(np.concatenate(rows))]
