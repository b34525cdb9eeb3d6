"""A run that is killed, or whose disk fills up: the old or the new result, and the next run converges."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.folders import changed_files
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.run import run_job
from tests.processes import in_python
from tests.small_jobs import SMALL, read_json, run_each_night, small_job, write_night, write_nights

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.long
SLOW = pytest.mark.slow
GATE = '[[gates]]\nname = "finds"\nmetric = "recall"\nvalue_threshold = { lower = 0.5 }\n'
#: A run writes into the ledger, builds and publishes, deletes the run before it, and writes metrics.
JOB = (
    SMALL.replace("tables = []", 'tables = ["parquet"]')
    + '[output]\nkeep = 1\nmetrics_file = "metrics/job.prom"\n'
    + GATE
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preloaded counter of calls that change files."""
    if shutil.which("cc") is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, on Linux")
    built = tmp_path_factory.mktemp("faults") / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, ROOT / "tests" / "faults.c", "-ldl"], check=True)  # noqa: S607
    return built


def test_an_exchange_of_two_folders_is_a_call_that_can_fail(library, tmp_path):
    """As the folder of a report takes the place of the old one."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new" / "mark").mkdir(parents=True)
    exchange = "import ctypes, os, sys; os.chdir(sys.argv[1]); old = os.path.abspath('old').encode()\n"
    exchange += "print(ctypes.CDLL(None).renameat2(-100, b'new', -100, old, 2))"
    calls = tmp_path / "calls"
    preload = {"LD_PRELOAD": str(library), "FAULT_UNDER": f"{tmp_path}/", "FAULT_CALLS": str(calls)}
    full = preload | {"FAULT_AT": "1", "FAULT_KIND": "full"}
    for environment, done, moved in ((full, "-1\n", False), (preload, "0\n", True)):
        assert in_python(exchange, tmp_path, **environment).stdout == done
        assert calls.read_text() == "1"
        assert (tmp_path / "old" / "mark").exists() == moved


def ran(folder: Path, run: str, library: Path, **faults: str) -> tuple[int, str]:
    """Run a job in a process whose changes of files are counted; return its exit code and what it told."""
    preload = {"LD_PRELOAD": str(library), "FAULT_UNDER": f"{folder}/"}
    code = "from nci_frames.__main__ import main; main()"
    done = in_python(code, "run", folder / "job.toml", "--run-id", run, **preload, **faults)
    return done.returncode, done.stderr


def first_run(folder: Path) -> None:
    """Run a job on its first night; the second is there to be counted."""
    write_nights(folder / "logs", 2)
    job = small_job(folder, text=JOB)
    second = folder / "logs" / "2026-03-02"
    second.rename(folder / "later")
    run_job(read_job(job), run="first")
    (folder / "later").rename(second)


def pointed(folder: Path) -> Path:
    """The run that readers find, which must be whole."""
    pointer = read_json(folder / "out/latest.json")
    run: Path = folder / "out" / pointer["path"]
    assert changed_files(run) == []
    return run


def tables(run: Path) -> dict[str, bytes]:
    """What a run publishes, without its times."""
    names = [*sorted(run.glob("tables/*.parquet")), run / "points.parquet", run / "verdicts.parquet"]
    return {path.name: path.read_bytes() for path in names}


def image(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Scene:
    """A job after its first run, of which any number of copies is made, and what its second run must find."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = folder / "model"
        first_run(self.model)
        done = self.copy("done")
        run_job(read_job(done / "job.toml"), run="second")
        self.expected = tables(pointed(done))

    def copy(self, name: str, root: Path | None = None) -> Path:
        copied = (root or self.folder) / name / "job"
        shutil.copytree(self.model, copied)
        # The sources keep their paths, by which the ledger knows them.
        return copied

    def check(self, folder: Path, ended: int) -> str:
        """Look at a job whose second run ended in some way; let it run again. Return what readers found."""
        found = pointed(folder).name
        assert found in ("first", "second")
        if found == "second":
            assert tables(pointed(folder)) == self.expected
        if ended == 0:
            assert found == "second"
        ledger = nf.CountsLedger(folder / "ledger")
        assert ledger.verify().is_empty()
        again = run_job(read_job(folder / "job.toml"), run="third")
        assert again.verdict == "pass"
        assert tables(pointed(folder)) == self.expected
        paths = sorted((folder / "logs").glob("*/*.parquet"))
        full = nf.count_confusion(nf.scan_predictions(paths), thresholds=[0.0, 0.25, 0.5, 0.75])
        assert_frame_equal(ledger.read(), full, check_exact=True)
        assert not list((folder / "out" / "runs").glob(".*"))
        shutil.rmtree(folder.parent)
        return found


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def whole_run(scene: Scene, library: Path) -> tuple[int, str]:
    """How many calls of a run change a file, and the modules that it imports."""
    folder = scene.copy("counted")
    counted = {"FAULT_CALLS": str(folder.parent / "calls"), "PYTHONPROFILEIMPORTTIME": "1"}
    code, err = ran(folder, "second", library, **counted)
    assert code == 0, err
    assert pointed(folder).name == "second"
    assert tables(pointed(folder)) == scene.expected
    return int((folder.parent / "calls").read_text()), err


@pytest.fixture(scope="module")
def calls(whole_run: tuple[int, str]) -> int:
    return whole_run[0]


def test_a_run_imports_nothing_slow_that_it_does_not_need(whole_run):
    lines = whole_run[1].splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "deltalake.table" in imported
    assert not {"pandas", "scipy.stats", "sklearn"} & imported


def failed_at(
    scene: Scene, library: Path, calls: range, root: Path | None, kind: str, **faults: str
) -> Iterator[tuple[int, str]]:
    """Let each call of a run that changes a file fail; yield how it ended, and what readers found then."""
    for n in calls:
        folder = scene.copy(f"{kind}-{n}", root)
        before = image(pointed(folder))
        code, err = ran(folder, "second", library, FAULT_AT=str(n), FAULT_KIND=kind, **faults)
        assert code in ((-signal.SIGKILL,) if kind == "kill" else (0, 4)), (n, err)
        assert "Traceback" not in err
        assert code != 4 or kind == "fill" or "No space left" in err, err
        if "FAULT_FILLER" in faults:
            Path(faults["FAULT_FILLER"]).unlink()
        if pointed(folder).name == "first":
            assert image(pointed(folder)) == before
        yield code, scene.check(folder, code)


@pytest.mark.parametrize(
    ("kind", "step"),
    [("kill", 400), ("full", 400), *(pytest.param(kind, 1, marks=SLOW) for kind in ("kill", "full", "fill"))],
)
def test_a_run_that_fails_at_any_change_of_a_file(scene, library, calls, request, kind, step):
    """Killed; told that the disk is full; and on a tmpfs that something else fills up to the last byte.

    The old result is there, byte for byte, until the new one is.
    """
    assert calls > 40
    disk = request.getfixturevalue("small_disk") if kind == "fill" else None
    faults = {} if disk is None else {"FAULT_FILLER": str(disk / "filler")}
    endings = list(failed_at(scene, library, range(1 + step // 4, calls + 1, step), disk, kind, **faults))
    told = "; ".join(f"{endings.count(one)} exit {one[0]}, the {one[1]} run" for one in sorted({*endings}))
    print(f"{kind} at {len(endings)} of {calls} calls: {told}")  # noqa: T201
    assert (-signal.SIGKILL, "first") in endings if kind == "kill" else 4 in dict(endings)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], check=False)  # noqa: S607
    if mounted.returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)  # noqa: S607


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=SLOW)])
def test_two_jobs_share_a_ledger(tmp_path, rounds):
    """Two jobs with output folders of their own, at once each night: each source is counted once."""
    spawning = get_context("spawn")
    together = spawning.Barrier(3)
    workers = []
    for name in ("a", "b"):
        job = tmp_path / f"{name}.toml"
        job.write_text(SMALL + f'\n[output]\nledger = "ledger"\nfolder = "out-{name}"\nkeep = 2\n')
        workers.append(spawning.Process(target=run_each_night, args=(job, rounds, together)))
        workers[-1].start()
    paths = []
    for night in range(rounds):
        day = date(2026, 1, 1) + timedelta(days=night)
        paths += [tmp_path / "logs" / f"{day}" / f"{part}.parquet" for part in range(3)]
        for part, path in enumerate(paths[-3:]):
            write_night(path, 50, 0.8, seed=3 * night + part)
        together.wait(timeout=300)
        together.wait(timeout=300)
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0
    ledger = nf.CountsLedger(tmp_path / "ledger")
    full = nf.count_confusion(nf.scan_predictions(paths), thresholds=[0.0, 0.25, 0.5, 0.75])
    assert_frame_equal(ledger.read(), full, check_exact=True)
    counts = pl.scan_delta(ledger.uri).filter(pl.col("ledger_part") == "counts").collect()
    sources = counts["ledger_source"].n_unique()
    assert sources == counts.select("ledger_source", "ledger_sequence").n_unique() == 3 * rounds
    for out in (tmp_path / "out-a", tmp_path / "out-b"):
        pointer = read_json(out / "latest.json")
        manifest = read_json(out / pointer["path"] / "manifest.json")
        assert (pointer["sequence"], manifest["rows"]["counted"]) == (rounds, 150 * rounds)


@pytest.mark.slow
def test_clocks_that_jump_and_summer_time_change_nothing(tmp_path, library):
    """Hours around the change to summer time, some late: whatever the clock says, what a rebuild counts."""
    text = JOB.replace("{date:%Y-%m-%d}", "{date:%Y-%m-%dT%H}") + "[segments]\nkeys = ['country']\n"
    hours = [datetime(2026, 3, 28, 22) + timedelta(hours=hour) for hour in range(8)]
    clocks = [
        ("0", "UTC", hours[:3]),
        (str(-400 * 86_400), "Europe/Berlin", hours[5:]),
        (str(86_400), "America/New_York", hours[3:5]),
    ]
    found = {}
    for name, late in (("jumping", True), ("still", False)):
        folder = tmp_path / name
        small_job(folder, text=text)
        for place, (shift, zone, arrived) in enumerate(clocks):
            for hour in arrived:
                write_night(folder / "logs" / f"{hour:%Y-%m-%dT%H}" / "a.parquet", 60, 0.8, seed=hour.hour)
            if late:
                code, err = ran(folder, f"run-{place}", library, FAULT_CLOCK=shift, TZ=zone)
                assert code == 0, err
        if not late:
            run_job(read_job(folder / "job.toml"), run="run-2")
        run = pointed(folder)
        assert run.name == "run-2"
        found[name] = tables(run)
    assert found["jumping"] == found["still"]
    history = pl.read_parquet(tmp_path / "jumping" / "out" / "runs" / "run-2" / "history.parquet")
    assert history["run"].to_list() == ["run-0", "run-1", "run-2"]
    # In summer time there is no 02:30 in Berlin; here every hour has its window.
    ledger = nf.CountsLedger(tmp_path / "jumping" / "ledger")
    assert ledger.sources()["window_start"].dt.replace_time_zone(None).sort().to_list() == hours
    before = ledger.read()
    ledger.rebuild()
    assert_frame_equal(ledger.read(), before, check_exact=True)
