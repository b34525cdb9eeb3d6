"""Curves and areas of one log, beside packages that compute them: the numbers, and the CPU seconds.

    PYTHONPATH=/checkouts/fastauc python benchmarks/curve_peers.py --python /venvs/peers/bin/python --write

Each contender runs in a new process, with this Python if it has the package, or else with that of
``--python``. fastauc is no package: it is a checkout of the repository diditforlulz273/fastauc, in which its
``compile.sh`` was run. The table is in docs/performance.md. All get the same arrays in memory, each in the
form that it takes; what is timed is the second call, by the clock of the processors, since other programs may
run.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- curves: from here the table of benchmarks/curve_peers.py -->\n", "<!-- curves: to here -->"
ROWS, THRESHOLDS = 200_000, 1_024
#: The threshold, one of the grid, whose counts are compared.
AT = 512 / (THRESHOLDS - 1)
Values = dict[str, float]
Call = Callable[[], Values]


def nci_frames_exact(path: str) -> Call:
    """Make the areas from every distinct score."""
    import polars as pl

    import nci_frames as nf

    log = pl.read_parquet(path).with_columns(model=pl.lit("a"))

    def run() -> Values:
        counts = nf.count_confusion(log, thresholds="exact")
        areas = nf.compute_areas(counts, prevalence="observed", metrics=["roc_auc", "pr_auc"])
        return dict(areas.select("metric", "value").iter_rows())

    return run


def nci_frames_grid(path: str) -> Call:
    """Count at the thresholds of the grid, and make TPR and FPR of them."""
    import numpy as np
    import polars as pl

    import nci_frames as nf

    log = pl.read_parquet(path).with_columns(model=pl.lit("a"))
    grid = np.linspace(0, 1, THRESHOLDS).tolist()

    def run() -> Values:
        rates = nf.compute_rates(nf.count_confusion(log, thresholds=grid))
        return rates.select("threshold", "tpr", "fpr").row(THRESHOLDS // 2, named=True)

    return run


def scikit_learn(path: str) -> Call:
    """Make the areas by scikit-learn."""
    import polars as pl
    from sklearn.metrics import average_precision_score, roc_auc_score

    label, score = (pl.read_parquet(path)[name].to_numpy() for name in ("label", "score"))
    return lambda: {
        "roc_auc": roc_auc_score(label, score),
        "pr_auc": average_precision_score(label, score),
    }


def polars_ds(path: str) -> Call:
    """Make the areas by polars-ds, in one expression."""
    import polars as pl
    import polars_ds as pds

    log = pl.read_parquet(path).with_columns(pl.col("label").cast(pl.UInt32))

    def run() -> Values:
        found = log.select(pds.query_binary_metrics("label", "score").alias("found")).unnest("found")
        return found.select("roc_auc", pr_auc="avg_precision").row(0, named=True)

    return run


def fastauc(path: str) -> Call:
    """Make the ROC AUC by the compiled function of fastauc, which takes Float32 scores."""
    import polars as pl
    from fastauc.fast_auc import CppAuc

    log = pl.read_parquet(path)
    label, score = log["label"].to_numpy(), log["score"].cast(pl.Float32).to_numpy()
    make = CppAuc()
    return lambda: {"roc_auc": make.roc_auc_score(label, score)}


def torchmetrics_exact(path: str) -> Call:
    """Make the areas by TorchMetrics, without a grid."""
    import polars as pl
    import torch
    from torchmetrics.functional.classification import binary_auroc, binary_average_precision

    log = pl.read_parquet(path)
    score, label = torch.from_numpy(log["score"].to_numpy(writable=True)), log["label"].cast(pl.Int64)
    target = torch.from_numpy(label.to_numpy(writable=True))
    return lambda: {
        "roc_auc": float(binary_auroc(score, target)),
        "pr_auc": float(binary_average_precision(score, target)),
    }


def torchmetrics_grid(path: str) -> Call:
    """Make the binned ROC curve of TorchMetrics."""
    import polars as pl
    import torch
    from torchmetrics.functional.classification import binary_roc

    log = pl.read_parquet(path)
    score, label = torch.from_numpy(log["score"].to_numpy(writable=True)), log["label"].cast(pl.Int64)
    target = torch.from_numpy(label.to_numpy(writable=True))
    grid = torch.linspace(0, 1, THRESHOLDS, dtype=torch.float64)

    def run() -> Values:
        fpr, tpr, at = binary_roc(score, target, thresholds=grid)
        (place,) = torch.nonzero(torch.isclose(at, torch.tensor(AT, dtype=at.dtype))).flatten().tolist()
        return {"threshold": float(at[place]), "tpr": float(tpr[place]), "fpr": float(fpr[place])}

    return run


#: name -> (what makes the call, the module, the distribution or "", the name in the table, what it makes)
CONTENDERS: dict[str, tuple[Callable[[str], Call], str, str, str, str]] = {
    "exact": (nci_frames_exact, "nci_frames", "nci_frames", "nci_frames", "both areas, exact"),
    "scikit_learn": (scikit_learn, "sklearn", "scikit-learn", "scikit-learn", "both areas, exact"),
    "polars_ds": (polars_ds, "polars_ds", "polars-ds", "polars-ds", "both areas, precision, recall, F1"),
    "fastauc": (fastauc, "fastauc", "", "fastauc", "ROC AUC"),
    "torch_exact": (torchmetrics_exact, "torchmetrics", "torchmetrics", "TorchMetrics", "both areas, exact"),
    "grid": (nci_frames_grid, "nci_frames", "nci_frames", "nci_frames", "ROC at 1,024 thresholds"),
    "torch_grid": (
        torchmetrics_grid, "torchmetrics", "torchmetrics", "TorchMetrics", "ROC at 1,024 thresholds",
    ),
}  # fmt: skip


def write_log(path: Path, rows: int) -> None:
    """Write labels and Float64 scores, 1 row in 20 positive, nearly all scores different."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(2)
    label = rng.random(rows) < 0.05
    score = 1 / (1 + np.exp(2 - rng.normal(2.5 * label, 1)))
    pl.DataFrame({"label": label, "score": score}).write_parquet(path)


def run_here(name: str, path: str) -> None:
    """Run a contender in this process: once to warm up, and once more to be timed."""
    make, _, package, _, _ = CONTENDERS[name]
    call = make(path)
    call()
    started = time.process_time()
    values = call()
    seconds = time.process_time() - started
    print("\n" + json.dumps({"values": values, "seconds": seconds, "version": package and version(package)}))


def measure(name: str, other: str, path: Path) -> dict[str, Any] | None:
    """Run a contender in a new process; None if no Python has its package."""
    python = sys.executable if importlib.util.find_spec(CONTENDERS[name][1]) else other
    command = [python, __file__, "--run", name, "--log", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr:
        return None
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def table(results: dict[str, dict[str, Any]]) -> str:
    """Return the table of the page: each contender beside this library at the same work."""
    lines = ["| package | what it makes | CPU seconds | largest difference |", "| --- | --- | ---: | ---: |"]
    for name, found in results.items():
        _, _, _, shown, what = CONTENDERS[name]
        own = results["grid" if "tpr" in found["values"] else "exact"]["values"]
        far = max(abs(value - own[metric]) for metric, value in found["values"].items())
        cells = (
            f"{shown} {found['version']}".strip(),
            what,
            f"{found['seconds']:.2f}",
            f"{far:.1g}" if far else "0",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="a Python that has the other packages")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--write", action="store_true", help="write the table into docs/performance.md")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--log", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_here(options.run, options.log)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(path, options.rows)
        found = {name: measure(name, options.python, path) for name in CONTENDERS}
    made = table({name: result for name, result in found.items() if result is not None})
    print(made)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        day = f"\nMeasured on {datetime.now(UTC):%Y-%m-%d}, of {options.rows:,} rows.\n\n"
        PAGE.write_text(before + BEGIN + day + made + "\n\n" + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
