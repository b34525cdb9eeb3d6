"""Small segments are merged for a report."""

import polars as pl

import nci_frames as nf
from nci_frames.jobs.small_segments import small_segments, with_small_pooled
from nci_frames.options.report import SegmentOptions
from tests.logs import counts_at, random_log


def test_small_segments_become_one():
    log = random_log(600, seed=2).with_columns(
        country=pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("xx")).otherwise("country")
    )
    counts = nf.count_confusion(log, thresholds=[0.0, 0.5], by=["country", "fold"])
    positives = dict(
        log.group_by("country", "model")
        .agg(pl.col("label").sum())
        .group_by("country")
        .agg(pl.col("label").max())
        .iter_rows()
    )
    least = sorted(positives.values())[1]
    small = small_segments(counts, ["country"], SegmentOptions(min_positives=least))
    assert set(small.segments["country"]) == {name for name, number in positives.items() if number < least}
    pooled = with_small_pooled(counts, small)
    renamed = log.with_columns(
        country=pl.when(pl.col("country").eq_missing(small.segments["country"][0]))
        .then(pl.lit("other"))
        .otherwise("country")
    )
    wanted = nf.count_confusion(renamed, thresholds=[0.0, 0.5], by=["country", "fold"])
    columns = ["model", "country", "fold", "threshold", "tp", "fp", "fn", "tn"]
    assert pooled.select(columns).sort(columns).equals(wanted.select(columns).sort(columns))
    assert small_segments(counts, ["country"], SegmentOptions()).segments.is_empty()


def test_small_segments_do_not_become_a_segment_of_the_log():
    names = ["other", "at", "de", None]
    counts = counts_at([60, 50, 3, 4], 0, [60, 50, 3, 4], 90, model="a", country=names, threshold=0.5)
    traffic = pl.DataFrame({"country": ["de", "other (merged)"]})
    for also, name in ((None, "other (merged)"), (traffic, "other (merged) (merged)")):
        small = small_segments(counts, ["country"], SegmentOptions(min_positives=20), also=also)
        pooled = with_small_pooled(counts, small)
        assert dict(pooled.select("country", "tp").iter_rows()) == {"other": 60, "at": 50, name: 7}
    # What is merged need not be avoided.
    small = small_segments(counts, ["country"], SegmentOptions(min_positives=61))
    assert with_small_pooled(counts, small)["country"].to_list() == ["other"]
