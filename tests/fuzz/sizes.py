"""Sizes that no machine has the memory or the patience for: refused by name, or finished."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import nci_frames as nf
from tests.fuzz.campaign import Campaign, Case, Found, judged
from tests.fuzz.results import computed, wrong

#: Bytes that counting may take here; the process may take some times as much.
_LIMIT = 1e9


def _groups(draw: random.Random, groups: int, rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(draw.randrange(2**32))
    count = groups * rows
    return pl.DataFrame(
        {
            "model": "a",
            "segment": np.arange(count) % groups,
            "label": rng.random(count) < 0.5,
            "score": rng.random(count),
        }
    )


def many_groups_and_thresholds(draw: random.Random) -> Any:
    log = _groups(draw, draw.choice([500, 2_000, 20_000, 100_000]), 4)
    grid = nf.uniform_thresholds(draw.choice([257, 1_024, 16_384, 65_535]))
    return nf.count_confusion(log, thresholds=grid, memory_limit=_LIMIT)


def many_segment_values(draw: random.Random) -> Any:
    log = _groups(draw, draw.choice([30_000, 300_000, 1_000_000]), 2)
    return nf.count_confusion(log, thresholds=draw.choice(["auto", "exact"]), memory_limit=_LIMIT)


def many_score_columns(draw: random.Random) -> Any:
    columns, rng = draw.choice([200, 2_000]), np.random.default_rng(draw.randrange(2**32))
    wide = pl.DataFrame(rng.random((500, columns)), schema=[f"s{i}" for i in range(columns)])
    wide = wide.with_columns(label=pl.Series(rng.random(500) < 0.5))
    scan = nf.scan_predictions(wide, scores={name: name for name in wide.columns[:-1]})
    return nf.count_confusion(scan, thresholds=draw.choice(["auto", "exact", [0.5]]), memory_limit=_LIMIT)


def _counts(draw: random.Random, models: int, thresholds: int) -> pl.DataFrame:
    rng = np.random.default_rng(draw.randrange(2**32))
    reached = np.sort(rng.integers(0, 1_000, (2, models, thresholds)), axis=2)[:, :, ::-1]
    tp, fp = reached.reshape(2, -1)
    names = [f"m{i:05}" for i in range(models)]
    return pl.DataFrame(
        {
            "model": np.repeat(names, thresholds),
            "threshold": np.tile(np.linspace(0, 1, thresholds), models),
            "tp": tp,
            "fp": fp,
            "fn": 1_000 - tp,
            "tn": 1_000 - fp,
        }
    )


def many_prevalences(draw: random.Random) -> Any:
    counts = _counts(draw, 5, 50)
    etas = np.linspace(1e-6, 0.9, draw.choice([10_000, 100_000, 1_000_000])).tolist()
    rates = nf.compute_rates(counts, interval="wilson")
    functions: list[Callable[[], Any]] = [
        lambda: nf.project_rates(rates, metrics="precision", prevalence=etas),
        lambda: nf.compute_areas(counts, prevalence=etas),
        lambda: nf.precision_band(rates, prevalence=etas),
        lambda: nf.compare_models(counts, prevalence=etas, threshold=0.0, repeats=20),
        lambda: nf.probability_best(counts, threshold=0.0, prevalence=etas, repeats=20),
    ]
    return draw.choice(functions)()


def many_models(draw: random.Random) -> Any:
    counts = _counts(draw, draw.choice([200, 1_000, 3_000]), draw.choice([1, 20]))
    rates = nf.compute_rates(counts)
    functions: list[Callable[[], Any]] = [
        lambda: nf.find_crossovers(rates, metric="f_beta", over="prevalence"),
        lambda: nf.find_crossovers(counts, metric="pr_auc", over="prevalence"),
        lambda: nf.winner_ranges(rates, metric="f_beta", over="prevalence"),
        lambda: nf.decision_map(rates),
        lambda: nf.find_never_best(rates),
        lambda: nf.compare_models(counts, prevalence=[0.1], threshold=0.0, repeats=20),
    ]
    return draw.choice(functions)()


def many_repeats(draw: random.Random) -> Any:
    counts, repeats = _counts(draw, 3, 20), draw.choice([100_000, 10_000_000, 2**40])
    functions: list[Callable[[], Any]] = [
        lambda: nf.bootstrap(counts, metric="pr_auc", prevalence=0.1, repeats=repeats),
        lambda: nf.probability_best(counts, threshold=0.0, repeats=repeats),
        lambda: nf.subsample_study(counts, prevalence=0.3, repeats=repeats),
        lambda: nf.crossover_intervals(counts, threshold=0.0, repeats=repeats),
    ]
    return draw.choice(functions)()


def large_grids(draw: random.Random) -> Any:
    many = draw.choice([10**5, 10**7, 10**10, 2**63])
    functions: list[Callable[[], Any]] = [
        lambda: nf.uniform_thresholds(many),
        lambda: nf.logit_thresholds(many),
        lambda: nf.metric_surface("precision", resolution=many),
        lambda: nf.imbalance_sensitivity("precision", ratios=range(1, many)),
        lambda: nf.interval_coverage(rate=0.3, trials=many),
    ]
    return draw.choice(functions)()


SHAPES = (
    many_groups_and_thresholds,
    many_segment_values,
    many_score_columns,
    many_prevalences,
    many_models,
    many_repeats,
    large_grids,
)


def _case(seed: int, number: int) -> Case:
    shape = SHAPES[number % len(SHAPES)]

    def run(_folder: Path) -> Found:
        draw = random.Random(f"{seed} size {number}")
        return judged(lambda: wrong("", computed(shape(draw))))

    return Case(shape.__name__.replace("_", " "), run)


CAMPAIGN = Campaign("sizes", 42, 2, _case, seconds=90, memory=6 << 30, alone=True)
