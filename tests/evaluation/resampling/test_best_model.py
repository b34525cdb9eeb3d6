"""The probability of being best: against its value in closed form, and for models that are one."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import nci_frames as nf
from tests.logs import counts_at, unit_log


def points(**tp: int) -> pl.DataFrame:
    """Models with so many of 50 positives found, and no false positive in 100."""
    return counts_at(list(tp.values()), 0, 50, 100, model=list(tp))


def test_two_binomials():
    """Recalls of 30 and 33 of 50: the probability that one binomial exceeds another, ties as half."""
    table = nf.probability_best(points(a=30, b=33), metric="recall", repeats=20_000)
    a, b = (stats.binom(50, n / 50).pmf(np.arange(51)) for n in (30, 33))
    joint = np.outer(a, b)
    expected = np.triu(joint, 1).sum() + np.trace(joint) / 2
    error = 4 * np.sqrt(expected * (1 - expected) / 20_000)
    assert table["probability"].to_list() == pytest.approx([1 - expected, expected], abs=error)
    assert table["probability"].sum() == pytest.approx(1)
    assert table["repeats"].to_list() == [20_000] * 2


@pytest.mark.thorough
def test_pairing_by_units_tells_more_than_rows_apart():
    """The second model is little worse than the first: on the same units the difference is plain."""
    log = unit_log({"good": 1.5, "noisy": 1.4}, 4000, alike=0.9)
    scan = nf.scan_predictions(log, unit="unit")
    counts = nf.count_confusion(nf.unit_buckets(scan), thresholds=np.linspace(-3, 5, 200).tolist())
    pooled, threshold = nf.pool_counts(counts, over="bucket"), counts["threshold"].unique().sort()[120]
    for metric, at in (("roc_auc", None), ("pr_auc", None), ("f_beta", threshold)):
        options = {"metric": metric, "threshold": at, "prevalence": 0.1}
        apart = nf.compare_best(pooled, **options).filter(model="noisy")
        paired = nf.compare_best(counts, units="bucket", **options).filter(model="noisy")
        assert apart["value"].to_list() == pytest.approx(paired["value"].to_list())
        width = [table.select(pl.col("upper") - pl.col("lower")).item() for table in (apart, paired)]
        assert width[1] < 0.8 * width[0]
        assert paired["p_value"].item() < apart["p_value"].item()
        if metric == "roc_auc":
            assert paired["p_value"].item() == pytest.approx(nf.compare_auc(scan)["p_value"].item(), abs=0.02)
            assert (paired["distinguishable"].item(), apart["distinguishable"].item()) == (True, False)


def test_of_a_minimised_metric_the_lower_value_is_the_best_and_none_is_never():
    recall, missed = (
        nf.probability_best(points(a=30, b=33), metric=m, repeats=100) for m in ("recall", "fnr")
    )
    assert missed["probability"].to_list() == recall["probability"].to_list()
    never = nf.probability_best(points(a=30, b=0), metric="precision", prevalence=0.1)
    assert never.select("model", "probability", "repeats").rows() == [("a", 1.0, 1000), ("b", 0.0, 0)]


def test_at_the_observed_prevalence_of_each_model():
    """Where models have different balances no one prevalence can be named."""
    counts = points(a=30, b=33).with_columns(tn=pl.Series([100, 200]))
    assert nf.probability_best(counts, metric="accuracy")["prevalence"].to_list() == [None, None]
    same = nf.probability_best(points(a=30, b=33), metric="accuracy")["prevalence"].to_list()
    assert same == [1 / 3, 1 / 3]


@pytest.mark.thorough
def test_own_thresholds_are_chosen_anew_in_every_resampled_log():
    rng = np.random.default_rng(3)
    shape = {"a": ([40, 25, 15, 20], [4, 30, 66, 900]), "b": ([36, 10, 34, 20], [3, 7, 90, 900])}

    def reached(rows: Any) -> Any:  # rows in the bins above each of four thresholds, the highest first
        return np.cumsum(rows, axis=-1)

    def best(tp: Any, fp: Any) -> Any:  # 100 positives, 1,000 negatives, prevalence 0.02
        found, wrong = 0.02 * tp / 100, 0.98 * fp / 1000
        return (2 * found / (found + 0.02 + wrong)).max(axis=-1)

    def draws(rows: list[int]) -> Any:
        return reached(rng.multinomial(sum(rows), np.array(rows) / sum(rows), 20_000))

    drawn = {name: best(*map(draws, both)) for name, both in shape.items()}
    tp, fp = (np.concatenate([reached(both[of]) for both in shape.values()]) for of in (0, 1))
    counts = counts_at(tp, fp, 100, 1000, model=[*"aaaabbbb"], threshold=[0.8, 0.6, 0.4, 0.2] * 2)
    table = nf.probability_best(counts, prevalence=0.02, threshold="own", repeats=20_000)
    assert table["value"].to_list() == [
        pytest.approx(best(*(reached(rows) for rows in both))) for both in shape.values()
    ]
    share = float((drawn["a"] > drawn["b"]).mean() + (drawn["a"] == drawn["b"]).mean() / 2)
    assert 0.2 < share < 0.8
    assert table["probability"].to_list() == pytest.approx([share, 1 - share], abs=4 * np.sqrt(0.5 / 20_000))
    single = counts.filter(pl.col("threshold") == counts["threshold"].min())
    own, given = (nf.probability_best(single, prevalence=0.02, threshold=at) for at in ("own", None))
    assert_frame_equal(own, given)


def test_of_models_that_differ_by_rounding_the_first_is_the_best():
    """Both are perfect; the area of the first is a sum of 29 steps, and 4e-16 less than 1."""
    scores = {"a": [*range(1, 30)], "b": [1] * 58}
    rows = [
        pl.DataFrame({"model": model, "label": [1] * len(found) + [0] * 50, "score": found + [0] * 50})
        for model, found in scores.items()
    ]
    counts = nf.count_confusion(pl.concat(rows).cast({"score": pl.Float64}), thresholds="exact")
    table = nf.probability_best(counts, metric="pr_auc", prevalence=0.01, repeats=20)
    assert table["value"][0] < table["value"][1] == 1
    assert table["probability"].to_list() == [0.5, 0.5]
