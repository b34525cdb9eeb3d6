import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf

rate = st.integers(0, 20)


def point_rates(points: list[tuple[int, int]]) -> pl.DataFrame:
    """Operating points of 20 positives and 20 negatives, each a model's, at thresholds of their own."""
    counts = pl.DataFrame(
        {
            "model": [f"m{place:02}" for place in range(len(points))],
            "threshold": [place / 100 for place in range(len(points))],
            "tp": [tp for tp, _ in points],
            "fp": [fp for _, fp in points],
            "fn": [20 - tp for tp, _ in points],
            "tn": [20 - fp for _, fp in points],
        }
    )
    return nf.compute_rates(counts)


@given(points=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=2, max_size=8))
def test_precision_ranks_never_change_with_prevalence(points: list[tuple[int, int]]) -> None:
    grid = [1e-6, 1e-3, 0.1, 0.5, 0.9]
    # Precision orders as TPR/FPR at every prevalence; points that share that ratio may differ by rounding.
    unique = list({tp / fp: (tp, fp) for tp, fp in points}.values())
    ranking = nf.rank_models(nf.project_rates(point_rates(unique), metrics="precision", prevalence=grid))
    orders = {tuple(group.sort("rank")["model"]) for group in ranking.partition_by("prevalence")}
    assert len(orders) == 1


def test_f1_ranks_change_with_prevalence() -> None:
    ranking = nf.rank_models(
        nf.project_rates(point_rates([(10, 1), (19, 8)]), metrics="f_beta", prevalence=[0.01, 0.6])
    )
    assert ranking.select("prevalence", "model", "rank").rows() == [
        (0.01, "m00", 1), (0.01, "m01", 2), (0.6, "m01", 1), (0.6, "m00", 2),
    ]  # fmt: skip
    assert ranking["gap"].to_list()[0] == 0
    best, second = ranking["value"].to_list()[:2]
    assert ranking["gap"].to_list()[1] == best - second


def test_ties_share_the_smaller_rank_and_null_has_none() -> None:
    rates = point_rates([(10, 2), (10, 2), (5, 2), (0, 0)])
    ranking = nf.rank_models(nf.project_rates(rates, metrics="precision", prevalence=0.5))
    assert ranking.select("model", "rank").rows() == [("m00", 1), ("m01", 1), ("m02", 3), ("m03", None)]
    assert ranking["gap"].to_list()[-1] is None


def test_a_target_is_not_ranked() -> None:
    rates = point_rates([(10, 2), (5, 2)])
    ranking = nf.rank_models(nf.project_rates(rates, metrics="pos_fraction", prevalence=0.5))
    assert ranking["rank"].to_list() == [None, None]


def test_shared_thresholds_are_compared_one_by_one() -> None:
    log = pl.DataFrame(
        {
            "model": ["a"] * 4 + ["b"] * 4,
            "label": [1, 1, 0, 0] * 2,
            "score": [0.9, 0.4, 0.3, 0.1, 0.9, 0.8, 0.6, 0.1],
        }
    )
    rates = nf.compute_rates(nf.count_confusion(log, thresholds=[0.2, 0.5]))
    ranking = nf.rank_models(nf.project_rates(rates, metrics="accuracy", prevalence=0.5))
    assert ranking.select("threshold", "model", "rank").rows() == [
        (0.2, "a", 1),
        (0.2, "b", 1),
        (0.5, "a", 1),
        (0.5, "b", 1),
    ]
    together = nf.rank_models(nf.project_rates(rates, metrics="accuracy", prevalence=0.5), by=["metric"])
    assert sorted(together["rank"].to_list()) == [1, 1, 1, 1]


def test_areas_are_ranked_and_lists_can_be_ranked_again() -> None:
    log = pl.DataFrame({"model": ["a", "a", "b", "b"], "label": [1, 0, 1, 0], "score": [0.9, 0.1, 0.1, 0.9]})
    areas = nf.compute_areas(nf.count_confusion(log, thresholds="exact"), prevalence=[0.1, 0.5])
    ranking = nf.rank_models(areas)
    assert ranking.group_by("model").agg(pl.col("rank").unique()).sort("model")["rank"].to_list() == [
        [1],
        [2],
    ]
    assert nf.rank_models(ranking).equals(ranking)
    assert nf.rank_models(areas.lazy()).equals(ranking)


def test_errors() -> None:
    rates = point_rates([(10, 2), (5, 2)])
    own = nf.project_rates(rates, metrics=[nf.recall().alias("found")], prevalence=0.5)
    with pytest.raises(nf.UnknownMetricError, match="unknown metric 'found'"):
        nf.rank_models(own)
    with pytest.raises(nf.SchemaError, match="missing column 'country'"):
        nf.rank_models(nf.project_rates(rates, metrics="recall", prevalence=0.5), by=["country"])
    with pytest.raises(nf.SchemaError, match="not a projection frame"):
        nf.rank_models(rates)
