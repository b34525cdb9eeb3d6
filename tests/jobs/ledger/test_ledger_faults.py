"""Faults of a ledger: bit flips, races, bad files. Nothing is lost, doubled or changed unnoticed."""

import contextlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.jobs.ledger import counting, storage
from nci_frames.jobs.ledger.settings import CountingSettings
from tests.logs import random_log
from tests.small_jobs import SMALL, ended, small_job, write_logs

ROOT = Path(__file__).parents[3]
GRID = [0.0, 0.5]
#: What is wrong with files among many good ones.
BAD = ("truncated", "empty", "text", "without", "invalid", "unreadable", "vanishing", "growing")


def flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    bit = chance.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.long
@pytest.mark.parametrize("flips", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_single_bit_flips_are_all_found(tmp_path, flips):
    paths = write_logs(tmp_path / "logs", 6)
    whole = tmp_path / "whole"
    ledger = nf.CountsLedger(whole)
    for path in paths[:4]:
        ledger.append(path, thresholds=GRID)
    ledger.compact()
    for path in paths[4:]:
        ledger.append(path, thresholds=GRID)
    expected = ledger.read()
    assert ledger.verify(files=True).is_empty()
    chance = random.Random(0)  # noqa: S311
    files = sorted(file for file in whole.rglob("*") if file.is_file())
    places = [*files, *paths]
    seen: set[str] = set()
    for place in chance.choices(places, k=flips):
        before = place.read_bytes()
        flip(place, chance)
        try:
            problems = ledger.verify(files=True)
            assert not problems.is_empty(), place
            kind = problems["what"][0]
            assert kind == ("source" if place in paths else "ledger")
            seen.add(f"{kind} {place.suffix}")
            # Either the read finds it, too, or it did not go through the changed file.
            with contextlib.suppress(nf.LedgerError):
                assert_frame_equal(ledger.read(), expected)
        finally:
            place.write_bytes(before)
    assert ledger.verify(files=True).is_empty()
    if flips > 50:
        assert {"ledger .json", "ledger .parquet", "ledger .blake3", "source .parquet"} <= seen


@pytest.mark.long
@pytest.mark.parametrize(("files", "writers"), [(8, 2), pytest.param(100, 3, marks=pytest.mark.slow)])
def test_writers_at_once_lose_and_double_nothing(tmp_path, files, writers):
    paths = write_logs(tmp_path / "logs", files)
    command = [sys.executable, "-m", "tests.ledger_writer", str(tmp_path / "logs"), str(tmp_path / "ledger")]
    running = [subprocess.Popen([*command, str(seed)], cwd=ROOT) for seed in range(writers)]
    assert [process.wait(timeout=600) for process in running] == [0] * writers
    ledger = nf.CountsLedger(tmp_path / "ledger")
    expected = nf.count_confusion(nf.scan_predictions(paths), thresholds=GRID)
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    assert ledger.sources().height == files
    counts = pl.scan_delta(ledger.uri).filter(pl.col("ledger_part") == "counts").collect()
    assert counts.select("ledger_source", "ledger_sequence").n_unique() == files
    assert ledger.verify(files=True).is_empty()
    assert set(ledger.sources()["run"]) <= {f"writer-{seed}" for seed in range(writers)}


@pytest.mark.long
@pytest.mark.parametrize("files", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_bad_files_among_many_good_ones(tmp_path, monkeypatch, files):
    """Through the command: all are named, the good ones count, and the others do so once they are good."""
    logs = tmp_path / "logs" / "2026-03-01"
    logs.mkdir(parents=True)
    good = [logs / f"{n:04}.parquet" for n in range(files)]
    for n, path in enumerate(good):
        random_log(40, n % 50).with_columns(serial=pl.lit(n)).write_parquet(path)
    content = good[0].read_bytes()
    bad = {name: logs / f"{files // 2:04}-{name}.parquet" for name in BAD}
    bad["truncated"].write_bytes(content[: len(content) // 2])
    bad["empty"].write_bytes(b"")
    bad["text"].write_bytes(b"model,label,score\na,1,0.5\n")
    random_log(40, 58).drop("score").write_parquet(bad["without"])
    random_log(40, 59).with_columns(score=pl.lit(None, pl.Float64)).write_parquet(bad["invalid"])
    bad["unreadable"].symlink_to("/proc/self/mem")
    for n, name in enumerate(("vanishing", "growing")):
        random_log(40, 60 + n).write_parquet(bad[name])
    read = counting._read
    growing = [0]

    def reading(log):
        if log.files == (str(bad["vanishing"]),):
            bad["vanishing"].unlink(missing_ok=True)
        frame = read(log)
        if log.files == (str(bad["growing"]),):
            growing[0] += 1
            random_log(40 + growing[0], 61).write_parquet(bad["growing"])
        return frame

    monkeypatch.setattr(counting, "_read", reading)
    text = SMALL.replace("[0.0, 0.25, 0.5, 0.75]", "[0.0, 0.5]")
    job = small_job(tmp_path, text=text)
    stopped = ended(3, "run", job)
    assert "Traceback" not in stopped.output
    assert [name for name, path in bad.items() if path.name not in stopped.output] == []
    assert "a file of the source changed while it was read" in stopped.output
    assert not (tmp_path / "out" / "latest.json").exists()
    random_log(40, 60).write_parquet(bad["vanishing"])
    going = ended(0, "run", job, "--keep-going")
    assert f"files: {len(bad)} failed" in going.stdout
    assert "could not be counted" in next((tmp_path / "out" / "runs").glob("*/history.html")).read_text()
    ledger = nf.CountsLedger(tmp_path / "ledger")
    counted = nf.count_confusion(nf.scan_predictions(good), thresholds=GRID)
    assert_frame_equal(ledger.read(), counted, check_exact=True)
    monkeypatch.undo()
    for n, path in enumerate(bad.values()):
        path.unlink(missing_ok=True)
        random_log(40, 70 + n).write_parquet(path)
    ended(0, "run", job)
    counted = nf.count_confusion(nf.scan_predictions([*good, *bad.values()]), thresholds=GRID)
    assert_frame_equal(ledger.read(), counted, check_exact=True)


def test_odd_names_are_counted_and_those_that_are_not_utf_8_are_refused(tmp_path):
    folder = tmp_path / "logs"
    names = [b"\xff\xfe.parquet", "\u202e<b>\x1b[31m'\"".encode() + b".parquet", b"[1]*.parquet"]
    for path, name in zip(write_logs(folder, len(names)), names, strict=True):
        shutil.move(bytes(path), bytes(folder) + b"/" + name)
    ledger = nf.CountsLedger(tmp_path / "ledger")
    appended = ledger.append(folder, keep_going=True)
    assert appended["event"].to_list() == ["counted", "counted", "failed"]
    assert "not UTF-8" in appended["reason"][2]
    assert r"\udcff" in appended["path"][2]
    assert ledger.read().height > 0
    assert ledger.verify(files=True).is_empty()


NOWHERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "x"}
KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "max_retries": "0"}


@pytest.mark.parametrize(
    ("place", "options", "told"),
    [("s3://bucket/ledger", NOWHERE | KEYS, ""), ("x" * 300, None, "File name too long")],
)
def test_what_is_out_of_reach_is_not_damaged(tmp_path, monkeypatch, place, options, told):
    monkeypatch.chdir(tmp_path)
    ledger = nf.CountsLedger(place, storage_options=options)
    for asked in (ledger.verify, ledger.sources):
        with pytest.raises(nf.LedgerError, match=rf"(?s)the ledger cannot be read\n.*{told}"):
            asked()


def test_a_commit_amid_a_checkpoint_damages_nothing(tmp_path, monkeypatch):
    paths = write_logs(tmp_path / "logs", 5)
    ledger = nf.CountsLedger(tmp_path / "ledger")
    checkpoint = DeltaTable.create_checkpoint

    def after_a_commit(table: DeltaTable) -> None:
        # Another writer, which finds the last checkpoint before it is replaced.
        nf.CountsLedger(tmp_path / "ledger").append(paths[-1], thresholds=GRID)
        checkpoint(table)

    for path in paths[:2]:
        ledger.append(path, thresholds=GRID)
    ledger.compact()
    for path in paths[2:4]:
        ledger.append(path, thresholds=GRID)
    monkeypatch.setattr(DeltaTable, "create_checkpoint", after_a_commit)
    ledger.compact()
    assert ledger.verify(files=True).is_empty()
    assert_frame_equal(ledger.read(), nf.count_confusion(nf.scan_predictions(paths), thresholds=GRID, by=[]))
    # Each file of the log has a hash, and nothing else tells where to begin to read it.
    log, hashes = (sorted((tmp_path / "ledger" / name).iterdir()) for name in ("_delta_log", "_hashes"))
    assert [f"{file.name}.blake3" for file in log] == [file.name for file in hashes]
    assert any("checkpoint" in file.name for file in log)


def test_a_ledger_of_a_newer_version_is_said_to_be(tmp_path, monkeypatch):
    (path,) = write_logs(tmp_path / "logs", 1)
    text = CountingSettings.to_json
    monkeypatch.setattr(CountingSettings, "to_json", lambda self: f'{{"newer": 1, {text(self)[1:]}')
    ledger = nf.CountsLedger(tmp_path / "ledger")
    ledger.append(path, thresholds=GRID)
    for read in (ledger.read, ledger.sources, ledger.generations):
        with pytest.raises(nf.LedgerError, match=r"(?s)settings that this version does not know.*'newer'"):
            read()


def test_a_compaction_amid_a_commit_deletes_none_of_its_files(tmp_path, monkeypatch):
    paths = write_logs(tmp_path / "logs", 2)
    ledger = nf.CountsLedger(tmp_path / "ledger")
    ledger.append(paths[0], thresholds=GRID)
    ledger.compact()
    write = storage.Storage.write

    def and_compact(self: storage.Storage, name: str, content: bytes) -> None:
        write(self, name, content)
        if name.startswith("ledger_part=counts"):
            monkeypatch.undo()
            nf.CountsLedger(tmp_path / "ledger").compact()

    monkeypatch.setattr(storage.Storage, "write", and_compact)
    ledger.append(paths[1], thresholds=GRID)
    assert ledger.verify(files=True).is_empty()
    assert_frame_equal(ledger.read(), nf.count_confusion(nf.scan_predictions(paths), thresholds=GRID, by=[]))
    # What a killed writer has left is deleted after a day.
    left = next((tmp_path / "ledger").glob("ledger_part=counts/*")) / "left.parquet"
    left.touch()
    ledger.compact()
    assert left.exists()
    os.utime(left, (0, 0))
    ledger.compact()
    assert not left.exists()


def test_hashes_that_are_gone_are_damage(tmp_path):
    """Without them nothing tells whether commits are whole, or whether the last one is there."""
    ledger = nf.CountsLedger(tmp_path / "ledger")
    log, hashes = (tmp_path / "ledger" / name for name in ("_delta_log", "_hashes"))
    one, other = write_logs(tmp_path / "logs", 2)
    ledger.append(one, thresholds=[0.5])
    # A file that another writer is about to name is not looked at.
    unnamed = log / "00000000000000000009.json#1"
    unnamed.write_text("{")
    ledger.append(other, thresholds=[0.5])
    unnamed.unlink()
    assert ledger.verify().is_empty()
    newest = max(log.glob("*.json"))
    # A writer that was stopped before it wrote the last hash has left the ledger whole.
    (hashes / f"{newest.name}.blake3").unlink()
    assert ledger.verify().is_empty()
    shutil.rmtree(hashes)
    assert set(ledger.verify()["found"]) == {"its hash is missing"}
    newest.unlink()
    assert len(ledger.verify())
