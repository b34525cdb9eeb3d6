"""A process that appends the files of a folder to a ledger, one at a time and in an order of its own."""

import random
import sys
from pathlib import Path

import nci_frames as nf

if __name__ == "__main__":
    folder, ledger, seed = sys.argv[1:]
    files = sorted(Path(folder).glob("*.parquet"))
    random.Random(int(seed)).shuffle(files)  # noqa: S311
    for file in files:
        nf.CountsLedger(ledger).append(file, thresholds=[0.0, 0.5], run=f"writer-{seed}")
