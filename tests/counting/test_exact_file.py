"""Exact counts in a file: those of ``count_confusion``, whatever fits into memory, and never half a file."""

import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting import exact_file
from nci_frames.counting.engine.memory import Budget
from nci_frames.demo import write_synthetic_logs
from tests.logs import once, random_log
from tests.processes import in_python

LOG = random_log(2000, values=1000)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few rows fit into memory, and row groups are as small."""
    shrink(monkeypatch, 120)


def shrink(patch: pytest.MonkeyPatch, rows: int) -> None:
    patch.setattr(Budget, "most_rows", lambda _, __, *, weighted: rows)
    patch.setattr(exact_file, "ROWS_OF_A_GROUP", 40)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exact") / "exact.parquet"


SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, float("inf"), -float("inf")]), st.floats(-2, 2, width=32)
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "a", "a", "b", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from([True, False]),
        SCORES,
    ),
    min_size=1,
    max_size=90,
)
#: Rows of all kinds, but valid; some of them are spoiled afterwards.
COLUMNS = {"model": pl.String, "day": pl.Int64, "label": pl.Boolean, "score": pl.Float64}


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def recorded(function: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function()
    return result, [str(one.message) for one in caught]


@given(data=st.data(), rows=ROWS)
def test_the_file_has_the_counts_of_count_confusion(data: st.DataObject, rows: Any, target: Path) -> None:
    dtype = data.draw(st.sampled_from([pl.Float32, pl.Float64]))
    log = pl.DataFrame(rows * data.draw(st.integers(1, 3)), schema=COLUMNS, orient="row")
    log = log.cast({"score": dtype})
    spoiled = data.draw(st.sampled_from([0, 5, 1]))
    if spoiled:
        bad = pl.int_range(pl.len()) % spoiled == 0
        log = log.with_columns(score=pl.when(bad).then(pl.lit(float("nan"), dtype)).otherwise("score"))
    by = data.draw(st.sampled_from([None, [], ["day"]]))
    scan = nf.scan_predictions(log, segments=["day"], on_invalid="drop")
    expected, told = recorded(lambda: nf.count_confusion(scan, thresholds="exact", by=by))
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch, data.draw(st.sampled_from([1, 20, 60, 10**6])))
        _, told_of_file = recorded(lambda: nf.sink_exact_counts(scan, target, by=by))
    found = pl.read_parquet(target)
    assert_frame_equal(found, expected, check_exact=True)
    # -0.0 equals 0.0, but has other bits.
    assert found["threshold"].to_numpy().tobytes() == expected["threshold"].to_numpy().tobytes()
    assert told_of_file == told
    assert names(target.parent) == [target.name]


def test_what_can_be_read_only_once_must_fit(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = nf.scan_predictions(once(LOG), fold="fold", segments="country")
    nf.sink_exact_counts(scan, target)
    assert_frame_equal(pl.read_parquet(target), nf.count_confusion(LOG, thresholds="exact"))
    shrink(monkeypatch, 120)
    with pytest.raises(nf.SourceError, match="gives other rows when it is read again"):
        nf.sink_exact_counts(nf.scan_predictions(once(LOG), fold="fold", segments="country"), target)
    assert_frame_equal(pl.read_parquet(target), nf.count_confusion(LOG, thresholds="exact"))


def test_a_group_that_does_not_fit_is_refused_before_the_second_pass(target: Path) -> None:
    rows = LOG.group_by("model").len()["len"].max()
    with pytest.raises(nf.ParameterError, match="the counts take") as error:
        nf.sink_exact_counts(LOG, target, by=[], memory_limit=16 * rows - 1)
    assert "sink_exact_counts" not in str(error.value)
    nf.sink_exact_counts(LOG, target, by=["fold", "country"], memory_limit=16 * rows - 1)
    assert_frame_equal(pl.read_parquet(target), nf.count_confusion(LOG, thresholds="exact"))


def test_a_wide_log_has_the_counts_of_a_long_one(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = LOG.select("label", "fold", a="score", b=1 - pl.col("score"))
    scan = nf.scan_predictions(wide, scores={"a": "a", "b": "b"}, fold="fold")
    shrink(monkeypatch, 300)
    nf.sink_exact_counts(scan, target)
    assert_frame_equal(pl.read_parquet(target), nf.count_confusion(scan, thresholds="exact"))


@pytest.mark.thorough
@pytest.mark.usefixtures("tiny")
def test_a_reader_needs_only_some_row_groups_and_pages_have_checksums(target: Path) -> None:
    nf.sink_exact_counts(LOG, target)
    file = pq.ParquetFile(target, page_checksum_verification=True)
    models = [file.metadata.row_group(place).column(0).statistics for place in range(file.num_row_groups)]
    assert len(models) > 10
    assert sum(one.min != one.max for one in models) <= 2
    content = bytearray(target.read_bytes())
    thresholds = file.metadata.row_group(3).column(3)
    content[thresholds.data_page_offset + thresholds.total_compressed_size - 1] ^= 1
    target.write_bytes(content)
    with pytest.raises(OSError, match="CRC"):
        pq.ParquetFile(target, page_checksum_verification=True).read()


@pytest.mark.thorough
@pytest.mark.usefixtures("tiny")
def test_keys_of_every_type(target: Path) -> None:
    keys = {
        "integer": pl.Series([1, 2, None], dtype=pl.Int16),
        "unsigned": pl.Series([1, 2**64 - 1, None], dtype=pl.UInt64),
        "binary": pl.Series([b"a", b"", None]),
        "boolean": pl.Series([True, False, None]),
        "date": pl.Series([date(2026, 1, 2), date(2025, 1, 2), None]),
        "moment": pl.Series([datetime(2026, 1, 2, tzinfo=UTC), datetime(1969, 1, 2, tzinfo=UTC), None]),
        "time": pl.Series([time(1), time(2), None]),
        "duration": pl.Series([timedelta(1), timedelta(2), None]),
        "enum": pl.Series(["z", "a", None], dtype=pl.Enum(["z", "a"])),
        "category": pl.Series(["z", "a", None], dtype=pl.Categorical),
        "nothing": pl.Series([None, None, None]),
        "na\0me": pl.Series(["x", "\0", None]),
    }
    rows = np.random.default_rng(0).integers(0, 3, (len(keys), 240))
    drawn = {name: values.gather(mine) for (name, values), mine in zip(keys.items(), rows, strict=True)}
    log = LOG.head(240).select("model", "label", "score", **drawn)
    for name in keys:
        expected = nf.count_confusion(log, thresholds="exact", by=name)
        nf.sink_exact_counts(log, target, by=name)
        assert_frame_equal(pl.read_parquet(target), expected)
    with pytest.warns(nf.NearlyUniqueKeyWarning):
        nf.sink_exact_counts(log.with_columns(row=pl.int_range(240)), target, by="row")


def test_a_log_without_rows(target: Path) -> None:
    invalid = LOG.with_columns(score=pl.lit(None, pl.Float64))
    scan = nf.scan_predictions(invalid, fold="fold", segments="country", on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning):
        nf.sink_exact_counts(scan, target)
    with pytest.warns(nf.InvalidRowsWarning):
        assert_frame_equal(pl.read_parquet(target), nf.count_confusion(scan, thresholds="exact"))
    with pytest.raises(nf.SourceError, match="the log has no rows"):
        nf.sink_exact_counts(LOG.clear().lazy(), target)


def stopped(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.thorough
@pytest.mark.usefixtures("tiny")
def test_an_interrupt_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new" / "exact.parquet"
    nf.sink_exact_counts(LOG, file)
    before = file.read_bytes()
    monkeypatch.setattr("nci_frames.counting.out_of_memory._rows_of", stopped)
    with pytest.raises(KeyboardInterrupt):
        nf.sink_exact_counts(LOG.head(500), file)
    assert file.read_bytes() == before
    assert names(file.parent) == ["exact.parquet"]


@pytest.mark.thorough
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "exact.parquet"
    file.write_text("old")
    # Python would keep bytecode that is cut off at the limit, for every process after this one.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(nf.OutputError, match="the output cannot be written") as error:
            nf.sink_exact_counts(LOG, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(file) in str(error.value)
    assert file.read_text() == "old"
    assert names(tmp_path) == ["exact.parquet"]


KILLED = """
import os, signal, sys
from pathlib import Path
import pytest
from tests.counting.test_exact_file import LOG, shrink
import nci_frames as nf
from nci_frames.counting import out_of_memory
done, left = out_of_memory._rows_of, 3
def killed(*given):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done(*given)
out_of_memory._rows_of = killed
shrink(pytest.MonkeyPatch(), 120)
nf.sink_exact_counts(LOG, Path(sys.argv[1]))
"""


@pytest.mark.thorough
def test_a_kill_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "exact.parquet"
    file.write_text("old")
    assert in_python(KILLED, file).returncode == -signal.SIGKILL
    assert file.read_text() == "old"
    # What was begun is hidden.
    assert [name for name in names(tmp_path) if not name.startswith(".")] == ["exact.parquet"]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    LOG.write_parquet(tmp_path / "log.parquet")
    yield tmp_path / "log.parquet"
    assert_frame_equal(pl.read_parquet(tmp_path / "log.parquet"), LOG)


@pytest.mark.parametrize("name", ["log.parquet", "link.parquet", "symbolic.parquet", "new/../log.parquet"])
def test_a_file_of_the_log_is_no_target(files: Path, name: str) -> None:
    (files.parent / "link.parquet").hardlink_to(files)
    (files.parent / "symbolic.parquet").symlink_to(files)
    (files.parent / "new").mkdir()
    scan = nf.scan_predictions(files, fold="fold", segments="country")
    with pytest.raises(nf.ParameterError, match="the output would replace a file of the log"):
        nf.sink_exact_counts(scan, files.parent / name)
    nf.sink_exact_counts(scan, files.parent / "exact.parquet")
    expected = nf.count_confusion(scan, thresholds="exact")
    assert_frame_equal(pl.read_parquet(files.parent / "exact.parquet"), expected)


def test_a_target_that_cannot_be_written_is_known_before_reading(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.parquet").mkdir()
    stream = once(LOG)
    for name, error, told in (
        ("file/exact.parquet", nf.OutputError, "the output cannot be written"),
        ("folder.parquet", nf.ParameterError, "the path of a file must be a file"),
        ("exact.csv", nf.ParameterError, "must end in one of .parquet"),
    ):
        with pytest.raises(error, match=told):
            nf.sink_exact_counts(stream, tmp_path / name)
    nf.sink_exact_counts(stream, tmp_path / "exact.parquet")
    assert len(pl.read_parquet(tmp_path / "exact.parquet")) > 0


MEASURED = """
import sys
from pathlib import Path
import nci_frames as nf
count = nf.sink_exact_counts
# Not of this process alone would be ru_maxrss, which begins with the memory of the one that started it.
peak = lambda: 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
scan = nf.scan_predictions(sys.argv[1], fold="fold", segments="segment")
count(scan, sys.argv[2], by=[], memory_limit=1.5e8)
print(peak() - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of the memory is not known")
def test_memory_is_that_of_the_groups_that_are_counted_together(tmp_path: Path) -> None:
    write_synthetic_logs(tmp_path / "log", rows=12_000_000)
    target = tmp_path / "exact.parquet"
    done = in_python(MEASURED, tmp_path / "log", target, POLARS_MAX_THREADS="2")
    # All counts in memory take 770 to 780 MB here, in parts 430 to 470.
    assert pl.scan_parquet(target).select(pl.len()).collect().item() > 11_500_000
    assert int(done.stdout) < 6e8
