"""Intervals against SciPy and statsmodels, and their coverage summed outcome by outcome."""

import functools
import itertools
import math
from typing import Any, get_args

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.stats import binom, binomtest
from statsmodels.stats.proportion import proportion_confint

import nci_frames as nf
from nci_frames.evaluation.rates.intervals import AccuracyMethod, Interval
from tests.cases import first_quick

INTERVALS = get_args(Interval)
BOUNDS = ["tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper"]
CASES = [
    (0, 1), (1, 1), (0, 10), (1, 10), (5, 10), (9, 10), (10, 10), (1, 1000), (37, 1000), (999, 1000),
    (0, 100_000), (3, 100_000), (600, 1_000_000), (10**9 - 7, 10**9), (12_345, 10**9),
]  # fmt: skip


def counts_of(cases: list[tuple[int, int]]) -> pl.DataFrame:
    """Counts with k hits of n as TPR, and the misses as FPR."""
    hits = pl.Series([k for k, _ in cases])
    misses = pl.Series([n - k for k, n in cases])
    return pl.DataFrame({"tp": hits, "fp": misses, "fn": misses, "tn": hits}).with_columns(
        model=pl.lit("a"), case=pl.int_range(pl.len()), threshold=0.5
    )


@pytest.mark.parametrize("level", first_quick([0.5, 0.9, 0.95, 0.999], 2))
@pytest.mark.parametrize(("name", "method"), [("wilson", "wilson"), ("clopper_pearson", "exact")])
def test_equal_to_scipy(name: Any, method: Any, level: float) -> None:
    rates = nf.compute_rates(counts_of(CASES).lazy(), interval=name, level=level)
    for (k, n), row in zip(CASES, rates.select(BOUNDS).rows(), strict=True):
        wanted = [
            bound
            for hits in (k, n - k)
            for bound in binomtest(hits, n).proportion_ci(confidence_level=level, method=method)
        ]
        # SciPy finds the exact bounds by root finding, with an absolute tolerance.
        assert row == pytest.approx(wanted, rel=1e-9, abs=1e-15 if name == "wilson" else 1e-11)


@pytest.mark.parametrize(("k", "n"), [(1, 10), (3, 100_000), (7, 10**9), (600, 10**6), (0, 10**7)])
def test_clopper_pearson_leaves_half_of_the_rest_at_each_side(k: int, n: int) -> None:
    lower, upper = nf.accuracy_interval(k, n, method="clopper_pearson", level=0.9)
    assert binom.cdf(k, n, upper) == pytest.approx(0.05, rel=1e-7)
    assert lower == 0 if k == 0 else binom.sf(k - 1, n, lower) == pytest.approx(0.05, rel=1e-7)


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
def test_equal_to_statsmodels(name: AccuracyMethod, method: str) -> None:
    # Jeffreys' interval ends at 0 where there is no hit, at 1 where there is no miss (Brown, Cai and
    # DasGupta); statsmodels leaves that out.
    inner = [(k, n) for k, n in CASES if name != "jeffreys" or 0 < k < n]
    for (k, n), level in itertools.product(inner, (0.8, 0.95, 0.99)):
        wanted = proportion_confint(k, n, alpha=1 - level, method=method)
        assert nf.accuracy_interval(k, n, method=name, level=level) == pytest.approx(wanted, abs=1e-9)


def test_jeffreys_includes_what_no_row_speaks_against() -> None:
    lower, upper = nf.accuracy_interval(0, 10, method="jeffreys")
    assert (lower, upper) == (0, pytest.approx(proportion_confint(0, 10, method="jeffreys")[1]))
    assert nf.accuracy_interval(10, 10, method="jeffreys") == (pytest.approx(1 - upper), 1)


def test_hoeffding_is_its_inequality() -> None:
    lower, upper = nf.accuracy_interval(400, 1000, method="hoeffding", level=0.9)
    assert 2 * math.exp(-2 * 1000 * (upper - 0.4) ** 2) == pytest.approx(0.1, rel=1e-12)
    assert 0.4 - lower == pytest.approx(upper - 0.4, rel=1e-12)
    assert nf.accuracy_interval(1, 2, method="hoeffding") == (0, 1)


def test_accuracy_intervals_by_hand() -> None:
    """80 of 100: 0.8 ± 1.96·0.04."""
    assert nf.accuracy_interval(80, 100, method="wald") == pytest.approx((0.7216, 0.8784), abs=5e-5)
    assert nf.accuracy_interval(0, 5, method="wald") == (0, 0)
    assert nf.accuracy_interval(80, 100) == nf.accuracy_interval(80, 100, method="wilson")
    assert nf.accuracy_interval(0, 5)[1] > 0.4


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


def test_no_false_positive_still_has_an_upper_limit() -> None:
    counts = pl.DataFrame(
        {"model": "a", "threshold": [0.5], "tp": [6], "fp": [0], "fn": [4], "tn": [100_000]}
    )
    upper = {name: nf.compute_rates(counts, interval=name)["fpr_upper"].item() for name in INTERVALS}
    # Clopper-Pearson without a hit: 1 - (alpha/2)^(1/n). The rule of three is its one-sided likeness.
    assert upper["clopper_pearson"] == pytest.approx(-math.expm1(math.log(0.025) / 100_000), rel=1e-9)
    z2 = 1.959963984540054**2
    assert upper["wilson"] == pytest.approx(z2 / (100_000 + z2), rel=1e-9)
    assert all(0 < bound < 0.005 for bound in upper.values())


def test_given_half_widths_are_cut_at_0_and_1() -> None:
    counts = pl.DataFrame({"model": "a", "threshold": [0.5], "tp": [95], "fp": [1], "fn": [5], "tn": [999]})
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


@functools.cache
def bounds_of(n: int, interval: Interval, level: float) -> list[np.ndarray[Any, Any]]:
    """The bounds after each number of hits in n rows."""
    rates = nf.compute_rates(counts_of([(k, n) for k in range(n + 1)]), interval=interval, level=level)
    return [rates.sort("tp")[bound].to_numpy() for bound in BOUNDS[:2]]


def coverage_of(rate: float, n: int, interval: Interval, level: float) -> float:
    lower, upper = bounds_of(n, interval, level)
    covered = (lower <= rate * (1 + 1e-12)) & (rate <= upper * (1 + 1e-12))
    return float(binom.pmf(np.arange(n + 1), n, rate)[covered].sum())


@pytest.mark.thorough
@pytest.mark.parametrize("n", [10, 50, 150])
def test_clopper_pearson_is_never_below_its_level(n: int) -> None:
    """Exactly, by summing binomial probabilities, at rates that include the bounds: there coverage jumps."""
    bounds = nf.compute_rates(
        counts_of([(k, n) for k in range(n + 1)]), interval="clopper_pearson", level=0.9
    )
    jumps = np.concatenate([bounds["tpr_lower"].to_numpy(), bounds["tpr_upper"].to_numpy()])
    rates = np.concatenate([np.linspace(0, 1, 101), jumps * (1 - 1e-9), np.minimum(1, jumps * (1 + 1e-9))])
    coverage = [coverage_of(rate, n, "clopper_pearson", 0.9) for rate in rates]
    assert 0.9 - 1e-9 <= min(coverage) < 0.93


@pytest.mark.thorough
@pytest.mark.parametrize("n", [50, 200, 2000])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilson_is_near_its_level_on_average(n: int, level: float) -> None:
    """Where five hits and five misses are expected."""
    rates = np.linspace(5 / n, 1 - 5 / n, 101).tolist()
    coverage = [coverage_of(rate, n, "wilson", level) for rate in rates]
    assert np.mean(coverage) == pytest.approx(level, rel=0.01)


def test_the_band_by_brute_force() -> None:
    """Over every pair of outcomes, precision itself compared with its band at several prevalences."""
    tpr, fpr, positives, negatives = 0.7, 0.06, 25, 60
    pairs = list(itertools.product(range(positives + 1), range(negatives + 1)))
    counts = pl.DataFrame(
        {
            "model": "a",
            "outcome": np.arange(len(pairs)),
            "threshold": 0.5,
            "tp": [tp for tp, _ in pairs],
            "fp": [fp for _, fp in pairs],
            "fn": [positives - tp for tp, _ in pairs],
            "tn": [negatives - fp for _, fp in pairs],
        }
    )
    chance = binom.pmf([p[0] for p in pairs], positives, tpr) * binom.pmf(
        [p[1] for p in pairs], negatives, fpr
    )
    rates = nf.compute_rates(counts, interval="wilson")
    covered = []
    for eta in (0.001, 0.2, 0.9):
        true = eta * tpr / (eta * tpr + (1 - eta) * fpr)
        band = nf.precision_band(rates, prevalence=eta)
        # Without a positive decision there is no band.
        held = band.select(pl.lit(true).is_between("lower", "upper").fill_null(value=False))
        covered.append(held.to_series().to_numpy())
    # The same samples at every prevalence: the band is simultaneous.
    assert (covered[0] == covered[1]).all()
    assert (covered[0] == covered[2]).all()
    box = rates.select(
        pl.lit(tpr).is_between("tpr_lower", "tpr_upper") & pl.lit(fpr).is_between("fpr_lower", "fpr_upper")
    )
    # The corollary is of the box, which the band holds more often than: errors of the two rates cancel.
    assert 0.89 < chance[box.to_series().to_numpy()].sum() < chance[covered[0]].sum()


def test_bounds_of_older_rates_are_gone() -> None:
    """They stayed, beside the rates of other counts."""
    counts = pl.DataFrame({"model": "a", "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]})
    rates = nf.compute_rates(counts, interval="wilson").with_columns(effective_positives=pl.lit(10.0))
    fewer = rates.with_columns(pl.col("tp", "fn") // 10)
    for options in ({}, {"interval": "wilson"}, {"half_width": (0.1, 0.1)}):
        expected = nf.compute_rates(counts.with_columns(pl.col("tp", "fn") // 10), **options)  # type: ignore[arg-type]
        assert nf.compute_rates(fewer, **options).equals(expected)  # type: ignore[arg-type]
