"""How often bands hold the ROC curve, its areas, and F1 at the best threshold: for coverage.py."""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

import nci_frames as nf
from nci_frames.base.typing import Floats

ROWS = 174, 1623
ETAS = [1e-4, 1e-2]

Line = tuple[str, str, str, float, int]


def claims(effort: float) -> Iterator[Line]:
    """Yield claim, condition, what is promised, the share seen, and the number of logs."""
    for area in (0.85, 0.95, 0.983):
        yield from _areas(area, round(400 * effort))


def _log(rng: np.random.Generator, shift: float, logs: int) -> pl.DataFrame:
    label = np.repeat([True, False], ROWS)
    score = rng.normal(size=(logs, len(label))) + shift * label
    model = np.repeat([f"{log:06}" for log in range(logs)], len(label))
    return pl.DataFrame({"model": model, "label": np.tile(label, logs), "score": score.ravel()})


def _areas(area: float, logs: int) -> Iterator[Line]:
    shift = float(ndtri(area)) * math.sqrt(2)
    counts = nf.count_confusion(
        _log(np.random.default_rng(round(1000 * area)), shift, logs), thresholds="exact"
    )
    where = f"AUC {area}"
    rates = nf.compute_rates(counts, interval="simultaneous", level=math.sqrt(0.95))
    claim = "TPR and FPR at all scores, level √0.95"
    yield claim, where, "0.95", _curves_held(rates, shift) / logs, logs
    areas = nf.compute_areas(counts, prevalence=ETAS, interval="simultaneous")
    truth = {None: area, **{eta: _pr_auc(shift, eta) for eta in ETAS}}
    for (_, eta), rows in areas.group_by("metric", "prevalence", maintain_order=True):
        held = rows.select(pl.lit(truth[eta]).is_between("lower", "upper").sum()).item()
        claim = "ROC-AUC" if eta is None else f"PR-AUC at {eta:g}"
        yield claim, where, ">= 0.95", held / logs, logs
    for eta in ETAS:
        # F1 at the threshold at which it is highest in the log.
        band = nf.project_rates(rates, metrics="f_beta", prevalence=eta, band=True)
        best = band.sort("value", descending=True).unique("model", keep="first")
        tpr, fpr = ndtr(shift - best["threshold"].to_numpy()), ndtr(-best["threshold"].to_numpy())
        f1 = 2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr)
        held = best.select(pl.lit(pl.Series(f1)).is_between("lower", "upper").sum()).item()
        claim = f"F1 at the best threshold, at {eta:g}"
        yield claim, where, ">= 0.95", held / logs, logs


def _curves_held(rates: pl.DataFrame, shift: float) -> int:
    """Return in how many logs both rates are within their bounds at every threshold."""
    threshold = rates["threshold"].to_numpy()
    true = rates.with_columns(
        true_tpr=pl.Series(ndtr(shift - threshold)), true_fpr=pl.Series(ndtr(-threshold))
    )
    held = pl.all_horizontal(
        pl.col(f"true_{rate}").is_between(f"{rate}_lower", f"{rate}_upper") for rate in ("tpr", "fpr")
    )
    return int(true.group_by("model").agg(held.all().alias("held"))["held"].sum())


def claims_of_kinds(effort: float) -> Iterator[Line]:
    """Ties and grids: the true area is that of the same scores, rounded or not."""
    logs = round(400 * effort)
    area, eta = 0.95, 1e-3
    shift = float(ndtri(area)) * math.sqrt(2)
    log = _log(np.random.default_rng(7), shift, logs)
    step = 0.2
    rounded = log.with_columns((pl.col("score") / step).round() * step)
    edges = step * (np.arange(-40, 60) - 0.5)
    tpr, fpr = (np.append(ndtr(place - edges[::-1]), 1.0) for place in (shift, 0.0))
    tied = float((np.diff(tpr, prepend=0) / (1 + (1 - eta) / eta * fpr / np.maximum(tpr, 1e-300))).sum())
    grid = np.linspace(-1, 4, 20).tolist()
    for kind, counts, truth in (
        ("scores rounded to 0.2", nf.count_confusion(rounded, thresholds="exact"), tied),
        ("20 thresholds", nf.count_confusion(log, thresholds=grid), _pr_auc(shift, eta)),
    ):
        found = nf.compute_areas(counts, prevalence=eta, interval="simultaneous").filter(metric="pr_auc")
        held = found.select(pl.lit(truth).is_between("lower", "upper").sum()).item()
        claim = f"PR-AUC at {eta:g}"
        yield claim, f"{ROWS[0]} + {ROWS[1]:,} rows, AUC {area}, {kind}", ">= 0.95", held / logs, logs


def claims_of_units(effort: float) -> Iterator[Line]:
    """Units that are scored twice, with nearly the same score."""
    logs, shift, size, grid = round(200 * effort), 2.0, (200, 1000), np.linspace(-2, 5, 60).tolist()
    label = np.repeat([True, False], size)
    held = dict.fromkeys((None, "bucket"), 0)
    for log in range(logs):
        rng = np.random.default_rng([19, log])
        shared = rng.normal(label * shift, math.sqrt(0.95))
        rows = pl.concat(
            pl.DataFrame(
                {"model": "a", "unit": np.arange(len(label)), "label": label,
                 "score": shared + rng.normal(0, math.sqrt(0.05), len(label))}
            )
            for _ in range(2)
        )  # fmt: skip
        counts = nf.count_confusion(nf.unit_buckets(rows, buckets=64), thresholds=grid)
        for units in held:
            given = counts if units else nf.pool_counts(counts, over="bucket")
            rates = nf.compute_rates(given, interval="simultaneous", level=math.sqrt(0.95), units=units)
            held[units] += _curves_held(rates, shift)
    for units, number in held.items():
        taken = "rows as independent" if units is None else '`units="bucket"`'
        claim = f"TPR and FPR at all thresholds, level √0.95; {taken}"
        where = f"{size[0]} + {size[1]:,} units scored twice"
        yield claim, where, "none" if units is None else ">= 0.95", number / logs, logs


def _pr_auc(shift: float, eta: float) -> float:
    """Return the area of normal scores."""
    share: Floats = (np.arange(200_000) + 0.5) / 200_000
    fpr = ndtr(-(shift + ndtri(1 - share)))
    return float(np.mean(share / (share + (1 - eta) / eta * fpr)))
