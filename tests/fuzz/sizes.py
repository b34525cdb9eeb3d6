"""Sizes that no machine has the memory or the patience for: refused by name, or finished."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import nci_frames as nf
from tests.fuzz.campaign import Campaign, Case, judged
from tests.fuzz.results import computed, wrong
from tests.logs import counts_at

#: What is tried, and the doing of it.
Trial = tuple[str, Callable[[], Any]]

#: Bytes that counting may take here; the process may take some times as much.
_LIMIT = 1e9


def _groups(draw: random.Random, groups: int, rows: int) -> pl.DataFrame:
    label, score = np.random.default_rng(draw.randrange(2**32)).random((2, groups * rows))
    segment = np.arange(groups * rows) % groups
    return pl.DataFrame({"model": "a", "segment": segment, "label": label < 0.5, "score": score})


def many_groups(draw: random.Random) -> Trial:
    groups, rows = draw.choice([500, 20_000, 300_000, 1_000_000]), draw.choice([2, 4])
    wish = draw.choice(["auto", "exact", *map(nf.uniform_thresholds, (257, 16_384, 65_535))])
    log = _groups(draw, groups, rows)
    return f"{groups:,} groups, {str(wish)[:20]}", lambda: _count(log, wish)


def many_score_columns(draw: random.Random) -> Trial:
    columns, wish = draw.choice([200, 2_000]), draw.choice(["auto", "exact", [0.5]])
    values = np.random.default_rng(draw.randrange(2**32)).random((500, columns))
    wide = pl.DataFrame(values, schema=[f"s{i}" for i in range(columns)])
    wide = wide.with_columns(label=pl.int_range(pl.len()) % 2)
    scores = {name: name for name in wide.columns[:-1]}
    return f"{columns:,} score columns, {wish}", lambda: _count(
        nf.scan_predictions(wide, scores=scores), wish
    )


def _count(log: Any, thresholds: Any) -> pl.DataFrame:
    return nf.count_confusion(log, thresholds=thresholds, memory_limit=_LIMIT)


def _counts(draw: random.Random, models: int, thresholds: int) -> pl.DataFrame:
    rng = np.random.default_rng(draw.randrange(2**32))
    reached = np.sort(rng.integers(0, 1_000, (2, models, thresholds)), axis=2)[:, :, ::-1]
    model = np.repeat([f"m{i:05}" for i in range(models)], thresholds)
    threshold = np.tile(np.linspace(0, 1, thresholds), models)
    return counts_at(*reached.reshape(2, -1), 1_000, 1_000, model=model, threshold=threshold)


def many_prevalences(draw: random.Random) -> Trial:
    counts, many = _counts(draw, 5, 50), draw.choice([10_000, 100_000, 1_000_000])
    etas = np.linspace(1e-6, 0.9, many).tolist()
    rates = nf.compute_rates(counts, interval="wilson")
    return _one(
        draw,
        f"{many:,} prevalences",
        project_rates=lambda: nf.project_rates(rates, metrics="precision", prevalence=etas),
        compute_areas=lambda: nf.compute_areas(counts, prevalence=etas),
        precision_band=lambda: nf.precision_band(rates, prevalence=etas),
        compare_models=lambda: nf.compare_models(counts, prevalence=etas, threshold=0.0, repeats=20),
        probability_best=lambda: nf.probability_best(counts, threshold=0.0, prevalence=etas, repeats=20),
    )


def many_models(draw: random.Random) -> Trial:
    models, thresholds = draw.choice([200, 1_000, 3_000]), draw.choice([1, 20])
    counts = _counts(draw, models, thresholds)
    rates = nf.compute_rates(counts)
    prevalence: dict[str, Any] = {"over": "prevalence"}
    return _one(
        draw,
        f"{models:,} models with {thresholds} points",
        find_crossovers=lambda: nf.find_crossovers(rates, metric="f_beta", **prevalence),
        find_crossovers_of_areas=lambda: nf.find_crossovers(counts, metric="pr_auc", **prevalence),
        winner_ranges=lambda: nf.winner_ranges(rates, metric="f_beta", **prevalence),
        decision_map=lambda: nf.decision_map(rates),
        compare_models=lambda: nf.compare_models(counts, prevalence=[0.1], threshold=0.0, repeats=20),
    )


def many_repeats(draw: random.Random) -> Trial:
    counts, many = _counts(draw, 3, 20), draw.choice([20_000, 10_000_000, 2**40])
    few: dict[str, Any] = {"prevalence": [0.1], "threshold": 0.0}
    return _one(
        draw,
        f"{many:,} repeats",
        bootstrap=lambda: nf.bootstrap(counts, metric="pr_auc", prevalence=0.1, repeats=many),
        probability_best=lambda: nf.probability_best(counts, repeats=many, **few),
        subsample_study=lambda: nf.subsample_study(counts, prevalence=0.3, repeats=many),
        crossover_intervals=lambda: nf.crossover_intervals(counts, threshold=0.0, repeats=many),
    )


def large_grids(draw: random.Random) -> Trial:
    many = draw.choice([10**4, 10**7, 10**10, 2**63])
    return _one(
        draw,
        f"{many:,}",
        uniform_thresholds=lambda: nf.uniform_thresholds(many),
        logit_thresholds=lambda: nf.logit_thresholds(many),
        metric_surface=lambda: nf.metric_surface("precision", resolution=many),
    )


def _one(draw: random.Random, size: str, **functions: Callable[[], Any]) -> Trial:
    name = draw.choice(list(functions))
    return f"{name}, {size}", functions[name]


SHAPES = (many_groups, many_score_columns, many_prevalences, many_models, many_repeats, large_grids)


def _case(seed: int, number: int) -> Case:
    label, run = SHAPES[number % len(SHAPES)](random.Random(f"{seed} size {number}"))
    return Case(label, lambda _folder: judged(lambda: wrong("", computed(run()))))


CAMPAIGN = Campaign("sizes", 36, 1, _case, seconds=300)
