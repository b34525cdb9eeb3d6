"""Counts by buckets of units -> the same counts at a few thresholds of each group."""

import polars as pl

from nci_frames.counts.resolution import one_score
from nci_frames.schemas import COUNTS

__all__ = ["at_thresholds"]

_CELLS = ("tp", "fp", "fn", "tn")


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
    numbered = counts.with_columns(__bucket=pl.struct(*group, units).rank("dense")).select(
        *group, units, "__bucket", "threshold", cells
    )
    totals = numbered.group_by(*group, units, "__bucket").agg(
        positives=(pl.col("tp") + pl.col("fn")).first(), negatives=(pl.col("fp") + pl.col("tn")).first()
    )
    asked = totals.join(wanted, on=on, nulls_equal=True)
    found = asked.sort("threshold").join_asof(
        numbered.select("__bucket", "threshold", "tp", "fp").sort("threshold"),
        on="threshold",
        by="__bucket",
        strategy="forward",
        check_sortedness=False,
    )
    # No score of the bucket reaches such a threshold.
    hits = found.with_columns(pl.col("tp", "fp").fill_null(0))
    return hits.select(
        *group,
        units,
        "threshold",
        "tp",
        "fp",
        fn=pl.col("positives") - pl.col("tp"),
        tn=pl.col("negatives") - pl.col("fp"),
    ).sort(*group, units, "threshold")
