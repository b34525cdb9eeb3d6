"""The ledger: what is read from it equals, bit for bit, a count of all its files at once."""

import contextlib
import io
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.jobs.ledger.settings import CountingSettings
from tests.cases import first_quick
from tests.logs import random_log, small_logs
from tests.small_jobs import write_log, write_logs

GRID = [-1.0, 0.1, 0.3, 0.5, 0.7, float("inf")]
COLUMNS = {"fold": "fold", "segments": "country"}


def recount(paths, thresholds, **columns):
    return nf.count_confusion(nf.scan_predictions([*paths], **columns), thresholds=thresholds)


@pytest.mark.long
@pytest.mark.parametrize("thresholds", ["exact", GRID])
@settings(max_examples=8)
@given(logs=st.lists(small_logs(), min_size=1, max_size=4), dtype=st.sampled_from([pl.Float32, pl.Float64]))
def test_counts_are_bit_for_bit_those_of_a_recount(tmp_path_factory, thresholds, logs, dtype):
    folder = tmp_path_factory.mktemp("ledger")
    ledger = nf.CountsLedger(folder / "ledger")
    columns = {"segments": ["segment", "day"]}
    paths = []
    for place, log in enumerate(logs):
        # A column of its own makes every content another.
        rows = log.with_columns(pl.col("score").cast(dtype), serial=pl.lit(place))
        paths.append(write_log(folder / f"{place}.parquet", rows))
        ledger.append(paths[-1], thresholds=thresholds, **columns)
    expected = recount(paths, thresholds, **columns)
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    by_segment = nf.count_confusion(
        nf.scan_predictions(paths, **columns), thresholds=thresholds, by="segment"
    )
    assert_frame_equal(ledger.read(by="segment"), by_segment, check_exact=True)
    ledger.compact()
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    assert ledger.verify(files=True).is_empty()


def test_a_file_of_n_rows_takes_at_most_n_increments(ledger, tmp_path):
    path = write_log(tmp_path / "a.parquet", random_log(50))
    ledger.append(path, thresholds=np.linspace(-5, 5, 1001), **COLUMNS)
    table = pl.scan_delta(ledger.uri).filter(pl.col("ledger_part") == "counts").collect()
    assert 0 < len(table) <= 50
    assert table.select("positives", "negatives").sum_horizontal().sum() == 50


def test_files_that_are_skipped_are_named(ledger, tmp_path):
    write_log(tmp_path / "logs/a.parquet", random_log(100))
    skipped = write_log(tmp_path / "logs/_b.parquet", random_log(50, seed=1))
    with pytest.warns(nf.SkippedFilesWarning) as caught:
        assert len(ledger.append(tmp_path / "logs")) == 1
    assert [(Path(warning.filename).name, str(warning.message)) for warning in caught] == [
        (Path(__file__).name, f"1 file or folder of {str(tmp_path / 'logs')!r} was skipped: {str(skipped)!r}")
    ]
    assert ledger.append(skipped)["event"].to_list() == ["counted"]


def test_equal_content_under_other_keys_of_the_path_is_another_source(ledger, tmp_path):
    log = random_log(60).drop("country")
    paths = [write_log(tmp_path / f"logs/country={country}/a.parquet", log) for country in ("at", "de")]
    found = ledger.append(tmp_path / "logs", segments="country")
    assert found["event"].to_list() == ["counted", "counted"]
    assert found["source"].n_unique() == 2
    assert_frame_equal(ledger.read(), recount(paths, "exact", segments="country"), check_exact=True)


@pytest.mark.parametrize("ledger", ["", pytest.param("file://", marks=pytest.mark.thorough)], indirect=True)
def test_changed_content_is_reported_kept_or_recounted(ledger, tmp_path):
    path = write_log(tmp_path / "a.parquet", random_log(100, seed=1))
    other = write_log(tmp_path / "b.parquet", random_log(100, seed=2))
    ledger.append([path, other], run="monday")
    old = ledger.read()
    write_log(tmp_path / "a.parquet", random_log(120, seed=3))
    with pytest.raises(nf.SourceError, match=r"(?s)another\s+content.*a\.parquet") as error:
        ledger.append([path, other])
    assert error.value.exit_code == 3
    assert ledger.append(path, on_changed="keep")["event"].to_list() == ["changed"]
    assert_frame_equal(ledger.read(), old)
    assert ledger.append(path, on_changed="recount", run="tuesday")["event"].to_list() == ["recounted"]
    assert_frame_equal(ledger.read(), recount([path, other], "exact"), check_exact=True)
    assert ledger.sources()["active"].to_list() == [False, True, True]
    # What was true on Monday can still be read, until the ledger is compacted.
    assert_frame_equal(ledger.read(as_of="monday"), old)
    ledger.compact()
    assert_frame_equal(ledger.read(), recount([path, other], "exact"), check_exact=True)
    with pytest.raises(nf.LedgerError, match=r"(?s)was compacted since.*a\.parquet"):
        ledger.read(as_of="monday")
    # The older content comes back: it is counted again, in place of the newer.
    write_log(tmp_path / "a.parquet", random_log(100, seed=1))
    ledger.append(path, on_changed="recount")
    assert_frame_equal(ledger.read(), old)
    assert ledger.verify().is_empty()


@pytest.mark.parametrize("sources", first_quick([2, 1]))
def test_what_is_compact_already_stays(ledger, tmp_path, sources):
    paths = write_logs(tmp_path, sources)
    first = ledger.append(paths)["source"][0]
    ledger.retire(first)
    assert ledger.compact() > 0
    kept = ledger.read()
    assert ledger.compact() == 0
    assert_frame_equal(ledger.read(), kept)
    # The rows of the source are in a file of their own again, and in no other.
    ledger.append(paths)
    assert ledger.compact() > 0
    assert_frame_equal(ledger.read(), recount(paths, "exact"), check_exact=True)
    assert ledger.compact() == 0
    assert ledger.verify(files=True).is_empty()


@pytest.mark.thorough
@pytest.mark.parametrize("on_changed", ["raise", "keep", "recount"])
def test_rotated_logs_are_each_counted_once(ledger, tmp_path, on_changed):
    """Each night ``log`` becomes ``log.1``: what was counted moved, and what has its place is new."""
    nights = [random_log(40, seed=seed) for seed in range(3)]
    for night in range(3):
        paths = [write_log(tmp_path / f"logs/{night - n}.parquet", nights[n]) for n in range(night + 1)]
        appended = ledger.append(tmp_path / "logs", thresholds=GRID, on_changed=on_changed)
        assert sorted(appended["event"]) == ["counted", *["known"] * night]
        assert_frame_equal(ledger.read(), recount(paths, GRID), check_exact=True)


def test_a_file_that_moved_is_corrected_at_its_new_path(ledger, tmp_path):
    """Else its rows would count twice: as they were, and as they were corrected."""
    old, new = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_log(old, random_log(40, seed=1))
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    windows = [(begin + timedelta(days=day), begin + timedelta(days=day + 1)) for day in range(2)]
    ledger.append(old, window=windows[0], run="monday")
    counts = ledger.read()
    old.rename(new)
    moved = ledger.append(new, window=windows[1], run="tuesday")
    assert moved.select("event", "warning").rows() == [("known", f"counted from {old}")]
    assert ledger.sources().select("path", "window_start").rows() == [(str(new), windows[1][0])]
    for state in (ledger.read(), ledger.read(window=windows[1]), ledger.read(as_of="monday")):
        assert_frame_equal(state, counts)
    assert ledger.append(new)["warning"].to_list() == [None]
    write_log(new, random_log(50, seed=2))
    with pytest.raises(nf.SourceError, match="another content"):
        ledger.append(new)
    ledger.append(new, on_changed="recount")
    assert_frame_equal(ledger.read(), recount([new], "exact"), check_exact=True)
    ledger.compact()
    assert ledger.verify(files=True).is_empty()


def test_a_file_is_corrected_by_any_link_to_its_folder(ledger, tmp_path):
    path = write_log(tmp_path / "logs/a.parquet", random_log(40, seed=1))
    ledger.append(path)
    (tmp_path / "link").symlink_to(path.parent)
    write_log(path, random_log(50, seed=2))
    with pytest.raises(nf.SourceError, match="another content"):
        ledger.append(tmp_path / "link")
    assert ledger.append(tmp_path / "link", on_changed="recount")["event"].to_list() == ["recounted"]
    assert_frame_equal(ledger.read(), recount([path], "exact"), check_exact=True)


def test_a_file_that_becomes_the_copy_of_another_is_changed(ledger, tmp_path):
    paths = write_logs(tmp_path, 2)
    ledger.append(paths, thresholds=GRID)
    old = ledger.read()
    shutil.copy(paths[0], paths[1])
    with pytest.raises(nf.SourceError, match=r"(?s)another content.*1\.parquet"):
        ledger.append(paths, thresholds=GRID)
    assert ledger.append(paths[1], thresholds=GRID, on_changed="keep")["event"].to_list() == ["changed"]
    assert_frame_equal(ledger.read(), old)
    appended = ledger.append(paths, thresholds=GRID, on_changed="recount")
    assert appended["event"].to_list() == ["known", "recounted"]
    # The content counts once, whatever the number of its names.
    assert_frame_equal(ledger.read(), recount(paths[:1], GRID), check_exact=True)
    assert ledger.sources()["active"].to_list() == [True, False]
    assert ledger.verify(files=True).is_empty()


@pytest.mark.thorough
def test_retired_sources_count_no_longer_and_rebuild_equals_recount(ledger, tmp_path):
    paths = write_logs(tmp_path, 3, 80)
    ledger.append(paths, thresholds=GRID)
    second = ledger.sources()["source"][1]
    for wrong in ("", "nothing"):
        with pytest.raises(nf.LedgerError, match="no such source"):
            ledger.retire(wrong)
    # Named once by the beginning of its name, and once in full.
    ledger.retire(second[:12], second)
    assert ledger.sources()["active"].to_list() == [True, False, True]
    assert_frame_equal(ledger.read(), recount([paths[0], paths[2]], GRID), check_exact=True)
    ledger.append(paths[1], thresholds=GRID)
    write_log(paths[0], random_log(90, seed=9))
    rebuilt = ledger.rebuild(run="rebuild")
    assert rebuilt["event"].to_list() == ["recounted"] * 3
    assert_frame_equal(ledger.read(), recount(paths, GRID), check_exact=True)
    # Of files that have vanished the counts are kept.
    paths[1].unlink()
    assert len(ledger.rebuild()) == 2
    assert ledger.verify(files=True)["found"].to_list() == ["it vanished"]


@pytest.mark.thorough
def test_csv_logs_are_counted_as_a_recount_does(ledger, tmp_path):
    rows = random_log(80, seed=3).with_columns(pl.col("label").cast(pl.Int64))
    folder = tmp_path / "logs" / "country=at"
    folder.mkdir(parents=True)
    path = folder / "night[1].csv"
    rows.drop("country").write_csv(path)
    assert ledger.append(tmp_path / "logs", **COLUMNS)["event"].to_list() == ["counted"]
    expected = recount([tmp_path / "logs"], "exact", **COLUMNS)
    assert expected["country"].unique().to_list() == ["at"]
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    moved = path.rename(folder / "again.csv")
    assert ledger.append(moved, thresholds="exact")["event"].to_list() == ["counted"]
    assert ledger.verify(files=True)["found"].to_list() == ["it vanished"]
    (folder / "bad.csv").write_text("model,label,score\na,1,high\n")
    with pytest.raises(nf.InvalidRowsError, match=r"bad\.csv"):
        ledger.append(folder / "bad.csv")


@pytest.mark.long
def test_files_are_gathered_once_they_are_many(ledger, tmp_path, monkeypatch):
    """Every version, also of sources that count no longer, is read as before."""
    monkeypatch.setattr("nci_frames.jobs.ledger.tidying.MANY_FILES", 4)
    states, paths = {}, write_logs(tmp_path, 11)
    for n, path in enumerate(paths):
        ledger.append(path, run=f"run-{n}")
        states[f"run-{n}"] = ledger.read()
        if n == 5:
            ledger.retire(ledger.sources()["source"][2])
        files = ledger.view().snapshot.files
        assert all(len(names) <= 4 for names in files.values())
    for run, counts in states.items():
        assert_frame_equal(ledger.read(as_of=run), counts, check_exact=True)
    assert_frame_equal(ledger.read(), recount([*paths[:2], *paths[3:]], "exact"), check_exact=True)
    assert ledger.verify(files=True).is_empty()
    assert any((tmp_path / "ledger" / "_delta_log").glob("*.checkpoint.parquet"))
    ledger.compact()
    assert len(list((tmp_path / "ledger").glob("ledger_part=counts/*/*.parquet"))) == 1


@pytest.mark.thorough
def test_the_ledger_by_window_run_and_version(ledger, tmp_path):
    nights = [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 5)]
    paths = write_logs(tmp_path, 3)
    versions = []
    for n, path in enumerate(paths):
        ledger.append(path, window=(nights[n], nights[n + 1]), run=f"run-{n}")
        versions.append(ledger.sources()["sequence"].max())
        assert DeltaTable(ledger.uri).history(1)[0]["run"] == f"run-{n}"
    assert_frame_equal(ledger.read(window=(nights[1], nights[3])), recount(paths[1:], "exact"))
    # Half-open: what begins at the end is not within.
    assert_frame_equal(ledger.read(window=(nights[0], nights[1])), recount(paths[:1], "exact"))
    assert ledger.read(window=(datetime(2020, 1, 1, tzinfo=UTC), nights[0])).is_empty()
    assert ledger.sources()["window_start"].to_list() == nights[:3]
    for wrong in ("run-9", -1, versions[-1] + 1):
        with pytest.raises(nf.LedgerError, match=r"no such (run|version)"):
            ledger.read(as_of=wrong)
    ledger.compact()
    for n, version in enumerate(versions):
        for as_of in (version, f"run-{n}"):
            assert_frame_equal(ledger.read(as_of=as_of), recount(paths[: n + 1], "exact"), check_exact=True)


@pytest.mark.thorough
def test_other_settings_are_a_generation_beside(ledger, tmp_path):
    path = write_log(tmp_path / "a.parquet", random_log(100))
    ledger.append(path, thresholds=GRID)
    ledger.append(path, thresholds=GRID, **COLUMNS)
    generations = ledger.generations()["generation"].to_list()
    assert len(generations) == 2
    assert_frame_equal(ledger.read(generation=generations[0]), recount([path], GRID))
    assert_frame_equal(ledger.read(), recount([path], GRID, **COLUMNS))
    with pytest.raises(nf.LedgerError, match="no such generation"):
        ledger.read(generation="x")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "values",
    [
        pl.Series([1, 2], dtype=pl.UInt8),
        pl.Series([date(2026, 1, 1), None]),
        pl.Series([datetime(2026, 1, 1), None], dtype=pl.Datetime("ns")),
        pl.Series([datetime(2026, 1, 1, tzinfo=UTC), None], dtype=pl.Datetime("ms", "UTC")),
        pl.Series([True, False]),
        pl.Series(["x", "y"], dtype=pl.Categorical),
        pl.Series(["<b>\x1b[31m", "\u202ey'\"`;--"]),
    ],
    ids=lambda values: str(values.dtype),
)
def test_keys_keep_values_and_types(ledger, tmp_path, values):
    log = pl.DataFrame({"model": "a", "label": [0, 1] * 2, "score": [0.1, 0.9, 0.2, 0.8]})
    log = log.with_columns(pl.concat([values, values]).alias("a key"))
    path = write_log(tmp_path / "a.parquet", log)
    ledger.append(path, segments="a key")
    assert_frame_equal(ledger.read(), recount([path], "exact", segments="a key"), check_exact=True)


@pytest.mark.parametrize("value", ["x", date(2026, 3, 1)])
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_file_without_a_value_of_a_column_has_no_type_of_it(ledger, tmp_path, value, order):
    """As pandas writes a column of None: of a segment, and of labels that are not there yet."""
    log = pl.DataFrame({"model": "a", "label": ["yes", "no"], "score": [0.9, 0.2]})
    paths = {
        "a": write_log(tmp_path / "a.parquet", log.with_columns(key=pl.lit(value))),
        "b": write_log(tmp_path / "b.parquet", log.with_columns(key=None)),
        "c": write_log(tmp_path / "c.parquet", log.with_columns(key=None, label=None)),
    }
    options = {"segments": "key", "positive": "yes", "on_invalid": "drop"}
    if isinstance(value, str):
        ledger.append(paths[order[0]], **options)
    ledger.append([paths[name] for name in order], **options)
    assert ledger.append(paths["c"], **options)["dropped"].to_list() == [2]
    with pytest.warns(nf.InvalidRowsWarning):
        assert_frame_equal(ledger.read(), recount(paths.values(), "exact", **options), check_exact=True)


def test_sums_that_int64_cannot_hold_are_refused(ledger, tmp_path, monkeypatch):
    # No file has so many rows: a lower limit stands for them.
    ledger.append(write_logs(tmp_path, 2, 60), thresholds=[0.5])
    most = ledger.read(by=[])["fn"].max()
    monkeypatch.setattr("nci_frames.counts.sums.MOST_ROWS", most - 1)
    with pytest.raises(nf.SchemaError, match="sum of column 'positives'"):
        ledger.read(by=[])


def unit_log(night: int, units: int = 150) -> pl.DataFrame:
    """Two models that score some users once or twice; a user comes back on other nights."""
    user = pl.format("user {}", pl.int_range(pl.len()) % 97)
    return random_log(2 * units, seed=night).with_columns(user=user)


@pytest.mark.thorough
@pytest.mark.parametrize("thresholds", ["exact", GRID])
def test_counts_by_buckets_are_those_of_a_direct_count(ledger, tmp_path, thresholds):
    paths = [write_log(tmp_path / f"{night}.parquet", unit_log(night)) for night in range(3)]
    columns = {"segments": "country", "unit": "user"}
    for path in paths:
        ledger.append(path, thresholds=thresholds, buckets=30, **columns)
    bucketed = nf.unit_buckets(nf.scan_predictions(paths, **columns), buckets=30)
    # The same user is in one bucket on every night, so buckets can be added and drawn whole.
    for by in (None, "bucket", "country"):
        expected = nf.count_confusion(bucketed, thresholds=thresholds, by=by)
        assert_frame_equal(ledger.read(by=by), expected, check_exact=True)
    ledger.compact()
    assert_frame_equal(ledger.read(by="country"), expected, check_exact=True)
    assert ledger.verify(files=True).is_empty()


def weighted_log(rows: int = 600) -> pl.DataFrame:
    """A log of which one in 0.3 rows with a low score was drawn."""
    score = np.random.default_rng(0).random(rows).round(2)
    weight = np.where(score > 0.5, 1.0, 1 / 0.3)
    return random_log(rows).with_columns(score=score, w=weight)


@pytest.mark.thorough
@pytest.mark.parametrize("thresholds", ["exact", GRID])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_rows_of_each_weight_are_kept_whatever_the_order_of_the_files(
    ledger, tmp_path, thresholds, order
):
    log, columns = weighted_log(), {"segments": "country", "weight": "w"}
    for place in order:
        path = write_log(tmp_path / f"{place}.parquet", log[200 * place :][:200])
        ledger.append(path, thresholds=thresholds, **columns)
    whole = nf.count_confusion(nf.scan_predictions(log, **columns), thresholds=thresholds)
    assert_frame_equal(ledger.read(), whole)
    assert_frame_equal(ledger.read(by=[]), nf.pool_counts(whole, over="country"))


@pytest.mark.parametrize("columns", [{}, {"weight": "w"}])
def test_logs_without_labels_are_counted_by_their_scores(ledger, tmp_path, columns):
    log, how = weighted_log().drop("label"), {"segments": "country", "label": None, **columns}
    for place in range(2):
        path = write_log(tmp_path / f"{place}.parquet", log[300 * place :][:300])
        assert ledger.append(path, thresholds=GRID, **how)["counted"].to_list() == [300]
    scan = nf.scan_predictions(log, **how)
    # Of a ledger without other logs they are the default.
    for by in (None, []):
        assert_frame_equal(ledger.read(by=by), nf.count_scores(scan, thresholds=GRID, by=by))


@pytest.mark.thorough
def test_units_and_buckets_are_settings(ledger, tmp_path):
    path = write_log(tmp_path / "a.parquet", unit_log(1))
    for options in ({}, {"unit": "user"}, {"unit": "user", "buckets": 256}, {"unit": "user", "buckets": 64}):
        ledger.append(path, thresholds=GRID, **options)
    assert len(ledger.generations()) == 3
    assert ledger.rebuild()["event"].to_list() == ["recounted"]
    assert ledger.read(by="bucket")["bucket"].max() < 64
    # Without units the settings have the name that they had before there were any.
    plain = CountingSettings.of(thresholds=[0.3, 0.5], fold="fold", segments="country")
    assert plain.generation == "65e8b4c11638fa2e"
    by_repeat = CountingSettings.of(thresholds="exact", repeat="round")
    assert CountingSettings.from_json(by_repeat.to_json()) == by_repeat
    assert by_repeat.keys == ["model", "repeat"]


def test_a_file_may_have_no_weight(ledger, tmp_path):
    """Only a log without any weight is refused: a file may hold the rows that do not count."""
    rows = unit_log(1).drop("user")
    paths = [write_log(tmp_path / f"{w}.parquet", rows.with_columns(weight=pl.lit(w))) for w in (0.0, 2.0)]
    for path in paths:
        ledger.append(path, thresholds=GRID, weight="weight")
    counts = ledger.read(by=[])
    assert counts["weight"].unique().to_list() == [0.0, 2.0]


def test_a_flipped_bit_in_the_number_of_rows_of_a_row_group_loses_no_rows(tmp_path):
    file = tmp_path / "log.parquet"
    pq.write_table(random_log(900).to_arrow(), file, row_group_size=300, write_page_checksum=True)
    whole = file.read_bytes()

    def damaged() -> Iterator[bytes]:
        for place in (found.end() - 1 for found in re.finditer(rb"\xd8\x04", whole)):  # 300 in Thrift
            for bit in range(8):
                yield whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]

    def fewer(data: bytes) -> bool:
        with contextlib.suppress(pa.ArrowException, OSError):
            found = pq.read_metadata(io.BytesIO(data))
            return found.num_rows == 900 and found.row_group(1).num_rows < 300
        return False

    file.write_bytes(next(filter(fewer, damaged())))
    ledger = nf.CountsLedger(tmp_path / "ledger")
    with pytest.raises(nf.SourceError, match="other rows than its footer says"):
        ledger.append(file, thresholds=[0.5])
