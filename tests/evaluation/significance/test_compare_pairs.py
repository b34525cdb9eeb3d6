"""Paired comparisons, against published values, SciPy, and simulated logs."""

import itertools
import math

import pytest
from scipy.stats import binomtest, poisson

import nci_frames as nf
from tests.logs import counts_at, pairs_of

#: The study Paired1 of the R package DTComPair (version 1.2.2): 451 diseased, 261 not.
STUDY = (319, 78, 22, 32, 31, 53, 22, 155)


def test_precision_equals_the_published_table():
    row = nf.compare_pairs(pairs_of(STUDY), metric="precision").row(0, named=True)
    assert row["value_a"] == pytest.approx(0.82536383, abs=1e-8)
    assert row["value_b"] == pytest.approx(0.86548223, abs=1e-8)
    assert row["p_value"] == pytest.approx(0.01939120, abs=1e-8)
    # The log ratio of the predictive values has the p-value 0.0171 there, by the delta method.
    assert row["lower"] < -0.0401 < row["upper"] < 0


@pytest.mark.parametrize(
    ("metric", "one", "other"), [("recall", 78, 22), ("fpr", 53, 22), ("specificity", 53, 22)]
)
def test_a_metric_of_one_rate_is_mcnemar(metric, one, other):
    row = nf.compare_pairs(pairs_of(STUDY), metric=metric).row(0, named=True)
    exact = binomtest(min(one, other), one + other).pvalue
    at = binomtest(min(one, other) - 1, one + other).pvalue
    # The mid-p value is halfway between the exact one and that without the outcome itself.
    assert at < row["p_value"] < exact
    assert row["p_value"] == pytest.approx((exact + at) / 2, rel=1e-9)


def test_units_on_which_both_agree_tell_nothing():
    row = nf.compare_pairs(pairs_of((50, 0, 0, 50, 5, 0, 0, 995)), metric="f_beta").row(0, named=True)
    assert row["difference"] == 0
    assert row["lower"] < 0 < row["upper"]
    assert row["p_value"] == pytest.approx(1, abs=0.1)
    for metric in ("recall", "precision"):
        assert nf.compare_pairs(pairs_of((50, 0, 0, 50, 25, 0, 0, 975)), metric=metric)["p_value"].item() == 1


@pytest.mark.thorough
def test_equal_precision_of_few_false_positives_is_rejected_in_5_percent():
    """Two false positives of each model are expected, of other rows; the positives are as expected."""
    found = list(itertools.product(range(8), repeat=2))
    pairs = pairs_of(*((25, 25, 25, 25, 0, a, b, 2000 - a - b) for a, b in found))
    tested = nf.compare_pairs(pairs, metric="precision", prevalence=0.0005, repeats=1000).sort("log")
    chance = poisson.pmf(range(8), 2)
    share = sum(chance[a] * chance[b] for (a, b), p in zip(found, tested["p_value"], strict=True) if p < 0.05)
    assert share < 0.055


def test_exchanging_the_models_turns_the_sign():
    exchanged = [STUDY[place] for place in (0, 2, 1, 3, 4, 6, 5, 7)]
    one, other = (
        nf.compare_pairs(pairs_of(tuple(cells)), metric="precision", prevalence=0.01).row(0, named=True)
        for cells in (STUDY, exchanged)
    )
    assert one["difference"] == -other["difference"]
    assert one["p_value"] == pytest.approx(other["p_value"], rel=1e-12)


def test_the_values_are_those_of_projections():
    table = nf.compare_pairs(pairs_of(STUDY), metric="f_beta", prevalence=[0.001, 0.5], beta=[0.5, 2])
    assert table.select("prevalence", "beta").rows() == [(0.001, 0.5), (0.001, 2), (0.5, 0.5), (0.5, 2)]
    counts = counts_at([397, 341], [84, 53], 451, 261)
    rates = nf.compute_rates(counts)
    values = nf.project_rates(rates, metrics="f_beta", prevalence=[0.001, 0.5], beta=[0.5, 2])
    for model in ("a", "b"):
        expected = values.filter(model=model)["value"].to_list()
        assert table[f"value_{model}"].to_list() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ((0, 0, 0, 0, 5, 3, 2, 90), "no positives"),
        ((5, 3, 2, 90, 0, 0, 0, 0), "no negatives"),
        ((5, 0, 3, 90, 0, 0, 2, 98), None),
        ((0, 0, 3, 90, 0, 0, 2, 98), "undefined"),
    ],
)
def test_what_the_log_cannot_support_is_null_with_a_reason(cells, reason):
    row = nf.compare_pairs(pairs_of(cells), metric="precision").row(0, named=True)
    assert row["supported"] is (reason is None)
    assert (row["lower"] is None) is (reason is not None)
    assert row["reason"] is None if reason is None else reason in row["reason"]


@pytest.mark.parametrize(("hits_of_b", "reason"), [(0, "infinite for both models"), (3, None)])
def test_infinite_values_are_told_of_and_lie_within_their_bounds(hits_of_b, reason):
    pairs = pairs_of((5, 2, 1, 2, 0, 0, hits_of_b, 100))
    row = nf.compare_pairs(pairs, metric="lr_plus").row(0, named=True)
    assert row["value_a"] == math.inf
    if reason is None:
        assert row["lower"] < 20 < row["upper"] == row["difference"] == math.inf
    else:
        assert reason in row["reason"]
