"""Parts of a log whose columns have different types: refused, or counted as the values are counted."""

import csv
import io
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

import nci_frames as nf
from tests.fuzz.campaign import Campaign, Case, judged

#: Float32 and Float64 have neither 0.1 nor 0.7 in common.
THRESHOLDS = [0.0, 0.1, 0.7, 1.0]

_TEXTS: list[Any] = [pl.String, pl.Categorical, pl.Enum(["forest", "linear"])]
_TYPES: dict[str, list[Any]] = {
    "model": [*_TEXTS, pl.Null, pl.Binary, pl.Int64],
    "fold": [
        pl.Int8, pl.Int16, pl.Int64, pl.UInt8, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Categorical,
        pl.Boolean, pl.Date, pl.Null, pl.Int128, pl.Decimal(20, 0), pl.Binary,
    ],
    "label": [
        pl.Boolean, pl.Int8, pl.Int64, pl.UInt8, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Null,
        pl.Decimal(5, 1),
    ],
    "score": [
        pl.Float64, pl.Float32, pl.Int8, pl.Int64, pl.UInt64, pl.String, pl.Null, pl.Decimal(20, 3),
        pl.Boolean,
    ],
    "weight": [pl.Float64, pl.Float32, pl.Int8, pl.Int64, pl.UInt64, pl.String, pl.Null, pl.Boolean],
}  # fmt: skip
_USUAL = {"model": pl.String, "fold": pl.Int64, "label": pl.Int64, "score": pl.Float64, "weight": pl.Float64}

Row = dict[str, Any]


def _part(draw: random.Random, types: dict[str, Any], large: bool) -> pl.DataFrame:
    rows = draw.randint(1, 30)
    folds = [2**53, 2**53 + 1, 2**53 + 2] if large else [0, 1, 2]
    values = {
        "model": [draw.choice(["forest", "linear"]) for _ in range(rows)],
        "fold": [draw.choice(folds) for _ in range(rows)],
        "label": [draw.choice([0, 1]) for _ in range(rows)],
        "score": [draw.choice([-1.0, 0.0, 0.1, 0.7, 0.7, 1.0, 2.0]) for _ in range(rows)],
        "weight": [draw.choice([1.0, 2.0, 4.0]) for _ in range(rows)],
    }
    frame = pl.DataFrame(values, schema=_USUAL)
    return frame.with_columns(_as(name, dtype) for name, dtype in types.items())


def _as(name: str, dtype: Any) -> pl.Expr:
    column = pl.col(name).cast(pl.String) if dtype == pl.Categorical else pl.col(name)
    return column.cast(dtype, strict=False)


def _number(value: Any) -> float | None:
    text = {"true": "1", "false": "0"}.get(str(value).lower(), str(value))
    return None if value is None else float(text)


def _cell(name: str, value: str) -> str | None:
    """Return a cell of a CSV file; a word is no score and no weight, so that its row is dropped."""
    return None if not value or (name in ("score", "weight") and value in ("true", "false")) else value


def truth(parts: list[list[Row]], narrow: bool, weighted: bool) -> Counter[tuple[Any, ...]]:
    """Count by plain Python: what is (model, fold, threshold, cell) at each threshold."""
    counted: Counter[tuple[Any, ...]] = Counter()
    for row in (row for part in parts for row in part):
        label, score = _number(row["label"]), _number(row["score"])
        weight = _number(row["weight"]) if weighted else 1
        if label not in (0, 1) or score is None or math.isnan(score) or weight is None:
            continue
        for threshold in THRESHOLDS:
            limit = float(np.float32(threshold)) if narrow else threshold
            cell = (("tn", "fp"), ("fn", "tp"))[int(label)][score >= limit]
            model = row["model"].decode() if isinstance(row["model"], bytes) else row["model"]
            counted[model, row["fold"], threshold, cell] += weight  # type: ignore[assignment]
    return counted


def _found(counts: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    if "weight" in counts.columns:
        counts = nf.pool_counts(counts, over="weight")
    cells = counts.unpivot(["tp", "fp", "fn", "tn"], index=["model", "fold", "threshold"])
    return Counter({tuple(place): rows for *place, rows in cells.rows() if rows})


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} types {number}")
    drifting = draw.sample(list(_TYPES), draw.choice([1, 1, 2]))
    large = "fold" in drifting and draw.random() < 0.5
    parts = range(draw.choice([2, 3]))
    types = [_USUAL | {name: draw.choice(_TYPES[name]) for name in drifting} for _ in parts]
    frames = [_part(draw, kinds, large) for kinds in types]
    kind: Literal["files", "frames", "csv"] = draw.choice(["files", "files", "frames", "csv"])
    weighted = draw.random() < 0.3
    on_invalid: Any = draw.choice(["raise", "drop"])
    shown = "; ".join(f"{name}: {', '.join(str(kinds[name]) for kinds in types)}" for name in drifting)

    def count(folder: Path) -> str | None:
        parts = [frame.rows(named=True) for frame in frames]
        narrow = all(frame.schema["score"] in (pl.Float32, pl.Null) for frame in frames)
        for place, frame in enumerate(frames):
            if kind == "csv" and place == 0:
                frame.write_csv(folder / "0.csv")
                rows = csv.DictReader(io.StringIO((folder / "0.csv").read_text()))
                parts[0] = [{name: _cell(name, value) for name, value in row.items()} for row in rows]
                narrow = False
            elif kind != "frames":
                frame.write_parquet(folder / f"{place}.parquet")
        scan = nf.scan_predictions(
            frames if kind == "frames" else folder,
            fold="fold",
            weight="weight" if weighted else None,
            on_invalid=on_invalid,
        )
        found = _found(nf.count_confusion(scan, thresholds=THRESHOLDS))
        expected = truth(parts, narrow, weighted)
        if found == expected:
            return None
        return f"{found - expected} for {expected - found}"[:200]

    def run(folder: Path) -> str | None:
        # What Polars itself cannot write is no log.
        try:
            for frame in frames:
                frame.write_csv(io.BytesIO()) if kind == "csv" else frame.write_parquet(io.BytesIO())
        except pl.exceptions.PolarsError:
            return None
        return judged(lambda: count(folder), ("source", "label", "score", "weight", "fold", "model"))

    return Case(f"{kind}, {on_invalid}{', weighted' if weighted else ''}: {shown}", run)


CAMPAIGN = Campaign("drifting types", 1_500, 30, _case)
