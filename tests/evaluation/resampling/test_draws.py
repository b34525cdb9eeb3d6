"""Draws against NumPy's own, against their moments, and at sizes that NumPy does not take."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from nci_frames.evaluation.resampling.draws import draw_with_replacement, draw_without_replacement, stream

bins = st.lists(st.one_of(st.just(0), st.integers(0, 20), st.integers(0, 10**12)), min_size=1, max_size=40)


@given(rows=bins, share=st.floats(0, 1), seed=st.integers(0, 9))
def test_draws_have_the_size_asked_for_and_no_new_rows(rows, share, seed):
    counts, rng = np.array(rows), np.random.default_rng(seed)
    again = draw_with_replacement(rng, counts, 5)
    assert again.shape == (5, len(rows))
    assert (again >= 0).all()
    assert (again.sum(axis=1) == counts.sum()).all()
    assert not again[:, counts == 0].any()
    size = int(counts.sum() * share)
    once = draw_without_replacement(rng, counts, size)
    assert once.sum() == size
    assert ((once >= 0) & (once <= counts)).all()


def _same_law(mine: np.ndarray, other: np.ndarray) -> float:
    """p-value of a chi-square test that two samples of integer vectors have one law."""
    _, code = np.unique(np.concatenate([mine, other]), axis=0, return_inverse=True)
    table = np.stack([np.bincount(part, minlength=code.max() + 1) for part in np.split(code.ravel(), 2)])
    frequent = table.sum(axis=0) >= 20
    table = np.column_stack([table[:, frequent], table[:, ~frequent].sum(axis=1)])
    return float(stats.chi2_contingency(table[:, table.any(axis=0)]).pvalue)


@pytest.mark.thorough
def test_draws_have_the_multinomial_and_the_hypergeometric_law():
    counts, rng = np.array([3, 0, 5, 2, 1]), np.random.default_rng(1)
    again = draw_with_replacement(rng, counts, 30_000)
    assert _same_law(again, rng.multinomial(11, counts / 11, size=30_000)) > 0.001
    once = np.array([draw_without_replacement(rng, counts, 6) for _ in range(4_000)])
    assert _same_law(once, rng.multivariate_hypergeometric(counts, 6, size=4_000)) > 0.001


@pytest.mark.thorough
def test_more_rows_than_numpy_takes():
    counts = np.array([4_000_000_000, 1_000_000_000])
    with pytest.raises(ValueError, match="1000000000"):
        np.random.default_rng(0).multivariate_hypergeometric(counts, 10)
    rng, size = np.random.default_rng(3), 2_500_000_000
    first = np.array([draw_without_replacement(rng, counts, size)[0] for _ in range(200)], np.float64)
    # Mean and standard deviation of the hypergeometric law; the mean of 200 is known to a fourteenth of it.
    std = np.sqrt(size * 0.8 * 0.2 * 0.5)
    assert abs(first.mean() - 0.8 * size) < 4 * std / np.sqrt(200)
    assert first.std() == pytest.approx(std, rel=0.2)


def test_a_stream_depends_on_the_seed_and_the_keys_only():
    first = stream(7, {"model": "a", "fold": None}).integers(2**60)
    assert stream(7, {"fold": None, "model": "a"}).integers(2**60) == first
    others = [stream(8, {"model": "a", "fold": None}), stream(7, {"model": "a", "fold": "None"})]
    assert first not in [other.integers(2**60) for other in others]
