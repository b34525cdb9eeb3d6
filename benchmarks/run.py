"""Compare counting with what a user would use instead, on the same files, each run in a new process.

    python benchmarks/run.py --rows 20_000_000 --times 10 --runs 5

writes a synthetic log with 20,000,000 rows, gives each file 10 names, and runs every contender 5 times in
alternating order. The results are docs/performance.md and docs/performance.png.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from nci_frames.demo import write_synthetic_logs

ROOT = Path(__file__).parents[1]
#: contender -> (kind of thresholds, description)
GRID = {
    "decode": ("arbitrary", "decode the columns only (the floor)"),
    "nci_frames": ("arbitrary", "nci_frames, arbitrary thresholds"),
    "nci_frames uniform": ("uniform", "nci_frames, uniform thresholds"),
    "duckdb_group_by": ("uniform", "DuckDB GROUP BY, uniform thresholds"),
    "duckdb_histogram": ("arbitrary", "DuckDB histogram(score, bounds), arbitrary thresholds"),
    "polars": ("arbitrary", "hand-written Polars, arbitrary thresholds"),
}
EXACT = {
    "nci_frames_exact": ("exact", "nci_frames: exact counts, then both areas of each group"),
    "scikit_learn_exact": ("exact", "scikit-learn: both areas, group by group"),
}
#: multiples of --times (names of each file), to measure how time and memory grow with the rows
SCALES = (0.1, 1, 5)
#: (contender, compared with, largest ratio of medians that meets the goal)
GOALS = [
    ("nci_frames", "duckdb_histogram", 0.35),
    ("nci_frames", "polars", 0.25),
    ("nci_frames", "decode", 6.0),
    ("nci_frames uniform", "duckdb_group_by", 0.45),
    ("nci_frames_exact", "scikit_learn_exact", 0.4),
]


def run(name: str, kind: str, folder: str, times: int) -> dict[str, Any]:
    """Run one contender once, in a new process."""
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "contenders.py"),
        name.split(maxsplit=1)[0],
        kind,
        folder,
        str(times),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(contenders: dict[str, tuple[str, str]], folder: str, times: int, runs: int) -> pl.DataFrame:
    """Run all in alternating order; check that those with the same thresholds have the same counts."""
    rows = []
    for turn in range(runs):
        names = list(contenders) if turn % 2 == 0 else list(reversed(contenders))
        for name in names:
            result = run(name, contenders[name][0], folder, times)
            rows.append({"contender": name, "kind": contenders[name][0], **result})
            print(
                f"{turn + 1}/{runs} {name:20} {result['seconds']:7.2f} s {result['peak_gb']:5.2f} GB",
                flush=True,
            )
    frame = pl.DataFrame(rows)
    counted = frame.filter(pl.col("contender") != "decode")
    differing = counted.group_by("kind").agg(pl.col("checksum").n_unique()).filter(pl.col("checksum") > 1)
    if len(differing):
        raise SystemExit(
            f"the contenders counted differently: {counted.select('contender', 'checksum').unique()}"
        )
    return frame


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the median, minimum and maximum seconds and the peak memory of each contender."""
    return frame.group_by("contender", maintain_order=True).agg(
        median=pl.col("seconds").median(),
        least=pl.col("seconds").min(),
        greatest=pl.col("seconds").max(),
        peak_gb=pl.col("peak_gb").max(),
    )


def goals(table: pl.DataFrame) -> list[str]:
    """Return a table row per goal: the measured ratio of medians, and the goal."""
    median = dict(table.select("contender", "median").iter_rows())
    return [
        f"| {mine} / {other} | {median[mine] / median[other]:.2f} | at most {most:g} |"
        for mine, other, most in GOALS
        if mine in median
    ]


def section(
    heading: str, contenders: dict[str, tuple[str, str]], table: pl.DataFrame, runs: int
) -> list[str]:
    """Return a section of the page."""
    lines = [
        f"## {heading}",
        "",
        f"Seconds of {runs} runs in alternating order, each in a new process.",
        "",
    ]
    lines += ["| contender | median s | min s | max s | peak GB |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in table.sort("median").iter_rows(named=True):
        what = contenders[row["contender"]][1]
        figures = [f"{row[column]:.2f}" for column in ("median", "least", "greatest", "peak_gb")]
        lines.append(f"| {what} | {' | '.join(figures)} |")
    return [*lines, "", "| ratio of medians | measured | goal |", "| --- | ---: | --- |", *goals(table), ""]


def scale(folder: str, times: int, rows: int, runs: int) -> list[str]:
    """Return a section of the page: time and memory for different numbers of rows."""
    lines = ["## Scaling", "", f"nci_frames at 1,024 arbitrary thresholds; medians of {runs} runs.", ""]
    lines += ["| rows | seconds | peak GB |", "| ---: | ---: | ---: |"]
    for factor in SCALES:
        listed = max(round(factor * times), 1)
        results = pl.DataFrame([run("nci_frames", "arbitrary", folder, listed) for _ in range(runs)])
        seconds, peak = results["seconds"].median(), results["peak_gb"].max()
        print(f"{listed * rows:,} rows {seconds:.2f} s {peak:.2f} GB", flush=True)
        lines.append(f"| {listed * rows:,} | {seconds:.2f} | {peak:.2f} |")
    return [*lines, ""]


def main() -> None:
    """Run the benchmarks and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the log")
    parser.add_argument("--times", type=int, default=10, help="how often the files are listed")
    parser.add_argument("--runs", type=int, default=5, help="runs of each contender")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_synthetic_logs(folder, rows=options.rows)
        grid = measure(GRID, folder, options.times, options.runs)
        exact = measure(EXACT, folder, 1, options.runs)
        scaled = scale(folder, options.times, options.rows, min(options.runs, 3))
    rows = options.rows * options.times
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    packages = ", ".join(f"{name} {version(name)}" for name in ("polars", "numpy", "duckdb", "scikit-learn"))
    lines = [
        "# Performance",
        "",
        "This page compares the time and memory of counting with DuckDB, hand-written Polars and",
        "scikit-learn. The ratios matter more than the seconds: machines differ, and other programs may run",
        "at the same time.",
        "",
        "| | measured with `make bench` |",
        "| --- | --- |",
        f"| machine | {os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB |",
        f"| versions | Python {platform.python_version()}, {packages} |",
        "| groups | 8 models x 10 folds x 20 segments, in random order |",
        "| columns | String keys, Float64 scores, in Parquet |",
        f"| rows | {options.rows:,}; {rows:,} by giving each file {options.times} names |",
        "",
        "![Seconds of each contender](performance.png)",
        "",
        *section(f"{rows:,} rows at 1,024 thresholds", GRID, summary(grid), options.runs),
        *scaled,
        *section(f"{options.rows:,} rows at every distinct score", EXACT, summary(exact), options.runs),
        "On a grid, memory grows with the number of cells and not with the rows. Exact counts keep the score",
        "and class of every row, and return a row for every distinct score. [Counting](counting.md) explains",
        "both.",
        "",
    ]
    page = ROOT / "docs" / "performance.md"
    # What comes after is from benchmarks/report.py.
    _, title, reports = page.read_text(encoding="utf-8").partition("## Comparisons and reports")
    page.write_text("\n".join([*lines, title + reports]), encoding="utf-8")
    labelled = grid.with_columns(what=pl.col("contender").replace({k: v[1] for k, v in GRID.items()}))
    bars = alt.Chart(labelled).encode(y=alt.Y("what:N", sort="x", title=None, axis=alt.Axis(labelLimit=400)))
    chart = bars.mark_bar(color="#0072b2").encode(
        x=alt.X("median(seconds):Q", title=f"seconds for {rows:,} rows")
    )
    points = bars.mark_tick(color="black").encode(x="seconds:Q")
    (chart + points).properties(width=420).save(str(ROOT / "docs" / "performance.png"), scale_factor=2)


if __name__ == "__main__":
    main()
