"""Exact counts of many rows: some rows or groups at a time give what all give at once, in less memory."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.evaluation.arrays.histograms import each_histogram
from nci_frames.evaluation.rates import quotients
from nci_frames.schemas.runs import rows_where
from tests.logs import hard_links, random_log

#: Bytes of a row of counts: threshold, tp, fp, fn, tn.
ROW = 40


def distinct_scores(models: int, rows: int) -> pl.DataFrame:
    """Counts of models in two segments each, every row with a score of its own."""
    rng = np.random.default_rng(3)
    size = models * rows
    log = pl.DataFrame({
        "model": np.repeat([f"m{model:02d}" for model in range(models)], rows),
        "country": np.tile(["at", "de"], size // 2),
        "label": rng.random(size) < 0.05,
        "score": rng.random(size),
    })  # fmt: skip
    return nf.count_confusion(log, thresholds="exact")


def numpy_peak(function: Callable[[], object]) -> int:
    """Return the most bytes that NumPy and Python held at a time, besides what there was before."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_rates_are_computed_some_rows_at_a_time(monkeypatch):
    log = random_log(300)
    one_class = log.filter(~pl.col("label")).with_columns(model=pl.lit("no positives"))
    counts = nf.count_confusion(pl.concat([log, one_class]), thresholds="exact").rechunk()
    whole = nf.compute_rates(counts)
    assert whole["tpr"].null_count()
    monkeypatch.setattr(quotients, "_ROWS_AT_A_TIME", 7)
    assert_frame_equal(nf.compute_rates(counts), whole, check_exact=True)


@pytest.mark.thorough
def test_pooling_takes_little_memory_besides_its_result(monkeypatch):
    monkeypatch.setattr("nci_frames.counts.exact_sums._ROWS_AT_A_TIME", 2_000)
    counts = distinct_scores(16, 2_000)
    result = nf.pool_counts(counts, over="country").height * ROW
    assert numpy_peak(lambda: nf.pool_counts(counts, over="country")) < 1.6 * result


def test_histograms_are_made_one_at_a_time():
    counts = distinct_scores(16, 2_000)
    each = each_histogram(counts)
    next(each)
    assert numpy_peak(lambda: [len(histogram.positives) for histogram in each]) < counts.height * ROW / 4
    assert len([*each_histogram(counts)]) == 32
    in_chunks = each_histogram(pl.concat([counts[:7_000], counts[7_000:]], rechunk=False))
    for one, other in zip(each_histogram(counts), in_chunks, strict=True):
        assert one.group.equals(other.group)
        for name in ("thresholds", "positives", "negatives"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_rows_that_follow_each_other_are_found_as_others_are():
    counts = nf.count_confusion(random_log(90), thresholds="exact")
    for condition in (pl.col("model") == "forest", pl.col("tp") > 3, pl.lit(value=False)):
        assert_frame_equal(rows_where(counts, condition), counts.filter(condition))
    assert rows_where(counts, pl.col("tp") >= 0) is counts


@pytest.mark.slow
def test_more_rows_than_32_bits_can_count(tmp_path):
    file = tmp_path / "log.parquet"
    rows = 1 << 22
    frame = pl.select(
        model=pl.repeat("a", rows),
        label=pl.int_range(rows) % 4 == 0,
        score=(pl.int_range(rows) % 2).cast(pl.Float32),
    )
    frame.write_parquet(file, row_group_size=1 << 20)
    times = (1 << 32) // rows + 1
    counts = nf.count_confusion(nf.scan_predictions(hard_links(file, times)), thresholds=[0.5])
    # Every second score is 1, every fourth row a positive, and those have an even place: a score of 0.
    total = times * rows
    assert total > 1 << 32
    assert counts.select("tp", "fp", "fn", "tn").row(0) == (0, total // 2, total // 4, total // 4)
