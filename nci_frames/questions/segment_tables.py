"""Counts and rates by segment -> their sizes, and whether projection holds."""

from collections.abc import Sequence

import polars as pl

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
