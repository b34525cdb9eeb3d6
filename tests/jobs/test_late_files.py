"""Files that come late, again or corrected: what a run says of them, and at which date they stand."""

import re
import shutil
from datetime import UTC, datetime

import polars as pl
import pytest

from nci_frames.jobs.counted_files import count_files
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.run import run_job
from nci_frames.jobs.run_counts import LEFT_OUT
from tests.small_jobs import (
    KEYS,
    RECALL,
    SMALL,
    ended,
    latest,
    read_json,
    small_job,
    write_night,
    write_nights,
)

pytestmark = pytest.mark.long


def test_files_that_came_late_or_again_are_told(tmp_path):
    """A file of the first night on the second, and one of the second once more; and a file without rows."""
    logs = tmp_path / "logs"
    job = read_job(small_job(tmp_path, RECALL + 'segments = ["country"]\nwindow = "last"\n' + KEYS))
    outcomes = []
    for night in range(3):
        write_night(logs / f"2026-03-0{night + 1}" / "a.parquet", 200, 0.8 if night < 2 else 0.1, seed=night)
        empty = pl.read_parquet(logs / f"2026-03-0{night + 1}" / "a.parquet").clear()
        empty.write_parquet(logs / f"2026-03-0{night + 1}" / "empty.parquet")
        if night == 1:
            write_night(logs / "2026-03-01" / "late.parquet", 40, 0.8, seed=9)
        if night == 2:
            shutil.copy(logs / "2026-03-02" / "a.parquet", logs / "2026-03-02" / "again.parquet")
        outcomes.append(run_job(job, run=f"night-{night + 1}"))
    unusual = [outcome.arrived.filter(pl.col("arrival") != "new") for outcome in outcomes]
    assert [table["arrival"].to_list() for table in unusual] == [[], ["late"], ["delivered again"]]
    assert unusual[1]["path"][0].endswith("2026-03-01/late.parquet")
    assert unusual[2]["note"][0] == f"counted from {logs}/2026-03-02/a.parquet"
    assert ["files: 1 late" in outcomes[1].line, "files: 1 delivered again" in outcomes[2].line] == [True] * 2
    folder = outcomes[2].folder
    runs = pl.read_parquet(folder / "runs.parquet")
    days = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3)]
    assert runs["window_start"].to_list() == days
    # The window of a file is its own, not the newest of the run.
    strange = pl.read_parquet(folder / "unusual.parquet")
    assert strange.select("run", "window_start").rows() == [("night-2", days[0]), ("night-3", days[1])]
    told = runs.select("late", "delivered again", "verdict").rows()
    assert told == [(0, 0, "pass"), (1, 0, "pass"), (0, 1, "fail")]
    page = (folder / "history.html").read_text()
    for run, file, arrival in (
        ("2", "2026-03-01/late", "late"),
        ("3", "2026-03-02/again", "delivered again"),
    ):
        row = rf">night-{run}</th><td>[^<]*{file}.parquet</td>\s*<td>{arrival}</td><td>{file[:10]} 00:00</td>"
        assert re.search(row, page)
    manifest = read_json(folder / "manifest.json")
    assert (manifest["rows"]["counted"], manifest["last_good"]["run"]) == (640, "night-2")


def test_windows_stand_at_their_dates_also_those_that_come_late_or_are_corrected(tmp_path):
    first, second, third = (tmp_path / f"logs/2026-03-0{night}/a.parquet" for night in (1, 2, 3))
    job = small_job(tmp_path, text=SMALL.replace('parquet"\n', 'parquet"\non_changed = "recount"\n', 1))
    for run, (path, hits) in enumerate(((second, 0.8), (third, 0.6), (first, 0.9), (second, 0.5))):
        write_night(path, 400, hits, seed=run)
        ended(0, "run", job)
    found = pl.read_parquet(latest(tmp_path) / "by_date.parquet")
    assert found["window_start"].dt.day().to_list() == [1, 2, 3]
    assert found["arrival"].to_list() == ["late", "corrected", None]
    for path, row in zip((first, second, third), found.iter_rows(named=True), strict=True):
        log = pl.read_parquet(path).filter(label=1)
        assert row["tpr"] == pytest.approx((log["score"] >= 0.5).mean())
        assert row["tpr_lower"] < row["tpr"] < row["tpr_upper"]
    page = (latest(tmp_path) / "history.html").read_text()
    assert page.count('by date"') == 2


def test_what_a_run_counted_that_was_never_published_is_told_by_the_next_one(tmp_path):
    """Three nights: the runs on the second and third end after counting, as if by a kill."""
    source = 'parquet"\nlookback = 2\non_changed = "recount"\n'
    job = read_job(small_job(tmp_path, text=SMALL.replace('parquet"\n', source, 1)))
    nights = [tmp_path / f"logs/2026-03-0{night}/a.parquet" for night in (1, 2, 3)]
    write_night(nights[0], 200, 0.8)
    run_job(job)
    write_night(nights[0], 100, 0.8, seed=1)
    for night in nights[1:]:
        write_night(night, 200, 0.8, seed=int(night.parent.name[-1]))
        count_files(job, job.job.feeds[0], run="killed")
    told = run_job(job).arrived
    assert told.select("arrival", "rows").rows() == [("recounted", 100), ("new", 200), ("new", 200)]
    assert run_job(job).arrived.is_empty()


def test_nights_after_an_outage_are_counted_also_before_the_lookback(tmp_path):
    job = read_job(small_job(tmp_path, text=SMALL.replace('parquet"\n', 'parquet"\nlookback = 0\n', 1)))
    write_night(tmp_path / "logs/2026-02-28/a.parquet", 200, 0.8)
    run_job(job)
    write_nights(tmp_path / "logs", 4, seed=1)
    assert run_job(job).arrived["arrival"].to_list() == ["new"] * 4


def test_a_replay_of_earlier_windows_is_not_the_last_good_run(tmp_path):
    job = read_job(small_job(tmp_path, RECALL))
    write_nights(tmp_path / "logs", 3)
    run_job(job, run="now")
    for run, day in (("replay", 2), ("whole", 4)):
        run_job(job, run=run, until=datetime(2026, 3, day, tzinfo=UTC))
        pointer = read_json(tmp_path / "out/latest.json")
        assert (pointer["run"], pointer["last_good"]["run"]) == (run, "now" if run == "replay" else "whole")


def test_files_that_failed_or_changed_stand_at_their_window(tmp_path):
    job = read_job(small_job(tmp_path))
    first, second = write_nights(tmp_path / "logs", 2)
    bad = second.with_name("bad.parquet")
    run_job(job)
    write_night(first, 100, 0.8, seed=5)
    bad.write_bytes(b"PAR1")
    told = run_job(job, keep_going=True).arrived.select("arrival", pl.col("window_start").dt.day()).rows()
    assert sorted(told) == [("changed", 1), ("failed", 2)]


def test_a_check_names_files_whose_types_are_not_those_of_the_ledger(tmp_path):
    job = small_job(tmp_path)
    _, second = write_nights(tmp_path / "logs", 2)
    night = pl.read_parquet(second)
    second.unlink()
    ended(0, "run", job)
    night.with_columns(pl.col("score").cast(pl.Float32)).write_parquet(second)
    assert "column 'score' must be Float64, as in the ledger" in ended(3, "check", job).stdout


def test_a_file_that_comes_too_late_for_the_lookback_is_named(tmp_path):
    job = small_job(tmp_path, text=SMALL.replace('parquet"\n', 'parquet"\nlookback = 1\n', 1))
    first = write_nights(tmp_path / "logs", 4)[0]
    ended(0, "run", job)
    # A file that was delivered again was counted.
    shutil.copy(first, first.with_name("again.parquet"))
    assert LEFT_OUT not in ended(0, "check", job).stdout
    late = tmp_path / "logs/2026-03-01/late.parquet"
    write_night(late, 40, 0.8, seed=9)
    assert f"{LEFT_OUT}: 1 ({str(late)!r})" in ended(0, "check", job).stdout
    ended(0, "run", job)
    assert LEFT_OUT in (latest(tmp_path) / "history.html").read_text()


def test_segments_and_models_that_have_no_rows_any_more_are_undecided_once(tmp_path):
    gate = RECALL + 'segments = ["country"]\nwindow = "last"\nundecided = "fail"\n' + KEYS
    job = read_job(small_job(tmp_path, gate))
    paths = write_nights(tmp_path / "logs", 3, rows=1200, hits=0.95)
    kept = [pl.read_parquet(path).filter(country="at") for path in paths[1:]]
    other = pl.read_parquet(paths[0]).with_columns(model=pl.lit("other"))
    pl.concat([pl.read_parquet(paths[0]), other]).write_parquet(paths[0])
    gone = []
    for night, path in enumerate(paths):
        if night:
            kept[night - 1].write_parquet(path)
        verdicts = run_job(job, until=datetime(2026, 3, 2 + night, tzinfo=UTC)).verdicts
        gone.append(verdicts.filter(verdict="undecided").select("model", "segment", "undecided").rows())
    at, de = (f'{{"country": "{country}"}}' for country in ("at", "de"))
    assert gone == [[], [("forest", de, "warn"), ("other", at, "warn"), ("other", de, "warn")], []]
