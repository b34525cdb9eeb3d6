"""How often `compare_best` excludes one of equal models, and how often the worse of two: for coverage.py."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import nci_frames as nf

POSITIVES, NEGATIVES, ETA = 100, 10_000, 0.01
THRESHOLD, CORRELATION, SHIFT = 1.5, 0.9, 1.5
#: At these, PR-AUC of binned scores is within 1 % of that of the scores.
GRID = sorted({*np.linspace(-2, 1, 20).tolist(), THRESHOLD, *np.linspace(1.05, 6, 100).tolist()})
#: So many logs are analysed by one call.
TOGETHER, BUCKETS = 20, 64

Line = tuple[str, str, str, float, int]


def claims(effort: float) -> Iterator[Line]:
    """Yield claim, condition, what is promised, the share seen, and the number of logs."""
    for models, shift, logs in ((10, 0.0, 400), (2, 0.0, 600), (2, 0.16, 600)):
        for paired in (True, False):
            yield from _simulated(models, shift, round(logs * effort), paired=paired)


def _simulated(models: int, shift: float, logs: int, *, paired: bool) -> Iterator[Line]:
    metrics: dict[str, dict[str, Any]] = {"f_beta": {"threshold": THRESHOLD}, "pr_auc": {}}
    # Unpaired means that the models have scored different rows, or that nobody says that they are the same:
    # the former for equal models, whose error rate is at stake, the latter for power.
    same = paired or shift > 0
    excluded = dict.fromkeys(metrics, 0)
    rng = np.random.default_rng([models, round(100 * shift), paired])
    for start in range(0, logs, TOGETHER):
        counts = pl.concat(
            _counted(rng, models, shift, same=same, paired=paired).with_columns(log=pl.lit(log))
            for log in range(start, min(start + TOGETHER, logs))
        )
        for metric, options in metrics.items():
            found = nf.compare_best(
                counts.filter(threshold=THRESHOLD) if options else counts,
                metric=metric, prevalence=ETA, units="bucket" if paired else None, repeats=500, **options,
            )  # fmt: skip
            which = found if shift == 0 else found.filter(model="m0")
            logs_with = which.filter("distinguishable")["log"].n_unique()
            excluded[metric] += logs_with
    how = "paired by buckets" if paired else "as if of different rows" if same else "different rows"
    for metric, number in excluded.items():
        claim = f"`compare_best({metric})`: " + ("any distinguishable" if shift == 0 else "the worse one is")
        where = f"{models} {'equal models' if shift == 0 else 'models, one better'}, {how}"
        promised = "none (power)" if shift else "<= 0.05"
        yield claim, where, promised, number / logs, logs


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
