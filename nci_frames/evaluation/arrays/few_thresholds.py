"""Counts -> the same counts at a few thresholds of each group."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.counts.resolution import one_score
from nci_frames.schemas import COUNTS
from nci_frames.schemas.runs import in_runs, rows_of_runs, runs_together

Rows = NDArray[np.int64]

_CELLS = ("tp", "fp", "fn", "tn")

#: About so many rows are looked at at a time.
_ROWS_AT_A_TIME = 1 << 18


def at_thresholds(counts: pl.DataFrame, points: pl.DataFrame, units: str) -> pl.DataFrame:
    """Return the counts of each bucket at the thresholds of its group, which may be no score of the bucket.

    Parameters
    ----------
    counts
        Counts with the key *units*, at every score or on a grid that has the thresholds.
    points
        model, those of the other keys that they have, threshold.
    units
        The key of the buckets.
    """
    group = ["model", *(key for key in COUNTS.keys(counts.columns) if key != units)]
    cells = pl.col(_CELLS)
    on = [name for name in group if name in points.columns]
    wanted = points.select(*on, "threshold")
    if not counts.select(one_score(counts.columns)).to_series().all():
        # On a grid every bucket has every threshold.
        found = counts.join(wanted, on=[*on, "threshold"], how="semi", nulls_equal=True)
        return found.select(*group, units, "threshold", cells)
    counts, first = in_runs(counts, [*group, units])
    heads = counts[first].select(*group, units)
    groups = wanted.select(on).unique(maintain_order=True).with_row_index("__group")
    ends = np.append(first[1:], len(counts))
    threshold = counts["threshold"].to_numpy()
    bucket, asked, place = [], [], []
    members = heads.join(groups, on=on, how="left", nulls_equal=True, maintain_order="left")["__group"]
    for number, thresholds in enumerate(_of_each(wanted, groups, on)):
        of_group = np.flatnonzero((members == number).fill_null(value=False).to_numpy())
        below = _lower(threshold, first[of_group], ends[of_group], thresholds)
        place.append((first[of_group, None] + below).ravel())
        bucket.append(np.repeat(of_group, len(thresholds)))
        asked.append(np.tile(thresholds, len(of_group)))
    if not place:
        return counts.clear().select(*group, units, "threshold", cells)
    rows, run = np.concatenate(place), np.concatenate(bucket)
    # No score of the bucket reaches such a threshold.
    none = rows == ends[run]
    columns: dict[str, Rows] = {}
    lowest = counts[first]
    for hit, missed in (("tp", "fn"), ("fp", "tn")):
        reached = counts[hit].to_numpy()[np.where(none, first[run], rows)]
        columns[hit] = np.where(none, 0, reached)
        columns[missed] = (lowest[hit] + lowest[missed]).to_numpy()[run] - columns[hit]
    table = heads[run].with_columns(threshold=np.concatenate(asked), **columns)
    # The groups of the points may be in another order, or have several runs of buckets.
    return table[np.argsort(run, kind="stable")].select(*group, units, "threshold", cells)


def near_threshold(counts: pl.DataFrame, *thresholds: float) -> pl.DataFrame:
    """Return of each group of counts the lowest row, and those next to some thresholds on either side.

    They say what every row of the group says of the decisions at these thresholds, and of the group.
    """
    keys = ["model", *COUNTS.keys(counts.columns)]
    counts, first = in_runs(counts, keys)
    if counts.is_empty():
        return counts
    ends = np.append(first[1:], len(counts))
    rows = [first]
    for threshold in thresholds:
        # Of several chunks NumPy would make one, which takes more than a flag of each row.
        lower = (counts["threshold"] < threshold).to_numpy()
        below = np.concatenate(
            [
                np.add.reduceat(
                    lower[first[some.start] : ends[some.stop - 1]],
                    first[some] - first[some.start],
                    dtype=np.int64,
                )
                for some in runs_together(first, _ROWS_AT_A_TIME)
            ]
        )
        at = (first + below)[:, None] + np.array([-1, 0, 1])
        rows.append(at[(at >= first[:, None]) & (at < ends[:, None])])
    return counts[np.unique(np.concatenate(rows))]


def _of_each(wanted: pl.DataFrame, groups: pl.DataFrame, on: list[str]) -> Iterator[Floats]:
    """Yield the thresholds of each group, ascending."""
    numbered = wanted.join(groups, on=on, nulls_equal=True).sort("__group", "threshold")
    first = np.flatnonzero(np.diff(numbered["__group"].to_numpy(), prepend=-1))
    yield from np.split(numbered["threshold"].to_numpy(), first[1:])


def _lower(threshold: Floats, first: Rows, ends: Rows, asked: Floats) -> Rows:
    """Return how many thresholds of each run of rows are lower than each one that is asked for."""
    sizes = ends - first
    place = np.searchsorted(asked, threshold[rows_of_runs(first, sizes)], side="right")
    cell = np.repeat(np.arange(len(first)), sizes) * (len(asked) + 1) + place
    counted = np.bincount(cell, minlength=len(first) * (len(asked) + 1))
    return counted.reshape(len(first), -1)[:, :-1].cumsum(axis=1)
