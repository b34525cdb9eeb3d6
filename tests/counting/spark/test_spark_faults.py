"""A count in Spark whose processes are killed gives the same counts, or none."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.spark_cluster import MISSING, Cluster, running_cluster

if MISSING:
    pytest.skip(MISSING, allow_module_level=True)

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROWS, FILES = 5_000_000, 20
GRID = nf.logit_thresholds(501)
ONE_FILE_A_TASK = {"spark.sql.files.maxPartitionBytes": "2m"}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Five million rows in twenty files."""
    folder = tmp_path_factory.mktemp("log")
    for place in range(FILES):
        rng = np.random.default_rng(place)
        rows = ROWS // FILES
        label = rng.random(rows) < 0.05
        pl.DataFrame(
            {
                "model": rng.choice(["forest", "linear"], rows),
                "country": rng.choice(["at", "de", "fr", "it"], rows),
                "label": label,
                "score": (1 / (1 + np.exp(-rng.normal(2 * label, 1)))).astype(np.float32),
            }
        ).write_parquet(folder / f"part-{place:02}.parquet")
    return str(folder)


@pytest.fixture(scope="module")
def expected(log: str) -> pl.DataFrame:
    return nf.count_confusion(nf.scan_predictions(log, segments="country"), thresholds=GRID)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def spark(cluster: Cluster) -> Iterator[Any]:
    # One that was killed is replaced.
    for worker in list(cluster.workers):
        if worker.poll() is not None:
            cluster.workers.remove(worker)
            cluster.add_workers()
    session = cluster.session(**ONE_FILE_A_TASK)
    yield session
    session.stop()


def slowly(frame: Any) -> Any:
    """The same rows, each partition half a second later."""

    def wait(batches: Any) -> Any:
        time.sleep(0.5)
        yield from batches

    return frame.mapInArrow(wait, frame.schema)


def executor(cluster: Cluster) -> list[int]:
    return cluster.executors(cluster.workers[0])


def worker(cluster: Cluster) -> list[int]:
    return [cluster.workers[0].pid]


def python_worker(cluster: Cluster) -> list[int]:
    return [pid for each in cluster.workers for pid in cluster.python_workers(each)]


def in_the_middle(spark: Any, seconds: float = 600) -> None:
    """Wait until some tasks of a count are done, and others are not."""
    tracker = spark.sparkContext.statusTracker()
    for _ in range(int(seconds / 0.05)):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numTasks >= 4 and 1 <= info.numCompletedTasks <= info.numTasks - 3:
                return
        time.sleep(0.05)
    raise TimeoutError


@pytest.mark.parametrize("victim", [executor, worker, python_worker])
def test_a_process_is_killed_in_mid_run(
    cluster: Cluster, spark: Any, log: str, expected: pl.DataFrame, victim: Callable[[Cluster], list[int]]
) -> None:
    predictions = nf.scan_predictions(slowly(spark.read.parquet(log)), segments="country")
    with ThreadPoolExecutor(1) as thread:
        counting = thread.submit(nf.count_confusion, predictions, thresholds=GRID)
        in_the_middle(spark)
        killed = victim(cluster)
        assert killed
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert not counting.done()
        counts = counting.result(timeout=900)
    assert_frame_equal(counts, expected, check_exact=True)


def test_executors_without_the_package_and_with_it_shipped(
    cluster: Cluster, log: str, expected: pl.DataFrame, tmp_path: Path
) -> None:
    package = Path(nf.__file__).parent
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    # Python imports this at its start, after the packages that are installed have been found.
    (hidden / "sitecustomize.py").write_text(f"import sys\nsys.path.remove({str(package.parent)!r})\n")
    session = cluster.session(**{"spark.executorEnv.PYTHONPATH": str(hidden)})
    try:
        predictions = nf.scan_predictions(session.read.parquet(log), segments="country")
        with pytest.raises(nf.SourceError, match="No module named 'nci_frames'") as error:
            nf.count_confusion(predictions, thresholds=GRID)
        assert "install nci_frames for the Python of the executors, or ship it" in str(error.value)
        archive = shutil.make_archive(
            str(tmp_path / "nci_frames"), "zip", root_dir=package.parent, base_dir=package.name
        )
        session.sparkContext.addPyFile(archive)
        counts = nf.count_confusion(predictions, thresholds=GRID)
        assert_frame_equal(counts, expected, check_exact=True)
    finally:
        session.stop()


DRIVER = """
import sys
import time

import nci_frames as nf
from pyspark.sql import SparkSession

log, out, wait, *settings = sys.argv[1:]
builder = SparkSession.builder
for setting in settings:
    builder = builder.config(*setting.split("=", 1))
session = builder.getOrCreate()
session.sparkContext.setLogLevel("FATAL")
frame = session.read.parquet(log)


def slowly(batches):
    time.sleep(float(wait))
    yield from batches


frame = frame.mapInArrow(slowly, frame.schema)
predictions = nf.scan_predictions(frame, segments="country")
print("counting", flush=True)
nf.save_table(nf.count_confusion(predictions, thresholds=nf.logit_thresholds(501)), out)
session.stop()
"""


def test_a_driver_that_is_killed_publishes_nothing(
    cluster: Cluster, log: str, expected: pl.DataFrame, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "counts.parquet"
    out.parent.mkdir()
    settings = {"spark.master": cluster.url, **cluster.settings(), **ONE_FILE_A_TASK}
    options = [f"{name}={value}" for name, value in settings.items()]

    def drive(wait: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", textwrap.dedent(DRIVER), log, str(out), str(wait), *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with drive(wait=3) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "counting\n"
        time.sleep(5)
        assert driver.poll() is None
        driver.kill()
    assert list(out.parent.iterdir()) == []
    with drive(wait=0) as driver:
        assert driver.wait(timeout=900) == 0
    assert_frame_equal(pl.read_parquet(out), expected, check_exact=True)
