"""Thresholds between which lie equal numbers of rows."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf
from tests.logs import small_logs


@pytest.mark.parametrize("n", [2, 10, 500])
@pytest.mark.parametrize("power", [1, 8])
def test_parts_are_of_nearly_one_size(n: int, power: int) -> None:
    rng = np.random.default_rng(3)
    score = rng.random(50_000) ** power
    log = pl.DataFrame({"model": "a", "label": rng.random(50_000) < 0.1, "score": score})
    thresholds = nf.quantile_thresholds(log, n)
    assert len(thresholds) == n
    assert thresholds[0] <= score.min()
    reached = np.array([(score >= threshold).mean() for threshold in thresholds])
    assert np.abs(reached - (1 - np.arange(n) / n)).max() <= 1 / (4 * n)
    assert thresholds == nf.quantile_thresholds(log.reverse().lazy(), n)


@given(log=small_logs(), n=st.integers(2, 12))
def test_tied_rows_are_never_parted(log: pl.DataFrame, n: int) -> None:
    thresholds = nf.quantile_thresholds(log, n)
    assert thresholds == sorted(set(thresholds))
    assert len(thresholds) <= n
    score = log["score"].cast(pl.Float64).to_numpy() + 0
    for place in range(1, n):
        # As near to the wanted share as a threshold can be that some row reaches.
        possible = [(score >= t).mean() for t in score]
        wanted = 1 - place / n
        nearest = min(abs(share - wanted) for share in possible)
        found = min(abs((score >= t).mean() - wanted) for t in thresholds)
        assert found <= nearest + 1 / (4 * n) + 1e-12


@pytest.mark.parametrize("scores", [[], [float("inf")], [float("-inf"), float("-inf")]])
def test_logs_that_cannot_be_cut(scores: list[float]) -> None:
    log = pl.DataFrame(
        {"model": ["a"] * len(scores), "label": [True] * len(scores), "score": scores},
        schema={"model": pl.String, "label": pl.Boolean, "score": pl.Float64},
    )
    assert nf.quantile_thresholds(log, 4) == scores[:1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers_are_thresholds(dtype: type[np.floating]) -> None:
    """Differences and successors of them overflow, which was a warning of NumPy."""
    most = np.finfo(dtype).max
    scores = np.array([-most, -most, most, most, 0], dtype)
    log = pl.DataFrame({"model": "a", "label": [False, True] * 2 + [True], "score": scores})
    thresholds = nf.quantile_thresholds(log, 8)
    assert thresholds == [-most, 0, most]
    assert nf.count_confusion(log, thresholds=thresholds)["tp"].to_list() == [3, 2, 1]
