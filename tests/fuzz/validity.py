"""Can counts or rates be those of one log? Row by row in plain Python, to compare the library with."""

import math
from collections import defaultdict
from itertools import pairwise
from typing import Any

import polars as pl

from tests.fuzz.corruptions import CELLS

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
    if not all(_number(row[cell]) and 0 <= row[cell] < math.inf for cell in CELLS):
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
