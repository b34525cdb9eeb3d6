"""Thresholds that cut the positives of every model."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nci_frames.counting.thresholds.recall import cut_positives

SCORES = st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, 1.0, np.inf, -np.inf])


def need_even(positives: list[np.ndarray], share: float, grid: np.ndarray) -> None:
    """Fail where a bin has more than its share of a model's positives, unless they all have one score."""
    assert (np.diff(grid) > 0).all()
    for mine in positives:
        ends = np.append(np.searchsorted(mine, grid), len(mine))
        assert ends[0] == 0
        for start, stop in pairwise(ends):
            most = share * len(mine) * max(np.sqrt(1 - start / len(mine)), 1 / 8)
            assert stop - start <= max(most, 1) or mine[start] == mine[stop - 1]


@given(
    models=st.lists(st.lists(SCORES, min_size=1, max_size=60), min_size=1, max_size=4),
    share=st.sampled_from([0.01, 0.1, 0.4]),
)
def test_no_bin_has_more_than_a_share(models: list[list[float]], share: float) -> None:
    positives = [np.sort(np.array(mine, np.float32) + 0) for mine in models]
    grid = cut_positives(positives, share)
    assert grid is not None
    need_even(positives, share, grid)


@pytest.mark.parametrize("digits", [1, 3, 8])
def test_many_positives_are_cut_as_evenly(digits: int) -> None:
    rng = np.random.default_rng(0)
    positives = [np.sort(np.round(rng.normal(k, 1 + k, 40_000), digits)) for k in range(3)]
    grid = cut_positives(positives, 0.002)
    assert grid is not None
    need_even(positives, 0.002, grid)
    assert len(grid) < 3 * 2 / 0.002
    assert cut_positives(positives, 0.002, most=len(grid) // 2) is None
