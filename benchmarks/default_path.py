"""Measure what a user gets by default: "auto", the report, and files as other programs write them.

    python benchmarks/default_path.py [--runs 3] [--write]

Every run is a process of its own that also imports the library, in alternating order. Counted are 3,000,000
rows of five models as fraud detection has them (most scores near 0, one model with whole numbers), logits of
four sizes, fifty models, whole numbers, and the shares of few neighbours: at 1,024 given thresholds, and with
"auto". The report answers an alert budget; NumPy sorts the scores of each model and finds its threshold, and
DuckDB adds up the rows of the highest scores. Spark writes a log if `make spark` has installed it. With
--write the tables are put into docs/performance.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from own_memory import peak_bytes

ROOT = Path(__file__).parents[1]
PROGRAM = Path(__file__).resolve()
PAGE = ROOT / "docs" / "performance.md"
START, END = "<!-- default: from here", "<!-- default: to here -->"
#: What Polars writes unless it is told otherwise.
ROW_GROUP = 122_880
LOGS = {
    "fraud": "15M rows: five fraud models, 8 countries",
    "logits": "12M rows: logits of four sizes",
    "fifty": "15M rows: fifty models",
    "whole": "16M rows: whole numbers",
    "neighbours": "24M rows: shares of 5, 15, 50 neighbours",
}
WRITERS = {"polars": ".parquet", "pyarrow": "-pyarrow.parquet", "duckdb": "-duckdb.parquet"}
SPARK = ROOT / ".venv-spark" / "bin" / "python"
BY_SPARK = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.read.parquet(sys.argv[1]).write.parquet(sys.argv[2])
"""
#: What a process of its own runs.
RUNS = ("grid", "auto", "numpy", "duckdb")
ETA, ALERTS, VOLUME = 2e-4, 500, 1_000_000


def write_log(name: str, folder: Path) -> None:
    """Write a log as Polars does by default, and that of fraud also as others do."""
    import duckdb
    import numpy as np
    import polars as pl
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)

    def model(called: str, label: np.ndarray, score: np.ndarray, **keys: pl.Series) -> pl.DataFrame:
        columns = {"label": label.astype(np.int8), "score": score.astype(np.float32)}
        return pl.DataFrame(columns | keys).with_columns(model=pl.lit(called))

    if name == "fraud":
        y = rng.random(3_000_000) < 0.01
        country = pl.Series(rng.integers(0, 8, len(y))).cast(pl.String)
        parts = []
        for place, called in enumerate(("nn", "xgb", "lr", "rf", "points")):
            z = rng.normal(size=len(y)) * 1.5 - 7 + (4 + 0.3 * place) * y
            score = 1 / (1 + np.exp(-z))
            score = np.round(score * 500) / 500 if called == "rf" else score
            score = np.floor(score * 1000) if called == "points" else score
            parts.append(model(called, y, score, country=country))
    elif name == "logits":
        y = rng.random(3_000_000) < 0.01
        parts = [model(f"x{3**k}", y, 3**k * (rng.normal(size=len(y)) + 1.5 * y)) for k in range(4)]
    elif name == "fifty":
        y = rng.random(300_000) < 0.02
        z = [rng.normal(size=len(y)) + 2 * y - 3 - 0.02 * k for k in range(50)]
        parts = [model(f"m{k:02}", y, 1 / (1 + np.exp(-z[k]))) for k in range(50)]
    else:
        y = rng.random(8_000_000) < 0.01
        if name == "whole":
            parts = [model(m, y, np.round(rng.normal(size=len(y)) * 20 + 40 * y + 100)) for m in "ab"]
        else:
            share = np.where(y, 0.5, 0.05)
            parts = [model(f"k{k}", y, rng.binomial(k, share, len(y)) / k) for k in (5, 15, 50)]
    log = pl.concat(parts)
    log.write_parquet(folder / f"{name}.parquet", row_group_size=ROW_GROUP)
    if name == "fraud":
        others = {writer: folder / f"fraud{end}" for writer, end in WRITERS.items()}
        pq.write_table(log.to_arrow(), others["pyarrow"])
        duckdb.sql(f"COPY log TO '{others['duckdb']}' (FORMAT PARQUET)")
        if SPARK.exists():
            told = [SPARK, "-c", BY_SPARK, folder / "fraud.parquet", folder / "fraud-spark"]
            subprocess.run(told, check=True, capture_output=True)


def count(file: Path, thresholds: str) -> str:
    """Count a log at 1,024 even thresholds, or with "auto"."""
    import numpy as np
    import polars as pl

    import nci_frames as nf

    fraud = file.stem.startswith("fraud")
    grid = None
    if thresholds == "grid" and fraud:
        grid = nf.logit_thresholds(1024)
    elif thresholds == "grid":
        ends = pl.scan_parquet(file).select(low=pl.col("score").min(), high=pl.col("score").max())
        grid = np.linspace(*ends.collect().row(0), 1024).tolist()
    scan = nf.scan_predictions(file, segments="country" if fraud else None)
    counts = nf.count_confusion(scan, thresholds=grid or "auto")
    return f"{counts['threshold'].n_unique():,} thresholds"


def by_numpy(file: Path) -> str:
    """Find the highest threshold of each model that keeps the budget, and the best model by recall."""
    import numpy as np
    import polars as pl

    log = pl.read_parquet(file, columns=["model", "label", "score"])
    best = (-1.0, "", 0.0)
    for (called,), rows in log.group_by("model", maintain_order=True):
        score, label = rows["score"].to_numpy(), rows["label"].to_numpy().astype(bool)
        positives, negatives = np.sort(score[label]), np.sort(score[~label])
        at = np.unique(positives)
        tpr = 1 - np.searchsorted(positives, at) / len(positives)
        fpr = 1 - np.searchsorted(negatives, at) / len(negatives)
        kept = np.flatnonzero(ETA * tpr + (1 - ETA) * fpr <= ALERTS / VOLUME)
        if len(kept):
            best = max(best, (float(tpr[kept[0]]), str(called), float(at[kept[0]])))
    return f"{best[1]}: recall {best[0]:.4f}" if best[1] else ""


def by_duckdb(file: Path) -> str:
    """Find the same in one query: only the highest scores of a model can keep the budget."""
    import duckdb

    found = duckdb.sql(f"""
        WITH log AS (SELECT model, label, score FROM '{file}'),
        models AS (
            SELECT model, sum(label) AS p, count(*) - sum(label) AS n, approx_quantile(score, 0.95) AS low
            FROM log GROUP BY model
        ),
        scores AS (
            SELECT model, score, sum(label)::BIGINT AS positives, count(*) - sum(label)::BIGINT AS negatives
            FROM log JOIN models USING (model) WHERE score >= low GROUP BY model, score
        ),
        reached AS (
            SELECT model, sum(positives) OVER above AS tp, sum(negatives) OVER above AS fp FROM scores
            WINDOW above AS (PARTITION BY model ORDER BY score DESC ROWS UNBOUNDED PRECEDING)
        )
        SELECT arg_max(model, tp / p), max(tp / p) FROM reached JOIN models USING (model)
        WHERE {ETA} * tp / p + {1 - ETA} * fp / n <= {ALERTS / VOLUME}
    """).fetchall()
    (called, recall), *_ = found
    return "" if called is None else f"{called}: recall {recall:.4f}"


def report(file: Path) -> dict[str, float | str]:
    """Run the command, and take the time to its first answer and to its end."""
    command = [sys.executable, "-m", "nci_frames", "report", str(file), "--at", str(ETA)]
    command += ["--alerts", str(ALERTS), "--volume", str(VOLUME)]
    command += ["--segments", "country"] if file.stem == "fraud" else []
    first, told = 0.0, ""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--out", f"{folder}/out"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        peak = 0
        for line in process.stdout or ():
            first = first or time.perf_counter() - begin
            told = told or (line.strip() if line.lstrip().startswith("Choose") else "")
            status = Path(f"/proc/{process.pid}/status")
            if status.exists() and "VmHWM:" in (text := status.read_text()):
                peak = max(peak, 1024 * int(text.split("VmHWM:")[1].split()[0]))
        process.wait()
        return {"seconds": time.perf_counter() - begin, "first": first, "GB": peak / 1e9, "told": told}


def run_apart(what: str, file: Path, program: Path = PROGRAM) -> dict[str, float | str]:
    """Make one run of a program in a process of its own."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'benchmarks'}"}
    command = [sys.executable, "-W", "ignore", str(program), "--run", what, "--file", str(file)]
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float | str] = {"seconds": time.perf_counter() - begin}
    return found | json.loads(done.stdout.splitlines()[-1])


def alternating(
    runs: int, cases: dict[str, Callable[[], dict[str, float | str]]]
) -> dict[str, dict[str, float]]:
    """Return the medians of some cases, each run as often, one after another."""
    results: dict[str, list[dict[str, float | str]]] = {name: [] for name in cases}
    for _ in range(runs):
        for name, run in cases.items():
            results[name].append(run())
            print(name, results[name][-1], flush=True)
    numbers = ("seconds", "first", "GB")
    return {
        name: {key: statistics.median(float(run[key]) for run in found) for key in numbers if key in found[0]}
        for name, found in results.items()
    }


def tables(runs: int, folder: Path) -> list[str]:
    """Measure everything, and return the tables as Markdown."""
    counting = [
        "| log | 1,024 thresholds, s | `auto`, s | ratio | peak GB of `auto` |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    answering = [
        "| an alert budget | NumPy, s | DuckDB, s | first answer, s | ratio | report, s | ratio | peak GB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, told in LOGS.items():
        write_log(name, folder)
        file = folder / f"{name}.parquet"
        programs = {at: lambda at=at, file=file: run_apart(at, file) for at in RUNS}
        found = alternating(runs, {**programs, "report": lambda file=file: report(file)})
        grid, auto, sorts, sql = ([found[at][key] for key in ("seconds", "GB")] for at in RUNS)
        counting.append(
            f"| {told} | {grid[0]:.2f} | {auto[0]:.2f} | {auto[0] / grid[0]:.1f} | {auto[1]:.2f} |"
        )
        whole = found["report"]
        both = " | ".join(f"{whole[key]:.2f} | {whole[key] / sorts[0]:.1f}" for key in ("first", "seconds"))
        answering.append(
            f"| {told.split(': ')[1]} | {sorts[0]:.2f} | {sql[0]:.2f} | {both} | {whole['GB']:.2f} |"
        )
    lines = [*counting, "", *answering, ""]
    lines += ["| the first log as written by | 1,024 thresholds, s | MB |", "| --- | ---: | ---: |"]
    files = {writer: folder / f"fraud{end}" for writer, end in WRITERS.items()}
    if (folder / "fraud-spark").exists():
        files["spark"] = folder / "fraud-spark"
    found = alternating(
        runs, {name: lambda file=file: run_apart("grid", file) for name, file in files.items()}
    )
    for writer, file in files.items():
        size = sum(part.stat().st_size for part in (file.iterdir() if file.is_dir() else [file]))
        lines.append(f"| {writer} | {found[writer]['seconds']:.2f} | {size / 1e6:.0f} |")
    return lines


def put_tables(lines: list[str], start: str, end: str) -> None:
    """Put tables into docs/performance.md between two marks."""
    before, rest = PAGE.read_text(encoding="utf-8").split(start, 1)
    note, after = rest.split("-->", 1)
    after = after.split(end, 1)[1]
    text = f"{before}{start}{note}-->\n\n" + "\n".join(lines) + f"\n\n{end}{after}"
    PAGE.write_text(text, encoding="utf-8")


def parser_of(told: str | None, runs: int) -> argparse.ArgumentParser:
    """Return the options of a program that runs itself in processes of their own."""
    parser = argparse.ArgumentParser(description=told, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    return parser


def main() -> None:
    given = parser_of(__doc__, 3).parse_args()
    if given.run:
        peers = {"numpy": by_numpy, "duckdb": by_duckdb}
        told = peers[given.run](given.file) if given.run in peers else count(given.file, given.run)
        print(json.dumps({"told": told, "GB": peak_bytes() / 1e9}))
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = tables(given.runs, Path(folder))
    print("\n".join(lines))
    if given.write:
        put_tables(lines, START, END)


if __name__ == "__main__":
    main()
