"""How often a certified decision map names a model that is not the best: for coverage.py."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from best_models import CROSSING, GRID
from scipy.special import ndtr

import nci_frames as nf

BUCKETS, SHARED = 128, 0.8
#: Where the map is compared with the truth.
LAMBDAS = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 200)])

Line = tuple[str, str, str, float, int]


def claims(effort: float) -> Iterator[Line]:
    """Yield claim, condition, what is promised, the share seen, and the number of logs."""
    equal = {f"m{place}": (1.5, 1.0) for place in range(5)}
    for models, what, rows in (
        (equal, "5 equal models", (300, 6000)),
        (CROSSING, "2 models that change places", (1000, 50_000)),
    ):
        where = f"{rows[0]} + {rows[1]:,} units, "
        for units in ("bucket", None):
            logs = round(100 * effort)
            rng = np.random.default_rng([len(models), units is None])
            wrong = known = 0
            for _ in range(logs):
                found = nf.certify_decision_map(_counted(rng, models, rows, units), units=units, repeats=500)
                certified = found.filter(verdict="certified")
                wrong += _wrong(certified, models)
                known += certified["model"].n_unique() == len(models)
            how = "paired by buckets" if units else "different rows"
            claim = "a model is certified where it is not the best"
            yield claim, f"{where}{what}, {how}", "<= 0.05", wrong / logs, logs
            if models is CROSSING:
                claim = "each of both is certified somewhere"
                yield claim, f"{where}{what}, {how}", "none", known / logs, logs


def _counted(
    rng: np.random.Generator, models: dict[str, tuple[float, float]], rows: tuple[int, int], units: str | None
) -> pl.DataFrame:
    label = np.repeat([True, False], rows)
    common = rng.normal(size=len(label))
    parts = []
    for model, (shift, spread) in models.items():
        own = rng.normal(size=len(label))
        noise = SHARED**0.5 * common + (1 - SHARED) ** 0.5 * own if units else own
        score = np.where(label, shift + spread * noise, noise)
        parts.append(
            pl.DataFrame({"model": model, "unit": np.arange(len(label)), "label": label, "score": score})
        )
    log = pl.concat(parts)
    scan = nf.unit_buckets(log, buckets=BUCKETS) if units else log.drop("unit")
    return nf.count_confusion(scan, thresholds=GRID)


def _wrong(certified: pl.DataFrame, models: dict[str, tuple[float, float]]) -> bool:
    """Return whether a certified model is not the best alone, by the distributions of the scores."""
    grid = np.array(GRID)
    fpr = ndtr(-grid)
    lines = []
    for shift, spread in models.values():
        tpr = ndtr((shift - grid) / spread)
        lines.append(((1 + LAMBDAS[:, None] * fpr) / tpr).min(axis=1))
    best = np.array(list(models))[np.argmin(lines, axis=0)]
    equal = len(set(models.values())) == 1
    for start, end, model in certified.select("lambda_start", "lambda_end", "model").iter_rows():
        inside = (start <= LAMBDAS) & (end >= LAMBDAS)
        if equal or (best[inside] != model).any():
            return True
    return False
