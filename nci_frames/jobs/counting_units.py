"""Predictions -> the counts of a report, by buckets of units where the log has units."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.counting.count import Tally, tally_scan
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.logs.units import UnitSizes, unit_buckets, unit_sizes
from nci_frames.counting.thresholds.auto import EXACT_ROWS
from nci_frames.counting.thresholds.grids import AutoThresholds, Thresholds
from nci_frames.schemas import BUCKET, REPEAT, WEIGHT, has_strata

#: Buckets of units, the fewer the more groups and thresholds there are, and how many counts they may give.
_BUCKETS, MOST_COUNTS = (256, 128, 64, 32), 1 << 24


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """The counts of a report."""

    #: By all keys; a small log that has units also by their buckets.
    tally: Tally
    #: By segments and buckets of units, for a large log that has units.
    by_unit: pl.DataFrame | None
    units: UnitSizes | None


def count_for_comparison(
    predictions: pl.LazyFrame, thresholds: Thresholds, segments: Sequence[str]
) -> ReportCounts:
    """Count a log for a report: in one pass, or for a large log with units in two."""

    def counted(frame: pl.LazyFrame, at: Thresholds, by: list[str] | None = None) -> Tally:
        return tally_scan(scan_behind(frame), thresholds=at, by=by, progress=True)

    if "unit" not in predictions.collect_schema():
        return ReportCounts(counted(predictions, thresholds), None, None)
    sizes = unit_sizes(predictions)
    rows = scan_behind(predictions).rows
    if rows is not None and rows <= EXACT_ROWS:
        bucketed = unit_buckets(predictions, buckets=_BUCKETS[0])
        return ReportCounts(counted(bucketed, thresholds), None, sizes)
    tally = counted(predictions, thresholds)
    grid = tally.counts["threshold"].unique().sort().to_list()
    repeats = [REPEAT] if REPEAT in tally.counts.columns else []
    by, buckets = affordable(tally.counts, segments, repeats, len(grid))
    chosen = isinstance(thresholds, AutoThresholds) and not tally.reached
    same: Thresholds = "exact" if thresholds == "exact" or chosen else grid
    by_unit = counted(unit_buckets(predictions, buckets=buckets), same, [*by, BUCKET])
    return ReportCounts(tally, by_unit.counts, sizes)


def affordable(
    counts: pl.DataFrame,
    segments: Sequence[str],
    repeats: Sequence[str],
    thresholds: int,
    allowed: Sequence[int] = _BUCKETS,
) -> tuple[list[str], int]:
    """Return the keys that are counted by buckets, repeats and all segments or none, and how many buckets.

    Each weight has its groups, too.
    """
    weighed = [WEIGHT] if has_strata(counts) else []
    for by in ([*segments, *repeats], list(repeats)):
        groups = counts.select("model", *by, *weighed).n_unique()
        for buckets in allowed:
            if groups * buckets * thresholds <= MOST_COUNTS:
                return by, buckets
    return list(repeats), allowed[-1]
