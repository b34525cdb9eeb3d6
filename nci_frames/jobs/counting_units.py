"""Predictions -> the counts of a report, by buckets of units if the log has units."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.counting.count import Tally, tally_scan
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.logs.units import UnitSizes, unit_buckets, unit_sizes
from nci_frames.counting.thresholds.auto import EXACT_IN_PARTS
from nci_frames.counting.thresholds.grids import AutoThresholds, Thresholds
from nci_frames.questions.units import CountSegments
from nci_frames.schemas import BUCKET, REPEAT, WEIGHT, has_strata

#: Numbers of buckets (fewer with more groups and thresholds), and maximum number of counts. With fewer than
#: 91 buckets, an interval would state that the log may lack a common kind of units.
_BUCKETS, MOST_COUNTS = (256, 128, 96), 1 << 24
#: Minimum and maximum number of thresholds to count segments by buckets, besides those of the answer, and
#: maximum number of counts if more than the minimum are taken.
_LEAST_CUTS, _MOST_CUTS, _USUAL_COUNTS = 15, 63, 1 << 22
#: Maximum number of rows of a log to count by many segments and buckets at once.
MOST_BY_BUCKET = 1 << 22


class ReportCounts(NamedTuple):
    """The counts of a report."""

    #: Counts by all keys; in a small log with units, also by bucket.
    tally: Tally
    units: UnitSizes | None = None
    #: Counts by bucket for a large log with units; and a function that counts also by segments.
    by_unit: pl.DataFrame | None = None
    count_segments: CountSegments | None = None


def count_for_comparison(
    predictions: pl.LazyFrame, thresholds: Thresholds, segments: Sequence[str]
) -> ReportCounts:
    """Count a log for a report in one pass; a large log with units in two, and one more for segments."""
    scan = scan_behind(predictions)
    if "unit" not in predictions.collect_schema():
        return ReportCounts(tally_scan(scan, thresholds=thresholds, progress=True))
    sizes, rows = unit_sizes(predictions), math.inf if scan.rows is None else scan.rows
    bucketed = scan_behind(unit_buckets(predictions, buckets=_BUCKETS[0]))
    if rows <= EXACT_IN_PARTS:
        return ReportCounts(tally_scan(bucketed, thresholds=thresholds, progress=True), sizes)
    tally = tally_scan(scan, thresholds=thresholds, progress=True, in_parts=True)
    repeats = [REPEAT] if REPEAT in tally.counts.columns else []
    count_segments = _segment_counter(predictions, tally.counts, segments, repeats)
    if segments and count_segments is None and rows <= MOST_BY_BUCKET:
        # One row per score is smaller than one per segment, bucket and threshold.
        return ReportCounts(tally_scan(bucketed, thresholds=thresholds, progress=True), sizes)
    same: Thresholds = "exact"
    if thresholds != "exact" and (tally.reached or not isinstance(thresholds, AutoThresholds)):
        same = tally.counts["threshold"].unique().sort().to_list()
        _, buckets = affordable(tally.counts, (), repeats, len(same))
        bucketed = scan_behind(unit_buckets(predictions, buckets=buckets))
    by_unit = tally_scan(bucketed, thresholds=same, by=[*repeats, BUCKET], progress=True)
    return ReportCounts(tally, sizes, by_unit.counts, count_segments)


def _segment_counter(
    predictions: pl.LazyFrame, counts: pl.DataFrame, segments: Sequence[str], repeats: Sequence[str]
) -> CountSegments | None:
    """Return a function that counts by segments and buckets at some thresholds; None if too large."""
    least = _LEAST_CUTS + counts["model"].n_unique()
    by, buckets = affordable(counts, segments, repeats, least)
    if not {*segments} & {*by}:
        return None
    grid = counts["threshold"].unique().sort()
    cuts = min(_MOST_CUTS, max(_LEAST_CUTS, _USUAL_COUNTS // (_groups(counts, by) * buckets)))
    even = grid.gather(np.unique(np.linspace(0, len(grid) - 1, cuts).astype(np.int64)))
    scan = scan_behind(unit_buckets(predictions, buckets=buckets))
    return lambda at: tally_scan(scan, thresholds=sorted({*even, *at}), by=[*by, BUCKET]).counts


def affordable(
    counts: pl.DataFrame,
    segments: Sequence[str],
    repeats: Sequence[str],
    thresholds: int,
    allowed: Sequence[int] = _BUCKETS,
) -> tuple[list[str], int]:
    """Return the number of buckets, and the keys to count by: repeats, and all segments or none.

    Each weight adds groups.
    """
    for by in ([*segments, *repeats], list(repeats)):
        groups = _groups(counts, by)
        for buckets in allowed:
            if groups * buckets * thresholds <= MOST_COUNTS:
                return by, buckets
    return list(repeats), allowed[-1]


def _groups(counts: pl.DataFrame, keys: Sequence[str]) -> int:
    weighed = [WEIGHT] if has_strata(counts) else []
    return counts.select("model", *keys, *weighed).n_unique()
