import itertools
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf
from tests.logs import counts_at


def point_rates(points: list[tuple[int, int]]) -> pl.DataFrame:
    """Operating points of 20 positives and 20 negatives, each a model's, at thresholds of their own."""
    names, (tp, fp) = [f"m{place:02}" for place in range(len(points))], zip(*points, strict=True)
    counts = counts_at(tp, fp, 20, 20, model=names, threshold=np.arange(len(points)) / 100)
    return nf.compute_rates(counts)


@pytest.mark.thorough
@given(
    points=st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20)), min_size=2, max_size=8),
    grid=st.lists(st.floats(1e-12, 1 - 1e-12), min_size=1, max_size=3, unique=True),
)
def test_precision_ranks_by_the_quotient_of_the_rates(points, grid):
    """At every prevalence the order is that of FPR/TPR, and equal quotients tie."""
    for metric, at in (
        ("precision", points),
        ("npv", [(20 - fp, 20 - tp) for tp, fp in points]),  # its quotient is (1-TPR)/(1-FPR)
        (nf.f_beta(beta=0), points),
    ):
        ranking = nf.rank_models(nf.project_rates(point_rates(at), metrics=metric, prevalence=grid))
        quotients = [Fraction(fp, tp) for tp, fp in points]
        expected = {
            f"m{place:02}": 1 + sum(q < mine for q in quotients) for place, mine in enumerate(quotients)
        }
        for (_,), group in ranking.group_by("prevalence"):
            values = dict(group.select("model", "value").rows())
            ranks = dict(group.select("model", "rank").rows())
            for one, other in itertools.combinations(expected, 2):
                if expected[one] == expected[other]:
                    assert ranks[one] == ranks[other]
                elif abs(values[one] - values[other]) > 1e-14 * values[one]:
                    assert (ranks[one] < ranks[other]) == (expected[one] < expected[other])


@given(
    hits=st.lists(st.integers(1, 10**6), min_size=2, max_size=6), grid=st.lists(st.floats(0, 1), min_size=1)
)
def test_points_on_the_diagonal_have_one_precision_at_every_prevalence(hits, grid):
    counts = counts_at(hits, hits, 10**6, 10**6)
    table = nf.project_rates(nf.compute_rates(counts), metrics="precision", prevalence=grid)
    assert set(table.group_by("prevalence").agg(pl.col("value").n_unique())["value"]) == {1}
    ranking = nf.rank_models(table)
    assert set(ranking["rank"]) == {1}
    assert set(ranking["gap"]) == {0.0}


def values_table(values: list[float | None], metric: str = "precision") -> pl.DataFrame:
    return pl.DataFrame(
        {"model": [f"m{place:03}" for place in range(len(values))], "metric": metric, "value": values},
        schema_overrides={"value": pl.Float64},
    ).with_columns(threshold=pl.lit(0.5), prevalence=pl.lit(0.1), beta=pl.lit(None, pl.Float64))


def ranks_of(values: list[float | None], metric: str = "precision") -> list[int | None]:
    return nf.rank_models(values_table(values, metric)).sort("model")["rank"].to_list()


EPS = 2.0**-52
steps = st.lists(st.integers(0, 40), min_size=1, max_size=12)


@given(steps=steps, size=st.sampled_from([1.0, 3e-9, -2.0, 1e300]))
def test_the_best_leads_a_tie_and_no_chain_joins_what_differs(steps, size):
    values = [size * (1 + step * EPS) for step in steps]
    table = nf.rank_models(values_table(values))
    expected, leader, rank = {}, None, 0
    for place, value in enumerate(sorted(values, reverse=True), 1):
        if leader is None or leader - value > 8 * EPS * abs(leader):
            leader, rank = value, place
        expected[value] = rank
    best = max(values)
    for value, rank, gap in table.select("value", "rank", "gap").iter_rows():
        assert rank == expected[value]
        assert gap == (0 if rank == 1 else best - value)


def test_infinite_and_undefined_values():
    inf = float("inf")
    assert ranks_of([inf, 3.0, inf, None, 0.0, -inf], "lr_plus") == [1, 3, 1, None, 4, 5]
    table = nf.rank_models(values_table([inf, 3.0, inf], "lr_plus"))
    assert table["gap"].to_list() == [0, 0, inf]
    assert ranks_of([inf, 3.0, inf], "lr_minus") == [2, 1, 2]
    assert ranks_of([0.0, -0.0, 1e-300], "precision") == [2, 2, 1]


def test_differences_of_rates_have_the_rounding_of_the_rates():
    """J is 1/10,000 at each point, from other rates: the floats differ by more than 8 ulp."""
    rates = [(9_991, 9_990), (1_001, 1_000), (11, 10)]
    counts = counts_at([t for t, _ in rates], [f for _, f in rates], 10_000, 10_000)
    table = nf.project_rates(nf.compute_rates(counts), metrics="youden_j", prevalence=0.5)
    assert table["value"].max() - table["value"].min() > 8 * EPS * 0.0001
    assert set(nf.rank_models(table)["rank"]) == {1}


def test_a_target_is_not_ranked():
    rates = point_rates([(10, 2), (5, 2)])
    ranking = nf.rank_models(nf.project_rates(rates, metrics="pos_fraction", prevalence=0.5))
    assert ranking["rank"].to_list() == [None, None]


def test_shared_thresholds_are_compared_one_by_one():
    points = {"model": [*"aabb"], "threshold": [0.2, 0.5] * 2}
    rates = nf.compute_rates(counts_at([2, 1, 2, 2], [1, 0, 1, 1], 2, 2, **points))
    ranking = nf.rank_models(nf.project_rates(rates, metrics="accuracy", prevalence=0.5))
    assert ranking.select("threshold", "model", "rank").rows() == [
        (0.2, "a", 1),
        (0.2, "b", 1),
        (0.5, "a", 1),
        (0.5, "b", 1),
    ]
    together = nf.rank_models(nf.project_rates(rates, metrics="accuracy", prevalence=0.5), by=["metric"])
    assert sorted(together["rank"].to_list()) == [1, 1, 1, 1]


def test_operating_points_compete_even_if_the_models_have_the_same_thresholds_in_other_segments():
    points = {"model": [*"aabb"], "threshold": [0.2, 0.8] * 2, "segment": [*"xyyx"]}
    rates = nf.compute_rates(counts_at([9, 5, 9, 5], [1, 2, 2, 1], 10, 100, **points))
    ranking = nf.rank_models(nf.project_rates(rates, metrics="f_beta", prevalence=0.1))
    assert ranking.select("segment", "model", "rank").rows() == [
        ("x", "a", 1),
        ("x", "b", 2),
        ("y", "b", 1),
        ("y", "a", 2),
    ]
