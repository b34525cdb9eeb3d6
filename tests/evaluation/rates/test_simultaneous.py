"""The band of the ROC curve against Steck's determinant, simulated logs and curves within it."""

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.special import betaincinv

import nci_frames as nf
from nci_frames.evaluation.rates.simultaneous import _exact_alpha, _probability, local_alpha
from tests.logs import unit_log

BOUNDS = ["tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper"]


def normal_counts(seed: int, rows: tuple[int, int], digits: int = 9, **options: object) -> pl.DataFrame:
    return nf.count_confusion(unit_log({"a": 1.5}, rows, digits=digits, seed=seed).drop("unit"), **options)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_probability_equals_the_determinant_of_steck(rows: int, alpha: float) -> None:
    rank = np.arange(1, rows + 1)
    lower, upper = (betaincinv(rank, rows + 1 - rank, tail) for tail in (alpha / 2, 1 - alpha / 2))
    # Steck (1971), doi:10.1214/aoms/1177693490.
    matrix = np.zeros((rows, rows))
    for i in range(rows):
        for j in range(rows):
            power = j - i + 1
            if power >= 0:
                matrix[i, j] = max(upper[i] - lower[j], 0.0) ** power / math.factorial(power)
    wanted = math.factorial(rows) * np.linalg.det(matrix)
    assert _probability(rows, alpha) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [1, 2, 20, 64, 65, 100, 200, 1024])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_all_intervals_hold_together_with_the_level_asked_for(rows: int, level: float) -> None:
    assert 1 - _probability(rows, local_alpha(rows, level)) == pytest.approx(1 - level, rel=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize(("rows", "level"), [(2_000, 0.9), (3_000, math.sqrt(0.95)), (2_000, 0.999)])
def test_the_level_of_many_rows_is_that_of_the_recursion(rows: int, level: float) -> None:
    assert local_alpha(rows, level) == pytest.approx(_exact_alpha(rows, level), rel=0.01)


@pytest.mark.thorough
def test_the_local_level_falls_with_the_rows_and_stays_above_that_of_bonferroni() -> None:
    found = [local_alpha(rows, 0.95) for rows in (1, 2, 5, 64, 65, 127, 128, 1024, 1025, 10**6, 10**12)]
    assert found == sorted(found, reverse=True)
    assert found[-1] > 1e-5
    assert local_alpha(1, 0.95) == pytest.approx(0.05)
    # As the level rises, intervals fail one at a time, and their chances add up.
    assert local_alpha(10, 1 - 1e-7) == pytest.approx(1e-8, rel=0.05)
    assert local_alpha(10, 1 - 1e-12) == pytest.approx(1e-13, rel=1e-3)


@pytest.mark.thorough
def test_bounds_are_those_of_clopper_and_pearson_at_the_local_level() -> None:
    counts = pl.concat(
        normal_counts(rows, (rows, 5 * rows)).with_columns(segment=pl.lit(f"{rows}")) for rows in (7, 40)
    )
    rates = nf.compute_rates(counts, interval="simultaneous", level=0.9)
    for rows in (7, 40):
        mine, group = rates.filter(segment=f"{rows}"), counts.filter(segment=f"{rows}")
        for rate, size in (("tpr", rows), ("fpr", 5 * rows)):
            level = 1 - local_alpha(size, 0.9)
            wanted = nf.compute_rates(group, interval="clopper_pearson", level=level)
            for side in (f"{rate}_lower", f"{rate}_upper"):
                assert mine[side].to_list() == pytest.approx(wanted[side].to_list(), rel=1e-9, abs=1e-12)


def integrals(rates: pl.DataFrame, eta: float) -> tuple[float, float, float, float]:
    """PR-AUC and ROC-AUC of the lowest and of the highest curve of a band, recall by recall."""
    recall = (np.arange(40_000) + 0.5) / 40_000
    falling = rates.sort("threshold", descending=True)
    low, high, below, above = (
        falling[name].to_numpy() for name in ("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper")
    )
    # Thresholds that surely reach a recall; and those that surely do not.
    most = np.append(above, 1.0)[np.searchsorted(low, recall, side="left")]
    least = np.append(0.0, below)[np.searchsorted(high, recall, side="left")]
    k = (1 - eta) / eta
    return (
        float((recall / (recall + k * most)).mean()),
        float((recall / (recall + k * least)).mean()),
        float(1 - most.mean()),
        float(1 - least.mean()),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("eta", [1e-3, 0.3])
@pytest.mark.parametrize("thresholds", ["exact", [-1.0, 0.0, 0.5, 1.0, 2.0]])
def test_bounds_of_areas_are_the_areas_of_the_outermost_curves(thresholds: object, eta: float) -> None:
    counts = normal_counts(2, (40, 300), thresholds=thresholds)
    rates = nf.compute_rates(counts, interval="simultaneous", level=math.sqrt(0.9))
    pr_low, pr_high, roc_low, roc_high = integrals(rates, eta)
    for method in ("interpolated", "average_precision"):
        found = nf.compute_areas(counts, prevalence=eta, method=method, interval="simultaneous", level=0.9)
        pr, roc = (found.filter(metric=name).row(0, named=True) for name in ("pr_auc", "roc_auc"))
        assert (pr["lower"], roc["lower"], roc["upper"]) == pytest.approx(
            (pr_low, roc_low, roc_high), abs=1e-3
        )
        if method == "interpolated":
            assert pr["upper"] == pytest.approx(pr_high, abs=2e-3)
        else:
            # Rows with one score have the precision of their last recall.
            assert pr["upper"] >= pr_high - 1e-9


@st.composite
def population_within(draw: st.DrawFn) -> tuple[pl.DataFrame, list[tuple[float, float]], float]:
    """Counts, and the corners of a population's ROC curve that is within their band at every threshold."""
    seed, digits = draw(st.integers(0, 10**6)), draw(st.sampled_from([0, 1, 9]))
    grid = draw(st.sampled_from(["exact", [-0.5, 0.5, 1.5]]))
    counts = normal_counts(
        seed, (draw(st.integers(1, 12)), draw(st.integers(1, 30))), digits, thresholds=grid
    )
    rates = nf.compute_rates(counts, interval="simultaneous", level=math.sqrt(0.8))
    rates = rates.sort("threshold", descending=True)
    rng = np.random.default_rng(seed)
    corners = {}
    for rate in ("tpr", "fpr"):
        low, high = rates[f"{rate}_lower"].to_numpy(), rates[f"{rate}_upper"].to_numpy()
        # Anywhere between the bounds, often at them; bounds rise, so a running maximum stays between them.
        share = rng.choice([0.0, 1.0, rng.random()], len(low))
        corners[rate] = np.maximum.accumulate(low + share * (high - low))
    curve, now = [], (0.0, 0.0)
    for corner in [*zip(corners["fpr"], corners["tpr"], strict=True), (1.0, 1.0)]:
        # Between two thresholds a score of negatives, then one of positives, or the reverse, or one of both.
        middle = {0: (corner[0], now[1]), 1: (now[0], corner[1])}.get(int(rng.integers(3)))
        curve += [corner] if middle is None else [middle, corner]
        now = corner
    return counts, curve, draw(st.sampled_from([1e-4, 0.05, 0.5, 0.95]))


@pytest.mark.thorough
@given(population_within())
def test_areas_of_every_population_within_the_band_are_within_the_bounds(
    drawn: tuple[pl.DataFrame, list[tuple[float, float]], float],
) -> None:
    counts, curve, eta = drawn
    found = nf.compute_areas(counts, prevalence=eta, interval="simultaneous", level=0.8, fpr_range=(0.1, 0.4))
    bounds = {row["metric"]: row for row in found.iter_rows(named=True)}
    precision = roc = 0.0
    fpr0 = tpr0 = 0.0
    for fpr, tpr in curve:
        if tpr > tpr0:
            precision += (tpr - tpr0) * eta * tpr / (eta * tpr + (1 - eta) * fpr)
        roc += (fpr - fpr0) * (tpr + tpr0) / 2
        fpr0, tpr0 = fpr, tpr
    places = np.linspace(0.1, 0.4, 3001)
    x, y = np.array([(0.0, 0.0), *curve]).T
    # The part between two points that differ in both rates is a tie: a straight line.
    partial = float(np.interp((places[1:] + places[:-1]) / 2, x, y).mean() * 0.3)
    for metric, value, slack in (
        ("pr_auc", precision, 1e-9),
        ("roc_auc", roc, 1e-9),
        ("partial_roc_auc", partial, 2e-4),
    ):
        row = bounds[metric]
        assert row["lower"] - slack <= value <= row["upper"] + slack, metric
        assert row["lower"] <= row["value"] <= row["upper"]


@pytest.mark.thorough
def test_the_value_is_that_without_bounds_also_at_the_own_prevalence_of_each_group() -> None:
    groups = (
        normal_counts(seed, (10 + seed, 50)).with_columns(model=pl.lit(f"m{seed}")) for seed in range(6)
    )
    counts = pl.concat(groups)
    plain = nf.compute_areas(counts, prevalence="observed")
    banded = nf.compute_areas(counts, prevalence="observed", interval="simultaneous")
    assert banded.drop("lower", "upper").equals(plain.drop("lower", "upper"))


@pytest.mark.thorough
def test_units_widen_the_band_of_rows_that_belong_together() -> None:
    log = unit_log({"a": 1.5}, (100, 400), times=4, noise=0.01, seed=5)
    counts = nf.count_confusion(nf.unit_buckets(log, buckets=128), thresholds=np.linspace(-2, 4, 30).tolist())
    pooled = nf.pool_counts(counts, over="bucket")
    rates, careless = (
        nf.compute_rates(frame, interval="simultaneous", units=units)
        for frame, units in ((counts, "bucket"), (pooled, None))
    )
    middle = rates["tpr"].is_between(0.05, 0.95)
    ratio = (rates["tpr_upper"] - rates["tpr_lower"]) / (careless["tpr_upper"] - careless["tpr_lower"])
    # Four rows of a unit are worth one: twice the width, and a little more for 128 buckets.
    assert ratio.filter(middle).median() == pytest.approx(2.3, abs=0.3)
    for name in BOUNDS:
        assert rates[name].is_sorted(descending=True)
    found = nf.compute_areas(counts, prevalence=0.01, interval="simultaneous", units="bucket")
    alone = nf.compute_areas(pooled, prevalence=0.01, interval="simultaneous")
    assert found["value"].to_list() == alone["value"].to_list()
    assert (found["lower"] < alone["lower"]).all()
    assert (found["upper"] > alone["upper"]).all()


def test_a_tie_that_spans_thresholds_does_not_leave_the_band() -> None:
    """Where precision rises with recall, rows with one score have the precision of the last of them."""
    label = np.array([False] * 60 + [True] * 30 + [False] * 60, bool)
    log = pl.DataFrame({"model": "a", "label": label, "score": -np.arange(150.0)})
    counts = nf.count_confusion(log, thresholds=[-80.5, -75.5, -70.5, -65.5, -60.5])
    rates = nf.compute_rates(counts, interval="simultaneous", level=math.sqrt(0.95))
    rates = rates.sort("threshold", descending=True)
    low, high, false = (rates[name].to_list() for name in ("tpr_lower", "tpr_upper", "fpr_lower"))
    eta = 0.3

    def area(tpr: list[float]) -> float:
        """Average precision if all positives between two thresholds have one score, above the negatives."""
        total = before = 0.0
        for to, fpr in zip([*tpr, 1.0], [0.0, *false], strict=True):
            total += (to - before) * eta * to / (eta * to + (1 - eta) * fpr) if to > before else 0.0
            before = to
        return total

    # Every curve whose corners are among the bounds.
    places = sorted({*low, *high})
    allowed = [[p for p in places if a <= p <= b] for a, b in zip(low, high, strict=True)]
    curves = [list(c) for c in itertools.product(*allowed) if list(c) == sorted(c)]
    found = nf.compute_areas(counts, prevalence=eta, interval="simultaneous").filter(metric="pr_auc")
    largest = max(map(area, curves))
    # The curve of the highest TPR everywhere is not the one of the largest area.
    assert area(high) + 0.05 < largest <= found["upper"].item()
