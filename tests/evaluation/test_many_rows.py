"""More rows than 32 bits can count. Minutes: run with ``pytest -m slow``."""

import polars as pl
import pytest

import nci_frames as nf
from tests.logs import hard_links


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
