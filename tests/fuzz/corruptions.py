"""Counts and rates that no log has: each must be refused by every function; and those that one can have."""

import math
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import polars as pl

Corrupt = Callable[[pl.DataFrame], pl.DataFrame]

CELLS = ("tp", "fp", "fn", "tn")


def _first_row(name: str, value: object) -> Corrupt:
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        new = pl.lit(value, frame.schema[name])
        return frame.with_columns(pl.when(pl.int_range(pl.len()) == 0).then(new).otherwise(name).alias(name))

    return change


def _as_weights(change: Corrupt) -> Corrupt:
    return lambda frame: change(frame.with_columns(pl.col(CELLS).cast(pl.Float64)))


def _doubled_day(frame: pl.DataFrame) -> pl.DataFrame:
    """Two days put together by pl.concat, with thresholds of their own as exact counts have them."""
    later = frame.with_columns(pl.col("threshold") + 0.01, pl.col("fn") + 3)
    if "positives" in frame.columns:
        rate = pl.col("tp") / (pl.col("positives") + 3)
        bounds = {"tpr_lower": rate} if "tpr_lower" in frame.columns else {}
        later = later.with_columns(pl.col("positives") + 3, tpr=rate, **bounds)
    return pl.concat([frame, later])


def _rising(cell: str, missed: str) -> Corrupt:
    """The lowest threshold has the fewest rows above it."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        lowest = frame.sort("threshold").head(1)
        none = lowest.with_columns(
            (pl.col(cell) + pl.col(missed)).alias(missed), pl.lit(0, frame.schema[cell]).alias(cell)
        )
        rate = {"tp": "tpr", "fp": "fpr"}[cell]
        if rate in frame.columns:
            none = none.with_columns(pl.lit(0.0).alias(rate))
            if f"{rate}_lower" in frame.columns:
                none = none.with_columns(pl.lit(0.0).alias(f"{rate}_lower"))
        higher = none.with_columns(threshold=pl.lit(-1000.0))
        return pl.concat([frame, higher.select(frame.columns)])

    return change


#: For counts and rates alike.
CORRUPTIONS: dict[str, Corrupt] = {
    **{f"{cell} negative": _first_row(cell, -1) for cell in CELLS},
    **{f"{cell} null": _first_row(cell, None) for cell in CELLS},
    **{f"{cell} NaN": _as_weights(_first_row(cell, float("nan"))) for cell in CELLS},
    **{f"{cell} infinite": _as_weights(_first_row(cell, float("inf"))) for cell in CELLS},
    "sums overflow": _as_weights(lambda frame: frame.with_columns(pl.col(CELLS) + 1.7e308)),
    "threshold NaN": _first_row("threshold", float("nan")),
    "threshold null": _first_row("threshold", None),
    "rows twice": lambda frame: pl.concat([frame, frame]),
    "days not merged": _doubled_day,
    "tp rises": _rising("tp", "fn"),
    "fp rises": _rising("fp", "tn"),
    "counts as text": lambda frame: frame.with_columns(pl.col("tp").cast(pl.String)),
    "no counts": lambda frame: frame.drop("tp"),
}
#: For rates alone.
OF_RATES: dict[str, Corrupt] = {
    "tpr of other counts": lambda frame: frame.with_columns(pl.col("tpr") / 2),
    "fpr NaN": _first_row("fpr", float("nan")),
    "tpr above 1": _first_row("tpr", 1.5),
    "tpr gone": _first_row("tpr", None),
    "positives of another log": lambda frame: frame.with_columns(pl.col("positives") + 1),
    "prevalence of other counts": lambda frame: frame.with_columns(pl.col("observed_prevalence") / 2),
    "prevalence gone": _first_row("observed_prevalence", None),
    "prevalence above 1": _first_row("observed_prevalence", 1.5),
}


_NO_KEYS = {
    "threshold",
    *CELLS,
    "resolution",
    "positives",
    "negatives",
    "observed_prevalence",
    *(f"{rate}{bound}" for rate in ("tpr", "fpr") for bound in ("", "_lower", "_upper")),
}


def _number(value: Any) -> bool:
    return value is not None and not math.isnan(value)


def _near(value: Any, expected: float | None) -> bool:
    if expected is None or value is None:
        return value is None and expected is None
    return not math.isnan(value) and math.isclose(value, expected, rel_tol=1e-6, abs_tol=1e-9)


def _is_row(row: dict[str, Any]) -> bool:
    """Whether the numbers of a row agree with each other."""
    if not _number(row["threshold"]):
        return False
    if not all(_number(row[cell]) and 0 <= row[cell] <= 1e150 for cell in CELLS):
        return False
    if "positives" not in row:
        return True
    positives, negatives = row["tp"] + row["fn"], row["fp"] + row["tn"]
    rates = {
        "positives": positives,
        "negatives": negatives,
        "observed_prevalence": positives / (positives + negatives) if positives + negatives else None,
        "tpr": row["tp"] / positives if positives else None,
        "fpr": row["fp"] / negatives if negatives else None,
    }
    bounds = [(row.get(f"{rate}_lower"), row.get(f"{rate}_upper")) for rate in ("tpr", "fpr")]
    return all(_near(row[name], expected) for name, expected in rates.items()) and all(
        _are_bounds(*pair) for pair in bounds
    )


def _are_bounds(lower: Any, upper: Any) -> bool:
    if any(bound is not None and not 0 <= bound <= 1 for bound in (lower, upper)):
        return False
    return lower is None or upper is None or lower <= upper


def is_valid(frame: pl.DataFrame) -> bool:
    """Whether every group can be that of one log; the types must be right."""
    keys = [name for name in frame.columns if name not in _NO_KEYS]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in frame.iter_rows(named=True):
        if not _is_row(row):
            return False
        groups[tuple(row[key] for key in keys)].append(row)
    for rows in groups.values():
        rows.sort(key=lambda row: row["threshold"])
        for low, high in pairwise(rows):
            if low["threshold"] == high["threshold"]:
                return False
            for reached, missed in (("tp", "fn"), ("fp", "tn")):
                total, other = low[reached] + low[missed], high[reached] + high[missed]
                if high[reached] > low[reached] or not math.isclose(total, other, rel_tol=1e-6):
                    return False
    return True
