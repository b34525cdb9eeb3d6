"""Counts of many files in processes of this machine: processes.py LOGS COUNTS.parquet."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nci_frames as nf

# The same thresholds everywhere, so that the partial counts can be added.
THRESHOLDS = nf.logit_thresholds(101)


def count(files: list[str]):
    predictions = nf.scan_predictions(files, segments="country")
    return nf.count_confusion(predictions, thresholds=THRESHOLDS)


if __name__ == "__main__":
    logs, out = sys.argv[1:]
    files = sorted(map(str, Path(logs).glob("*.parquet")))
    parts = [files[place::4] for place in range(4)]
    # A process that is forked after Polars ran hangs.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as processes:
        counts = nf.merge_counts(*processes.map(count, parts))
    nf.save_table(counts, out)
