"""How much memory and time exact counts of a large log take, and areas computed from their file.

    python benchmarks/exact_file.py --rows 200_000_000 --memory-limit 1e9 --folder /tmp

writes a synthetic log, once with scores in double and once in single precision, counts it with
``sink_exact_counts`` in a new process, and computes the areas of every group from the file in others: a model
at a time, and a model and fold at a time. It prints the table of docs/scale.md, and removes all files.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from own_memory import peak_bytes

from nci_frames.demo import write_synthetic_logs

DTYPES = ("float64", "float32")


def count(log: str, file: str, limit: float) -> dict[str, Any]:
    """Write exact counts; return the size of the file."""
    import nci_frames as nf

    scan = nf.scan_predictions(log, fold="fold", segments="segment")
    nf.sink_exact_counts(scan, file, memory_limit=limit)
    return {"file_gb": Path(file).stat().st_size / 1e9}


def areas(keys: list[str], file: str) -> dict[str, Any]:
    """Compute the areas of every group, those with the same values of some keys at a time."""
    import polars as pl

    import nci_frames as nf

    counts = pl.scan_parquet(file)
    values = counts.select(keys).unique().sort(keys).collect()
    tables = [nf.compute_areas(counts.filter(**mine), prevalence=0.001) for mine in values.to_dicts()]
    return {"areas": sum(map(len, tables)), "counts": counts.select(pl.len()).collect().item()}


def measured(step: str, *arguments: str) -> dict[str, Any]:
    """Run one step in a new process."""
    command = [sys.executable, __file__, "--step", step, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(step, *arguments, found, flush=True)
    return found


def run_step(step: str, log: str, file: str, limit: str) -> None:
    """Print what one step takes, beyond the imports."""
    import nci_frames as nf

    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "count": lambda: count(log, file, float(limit)),
        "models": lambda: areas(["model"], file),
        "folds": lambda: areas(["model", "fold"], file),
    }
    nf.sink_exact_counts, nf.compute_areas  # noqa: B018 - imports
    memory, begin, used = peak_bytes(), time.perf_counter(), time.process_time()
    found = steps[step]()
    found |= {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - used}
    print(json.dumps(found | {"peak_gb": (peak_bytes() - memory) / 1e9, "imports_gb": memory / 1e9}))


def main() -> None:
    """Measure both kinds of scores, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000_000, help="rows of the log")
    parser.add_argument("--memory-limit", type=float, default=1e9, help="bytes")
    parser.add_argument("--folder", default=None, help="where temporary files go")
    options = parser.parse_args()
    lines = []
    for dtype in DTYPES:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            log, file = f"{folder}/log", f"{folder}/exact.parquet"
            write_synthetic_logs(log, rows=options.rows, dtype=dtype)
            size = sum(part.stat().st_size for part in Path(log).iterdir()) / 1e9
            arguments = log, file, str(options.memory_limit)
            counted = measured("count", *arguments)
            lines.append(
                f"| {dtype} | {size:.2f} | {counted['seconds']:.0f} | {counted['cpu']:.0f}"
                f" | {counted['peak_gb']:.2f} | {counted['file_gb']:.2f}"
            )
            for step in ("models", "folds"):
                read = measured(step, *arguments)
                lines[-1] += f" | {read['cpu']:.0f} | {read['peak_gb']:.2f}"
            lines[-1] += " |"
    print(*lines, sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        run_step(*sys.argv[2:6])
    else:
        main()
