"""Refining needs nothing but a function that counts on a grid: here SQLite and NumPy are the engines."""

import functools
import sqlite3

import numpy as np
import polars as pl
import pytest

from nci_frames.base.typing import Floats
from nci_frames.counting.thresholds.auto import _widths
from nci_frames.counting.thresholds.refining import CountOnGrid, first_grid, refine, worst

RNG = np.random.default_rng(11)
LABEL = RNG.random(20_000) < 0.1
SCORE = 1 / (1 + np.exp(3 - 4 * RNG.normal(LABEL * 2.0, 1)))
MODEL = np.where(RNG.random(20_000) < 0.5, "a", "b")


def in_sqlite(grid: Floats) -> pl.DataFrame:
    """Count the rows between two thresholds in SQL, and add them up from the highest threshold down."""
    with sqlite3.connect(":memory:") as database:
        database.execute("create table log (model text, bin integer, label integer)")
        bins = np.searchsorted(grid, SCORE, side="right")
        rows = zip(MODEL.tolist(), bins.tolist(), LABEL.tolist(), strict=True)
        database.executemany("insert into log values (?, ?, ?)", rows)
        found = database.execute(
            "select model, bin, sum(label), sum(1 - label) from log group by 1, 2"
        ).fetchall()
    database.close()
    tables = []
    for model in ("a", "b"):
        cells = np.zeros((2, len(grid) + 1), np.int64)
        for name, place, positives, negatives in found:
            if name == model:
                cells[:, place] = positives, negatives
        reached = cells[:, ::-1].cumsum(axis=1)[:, ::-1]
        (tp, fp), total = reached[:, 1:], reached[:, :1]
        columns = {"tp": tp, "fp": fp, "fn": total[0] - tp, "tn": total[1] - fp}
        tables.append(pl.DataFrame({"model": model, "threshold": grid, **columns}))
    return pl.concat(tables)


def in_numpy(grid: Floats) -> pl.DataFrame:
    tables = []
    for model in ("a", "b"):
        mine = model == MODEL
        true, false = np.sort(SCORE[mine & LABEL]), np.sort(SCORE[mine & ~LABEL])
        fn, tn = np.searchsorted(true, grid), np.searchsorted(false, grid)
        columns = {"tp": len(true) - fn, "fp": len(false) - tn, "fn": fn, "tn": tn}
        tables.append(pl.DataFrame({"model": model, "threshold": grid, **columns}))
    return pl.concat(tables)


@pytest.mark.parametrize("engine", [in_sqlite, in_numpy])
def test_any_engine_can_count(engine: CountOnGrid) -> None:
    passes = []

    def count(grid: Floats) -> pl.DataFrame:
        passes.append(len(grid))
        return engine(grid)

    measure = functools.partial(_widths, prevalence=(1e-3, 0.1))
    coarse = np.linspace(SCORE.min(), SCORE.max(), 5)
    for first in (coarse, first_grid(float(SCORE.min()), float(SCORE.max()), np.float64)):
        found = refine(count, first, measure, 1e-3, np.float64)
        assert worst(measure(found)) <= 1e-3
        assert found.positives.sum() == LABEL.sum()
        assert found.negatives.sum() == (~LABEL).sum()
    assert passes[0] == 5
    assert len(passes) > 2
