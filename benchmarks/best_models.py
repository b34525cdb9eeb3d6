"""How often the best models are kept, the worse excluded, and crossovers held: for coverage.py."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import ndtr

import nci_frames as nf
from nci_frames.base.typing import Floats

POSITIVES, NEGATIVES, ETA = 100, 10_000, 0.01
THRESHOLD, CORRELATION, SHIFT = 1.5, 0.9, 1.5
#: At these, PR-AUC of binned scores is within 1 % of that of the scores.
GRID = sorted({*np.linspace(-2, 1, 20).tolist(), THRESHOLD, 2.5, *np.linspace(1.05, 6, 100).tolist()})
#: So many logs are analysed by one call, and so many buckets drawn.
TOGETHER, BUCKETS = 20, 128

#: Shift and spread of the positives of two models that change places.
CROSSING = {"a": (1.0, 2.0), "b": (1.8, 1.0)}
#: Their thresholds, where each has one.
POINTS = {"a": 2.5, "b": THRESHOLD}

Line = tuple[str, str, str, float, int]


def claims(effort: float) -> Iterator[Line]:
    """Yield claim, condition, what is promised, the share seen, and the number of logs."""
    # Areas take longer than one threshold, and the power of pairing is what matters most.
    for models, shift, paired, logs in (
        (10, 0.0, True, {"f_beta": 200, "pr_auc": 100}),
        (10, 0.0, False, {"f_beta": 200, "pr_auc": 100}),
        (2, 0.0, True, {"f_beta": 600, "pr_auc": 300}),
        (2, 0.0, False, {"f_beta": 300, "pr_auc": 200}),
        (2, 0.165, True, {"f_beta": 800, "pr_auc": 300}),
        (2, 0.165, False, {"f_beta": 200, "pr_auc": 100}),
    ):
        some = {metric: max(round(number * effort), 1) for metric, number in logs.items()}
        yield from _simulated(models, shift, some, paired=paired)


def _simulated(models: int, shift: float, logs: dict[str, int], *, paired: bool) -> Iterator[Line]:
    metrics: dict[str, dict[str, Any]] = {"f_beta": {"threshold": THRESHOLD}, "pr_auc": {}}
    # Unpaired means that the models have scored different rows, or that nobody says that they are the same:
    # the former for equal models, whose error rate is at stake, the latter for power.
    same = paired or shift > 0
    excluded = dict.fromkeys(metrics, 0)
    rng = np.random.default_rng([models, round(100 * shift), paired])
    most = max(logs.values())
    for start in range(0, most, TOGETHER):
        counts = pl.concat(
            _counted(rng, models, shift, same=same, paired=paired).with_columns(log=pl.lit(log))
            for log in range(start, min(start + TOGETHER, most))
        )
        for metric, options in metrics.items():
            of_metric = counts.filter(pl.col("log") < logs[metric])
            if of_metric.is_empty():
                continue
            found = nf.compare_best(
                of_metric.filter(threshold=THRESHOLD) if options else of_metric,
                metric=metric, prevalence=ETA, units="bucket" if paired else None, repeats=500, **options,
            )  # fmt: skip
            which = found if shift == 0 else found.filter(model="m0")
            logs_with = which.filter("distinguishable")["log"].n_unique()
            excluded[metric] += logs_with
    how = "paired by buckets" if paired else "as if of different rows" if same else "different rows"
    for metric, number in excluded.items():
        claim = f"{'F1' if metric == 'f_beta' else 'PR-AUC'}: " + (
            "any distinguishable" if shift == 0 else "the worse one is"
        )
        where = f"{models} {'equal models' if shift == 0 else 'models, one better'}, {how}"
        promised = "none" if shift else "<= 0.05"
        yield claim, where, promised, number / logs[metric], logs[metric]


def _counted(
    rng: np.random.Generator, models: int, shift: float, *, same: bool, paired: bool
) -> pl.DataFrame:
    """Count a log of models whose normal scores are correlated on the same units."""
    label = np.repeat([True, False], [POSITIVES, NEGATIVES])
    common = rng.normal(size=len(label)) if same else 0.0
    own = 1 - CORRELATION if same else 1.0
    log = pl.concat(
        pl.DataFrame(
            {
                "model": f"m{model}",
                "unit": np.arange(len(label)),
                "label": label,
                "score": (1 - own) ** 0.5 * common
                + own**0.5 * rng.normal(size=len(label))
                + (SHIFT + shift * model) * label,
            }
        )
        for model in range(models)
    )
    if paired:
        return nf.count_confusion(nf.unit_buckets(log, buckets=BUCKETS), thresholds=GRID)
    return nf.count_confusion(log.drop("unit"), thresholds=GRID)


def crossovers(effort: float) -> Iterator[Line]:
    """Yield how often intervals hold the prevalence at which two models change places."""
    logs, rows = round(200 * effort), (100, 5000)
    rng = np.random.default_rng(11)
    label = np.repeat([True, False], rows)
    parts = []
    for log in range(logs):
        for model, (shift, spread) in CROSSING.items():
            score = rng.normal(shift * label, np.where(label, spread, 1.0))
            counts = nf.count_confusion(
                pl.DataFrame({"model": model, "label": label, "score": score}), thresholds=GRID
            )
            parts.append(counts.with_columns(log=pl.lit(log)))
    counts = pl.concat(parts)
    at = counts.filter(pl.col("threshold") == pl.col("model").replace_strict(POINTS))
    for name, given, options, truth in (
        ("F1 at a threshold", at, {}, _meeting(_f1_at_threshold)),
        ("F1 at own thresholds", counts, {"threshold": "own"}, _meeting(_f1_at_best)),
        ("PR-AUC", counts, {"metric": "pr_auc"}, _meeting(_pr_auc)),
    ):
        found = nf.crossover_intervals(given, repeats=400, **options).filter(model_a="a")
        # Of several crossovers of a log, that which is nearest to the true one.
        near = found.sort((pl.col("prevalence") / truth).log().abs()).unique("log", keep="first")
        held = near.select(pl.lit(truth).is_between("lower", "upper").fill_null(value=False).sum()).item()
        yield name, f"{rows[0]} + {rows[1]:,} rows", "0.95", held / max(len(near), 1), max(len(near), 1)


def crossovers_of_few(effort: float) -> Iterator[Line]:
    """Yield how often intervals hold the place if few units, or few rows, have all positives."""
    logs, rates = round(400 * effort), {"a": (0.6, 0.01), "b": (0.8, 0.05)}
    (tpr_a, fpr_a), (tpr_b, fpr_b) = rates.values()
    truth = 1 / (1 + (tpr_b - tpr_a) / (tpr_a * fpr_b - tpr_b * fpr_a))
    for units, size, promised in ((5, 20, "none"), (12, 20, "0.95"), (5, 1, "none"), (12, 1, "0.95")):
        rng = np.random.default_rng([units, size])
        shape, columns = (logs, 60), {}
        for model, (tpr, fpr) in rates.items():
            # Units differ: each has a rate of its own.
            own = rng.beta(4 * tpr, 4 * (1 - tpr), shape) if size > 1 else np.full(shape, tpr)
            sizes = np.where(np.arange(60) < units, size, 0)
            tp, fp = rng.binomial(sizes, own), rng.binomial(100, fpr, shape)
            columns[model] = {"tp": tp, "fp": fp, "fn": sizes - tp, "tn": 100 - fp}
        log, bucket = np.indices(shape)
        counts = pl.concat(
            pl.DataFrame(
                {"log": log.ravel(), "bucket": bucket.ravel(), "model": model, "threshold": 0.5}
                | {name: values.ravel() for name, values in of.items()}
            )
            for model, of in columns.items()
        )
        options = {"units": "bucket"} if size > 1 else {}
        given = counts if size > 1 else nf.pool_counts(counts, over="bucket")
        found = nf.crossover_intervals(given, repeats=400, **options).filter(model_a="a")
        held = found.select(pl.lit(truth).is_between("lower", "upper").fill_null(value=False).sum()).item()
        where = f"positives of {units} units, {size} rows each" if size > 1 else f"{units} positives"
        yield "F1 at a threshold", where, promised, held / len(found), len(found)


def _rates(model: str, threshold: Floats) -> tuple[Floats, Floats]:
    shift, spread = CROSSING[model]
    return ndtr((shift - threshold) / spread), ndtr(-threshold)


def _f1_at_threshold(model: str, eta: float) -> float:
    tpr, fpr = _rates(model, np.array(POINTS[model]))
    return float(2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr))


def _f1_at_best(model: str, eta: float) -> float:
    tpr, fpr = _rates(model, np.array(GRID))
    return float((2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr)).max())


def _pr_auc(model: str, eta: float) -> float:
    tpr, fpr = (rate[::-1] for rate in _rates(model, np.array([-12, *GRID, 12.0])))
    return float((np.diff(tpr) / (1 + (1 - eta) / eta * fpr[1:] / tpr[1:])).sum())


def _meeting(value: Callable[[str, float], float]) -> float:
    """Return the prevalence at which the two models are equally good."""

    def lead(logit: float) -> float:
        eta = 1 / (1 + math.exp(-logit))
        return math.log(value("a", eta) / value("b", eta))

    return 1 / (1 + math.exp(-brentq(lead, math.log(1e-6), math.log(1e6))))
