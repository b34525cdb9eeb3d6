"""Measure counting on the small Spark cluster of the tests, and print the tables of docs/scale.md.

Run it with the Python of `make spark`: ``.venv-spark/bin/python benchmarks/spark.py``. The times of the
kernel are those of a processor, so that other programs on the machine do little harm; those of a whole count
are by the clock.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import nci_frames as nf
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.spark.partial import Kernel, partial_counts

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.spark_cluster import descendants, running_cluster

GRID = nf.logit_thresholds(1024)
#: So few that every cell of every partition has rows.
FEW = nf.uniform_thresholds(33)
FILES = 8
#: Rows of an Arrow batch that Spark sends.
BATCH = 200_000


def write_log(folder: Path, rows: int, files: int) -> str:
    """Write a log with 8 models and 20 segments."""
    folder.mkdir(parents=True)
    for place in range(files):
        rng = np.random.default_rng(place)
        size = rows // files
        label = rng.random(size) < 0.05
        models = pl.Series([f"model-{model}" for model in range(8)])
        segments = pl.Series([f"segment-{segment:02}" for segment in range(20)])
        score = 1 / (1 + np.exp(-rng.normal(2 * label, 1.5)))
        log = {
            "model": models[rng.integers(0, 8, size)],
            "segment": segments[rng.integers(0, 20, size)],
            "label": label,
            "score": score.astype(np.float32),
        }
        pl.DataFrame(log).write_parquet(folder / f"{place:03}.parquet")
    return str(folder)


class Timed:
    """A kernel that writes down how much of the processor each call of it took."""

    def __init__(self, kernel: Kernel, folder: str) -> None:
        self.kernel = kernel
        self.folder = folder

    def __call__(self, batches: Iterator[pa.RecordBatch], *, seed: int = 0) -> pl.DataFrame:
        # What Spark sends is read first: decoding its stream is not the kernel's work.
        read = list(batches)
        start = time.process_time()
        found = self.kernel(read, seed=seed)
        spent = time.process_time() - start
        rows = sum(batch.num_rows for batch in read)
        name = f"{time.time_ns()}.json"
        Path(self.folder, name).write_text(json.dumps({"seconds": spent, "rows": rows}))
        return found


def kernel_of(log: str) -> Kernel:
    scan = scan_behind(nf.scan_predictions(log, segments="segment"))
    find = partial(partial_counts, group=["model", "segment"], grid=np.array(GRID), budget=Budget.of(None))
    return Kernel(scan.source.schema(), scan.prepare, find)


def here(log: str) -> list[float]:
    """Return nanoseconds of the processor for each row of each file, in one process."""
    kernel = kernel_of(log)
    times = []
    for file in sorted(Path(log).glob("*.parquet")):
        batches = pq.read_table(file, columns=kernel.schema.names()).to_batches(BATCH)
        start = time.process_time()
        kernel(batches)
        times.append(1e9 * (time.process_time() - start) / sum(batch.num_rows for batch in batches))
    return times


def in_executors(spark: Any, log: str, folder: Path) -> list[float]:
    """Return the same, in the tasks of Spark."""
    kernel = kernel_of(log)
    folder.mkdir()
    timed = Timed(kernel, str(folder))

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"cells": [timed(batches).height]})

    frame = spark.read.parquet(log).select(*kernel.schema.names())
    frame.mapInArrow(task, "cells bigint").collect()
    facts = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return [1e9 * fact["seconds"] / fact["rows"] for fact in facts if fact["rows"]]


def seconds(predictions: pl.LazyFrame, thresholds: list[float]) -> float:
    """Return how long a count takes."""
    start = time.perf_counter()
    nf.count_confusion(predictions, thresholds=thresholds)
    return time.perf_counter() - start


def cpu() -> dict[str, float]:
    """Return the seconds of a processor that all processes have used: those in Java, and those in Python."""
    used = {"java": 0.0, "python": 0.0}
    for pid in [os.getpid(), *descendants(os.getpid())]:
        with contextlib.suppress(OSError):
            name, _, fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            # In user and kernel mode; then those of the processes that it started and that ended.
            ticks = sum(map(int, fields.split()[11:15]))
            used["java" if "(java" in name else "python"] += ticks / os.sysconf("SC_CLK_TCK")
    return used


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=20_000_000)
    rows = options.parse_args().rows
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        logs = {n: write_log(folder / f"log-{n}", n, FILES) for n in (rows // 25, rows // 5, rows)}
        mine = here(logs[rows // 5])
        (folder / "cluster").mkdir()
        with running_cluster(folder / "cluster") as cluster:
            starting = time.perf_counter()
            spark = cluster.session(
                **{
                    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
                    # The tests do without the best compiler of Java.
                    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
                    # One partition for each file, whatever its size.
                    "spark.sql.files.maxPartitionBytes": "1g",
                    "spark.sql.files.openCostInBytes": "1g",
                }
            )
            print(f"start of the session: {time.perf_counter() - starting:.1f} s")
            theirs = in_executors(spark, logs[rows // 5], folder / "times")
            a, b = statistics.median(mine), statistics.median(theirs)
            print("kernel, nanoseconds of a processor for each row:")
            print(f"{a:.1f} in one process, {b:.1f} in executors: {b / a:.2f} x", flush=True)
            print("seconds of a processor, those of Spark in Java and in Python; and by the clock:")
            print("| rows | thresholds | one process | Java | Python | clock | rows moved | bytes |")
            print("|" + " ---: |" * 8)
            # Both are started, and have imported what they need.
            nf.count_confusion(spark.read.parquet(logs[rows // 25]), thresholds=FEW)
            nf.count_confusion(nf.scan_predictions(logs[rows // 25]), thresholds=FEW)
            for thresholds in (GRID, FEW):
                for number, log in logs.items():
                    own = time.process_time()
                    one = seconds(nf.scan_predictions(log, segments="segment"), thresholds)
                    own = time.process_time() - own
                    frame = spark.read.parquet(log)
                    if frame.rdd.getNumPartitions() != FILES:
                        raise SystemExit("the partitions are not the files")
                    before = cluster.shuffled(), cluster.shuffled("Records"), cpu()
                    many = seconds(nf.scan_predictions(frame, segments="segment"), thresholds)
                    java, python = (after - before[2][name] for name, after in cpu().items())
                    moved, records = cluster.shuffled() - before[0], cluster.shuffled("Records") - before[1]
                    print(
                        f"| {number:,} | {len(thresholds):,} | {own:.2f} ({one:.1f} s) | {java:.1f}"
                        f" | {python:.1f} | {many:.1f} s | {records:,} | {moved:,} |",
                        flush=True,
                    )
            spark.stop()


if __name__ == "__main__":
    main()
