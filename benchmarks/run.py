"""Compare counting with what a user would use instead, on the same files, each run in a new process.

    python benchmarks/run.py --rows 20_000_000 --times 5 --runs 5

writes a synthetic log with 20,000,000 rows, once with scores in double and once in single precision. First
every form of each contender counts it, since each can be written in several ways. Then there are 5 copies of
each file, and this library and the best form of each contender run 5 times in alternating order, also with
fewer groups. The results are docs/performance.md and docs/performance.png.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from logs import KEYS
from performance_page import Results, write_page

from nci_frames.demo import write_synthetic_logs

ROOT = Path(__file__).parents[1]
DTYPES = ("float64", "float32")
#: kind of thresholds -> contender -> forms; those of one kind count the same
FORMS = {
    "arbitrary": {
        "DuckDB": ["duckdb_histogram", "duckdb_lookup", "duckdb_asof", "duckdb_case"],
        "Polars": ["polars_search", "polars_bins", "polars_packed"],
        "NumPy": ["numpy_search", "numpy_lookup"],
    },
    "uniform": {"DuckDB": ["duckdb_group_by", "duckdb_group_by_class"]},
    "exact": {"NumPy": ["numpy_exact"], "scikit-learn": ["scikit_learn_areas", "scikit_learn_one_sort"]},
}
OURS = {
    "arbitrary": ["decode", "nci_frames"],
    "uniform": ["nci_frames"],
    "exact": ["nci_frames_exact"],
}
#: What verifying the checksums of pages takes is little: it shows only in many runs.
VERIFYING = {"arbitrary": ["nci_frames", "nci_frames_unverified"]}
RUNS_OF_VERIFYING = 20
#: Fewer keys than all: SQL engines are faster where there are few groups.
FEWER_KEYS = ("model", "model,fold")
#: multiples of --times (copies of each file), to measure how time and memory grow with the rows
SCALES = (0.2, 1, 5)


def run(name: str, kind: str, folder: str, times: int, keys: str) -> dict[str, Any]:
    """Run one contender once, in a new process."""
    program = str(ROOT / "benchmarks" / "contenders.py")
    command = [sys.executable, program, name, kind, folder, str(times)]
    environment = os.environ | {"BENCHMARK_KEYS": keys}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found = {"form": name, "kind": kind, **json.loads(done.stdout.splitlines()[-1])}
    print(
        f"{Path(folder).name} x {times:2} {kind:9} {name:22}"
        f" {found['seconds']:7.2f} s {found['cpu']:7.2f} CPU s {found['peak_gb']:5.2f} GB",
        flush=True,
    )
    return found


def measure(
    forms: dict[str, list[str]], folder: str, times: int, runs: int, *, keys: str = ",".join(KEYS)
) -> pl.DataFrame:
    """Run all forms of each kind in alternating order; check that those of a kind have the same counts."""
    names = [(kind, name) for kind, each in forms.items() for name in each]
    rows = []
    for turn in range(runs):
        for kind, name in names if turn % 2 == 0 else reversed(names):
            rows.append(run(name, kind, folder, times, keys))
    frame = pl.DataFrame(rows)
    counted = frame.filter(pl.col("form") != "decode")
    differing = counted.group_by("kind").agg(pl.col("digest").n_unique()).filter(pl.col("digest") > 1)
    if len(differing):
        raise SystemExit(f"the contenders counted differently: {counted.select('form', 'digest').unique()}")
    return frame


def best_forms(measured: pl.DataFrame, by: str) -> dict[str, list[str]]:
    """Return the form of each contender that took the least time, by the kind of thresholds."""
    seconds = measured.group_by("kind", "form").agg(pl.col(by).median())
    best = {}
    for kind, contenders in FORMS.items():
        of = dict(seconds.filter(kind=kind).select("form", by).iter_rows())
        best[kind] = [min(forms, key=of.__getitem__) for forms in contenders.values()]
    return best


def main() -> None:
    """Run the benchmarks and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the log")
    parser.add_argument("--times", type=int, default=5, help="copies of each file")
    parser.add_argument("--runs", type=int, default=5, help="runs of each contender")
    parser.add_argument(
        "--busy",
        action="store_true",
        help="the machine does other work: choose forms by CPU seconds, and say so",
    )
    options = parser.parse_args()
    results = Results(options.rows, options.times, options.runs, busy=options.busy)
    few = min(options.runs, 3)
    with tempfile.TemporaryDirectory() as temporary:
        for dtype in DTYPES:
            folder = str(Path(temporary, dtype))
            write_synthetic_logs(folder, rows=options.rows, dtype=dtype)
            every = {kind: [form for forms in FORMS[kind].values() for form in forms] for kind in FORMS}
            results.forms[dtype] = measure(every, folder, 1, few)
            best = best_forms(results.forms[dtype], "cpu" if options.busy else "seconds")
            on_grid = {kind: OURS[kind] + best[kind] for kind in ("arbitrary", "uniform")}
            results.grid[dtype] = measure(on_grid, folder, options.times, options.runs)
            if dtype == DTYPES[-1]:
                for keys in FEWER_KEYS:
                    results.fewer[keys.replace(",", ", ")] = measure(
                        on_grid, folder, options.times, options.runs, keys=keys
                    )
            results.exact[dtype] = measure({"exact": OURS["exact"] + best["exact"]}, folder, 1, options.runs)
        folder = str(Path(temporary, DTYPES[0]))
        results.verifying = measure(VERIFYING, folder, options.times, max(options.runs, RUNS_OF_VERIFYING))
        for factor in SCALES:
            copies = max(round(factor * options.times), 1)
            results.scaled[copies * options.rows] = measure(
                {"arbitrary": ["nci_frames"]}, folder, copies, few
            )
    write_page(results, ROOT / "docs")


if __name__ == "__main__":
    main()
