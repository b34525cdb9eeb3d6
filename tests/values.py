"""Logs and counts whose results ``tests/snapshots/values.txt`` keeps, and how a frame is written there.

The file shows which numbers a change of the code moves. Whether they are right is for other tests to say.
"""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

import nci_frames as nf
from tests.fuzz.calls import class_log, function_of, log
from tests.small_jobs import (
    KEYS,
    RECALL,
    SMALL,
    ended,
    latest,
    small_job,
    write_log,
    write_night,
    write_nights,
)

LOGISTIC = 1 / (1 + (-pl.col("score")).exp())
#: Rows of low scores stand for ten each.
SAMPLED = pl.when(pl.col("score") < 0.5).then(10.0).otherwise(1.0)
JOB = f"""{SMALL}{KEYS}
[traffic]
path = "traffic/{{date:%Y-%m-%d}}/*.parquet"
[scenarios]
rare = 0.02
{RECALL}
[[gates]]
name = "stays"
metric = "precision"
scenario = "rare"
change_threshold = {{ absolute = 0.01 }}
"""


@cache
def names() -> dict[str, Any]:
    """Return what a case may name."""
    rows = log().with_columns(weight=SAMPLED)
    plain = rows.drop("fold", "unit", "weight")
    chances = plain.with_columns(score=LOGISTIC)
    place = pl.int_range(pl.len()) % 120
    classes = class_log().with_columns(unit=place, weight=(place % 3 == 0) + 1.0)
    scored = class_log().with_columns(
        **{name: (place * (shift + 3) + shift) % 11 / 11 for shift, name in enumerate(("ant", "bee", "cat"))}
    )
    traffic = plain.drop("label").filter(pl.int_range(pl.len()) % 3 > 0)
    grid = [-0.5, 0.2, 0.5, 1.1]

    def count(rows: pl.DataFrame, thresholds: Any = "exact", by: Any = (), **options: Any) -> pl.DataFrame:
        """Count rows by what of the keys is asked for; units are drawn as 24 buckets."""
        scan = nf.scan_predictions(rows, **options)
        scan = nf.unit_buckets(scan, buckets=24) if "unit" in options else scan
        return nf.count_confusion(scan, thresholds=thresholds, by=by)

    weighed = {"weight": "weight"}
    return {
        "nf": nf,
        "pl": pl,
        "of": function_of,
        "class_log": class_log,
        "LOGISTIC": LOGISTIC,
        "few": {"repeats": 50},
        "rows": rows.drop("weight"),
        "plain": plain,
        "traffic": traffic,
        "exact": count(plain),
        "grid": count(plain, grid),
        "folds": count(rows, grid, "fold", fold="fold"),
        "buckets": count(rows, "exact", "bucket", unit="unit"),
        "segments": count(rows, grid, ["fold", "bucket"], segments="fold", unit="unit"),
        "weighted": count(rows, "exact", **weighed),
        "weighted_grid": count(rows, grid, **weighed),
        "weighted_buckets": count(rows, grid, "bucket", unit="unit", **weighed),
        "weighted_folds": count(rows, grid, "fold", fold="fold", **weighed),
        "chances": count(chances),
        "coarse_chances": count(chances, [0.1, 0.3, 0.5, 0.9]),
        "weighted_chances": count(rows.with_columns(score=LOGISTIC), **weighed),
        "scores": nf.count_scores(traffic, thresholds="exact"),
        "probabilities": nf.count_scores(traffic.with_columns(score=LOGISTIC), thresholds="exact"),
        "classes": nf.count_classes(class_log()),
        "weighted_classes": nf.count_classes(nf.scan_classes(classes, weight="weight")),
        "buckets_of_classes": nf.count_classes(nf.unit_buckets(classes.drop("weight"), buckets=24)),
        "decided": nf.count_classes(class_log().drop("label")),
        "scored": nf.scan_classes(scored.drop("decision"), scores={n: n for n in ("ant", "bee", "cat")}),
        "run": lambda table: tables_of_a_run()[table],
        "report": lambda counts, segments=(), fold=None, **asked: written(
            nf.compare_models(counts, question=nf.Question(**asked), segments=segments, fold=fold, repeats=50)
        ),
        "written": written,
        "answer": lambda counts, **asked: (
            nf.compare_models(counts, question=nf.Question(**asked), repeats=50).answer
        ),
        "rates": lambda counts, interval=None, **more: nf.compute_rates(counts, interval=interval, **more),
    }


@cache
def tables_of_a_run() -> dict[str, pl.DataFrame]:
    """Return the tables of the second run of a job, whose model finds less than before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job, (first,) = small_job(folder, text=JOB), write_nights(folder / "logs", 1)
        write_log(folder / "traffic/2026-03-01/a.parquet", pl.read_parquet(first).drop("label"))
        ended(0, "run", job)
        write_night(folder / "logs/2026-03-02/a.parquet", 1200, 0.4)
        ended(10, "run", job)
        tables = {path.stem: pl.read_parquet(path) for path in latest(folder).glob("*.parquet")}
    return {
        name: table.drop("run", "since_run", "time", "path", strict=False) for name, table in tables.items()
    }


def written(comparison: nf.Comparison | nf.ClassComparison) -> str:
    """Return the report of a comparison as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        return nf.write_report(comparison, Path(folder, "report.md")).read_text("utf-8").strip()


def of_values(call: str) -> str:
    """Return the text that a call gives, or its frame as comma-separated values with six digits."""
    found = eval(call, dict(names()))  # noqa: S307 - the calls stand in our file
    if isinstance(found, str):
        return found
    frame = found.collect() if isinstance(found, pl.LazyFrame) else found
    lists = frame.select(cs.list()).columns
    shown = frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists)
    # A number that is 0 but for rounding is not told apart from 0.
    number = pl.col(name for name, of in shown.schema.items() if of.is_float())
    digits = number.map_elements(lambda value: f"{value if abs(value) > 1e-12 else 0:.6g}", pl.String)
    return shown.with_columns(digits).write_csv().rstrip("\n")
