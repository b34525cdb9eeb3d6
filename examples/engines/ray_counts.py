"""Counts of many files in Ray: ray_counts.py LOGS COUNTS.parquet. Needs `pip install ray`."""

import os
import sys
from pathlib import Path

import ray

import nci_frames as nf

# The same thresholds everywhere, so that the partial counts can be added.
THRESHOLDS = nf.logit_thresholds(101)


@ray.remote(num_cpus=1, max_retries=3)
def count(files: list[str]):
    predictions = nf.scan_predictions(files, segments="country")
    return nf.count_confusion(predictions, thresholds=THRESHOLDS)


@ray.remote
def merge(*counts):
    return nf.merge_counts(*counts)


if __name__ == "__main__":
    logs, out = sys.argv[1:]
    files = sorted(map(str, Path(logs).glob("*.parquet")))
    # A task has one core, so Polars gets one thread.
    environment = {"env_vars": {"POLARS_MAX_THREADS": "1"}}
    ray.init(address=os.environ.get("RAY_ADDRESS"), runtime_env=environment)
    counts = [count.remote(files[place::8]) for place in range(8)]
    # In pairs, so that no process holds the counts of all parts.
    while len(counts) > 1:
        counts = [merge.remote(*counts[place : place + 2]) for place in range(0, len(counts), 2)]
    nf.save_table(ray.get(counts[0]), out)
    ray.shutdown()
