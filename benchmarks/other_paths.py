"""Measure weights, wide logs, labels to draw and many classes, each beside the work that it is compared with.

    python benchmarks/other_paths.py [--runs 5] [--write]

Every run is a process of its own, which has done the same with few rows before: imports are not measured. The
files are as Polars writes them by default. "In memory" means that the log is a DataFrame. With --write the
table is put into docs/performance.md.
"""

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from default_path import alternating, parser_of, put_tables, run_apart
from own_memory import peak_bytes

__all__: list[str] = []

START, END = "<!-- others: from here", "<!-- others: to here -->"
CLASSES = [f"class_{k}" for k in range(10)]
#: What is measured, its log, what it is compared with, and the log of that.
PAIRS = [
    ("weights as strata, in memory", "weights memory", "the same log without weights", "plain memory"),
    ("weights as strata, Int64", "weights int64", "the same log without weights", "plain int64"),
    ("weights as strata, Float64", "weights float64", "the same log without weights", "plain float64"),
    ("a wide log of 8 models", "wide wide", "the same predictions as a long log", "long long"),
    ("`plan_labels` and `draw_labels`", "labels scores", "one pass of `count_scores`", "scores scores"),
    ("10 score columns x 3 models, in memory", "classes memory", "`group_by` of decisions", "decided memory"),
    ("the same, from a file", "classes classes", "`group_by` of decisions", "decided decided"),
]  # fmt: skip


def write_logs(folder: Path, rows: int) -> None:
    """Write all logs: *rows* rows of binary scores, and three models of a tenth of that with ten classes."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    folder.mkdir()
    label = rng.random(rows) < 0.02
    score = (1 / (1 + np.exp(3 - 2 * label - rng.normal(size=rows)))).astype(np.float32)
    keys = {"model": rng.integers(0, 4, rows), "fold": rng.integers(0, 10, rows)}
    log = pl.DataFrame(keys | {"label": label.astype(np.int8), "score": score}).with_columns(
        pl.format("model_{}", "model").alias("model"),
        weight=pl.when(label=1).then(1).otherwise(100),
        id=pl.int_range(pl.len()),
    )
    for dtype in (pl.Int64, pl.Float64):
        log.drop("id").cast({"weight": dtype}).write_parquet(folder / f"{dtype.__name__.lower()}.parquet")
    scores = log.head(rows // 2).select("id", "score", model=pl.lit("a"))
    scores.write_parquet(folder / "scores.parquet")
    wide = rows // 8
    models = {f"m{k}": score[k * wide :][:wide] for k in range(8)}
    shared = {"label": label[:wide].astype(np.int8), "country": keys["fold"][:wide].astype(str)}
    frame = pl.DataFrame(shared | models)
    frame.write_parquet(folder / "wide.parquet")
    long = frame.unpivot(list(models), index=list(shared), variable_name="model", value_name="score")
    long.write_parquet(folder / "long.parquet")
    of_class = rng.integers(0, len(CLASSES), rows // 20)
    parts = []
    for k in range(3):
        points = rng.random((len(of_class), len(CLASSES))) + np.eye(len(CLASSES))[of_class] * (0.4 + 0.1 * k)
        part = pl.DataFrame(points, CLASSES).with_columns(
            model=pl.lit(f"model_{k}"), label=pl.Series(np.array(CLASSES)[of_class])
        )
        parts.append(part.with_columns(decision=pl.Series(np.array(CLASSES)[points.argmax(axis=1)])))
    log = pl.concat(parts)
    log.drop("decision").write_parquet(folder / "classes.parquet")
    log.drop(CLASSES).write_parquet(folder / "decided.parquet")


def prepared(what: str, kind: str, folder: Path) -> Callable[[], Any]:
    """Return what is to be measured; a log in memory is read before."""
    import numpy as np
    import polars as pl

    import nci_frames as nf

    named = {"memory": "float64" if what in ("weights", "plain") else what}.get(kind, kind)
    file = folder / f"{named}.parquet"
    log: Any = pl.read_parquet(folder / f"{named}.parquet") if kind == "memory" else file
    grid = np.linspace(0, 1, 1024)
    if what in ("plain", "weights"):
        weight = {"weight": "weight"} if what == "weights" else {}
        return lambda: nf.count_confusion(nf.scan_predictions(log, fold="fold", **weight), thresholds=grid)
    if what in ("wide", "long"):
        models = {"scores": {f"m{k}": f"m{k}" for k in range(8)}} if what == "wide" else {}
        scan = nf.scan_predictions(log, segments="country", **models)
        return lambda: nf.count_confusion(scan, thresholds=grid)
    if what == "classes":
        return lambda: nf.count_classes(nf.scan_classes(log, scores={name: name for name in CLASSES}))
    if what == "decided":
        return lambda: log_frame(log).group_by("model", "label", "decision").len().collect()
    scan = nf.scan_predictions(log, label=None)
    if what == "scores":
        return lambda: nf.count_scores(scan, thresholds=grid)

    def labels() -> pl.DataFrame:
        plan = nf.plan_labels(scan, budget=2000, metric="recall", threshold=0.6)
        return nf.draw_labels(scan, plan, seed=1).collect()

    return labels


def log_frame(log: Any) -> Any:
    """Return a log as a LazyFrame."""
    import polars as pl

    return pl.scan_parquet(log) if isinstance(log, Path) else log.lazy()


def table(runs: int, folder: Path) -> list[str]:
    """Measure everything, and return the table as Markdown."""
    cases = list(dict.fromkeys(case for _, mine, _, other in PAIRS for case in (mine, other)))
    program = Path(__file__).resolve()
    found = alternating(runs, {case: partial(run_apart, case, folder, program) for case in cases})
    lines = [
        "| what | seconds | peak GB | beside | seconds | ratio |",
        "| --- | ---: | ---: | --- | ---: | ---: |",
    ]
    for what, mine, beside, other in PAIRS:
        us, them = found[mine], found[other]
        both = us["seconds"], us["GB"], them["seconds"], us["seconds"] / them["seconds"]
        ours, peak, theirs, ratio = (f"{figure:.2f}" for figure in both)
        lines.append(f"| {what} | {ours} | {peak} | {beside} | {theirs} | {ratio} |")
    return lines


def main() -> None:
    parser = parser_of(__doc__, 5)
    parser.add_argument("--rows", type=int, default=40_000_000)
    given = parser.parse_args()
    if given.run:
        what, kind = given.run.split()
        prepared(what, kind, given.file / "few")()
        measured = prepared(what, kind, given.file / "all")
        begin = time.perf_counter()
        measured()
        print(json.dumps({"seconds": time.perf_counter() - begin, "GB": peak_bytes() / 1e9}))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_logs(Path(folder, "few"), 400_000)
        write_logs(Path(folder, "all"), given.rows)
        lines = table(given.runs, Path(folder))
    print("\n".join(lines))
    if given.write:
        put_tables(lines, START, END)


if __name__ == "__main__":
    main()
