"""Refining needs nothing but a function that counts on a grid: here NumPy is the engine."""

import functools

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.counting.thresholds.auto import _widths
from nci_frames.counting.thresholds.refining import first_grid, refine, worst

RNG = np.random.default_rng(11)
LABEL = RNG.random(20_000) < 0.1
SCORE = 1 / (1 + np.exp(3 - 4 * RNG.normal(LABEL * 2.0, 1)))
MODEL = np.where(RNG.random(20_000) < 0.5, "a", "b")


def in_numpy(grid: Floats) -> pl.DataFrame:
    tables = []
    for model in ("a", "b"):
        mine = model == MODEL
        true, false = np.sort(SCORE[mine & LABEL]), np.sort(SCORE[mine & ~LABEL])
        fn, tn = np.searchsorted(true, grid), np.searchsorted(false, grid)
        columns = {"tp": len(true) - fn, "fp": len(false) - tn, "fn": fn, "tn": tn}
        tables.append(pl.DataFrame({"model": model, "threshold": grid, **columns}))
    return pl.concat(tables)


def test_any_engine_can_count() -> None:
    passes = []

    def count(grid: Floats) -> pl.DataFrame:
        passes.append(len(grid))
        return in_numpy(grid)

    measure = functools.partial(_widths, prevalence=(1e-3, 0.1))
    coarse = np.linspace(SCORE.min(), SCORE.max(), 5)
    for first in (coarse, first_grid(float(SCORE.min()), float(SCORE.max()), np.float64)):
        found = refine(count, first, measure, 1e-3, np.float64)
        assert worst(measure(found)) <= 1e-3
        assert found.positives.sum() == LABEL.sum()
        assert found.negatives.sum() == (~LABEL).sum()
    assert passes[0] == 5
    assert len(passes) > 2
