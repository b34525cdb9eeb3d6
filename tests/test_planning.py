"""Sizes of test sets against a count of every smaller size, and against the band that they are to give."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binom

import nci_frames as nf


def by_brute_force(rate: float, half_width: float, level: float) -> int:
    """One more than the largest number of rows that misses the rate too often, among all that could."""
    rows = np.arange(1, math.ceil(math.log(2 / (1 - level)) / (2 * half_width**2)) + 1)
    fewest, most = np.ceil(rows * (rate - half_width) - 1e-9), np.floor(rows * (rate + half_width) + 1e-9)
    hit = binom.cdf(most, rows, rate) - binom.cdf(fewest - 1, rows, rate)
    failing = rows[hit < level - 1e-12]
    return int(failing[-1]) + 1 if len(failing) else 1


@settings(max_examples=40)
@given(
    tpr=st.floats(0.01, 0.99), half_width=st.floats(0.02, 0.3), level=st.sampled_from([0.5, 0.9, 0.95, 0.99])
)
def test_exact_sizes_by_brute_force(tpr: float, half_width: float, level: float) -> None:
    found = nf.required_samples(half_width=half_width, tpr=tpr, fpr=1 - tpr, level=level, method="exact")
    wanted = by_brute_force(tpr, half_width, level)
    assert found["positives"].item() == wanted
    assert found["negatives"].item() == pytest.approx(wanted, abs=1)  # 1 - tpr is rounded


@pytest.mark.parametrize(
    ("rate", "half_width", "wanted"), [(0.6, 0.06, 266), (0.001, 0.0005, None), (0.5, 0.01, 9699)]
)
def test_larger_sizes(rate: float, half_width: float, wanted: int | None) -> None:
    found = nf.required_samples(half_width=half_width, tpr=rate, fpr=0.5, method="exact")["positives"].item()
    if wanted is None:
        # 15,334 rows and all above, up to four times as many, keep the rate; 15,333 do not.
        rows = np.arange(found - 1, 4 * found)
        fewest, most = np.ceil(rows * (rate - half_width) - 1e-9), np.floor(rows * (rate + half_width) + 1e-9)
        hit = binom.cdf(most, rows, rate) - binom.cdf(fewest - 1, rows, rate)
        assert hit[0] < 0.95 <= hit[1:].min()
    else:
        assert found == wanted == by_brute_force(rate, half_width, 0.95)


def test_more_rows_than_32_bits_hold() -> None:
    """Where so many outcomes fit, the normal distribution tells how many rows are needed."""
    found = nf.required_samples(half_width=(1e-8, 1e-7), tpr=1e-7, fpr=0.5, method="exact")
    z2 = 1.959963984540054**2
    assert found["positives"].item() == pytest.approx(z2 * 1e-7 / 1e-16, rel=0.02)
    assert found["negatives"].item() == pytest.approx(z2 * 0.25 / 1e-14, rel=1e-6)


def test_hoeffding_is_its_formula_and_looser() -> None:
    found = nf.required_samples(half_width=(0.05, 0.0005))
    assert found["method"].to_list() == ["exact", "hoeffding"]
    exact, hoeffding = found.select("positives", "negatives").rows()
    assert hoeffding == (math.ceil(math.log(40) / 0.005), math.ceil(math.log(40) / (2 * 0.0005**2)))
    assert exact[0] < hoeffding[0]
    assert exact[1] < hoeffding[1]
    # Without a rate the worst is planned for: 0.5.
    assert found.equals(nf.required_samples(half_width=(0.05, 0.0005), tpr=0.5, fpr=0.5))


rate = st.floats(0.001, 0.9)


@given(tpr=rate, fpr=rate, delta=st.floats(0.01, 0.5))
def test_the_planned_rates_give_the_wanted_delta(tpr: float, fpr: float, delta: float) -> None:
    plan = nf.required_samples(delta=delta, tpr=tpr, fpr=fpr, method="hoeffding").row(0, named=True)
    of_tpr, of_fpr = plan["tpr_half_width"], plan["fpr_half_width"]
    odds = np.geomspace(1e-6, 1e6, 4001) * fpr / tpr
    upper, lower = odds * (tpr + of_tpr) / (fpr - of_fpr), odds * (tpr - of_tpr) / (fpr + of_fpr)
    assert (upper / (1 + upper) - lower / (1 + lower)).max() == pytest.approx(delta, rel=1e-4)


@given(tpr=rate, fpr=rate, wanted=st.floats(0.01, 0.45), eta=st.floats(0.0001, 0.99))
def test_the_planned_rates_give_the_wanted_half_width(
    tpr: float, fpr: float, wanted: float, eta: float
) -> None:
    plan = nf.required_samples(
        precision_half_width=wanted, prevalence=eta, tpr=tpr, fpr=fpr, method="hoeffding"
    ).row(0, named=True)
    of_tpr, of_fpr = plan["tpr_half_width"], plan["fpr_half_width"]
    assert of_tpr / tpr == pytest.approx(of_fpr / fpr)
    assert 0 < of_tpr < tpr
    odds = eta / (1 - eta)
    upper, lower = odds * (tpr + of_tpr) / (fpr - of_fpr), odds * (tpr - of_tpr) / (fpr + of_fpr)
    assert (upper / (1 + upper) - lower / (1 + lower)) / 2 == pytest.approx(wanted, rel=1e-6)


def test_the_planned_test_set_keeps_its_promise() -> None:
    """Exactly: measured rates with the planned half-widths, and the precision band that they make."""
    plan = nf.required_samples(delta=0.3, tpr=0.6, fpr=0.05, method="exact").row(0, named=True)
    held = 1.0
    for rows, rate, half in (
        (plan["positives"], 0.6, plan["tpr_half_width"]),
        (plan["negatives"], 0.05, plan["fpr_half_width"]),
    ):
        hits = np.arange(rows + 1)
        inside = np.abs(hits / rows - rate) <= half + 1e-12
        held *= binom.pmf(hits, rows, rate)[inside].sum()
    assert 0.95**2 <= held < 0.95**2 + 0.04


def test_expected_counts_add_up() -> None:
    counts = nf.expected_counts(positives=7, negatives=1000, tpr=0.5, fpr=0.0004)
    assert counts.row(0) == ("planned", 0.5, 4, 0, 3, 1000)
    assert nf.compute_rates(counts, interval="wilson")["fpr_lower"].item() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of half_width, delta and precision_half_width must be given\n  found: none"),
        ({"delta": 0.1, "precision_half_width": 0.1}, "found: delta and precision_half_width"),
        ({"delta": 0.1, "tpr": 0.5}, r"delta needs the expected rates(.|\n)*fpr=None"),
        ({"delta": 1.0, "tpr": 0.5, "fpr": 0.1}, "delta must be between 0 and 1"),
        ({"delta": 0.1, "tpr": 0.5, "fpr": 0.0}, r"fpr must be between 0 and 1\n  found: 0.0"),
        (
            {"delta": 0.1, "tpr": 0.5, "fpr": 0.1, "prevalence": 0.1},
            "must be given together\n  found: prevalence and delta",
        ),
        (
            {"precision_half_width": 0.1, "tpr": 0.5, "fpr": 0.1},
            "must be given together\n  found: only precision_half",
        ),
        (
            {"precision_half_width": 0.5, "prevalence": 0.1, "tpr": 0.5, "fpr": 0.1},
            "precision_half_width must be between 0 and 0.5",
        ),
        ({"half_width": 0.0}, "half_width must be between 0 and 1"),
        ({"half_width": (0.1, float("nan"))}, "found: nan"),
        ({"half_width": 0.1, "level": 0.0}, "level must be between 0 and 1"),
        ({"half_width": 0.1, "method": "hoefding"}, "did you mean 'hoeffding'"),
    ],
)
def test_contradictory_and_impossible_plans(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(nf.ParameterError, match=message):
        nf.required_samples(**arguments)


def test_impossible_test_sets() -> None:
    with pytest.raises(nf.ParameterError, match="positives must be a whole number >= 1"):
        nf.expected_counts(positives=0, negatives=1, tpr=0.5, fpr=0.5)
    with pytest.raises(nf.ParameterError, match=r"tpr must be within \[0, 1\]"):
        nf.expected_counts(positives=1, negatives=1, tpr=1.5, fpr=0.5)
