"""Intervals against SciPy and statsmodels, and their coverage summed outcome by outcome."""

import math
from typing import Any, get_args

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from mpmath import mp
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

import nci_frames as nf
from nci_frames.evaluation.rates.intervals import Interval, wilson_bounds
from tests.cases import first_quick
from tests.logs import counts_at

INTERVALS = get_args(Interval)
BOUNDS = ["tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper"]
CASES = [
    (0, 1), (1, 1), (0, 10), (1, 10), (5, 10), (9, 10), (10, 10), (1, 1000), (37, 1000), (999, 1000),
    (0, 100_000), (3, 100_000), (600, 1_000_000), (10**9 - 7, 10**9), (12_345, 10**9),
]  # fmt: skip


def counts_of(cases: list[tuple[int, int]]) -> pl.DataFrame:
    """Counts with k hits of n as TPR, and the misses as FPR."""
    hits, rows = np.transpose(cases)
    return counts_at(hits, rows - hits, rows, rows, model="a", case=np.arange(len(cases)))


@pytest.mark.parametrize("level", first_quick([0.5, 0.9, 0.95, 0.999], 2))
@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("wilson", "wilson"),
        ("clopper_pearson", "beta"),
        ("jeffreys", "jeffreys"),
        ("agresti_coull", "agresti_coull"),
        ("wald", "normal"),
    ],
)
def test_equal_to_statsmodels(name: Any, method: str, level: float) -> None:
    # Jeffreys' interval ends at 0 where there is no hit, at 1 where there is no miss (Brown, Cai and
    # DasGupta); statsmodels leaves that out.
    cases = [(k, n) for k, n in CASES if name != "jeffreys" or 0 < k < n]
    hits, rows = np.transpose(cases)
    wanted = [proportion_confint(part, rows, alpha=1 - level, method=method) for part in (hits, rows - hits)]
    of_hits = [nf.accuracy_interval(k, n, method=name, level=level) for k, n in cases]
    assert np.transpose(of_hits) == pytest.approx(np.array(wanted[0]), rel=1e-9, abs=0)
    if name in INTERVALS:
        rates = nf.compute_rates(counts_of(cases).lazy(), interval=name, level=level)
        found = rates.select(BOUNDS).to_numpy().T
        assert found == pytest.approx(np.concatenate(wanted), rel=1e-9, abs=0)


def test_the_lower_bound_of_a_share_of_a_row_does_not_cancel() -> None:
    """Wilson's formula of the upper bound loses it: 684.5 - 684.5."""
    lower, upper = wilson_bounds(np.array([1e-9]), np.array([100.0]), 37.0)
    with mp.workdps(50):
        hits, rows, z2 = mp.mpf(1e-9) * 100, mp.mpf(100), mp.mpf(37) ** 2
        half = mp.sqrt(z2 * (hits * (rows - hits) / rows + z2 / 4))
        wanted = [float((hits + z2 / 2 + side) / (rows + z2)) for side in (-half, half)]
    assert [lower[0], upper[0]] == pytest.approx(wanted, rel=1e-12, abs=0)


def test_jeffreys_includes_what_no_row_speaks_against() -> None:
    lower, upper = nf.accuracy_interval(0, 10, method="jeffreys")
    assert (lower, upper) == (0, pytest.approx(proportion_confint(0, 10, method="jeffreys")[1]))
    assert nf.accuracy_interval(10, 10, method="jeffreys") == (pytest.approx(1 - upper), 1)


def test_hoeffding_is_its_inequality() -> None:
    lower, upper = nf.accuracy_interval(400, 1000, method="hoeffding", level=0.9)
    assert 2 * math.exp(-2 * 1000 * (upper - 0.4) ** 2) == pytest.approx(0.1, rel=1e-12)
    assert 0.4 - lower == pytest.approx(upper - 0.4, rel=1e-12)
    assert nf.accuracy_interval(1, 2, method="hoeffding") == (0, 1)


def test_the_coverage_that_the_docstring_of_accuracy_states() -> None:
    """Exactly, over the outcomes of 100 rows at an accuracy of 0.98."""
    chance = binom.pmf(np.arange(101), 100, 0.98)
    for method, stated in (("wald", 0.87), ("wilson", 0.95)):
        bounds = [nf.accuracy_interval(k, 100, method=method) for k in range(101)]  # type: ignore[arg-type]
        held = np.array([lower <= 0.98 <= upper for lower, upper in bounds])
        assert chance[held].sum() == pytest.approx(stated, abs=0.005)


@given(
    k=st.integers(0, 400),
    m=st.integers(0, 400),
    level=st.floats(0.01, 0.9999),
    name=st.sampled_from(INTERVALS),
)
def test_bounds_enclose_the_rate_and_mirror_each_other(k: int, m: int, level: float, name: Any) -> None:
    rates = nf.compute_rates(counts_of([(k, k + m)]), interval=name, level=level)
    row = rates.row(0, named=True)
    if k + m == 0:
        assert all(row[bound] is None for bound in BOUNDS)
        return
    # At a small level the centre of these, which is not the rate, may leave the rate outside.
    if name not in ("agresti_coull", "jeffreys"):
        assert 0 <= row["tpr_lower"] <= row["tpr"] + 1e-15
        assert row["tpr"] - 1e-15 <= row["tpr_upper"] <= 1
    assert row["fpr_lower"] == pytest.approx(1 - row["tpr_upper"], abs=1e-10)
    assert row["fpr_upper"] == pytest.approx(1 - row["tpr_lower"], abs=1e-10)
    if k == 0 and name != "agresti_coull":
        assert row["tpr_lower"] == 0
        assert row["tpr_upper"] > 0


def test_given_half_widths_are_cut_at_0_and_1() -> None:
    counts = counts_at(95, 1, 100, 1000)
    found = nf.compute_rates(counts, half_width=(0.1, 0.0005)).select(BOUNDS).row(0)
    assert found == pytest.approx((0.85, 1.0, 0.0005, 0.0015))
    weighted = counts.with_columns(pl.col("tp", "fp", "fn", "tn") * 0.5)
    assert nf.compute_rates(weighted, half_width=(0.1, 0.01))["fpr_lower"].item() == 0
    assert nf.compute_rates(counts).columns[-1] == "fpr"


def test_points_not_attained_and_logs_of_one_class_have_no_bounds() -> None:
    counts = pl.DataFrame(
        {"model": ["a", "b", "c"], "threshold": [0.5] * 3, "tp": [0, 1, None], "fp": [1, 0, None],
         "fn": [0, 1, None], "tn": [1, 0, None], "reason": [None, None, "not attained"]}
    )  # fmt: skip
    for name in INTERVALS:
        rates = nf.compute_rates(counts, interval=name)
        assert [rates[bound].is_null().to_list() for bound in BOUNDS] == [
            [True, False, True], [True, False, True], [False, True, True], [False, True, True],
        ]  # fmt: skip


def test_bounds_of_older_rates_are_gone() -> None:
    """They stayed, beside the rates of other counts."""
    counts = counts_at(60, 1, 100, 1000)
    rates = nf.compute_rates(counts, interval="wilson").with_columns(effective_positives=pl.lit(10.0))
    fewer = rates.with_columns(pl.col("tp", "fn") // 10)
    for options in ({}, {"interval": "wilson"}, {"half_width": (0.1, 0.1)}):
        expected = nf.compute_rates(counts.with_columns(pl.col("tp", "fn") // 10), **options)  # type: ignore[arg-type]
        assert nf.compute_rates(fewer, **options).equals(expected)  # type: ignore[arg-type]
