"""Labels of strata against every other way to divide the budget."""

import itertools

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from nci_frames.evaluation.labelling.allocation import allocate
from nci_frames.evaluation.labelling.goals import Cells
from nci_frames.evaluation.labelling.ranges import spread_of

strata = st.lists(st.tuples(st.floats(0, 100), st.integers(1, 6)), min_size=1, max_size=4)


def variance(spread, labels):
    return float((np.asarray(spread) ** 2 / np.asarray(labels)).sum())


@given(strata=strata, budget=st.integers(4, 20), least=st.integers(1, 2))
def test_no_other_division_has_a_smaller_variance(strata, budget, least):
    spread, rows = np.array([s for s, _ in strata]), np.array([n for _, n in strata])
    first = np.minimum(least, rows)
    if budget < first.sum():
        return
    labels = allocate(spread, rows, budget, least)
    wanted = min(budget, rows.sum())
    assert labels.sum() == wanted
    assert (labels >= first).all()
    assert (labels <= rows).all()
    ways = itertools.product(*(range(low, high + 1) for low, high in zip(first, rows, strict=True)))
    best = min(variance(spread, way) for way in ways if sum(way) == wanted)
    assert variance(spread, labels) <= best * (1 + 1e-9)


def test_a_large_budget_is_divided_as_neyman_does():
    spread, rows = np.array([5.0, 1.0, 2.0]), np.array([10**8, 10**8, 1000])
    labels = allocate(spread, rows, 8_000_000, 2)
    assert labels.tolist() == [6_665_833, 1_333_167, 1000]  # 7,999,000 as 5 to 1, and all of the last


def test_strata_that_tell_nothing_share_what_is_left():
    labels = allocate(np.array([1.0, 0.0, 0.0]), np.array([10, 100, 300]), 210, 2)
    assert labels.tolist() == [10, 51, 149]
    assert allocate(np.zeros(2), np.array([50, 150]), 40, 2).sum() == 40


@given(
    cells=st.lists(
        st.tuples(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30
    ),
    sparsest=st.floats(0, 0.9),
)
def test_no_row_is_labelled_more_sparsely_than_the_least(cells, sparsest):
    rows, positive, weight = (np.array(column, np.float64) for column in zip(*cells, strict=True))
    size = rows * weight
    share = spread_of(Cells(rows, positive, rows[None] > 0), weight, (1.0, 0.5, sparsest))
    if not size.any():
        return
    least = sparsest * size / size.sum()
    assert np.isclose(share.sum(), 1)
    assert (share >= least * (1 - 1e-9)).all()
    # Where there is more than the least, labels are in proportion to rows times deviation.
    known = size * np.sqrt(np.minimum(positive, 0.9) * (1 - np.minimum(positive, 0.9)))
    free = (share > least * (1 + 1e-9)) & (known > 1e-100)
    ratio = share[free] / known[free]
    assert np.allclose(ratio, ratio.mean() if len(ratio) else 0, rtol=1e-6)
