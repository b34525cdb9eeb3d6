"""What can be read once is counted once, or refused; memory is known before it is taken."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.memory import machine_memory
from nci_frames.counting import count as count_module
from nci_frames.counting.count import tally_scan
from nci_frames.counting.engine import batch
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.demo import write_synthetic_logs
from tests.cases import first_quick
from tests.forks import LOG
from tests.logs import once, read_anew
from tests.processes import in_python

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

    def rows() -> list[pl.DataFrame]:
        nonlocal passes
        passes += 1
        return [LOG[: 1000 + more * passes]]

    monkeypatch.setattr(count_module, "EXACT_ROWS", 100)
    changing, wish = read_anew(rows, LOG), nf.auto_thresholds(tolerance=1e-6)
    with pytest.raises(nf.SourceError, match="gives other rows when it is read again") as error:
        nf.count_confusion(nf.scan_predictions(changing, **COLUMNS), thresholds=wish)
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


@pytest.mark.parametrize("kind", first_quick(["frame", "file", "stream"]))
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


@pytest.mark.filterwarnings("ignore::nci_frames.InvalidRowsWarning")
@pytest.mark.parametrize("keys", first_quick([{"segments": ["country", "day"], "fold": "fold"}, {}]))
@pytest.mark.parametrize("weight", first_quick(["weight", None]))
@pytest.mark.parametrize("thresholds", [[0.25, 0.5], "exact"], ids=["grid", "exact"])
def test_a_wide_log_is_counted_as_the_long_one(keys: Any, weight: str | None, thresholds: Any) -> None:
    """Also its rows that are not valid: each is dropped for the first of its reasons."""
    rng, rows = np.random.default_rng(4), 3000
    frame = pl.DataFrame(
        {
            "label": rng.choice([0, 1, 2, None], rows, p=[0.6, 0.35, 0.02, 0.03]).tolist(),
            "country": rng.choice(["at", "de", None], rows).tolist(),
            "day": rng.integers(0, 9, rows),
            "fold": rng.integers(0, 3, rows).astype(str),
            "weight": rng.choice(
                [1.0, 2.5, -1.0, np.nan, None], rows, p=[0.5, 0.4, 0.05, 0.03, 0.02]
            ).tolist(),
            **{f"s{n}": rng.choice([0.1, 0.3, 0.7, np.nan, None], rows).tolist() for n in range(3)},
        },
        strict=False,
    ).cast({"label": pl.Int64})
    # A model without a valid row in a group has no counts there.
    frame = frame.with_columns(s2=pl.when(pl.col("day") > 4).then("s2"))
    scores = {f"m{n}": f"s{n}" for n in range(3)}
    rest = [name for name in frame.columns if name not in scores.values()]
    long = pl.concat(frame.select(*rest, model=pl.lit(m), score=s) for m, s in scores.items())
    options = {**keys, "weight": weight, "on_invalid": "drop"}
    scans = nf.scan_predictions(frame, scores=scores, **options), nf.scan_predictions(long, **options)
    found, expected = (tally_scan(scan_behind(scan), thresholds=thresholds) for scan in scans)
    assert_frame_equal(found.counts, expected.counts, check_exact=weight is None)
    assert (found.counted, found.dropped) == (expected.counted, expected.dropped)
    with pytest.raises(nf.InvalidRowsError, match="label is null"):
        nf.count_confusion(nf.scan_predictions(frame, scores=scores), thresholds=[0.5])


@pytest.mark.parametrize("thresholds", [nf.uniform_thresholds(1001), "exact"], ids=["grid", "exact"])
def test_memory_is_refused_before_it_is_taken(thresholds: Any) -> None:
    log = LOG.with_columns(user=pl.int_range(2000) // 2, score=pl.int_range(2000) / 2000)
    scan = nf.scan_predictions(log, segments=["country", "user"])
    with pytest.raises(nf.ParameterError, match="the limit is 1e-05 GB") as error:
        nf.count_confusion(scan, thresholds=thresholds, memory_limit=1e4)
    assert "raise memory_limit" in str(error.value)
    if thresholds != "exact":
        assert "x 1,004 thresholds x" in str(error.value)
        assert "'user' has" in str(error.value)
    counts = nf.count_confusion(scan, thresholds=thresholds, memory_limit=1e9, by="country")
    assert counts.height > 0


@pytest.mark.thorough
def test_too_many_groups_are_refused_while_they_are_met() -> None:
    # 100,000 groups at 65,535 thresholds would take some 500 GB.
    log = pl.select(
        model=pl.repeat("a", 100_000),
        label=pl.int_range(100_000) % 2,
        score=pl.int_range(100_000) / 1e5,
        user=pl.int_range(100_000),
    )
    with pytest.raises(nf.ParameterError, match=r"the counts take .* GB, and the limit is") as error:
        nf.count_confusion(log, thresholds=nf.uniform_thresholds(65_535))
    assert "'user' has" in str(error.value)
    assert machine_memory() > 1e8


@pytest.mark.parametrize(
    ("variable", "of_local", "of_remote"),
    [
        ("POLARS_ROW_GROUP_PREFETCH_SIZE", "1", None),
        ("POLARS_PARQUET_DECODE_TARGET_VALUES_PER_THREAD", "262144", "262144"),
    ],
)
def test_a_variable_that_was_set_meanwhile_is_kept(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, variable: str, of_local: str, of_remote: str | None
) -> None:
    monkeypatch.delenv(variable, raising=False)
    write_synthetic_logs(tmp_path, rows=1000)
    for local, value in ((True, of_local), (False, of_remote)):
        with batch.row_groups_ahead(1, local=local):
            assert os.environ.get(variable) == value
        assert variable not in os.environ
    with batch.row_groups_ahead(1, local=True):
        os.environ[variable] = "7"
    assert os.environ[variable] == "7"
    nf.count_confusion(nf.scan_predictions(tmp_path), thresholds=[0.5])
    assert os.environ[variable] == "7"


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, which Linux has")
def test_memory_does_not_grow_with_the_score_columns(tmp_path: Path) -> None:
    code = (
        "import sys, nci_frames as nf; "
        "count = int(sys.argv[2]); "
        "scores = {f'm{i}': f's{i}' for i in range(count)}; "
        "scan = nf.scan_predictions(sys.argv[1], scores=scores); "
        "nf.count_confusion(scan, thresholds=[0.5]); "
        # Not ru_maxrss, which begins with the memory of the process that started this one.
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    rng = np.random.default_rng(2)
    score = rng.random(100_000).astype(np.float32)
    wide = pl.DataFrame({"label": score > 0.9, **{f"s{place}": score for place in range(200)}})
    wide.write_parquet(tmp_path / "wide.parquet")
    peaks = []
    for columns in (20, 200):
        done = in_python(code, tmp_path / "wide.parquet", columns)
        peaks.append(int(done.stdout))
    # In one scan the larger took 1 GB more than the smaller.
    assert peaks[1] < peaks[0] + 500_000
