"""Measure the time and memory of comparisons and reports, from counts or logs to the page.

    python benchmarks/report.py [--runs 3] [--other FOLDER] [--write] [NAME ...]

Every run is a process of its own, in alternating order; all or the named ones of

- demo: the reports of `nci-frames demo`, without the training;
- comparison: 10 models x 1,024 thresholds x 256 buckets of units;
- scores_40, scores_120: 3,000,000 distinct scores of 4 models, in 40 or 120 segments;
- scores_exact: the same in 40 segments, counted at every score;
- scores_units, scores_weights: the same in 40 segments, with 15,000 units of 50 rows, or with 3 weights;
- models_10, models_92: 10 models in 3 segments, 92 models in 20, at 1,024 thresholds.

With --other, the folder of another version of this project, each run is also made by that version, and the
table has the ratios. With --write the table is put into docs/performance.md.
"""

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from own_memory import peak_bytes

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
START, END = "<!-- reports: from here", "<!-- reports: to here -->"

PREVALENCES = [10 ** (-4 + 0.1 * step) for step in range(38)]
BETAS = [2 ** (-2 + step / 8) for step in range(33)]
NAMES = (
    "demo", "comparison", "scores_40", "scores_120", "scores_exact", "scores_units", "scores_weights",
    "models_10", "models_92",
)  # fmt: skip
#: Who a row belongs to, or what it weighs.
KINDS = {"units": {"unit": "unit"}, "weights": {"weight": "weight"}}


def log_of_scores(file: Path, segments: int) -> None:
    """Write 3,000,000 rows, 2 % of them positive, with as many scores."""
    import numpy as np
    import polars as pl

    rng, rows, parts = np.random.default_rng(0), 750_000, []
    for model in range(4):
        label = rng.random(rows) < 0.02
        score = 1 / (1 + np.exp(-rng.normal(label * (2 + 0.1 * model) - 1, 1.0)))
        country = pl.Series(rng.integers(0, segments, rows)).cast(pl.String)
        weight = np.where(label, 1.0, np.where(np.arange(rows) % 2, 10.0, 100.0))
        log = {"model": f"m{model}", "country": country, "label": label, "score": score}
        parts.append(pl.DataFrame(log | {"unit": np.arange(rows) // 50, "weight": weight}))
    pl.concat(parts).write_parquet(file)


def prepared(name: str, folder: Path) -> None:
    """Write what a run reads."""
    import numpy as np
    import polars as pl

    import nci_frames as nf

    if name == "demo":
        from nci_frames.demo import write_demo_logs

        write_demo_logs(folder / "demo", seed=0)
    elif name == "comparison":
        rng, rows = np.random.default_rng(0), 200_000
        label, unit = rng.random(rows) < 0.1, np.arange(rows)
        scores = [rng.normal(label * (1.5 + 0.05 * model)) for model in range(10)]
        log = pl.concat(
            pl.DataFrame({"model": f"m{model}", "unit": unit, "label": label, "score": score})
            for model, score in enumerate(scores)
        )
        grid = np.unique(np.quantile(log["score"].to_numpy(), np.linspace(0, 1, 1024))).tolist()
        nf.count_confusion(nf.unit_buckets(log), thresholds=grid).write_parquet(folder / f"{name}.parquet")
    elif name.startswith("scores"):
        log_of_scores(folder / f"{name}.parquet", 120 if name == "scores_120" else 40)
    else:
        from resampling import drawn_counts

        models = int(name.split("_")[1])
        segments = {10: 3, 92: 20}[models]
        counts = drawn_counts(20_000 * segments, segments, models).rename({"bucket": "segment"})
        counts.write_parquet(folder / f"{name}.parquet")


def measured(name: str, folder: Path) -> dict[str, float]:
    """Make one run in this process."""
    import polars as pl

    import nci_frames as nf

    if name == "demo" or name.startswith("scores"):
        from nci_frames.jobs.report import run_report
        from nci_frames.options.report import ReportOptions

        if name == "demo":
            logs = sorted((folder / "demo").glob("dataset=*"))
            columns = {"fold": "fold", "repeat": "repeat", "unit": "unit"}
        else:
            logs, columns = [folder / f"{name}.parquet"], KINDS.get(name.split("_")[1], {})
        segments = ("segment",) if name == "demo" else ("country",)
    else:
        counts = pl.read_parquet(folder / f"{name}.parquet")
        threshold = float(counts["threshold"].unique().sort()[500])
    cpu = time.process_time()
    if name == "demo" or name.startswith("scores"):
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stderr(io.StringIO()):
            for log in logs:
                options = ReportOptions(prevalence=PREVALENCES, beta=BETAS)
                thresholds = "exact" if name == "scores_exact" else None
                run_report(
                    str(log), Path(out) / log.stem, options,
                    thresholds=thresholds, segments=segments, columns=columns,
                )  # fmt: skip
    else:
        units = "bucket" in counts.columns
        compared = nf.compare_models(
            counts, prevalence=PREVALENCES, beta=BETAS, threshold=threshold,
            segments=() if units else "segment",
        )  # fmt: skip
        compared.tables  # noqa: B018 - computed when asked for
        if not units:
            from nci_frames.reporting.html import render_report

            render_report(compared)
    return {"cpu": time.process_time() - cpu, "GB": peak_bytes() / 1e9}


def run_apart(name: str, folder: Path, version: Path) -> dict[str, float]:
    """Make one run in a process of its own, by a version of the project."""
    environment = os.environ | {"PYTHONPATH": f"{version}{os.pathsep}{ROOT / 'benchmarks'}"}
    # As the command line does.
    environment |= {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--run", name, "--folder", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(results: dict[str, dict[Path, list[dict[str, float]]]]) -> list[str]:
    """Return the medians, and the ratios to another version, as Markdown."""
    others = len(next(iter(results.values()))) > 1
    lines = [
        "| run | CPU seconds | peak GB |" + (" ratio of CPU seconds |" if others else ""),
        "| --- | ---: | ---: |" + (" ---: |" if others else ""),
    ]
    for name, versions in results.items():
        medians = [
            {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            for runs in versions.values()
        ]
        own = medians[0]
        line = f"| {name} | {own['cpu']:.1f} | {own['GB']:.2f} |"
        lines.append(line + (f" {own['cpu'] / medians[1]['cpu']:.2f} |" if others else ""))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--other", type=Path, help="a folder with another version of this project")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print(json.dumps(measured(given.run, given.folder)))
        return
    unknown = set(given.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    versions = [ROOT, *([given.other.resolve()] if given.other else [])]
    results: dict[str, dict[Path, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in given.names or NAMES:
            prepared(name, Path(folder))
            results[name] = {version: [] for version in versions}
            for _ in range(given.runs):
                for version in versions:
                    results[name][version].append(run_apart(name, Path(folder), version))
            print("\n".join(table({name: results[name]})[2:]), flush=True)
    lines = table(results)
    print("\n".join(lines))
    if given.write:
        before, rest = PAGE.read_text(encoding="utf-8").split(START, 1)
        note, after = rest.split("-->", 1)
        after = after.split(END, 1)[1]
        PAGE.write_text(
            f"{before}{START}{note}-->\n\n" + "\n".join(lines) + f"\n\n{END}{after}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
