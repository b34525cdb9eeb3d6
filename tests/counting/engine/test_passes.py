"""What can be read once is counted once, or refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting import count as count_module
from tests.forks import LOG
from tests.logs import once

COLUMNS: dict[str, Any] = {"fold": "fold", "segments": "country"}


@pytest.mark.parametrize("thresholds", [[-0.5, 0.0, 0.5], "exact", "auto"], ids=str)
def test_a_stream_is_counted_in_one_pass(thresholds: Any) -> None:
    expected = nf.count_confusion(nf.scan_predictions(LOG, **COLUMNS), thresholds=thresholds)
    scan = nf.scan_predictions(once(LOG), **COLUMNS)
    assert_frame_equal(nf.count_confusion(scan, thresholds=thresholds), expected)
    with pytest.raises(nf.SourceError, match="gives other rows when it is read again"):
        nf.count_confusion(scan, thresholds=thresholds)


@pytest.mark.parametrize("thresholds", [[0.5], "exact", "auto"], ids=str)
def test_a_stream_whose_labels_were_read_is_refused(thresholds: Any) -> None:
    log = LOG.with_columns(pl.col("label").cast(pl.Int64) + 1)
    scan = nf.scan_predictions(once(log), positive=2, **COLUMNS)
    with pytest.raises(nf.SourceError, match="0 rows after 2,000") as error:
        nf.count_confusion(scan, thresholds=thresholds)
    assert "frame.collect()" in str(error.value)


def test_a_long_stream_is_refused_where_it_needs_several_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_module, "EXACT_ROWS", 100)
    with pytest.raises(nf.SourceError, match="gives other rows when it is read again"):
        nf.count_confusion(nf.scan_predictions(once(LOG, 20), **COLUMNS))
    whole = nf.scan_predictions(LOG.lazy(), **COLUMNS)
    assert nf.count_confusion(whole, by=[])["tp"].max() == LOG.filter(model="forest")["label"].sum()


@pytest.mark.parametrize("more", [1, -1])
def test_passes_that_disagree_are_an_error(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    """A log that grows or shrinks while it is read: each pass gives one row more, or one less."""
    passes = 0

    def source(columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Iterator[pl.DataFrame]:
        nonlocal passes
        passes += 1
        frame = LOG[: 1000 + more * passes]
        mine = frame if columns is None else frame.select(columns)
        yield mine if predicate is None else mine.filter(predicate)

    monkeypatch.setattr(count_module, "EXACT_ROWS", 100)
    changing = register_io_source(source, schema=LOG.schema)
    with pytest.raises(nf.SourceError, match="gives other rows when it is read again") as error:
        nf.count_confusion(nf.scan_predictions(changing, **COLUMNS))
    assert passes > 1
    assert f"{1000 + more * passes:,} rows after" in str(error.value)


def test_readers_of_arrow_are_collected() -> None:
    reader = pa.RecordBatchReader.from_batches(LOG.to_arrow().schema, LOG.to_arrow().to_batches())
    expected = nf.count_confusion(nf.scan_predictions(LOG, **COLUMNS))
    assert_frame_equal(nf.count_confusion(nf.scan_predictions(reader, **COLUMNS)), expected)
    with pytest.raises(nf.SourceError, match="the log has no rows"):
        nf.count_confusion(nf.scan_predictions(reader, **COLUMNS))


@pytest.mark.parametrize("thresholds", [[0.5], "exact", "auto"], ids=str)
def test_a_lazy_log_without_a_row_is_an_error(thresholds: Any) -> None:
    for empty in (LOG.clear().lazy(), nf.scan_predictions(LOG, **COLUMNS).filter(pl.col("score") > 1e9)):
        with pytest.raises(nf.SourceError, match="the log has no rows"):
            nf.count_confusion(empty, thresholds=thresholds)


@pytest.mark.parametrize("kind", ["frame", "file", "stream"])
def test_many_score_columns_are_read_some_at_a_time(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(2)
    scores = {f"model {place:02}": f"s{place}" for place in range(40)}
    wide = pl.DataFrame({"label": rng.random(300) < 0.3, **{s: rng.random(300) for s in scores.values()}})
    wide.write_parquet(tmp_path / "wide.parquet")
    sources = {"frame": wide, "file": tmp_path / "wide.parquet", "stream": once(wide)}
    counts = nf.count_confusion(nf.scan_predictions(sources[kind], scores=scores), thresholds=[0.25, 0.5])
    long = pl.concat(
        wide.select("label", model=pl.lit(model), score=score) for model, score in scores.items()
    )
    assert_frame_equal(counts, nf.count_confusion(long, thresholds=[0.25, 0.5]))
