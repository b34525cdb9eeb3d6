"""Counts and rates by segment -> their sizes, why they differ, and whether projection holds."""

from collections.abc import Sequence
from typing import Any, cast

import polars as pl

from nci_frames.evaluation.metrics import f_beta
from nci_frames.evaluation.projection.decomposition import KeyValue, decompose_difference
from nci_frames.evaluation.significance.segment_order import segments_in_order
from nci_frames.evaluation.significance.shift import corrected_shifts, shift_tests
from nci_frames.questions.units import without_keys
from nci_frames.schemas import SHIFTS


def segment_sizes(rates: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Return the rows of each segment, summed over the models, the largest first.

    >>> rates = pl.DataFrame({
    ...     "model": ["a", "a", "b"], "day": ["1", "2", "2"],
    ...     "threshold": [0.1, 0.1, 0.5], "positives": [1, 2, 2], "negatives": [3, 4, 4],
    ... })
    >>> segment_sizes(rates, ["day"]).rows()
    [('2', 12), ('1', 4)]
    """
    once = rates.group_by("model", *segments).agg(pl.col("positives", "negatives").first())
    rows = once.group_by(segments).agg(rows=(pl.col("positives") + pl.col("negatives")).sum())
    order = ["rows", *segments]
    return rows.sort(order, descending=[True, *[False] * len(segments)], nulls_last=True)


def segment_differences(
    points: pl.DataFrame, sizes: pl.DataFrame, segments: Sequence[str], *, beta: float
) -> pl.DataFrame | None:
    """Split the difference of F-beta from the largest segment; None unless there is exactly one key."""
    if len(segments) != 1:
        return None
    (key,) = segments
    largest = cast("KeyValue | None", sizes[key].drop_nulls().first())
    metric = f_beta(beta=beta).alias(f"F{beta:g}")
    return decompose_difference(points, metric=metric, over=key, reference=largest)


def segment_order(
    counts: pl.DataFrame,
    points: pl.DataFrame | None,
    segments: Sequence[str],
    *,
    together: pl.DataFrame,
    units: str | None,
    by_unit: pl.DataFrame | None,
    **judged: Any,
) -> pl.DataFrame | None:
    """Rank the segments of the best model; None unless there are two, counted at the threshold.

    *together* are the counts of all segments together, *judged* what ``rank_segments`` is given besides.
    """
    if points is None or points["tp"].null_count() or points.select(segments).n_unique() < 2:
        return None
    return segments_in_order(
        counts,
        segments,
        together=together,
        units=units,
        by_unit=None if units is None else by_unit,
        **judged,
    )


def segment_shifts(
    counts: pl.DataFrame,
    segments: Sequence[str],
    *,
    units: str | None = None,
    together: pl.DataFrame | None = None,
) -> pl.DataFrame | None:
    """Test what projection assumes, key by key, with one correction; None where there is nothing to test.

    The columns are those of ``check_projection`` and ``key``, the key whose values were compared. *together*
    are the counts without any of the keys, if they are known.
    """
    tables = [
        shift_tests(
            without_keys(counts, [other for other in segments if other != name]),
            over=name,
            units=units,
            together=together,
        ).with_columns(pl.lit(name).alias("key"))
        for name in segments
        if counts[name].n_unique() > 1
    ]
    if not tables:
        return None
    tests = corrected_shifts(pl.concat(tables), level=0.95)
    return tests.select("model", "key", *SHIFTS.fixed[1:])
