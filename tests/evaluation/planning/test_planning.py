"""Sizes of test sets against a count of every smaller size, and against the band that they are to give."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binom

import nci_frames as nf
from nci_frames.base.typing import Floats


def probability_within(rows: Floats, rate: float, half_width: float) -> Floats:
    """The probability that so many rows measure a rate within the half-width."""
    fewest, most = np.ceil(rows * (rate - half_width) - 1e-9), np.floor(rows * (rate + half_width) + 1e-9)
    return np.asarray(binom.cdf(most, rows, rate) - binom.cdf(fewest - 1, rows, rate))


def by_brute_force(rate: float, half_width: float, level: float) -> int:
    """One more than the largest number of rows that misses the rate too often, among all that could."""
    rows = np.arange(1, math.ceil(math.log(2 / (1 - level)) / (2 * half_width**2)) + 1)
    failing = rows[probability_within(rows, rate, half_width) < level - 1e-12]
    return int(failing[-1]) + 1 if len(failing) else 1


@settings(max_examples=40)
@given(
    tpr=st.floats(0.01, 0.99), half_width=st.floats(0.02, 0.3), level=st.sampled_from([0.5, 0.9, 0.95, 0.99])
)
def test_exact_sizes_by_brute_force(tpr, half_width, level):
    found = nf.required_samples(
        half_width=half_width, tpr=tpr, fpr=1 - tpr, level=level, method="exact", assurance=None
    )
    wanted = by_brute_force(tpr, half_width, level)
    assert found["positives"].item() == wanted
    assert found["negatives"].item() == pytest.approx(wanted, abs=1)  # 1 - tpr is rounded


def test_larger_sizes():
    found = nf.required_samples(
        half_width=(0.0005, 0.01), tpr=0.001, fpr=0.5, method="exact", assurance=None
    ).row(0, named=True)
    assert found["negatives"] == by_brute_force(0.5, 0.01, 0.95)
    # So many rows and all above, up to four times as many, keep the rate; one row less does not.
    rows = found["positives"]
    hit = probability_within(np.arange(rows - 1, 4 * rows), 0.001, 0.0005)
    assert hit[0] < 0.95 <= hit[1:].min()


def test_more_rows_than_32_bits_hold():
    """Where so many outcomes fit, the normal distribution tells how many rows are needed."""
    found = nf.required_samples(half_width=(1e-8, 1e-7), tpr=1e-7, fpr=0.5, method="exact", assurance=None)
    z2 = 1.959963984540054**2
    assert found["positives"].item() == pytest.approx(z2 * 1e-7 / 1e-16, rel=0.02)
    assert found["negatives"].item() == pytest.approx(z2 * 0.25 / 1e-14, rel=1e-6)


def test_a_low_rate_has_an_exact_size_where_hoeffding_has_none():
    low = {"delta": 0.1, "tpr": 0.6, "fpr": 1e-8}
    with pytest.raises(nf.ParameterError, match=r"1e-08 ± 1e-09"):
        nf.required_samples(**low)
    negatives = nf.required_samples(**low, method="exact", assurance=None)["negatives"].item()
    around = np.array([negatives - 1, negatives])
    assert (probability_within(around, 1e-8, 1e-9) >= 0.95).tolist() == [False, True]


def test_hoeffding_is_its_formula_and_looser():
    found = nf.required_samples(half_width=(0.05, 0.0005), assurance=None)
    assert found["method"].to_list() == ["exact", "hoeffding"]
    assert found["assurance"].null_count() == 2
    exact, hoeffding = found.select("positives", "negatives").rows()
    assert hoeffding == (math.ceil(math.log(40) / 0.005), math.ceil(math.log(40) / (2 * 0.0005**2)))
    assert exact[0] < hoeffding[0]
    assert exact[1] < hoeffding[1]
    # Without a rate the worst is planned for: 0.5.
    assert found.equals(nf.required_samples(half_width=(0.05, 0.0005), tpr=0.5, fpr=0.5, assurance=None))


rate = st.floats(0.001, 0.9)


@given(tpr=rate, fpr=rate, delta=st.floats(0.01, 0.5))
def test_the_planned_rates_give_the_wanted_delta(tpr, fpr, delta):
    found = nf.required_samples(delta=delta, tpr=tpr, fpr=fpr, method="hoeffding", assurance=None)
    plan = found.row(0, named=True)
    of_tpr, of_fpr = plan["tpr_half_width"], plan["fpr_half_width"]
    odds = np.geomspace(1e-6, 1e6, 4001) * fpr / tpr
    upper, lower = odds * (tpr + of_tpr) / (fpr - of_fpr), odds * (tpr - of_tpr) / (fpr + of_fpr)
    assert (upper / (1 + upper) - lower / (1 + lower)).max() == pytest.approx(delta, rel=1e-4)


@given(tpr=rate, fpr=rate, wanted=st.floats(0.01, 0.45), eta=st.floats(0.0001, 0.99))
def test_the_planned_rates_give_the_wanted_half_width(tpr, fpr, wanted, eta):
    plan = nf.required_samples(
        precision_half_width=wanted, prevalence=eta, tpr=tpr, fpr=fpr, method="hoeffding", assurance=None
    ).row(0, named=True)
    of_tpr, of_fpr = plan["tpr_half_width"], plan["fpr_half_width"]
    assert of_tpr / tpr == pytest.approx(of_fpr / fpr)
    assert 0 < of_tpr < tpr
    odds = eta / (1 - eta)
    upper, lower = odds * (tpr + of_tpr) / (fpr - of_fpr), odds * (tpr - of_tpr) / (fpr + of_fpr)
    assert (upper / (1 + upper) - lower / (1 + lower)) / 2 == pytest.approx(wanted, rel=1e-6)


def test_without_rates_every_study_reaches_the_half_width():
    row = nf.required_samples(half_width=0.05, method="exact").row(0, named=True)
    assert (row["positives"], row["negatives"], row["assurance"]) == (381, 381, pytest.approx(1))
    assert row["tpr_half_width"] <= 0.05


def test_expected_counts_add_up():
    counts = nf.expected_counts(positives=7, negatives=1000, tpr=0.5, fpr=0.0004)
    assert counts.row(0) == ("planned", 0.5, 4, 0, 3, 1000)
    assert nf.compute_rates(counts, interval="wilson")["fpr_lower"].item() == 0
