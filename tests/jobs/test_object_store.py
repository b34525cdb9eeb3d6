"""Runs published to an object store: an S3 server on this machine, with which real clients talk."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.folders import changed_files
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.object_store import ObjectStore, OvertakenError
from nci_frames.jobs.run import run_job
from tests.s3_server import s3_server
from tests.small_jobs import ended, small_job, toml, write_night, write_nights

pytest.importorskip("obstore", reason="needs obstore: pip install 'nci_frames[object-store]'")
GATE = '[[gates]]\nname = "finds"\nmetric = "recall"\nwindow = "last"\nvalue_threshold = { lower = 0.5 }\n'

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server on this machine."""
    with s3_server() as address:
        yield address


def test_a_latest_run_whose_files_are_gone_is_damaged(tmp_path):
    """A folder of this machine by its URL is an object store, too."""
    write_nights(tmp_path / "logs", 1)
    (tmp_path / "out").mkdir()
    gone = {"run": "r1", "path": "runs/r1.0", "sequence": 1, "last_good": None}
    (tmp_path / "out" / "latest.json").write_text(json.dumps(gone))
    job = small_job(tmp_path, f'[output]\nfolder = "file://{tmp_path}/out"\n')
    with pytest.raises(nf.SourceError, match="a published run is damaged"):
        run_job(read_job(job))


def test_lost_replies_and_a_damaged_run_do_not_end_a_run(tmp_path, monkeypatch):
    """A client that got no reply tries again, and finds its own file."""
    write_nights(tmp_path / "logs", 1)
    (tmp_path / "out").mkdir()
    folder = f"file://{tmp_path}/out"
    write_once, store = ObjectStore.write, ObjectStore(folder, {})
    store.write("runs/odd.0/manifest.json", b"{", instead_of=None)

    def write(*args: Any, **options: Any) -> None:
        for _ in range(2):
            write_once(*args, **options)

    monkeypatch.setattr(ObjectStore, "write", write)
    run_job(read_job(small_job(tmp_path, f'[output]\nfolder = "{folder}"\nkeep = 1\n')), run="r1")
    assert shown(store)["run"] == "r1"
    # A run without a number is the first that is deleted.
    assert published(store) == {"r1"}


def options(server: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_CONDITIONAL_PUT": "etag",
    }


def put(address: str, content: bytes | None = None, method: str = "PUT") -> None:
    urllib.request.urlopen(urllib.request.Request(address, content, method=method), timeout=30).close()  # noqa: S310


@pytest.fixture
def bucket(server: str, request: pytest.FixtureRequest) -> str:
    name = "bucket-" + str(abs(hash(request.node.name)))
    put(f"{server}/{name}")
    return f"s3://{name}"


@pytest.fixture
def store(server: str, bucket: str) -> ObjectStore:
    """Where the runs of ``remote_job`` are."""
    return ObjectStore(f"{bucket}/jobs/out", options(server))


Remote = Callable[..., Path]


@pytest.fixture
def remote(tmp_path: Path, server: str, store: ObjectStore) -> Remote:
    """Make the file of a job whose runs are there."""

    def job(extra: str = "", keep: int = 30) -> Path:
        output = f"folder = {toml(store.url)}\nkeep = {keep}\nstorage_options = {toml(options(server))}\n"
        return small_job(tmp_path, "[output]\n" + output + extra + GATE)

    return job


def published(store: ObjectStore) -> set[str]:
    """The names of the runs of which there are files."""
    return {name.split("/")[1].split(".")[0] for name in store.names("runs/")}


def shown(store: ObjectStore) -> dict[str, Any]:
    found = store.read("latest.json")
    return dict(json.loads(found.content))


def fetched(store: ObjectStore, path: str, folder: Path) -> Path:
    """A run as a reader finds it."""
    for name in store.names(f"{path}/"):
        found = store.read(name)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(found.content)
    return folder / path


def test_a_file_is_replaced_only_if_it_is_the_one_that_was_read(store):
    assert store.read("x") is None
    store.write("x", b"1", instead_of=None)
    first = store.read("x")
    with pytest.raises(OvertakenError):
        store.write("x", b"2", instead_of=None)
    store.write("x", b"2", instead_of=first)
    with pytest.raises(OvertakenError):
        store.write("x", b"3", instead_of=first)
    second = store.read("x")
    assert second.content == b"2"
    store.delete(["x"])
    with pytest.raises(OvertakenError):
        store.write("x", b"3", instead_of=second)
    assert store.names("") == {}


@pytest.mark.long
def test_runs_are_published_to_an_object_store(tmp_path, remote, bucket, store):
    write_nights(tmp_path / "logs", 1)
    job = remote('metrics_file = "job.prom"\n', keep=1)
    ended(0, "check", job)
    assert store.names("") == {}
    # A bucket that is not there, before a night finds it.
    text = job.read_text()
    job.write_text(text.replace(bucket, f"{bucket}-gone"))
    assert "the object store cannot be read" in ended(4, "check", job).output
    job.write_text(text)
    first = ended(0, "run", job, "--run-id", "first")
    assert "hunter2" not in first.output
    assert first.stdout.rstrip().endswith("/report.json")
    assert f"{bucket}/jobs/out/runs/first." in first.stdout
    pointer = shown(store)
    assert changed_files(fetched(store, pointer["path"], tmp_path / "copy")) == []
    ended(5, "run", job, "--run-id", "first")
    # Fewer are found: the last good run is kept, and the history is that of both.
    write_night(tmp_path / "logs" / "2026-03-02" / "a.parquet", 200, 0.2)
    ended(10, "run", job, "--run-id", "second")
    ended(10, "run", job, "--run-id", "third")
    pointer = shown(store)
    assert (pointer["run"], pointer["last_good"]["run"], pointer["sequence"]) == ("third", "first", 3)
    third = fetched(store, pointer["path"], tmp_path / "copy")
    assert changed_files(third) == []
    assert pl.read_parquet(third / "history.parquet")["run"].to_list() == ["first", "second", "third"]
    assert published(store) == {"first", "third"}
    assert not (tmp_path / "out").exists()
    assert "last_success" in (tmp_path / "job.prom").read_text()


@pytest.mark.long
def test_an_upload_that_was_not_shown_changes_nothing(tmp_path, remote, store):
    """As a kill leaves it: all files of a run, or some, and the old pointer."""
    write_nights(tmp_path / "logs", 1)
    job = remote(keep=2)
    ended(0, "run", job, "--run-id", "first")
    before = store.read("latest.json")
    ended(0, "run", job, "--run-id", "second")
    after = store.read("latest.json")
    store.write("latest.json", before.content, instead_of=after)
    store.write("runs/third.0/report.json", b"half", instead_of=None)
    ended(0, "run", job, "--run-id", "second")
    # Another run at the same time has uploaded everything, and will find that it was overtaken.
    store.write("runs/slow.0/manifest.json", b'{"run": "slow", "sequence": 3}', instead_of=None)
    ended(0, "run", job, "--run-id", "third")
    pointer = shown(store)
    assert (pointer["run"], pointer["sequence"]) == ("third", 3)
    assert published(store) == {"second", "slow", "third"}
    assert changed_files(fetched(store, pointer["path"], tmp_path / "copy")) == []


def compete(job: Path, rounds: int) -> dict[str, bool]:
    """Run a job again and again; return of each run whether it was published, and no conflict."""
    published = {}
    for number in range(rounds):
        run = f"{job.stem}-{number}"
        try:
            published[run] = bool(run_job(read_job(job), run=run))
        except nf.ConflictError:
            published[run] = False
    return published


@pytest.mark.long
def test_a_run_that_was_overtaken_is_a_conflict(tmp_path, remote, store):
    """While one run counts, another begins and ends."""
    write_nights(tmp_path / "logs", 1)
    job = read_job(remote())
    begun = []

    def tell(event: str, **facts: object) -> None:
        if event == "gate" and not begun:
            begun.append(run_job(job, run="fast").name)

    with pytest.raises(nf.ConflictError, match="another run of this job was published meanwhile"):
        run_job(job, run="slow", tell=tell)
    assert begun == ["fast"]
    pointer = shown(store)
    assert pointer["run"] == "fast"
    assert published(store) == {"fast"}
    assert run_job(job, run="slow").verdict == "pass"


@pytest.mark.slow
def test_of_two_jobs_at_once_each_run_is_published_or_a_conflict(tmp_path, remote, store):
    """Each has a ledger of its own, so that they meet at the pointer alone."""
    write_nights(tmp_path / "logs", 1)
    rounds, jobs = 20, [tmp_path / f"{name}.toml" for name in "ab"]
    text = remote().read_text()
    for job in jobs:
        job.write_text(text.replace("[output]", f'[output]\nledger = "ledger-{job.stem}"'))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        results = {
            run: done for found in pool.map(compete, jobs, [rounds] * 2) for run, done in found.items()
        }
    done = {run for run, published in results.items() if published}
    assert len(results) == 2 * rounds
    assert len(done) >= rounds
    pointer = shown(store)
    run = fetched(store, pointer["path"], tmp_path / "copy")
    assert changed_files(run) == []
    # Nothing that was published is missing from the history, and nothing else is in it.
    history = pl.read_parquet(run / "runs.parquet")
    assert set(history["run"]) == done
    assert history["sequence"].to_list() == list(range(1, len(done) + 1))
    # What lost was deleted again.
    assert published(store) == done


@pytest.mark.long
def test_a_ledger_in_an_object_store(tmp_path, server, remote, bucket, store):
    paths = write_nights(tmp_path / "logs", 2)
    job = remote(f'ledger = "{bucket}/ledger"\n')
    for day in ("2026-03-02", "2026-03-03"):
        ended(0, "run", job, "--until", day)
    ledger = nf.CountsLedger(f"{bucket}/ledger", storage_options=options(server))
    expected = nf.count_confusion(nf.scan_predictions(paths), thresholds=[0.0, 0.25, 0.5, 0.75])
    assert_frame_equal(ledger.read(), expected, check_exact=True)
    assert ledger.verify(files=True).is_empty()
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "job.toml"}


def test_logs_in_an_object_store(server, bucket):
    def parquet(name: str, **columns: list[object]) -> None:
        log = pl.DataFrame({"model": "a", "label": [1, 0], "score": [0.7, 0.2]} | columns)
        log.write_parquet(written := BytesIO())
        put(f"{place}/{name}/x.parquet", written.getvalue())

    def scan(name: str) -> pl.LazyFrame:
        return nf.scan_predictions(f"{bucket}/{name}", segments="country", storage_options=options(server))

    place = f"{server}/{bucket.removeprefix('s3://')}"
    for country in ("01", "a%252Fb"):
        parquet(f"logs/country={country}")
    counts = nf.count_confusion(scan("logs/"), thresholds=[0.5])
    assert counts.select("country", "tp", "tn").rows() == [("01", 1, 1), ("a/b", 1, 1)]
    vanished = scan("logs/")
    put(f"{place}/logs/country=01/x.parquet", method="DELETE")
    parquet("drift/country=x")
    parquet("drift/country=y", label=["yes", "no"])
    for log, name in ((vanished, "logs/"), (scan("drift/"), "drift/")):
        with pytest.raises(nf.SourceError, match="cannot be read") as error:
            nf.count_confusion(log, thresholds=[0.5])
        assert error.value.where == repr(f"{bucket}/{name}")
    with pytest.raises(nf.SourceError, match="cannot be read as Parquet"):
        nf.scan_predictions(f"{bucket}/drift/", storage_options={**options(server), "AWS_REGION": 3})


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ('folder = "nosuch://bucket/out"', "the object store cannot be opened"),
        ('folder = "s3://bucket/out"\nstorage_options = { wrong = "hunter2" }', "'wrong' is not valid"),
    ],
)
def test_unknown_kinds_and_unknown_options_of_a_store_are_refused(tmp_path, output, told):
    write_nights(tmp_path / "logs", 1)
    ran = ended(2, "run", small_job(tmp_path, f"[output]\n{output}\n"))
    assert told in ran.output
    assert "hunter2" not in ran.output
    assert not (tmp_path / "ledger").exists()
