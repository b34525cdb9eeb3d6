"""Counts of many files in Dask: dask_counts.py LOGS COUNTS.parquet. Needs `pip install distributed`."""

import os
import sys
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster

import nci_frames as nf

# The same thresholds everywhere, so that the partial counts can be added.
THRESHOLDS = nf.logit_thresholds(101)


def count(files: list[str]):
    predictions = nf.scan_predictions(files, segments="country")
    return nf.count_confusion(predictions, thresholds=THRESHOLDS)


if __name__ == "__main__":
    logs, out = sys.argv[1:]
    files = sorted(map(str, Path(logs).glob("*.parquet")))
    # A worker has one thread, so Polars gets one, too.
    dask.config.set({"distributed.nanny.pre-spawn-environ.POLARS_MAX_THREADS": 1})
    address = os.environ.get("DASK_SCHEDULER_ADDRESS") or LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    with Client(address) as client:
        counts = client.map(count, [files[place::8] for place in range(8)], retries=3)
        # In pairs, so that no process holds the counts of all parts.
        while len(counts) > 1:
            pairs = [counts[place : place + 2] for place in range(0, len(counts), 2)]
            counts = [client.submit(nf.merge_counts, *pair) for pair in pairs]
        nf.save_table(counts[0].result(), out)
        client.shutdown()
