"""Bands against a search of the whole box, and against the numbers of the papers."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from statsmodels.stats.proportion import confint_proportions_2indep

import nci_frames as nf
from nci_frames.evaluation.metrics import find_metric
from tests.logs import counts_at

COUNTS = counts_at([60, 80], [10, 0], 100, [10_000, 5000])
RATES = nf.compute_rates(COUNTS, interval="wilson")
PAPER = counts_at(60, 1, 100, 1000)


def boxes(tpr: Any, fpr: Any, of_tpr: Any, of_fpr: Any) -> pl.DataFrame:
    """Rates with symmetric bounds, of points without counts."""
    tpr, fpr, of_tpr, of_fpr = (np.atleast_1d(np.asarray(x, dtype=float)) for x in (tpr, fpr, of_tpr, of_fpr))
    rows = len(tpr)
    none = pl.Series([None] * rows, dtype=pl.Int64)
    cells = dict.fromkeys(("tp", "fp", "fn", "tn", "positives", "negatives"), none)
    return pl.DataFrame(
        {
            "model": ["a"] * rows,
            "threshold": np.arange(rows, dtype=float),
            **cells,
            "observed_prevalence": [0.5] * rows,
            "tpr": tpr,
            "fpr": fpr,
            "tpr_lower": tpr - of_tpr,
            "tpr_upper": tpr + of_tpr,
            "fpr_lower": fpr - of_fpr,
            "fpr_upper": fpr + of_fpr,
            "reason": pl.Series([None] * rows, dtype=pl.String),
        }
    )


@pytest.mark.thorough
def test_delta_is_that_of_footnote_4():
    """Brabec et al. (2020), TPR .6 ± .06, FPR .001 ± .0005: Delta 0.313859 at eta 0.00144855, bound 0.5."""
    rates = nf.compute_rates(PAPER, half_width=(0.06, 0.0005))
    row = nf.max_precision_uncertainty(rates).row(0, named=True)
    assert round(row["delta"], 6) == 0.313859
    assert round(row["prevalence"], 8) == 0.00144855
    assert (row["theorem_bound"], row["cv_tpr"], row["cv_fpr"]) == pytest.approx((0.5, 0.1, 0.5))
    band = nf.precision_band(rates, prevalence=np.geomspace(1e-5, 0.5, 20_001))
    width = band["upper"] - band["lower"]
    assert width.max() == pytest.approx(row["delta"], abs=1e-8)
    assert band["prevalence"][width.arg_max()] == pytest.approx(row["prevalence"], rel=1e-3)
    at = nf.precision_band(rates, prevalence=row["prevalence"])
    assert at["upper"].item() - at["lower"].item() == pytest.approx(row["delta"], rel=1e-12)
    # With FPR .001 ± .0001 all three are 0.1.
    equal = nf.compute_rates(PAPER, half_width=(0.06, 0.0001))
    found = nf.max_precision_uncertainty(equal).select("delta", "theorem_bound").row(0)
    assert found == pytest.approx((0.1, 0.1), rel=1e-12)


@given(
    tpr=st.floats(0.01, 0.5),
    fpr=st.floats(1e-6, 0.5),
    cv_tpr=st.floats(0.001, 0.99),
    cv_fpr=st.floats(0.001, 0.99),
)
def test_delta_is_the_largest_width_over_all_prevalences(tpr, fpr, cv_tpr, cv_fpr):
    row = nf.max_precision_uncertainty(boxes(tpr, fpr, cv_tpr * tpr, cv_fpr * fpr)).row(0, named=True)
    odds = np.geomspace(1e-9, 1e9, 20_001)
    best, worst = tpr * (1 + cv_tpr) / (fpr * (1 - cv_fpr)), tpr * (1 - cv_tpr) / (fpr * (1 + cv_fpr))
    widths = odds * best / (1 + odds * best) - odds * worst / (1 + odds * worst)
    assert widths.max() == pytest.approx(row["delta"], rel=1e-5)
    assert widths.max() <= row["delta"] * (1 + 1e-12)
    # Theorem 1.
    assert row["theorem_bound"] == pytest.approx(max(cv_tpr, cv_fpr), rel=1e-9)
    assert row["delta"] <= row["theorem_bound"] * (1 + 1e-9)


def test_undefined_uncertainty_says_why():
    counts = counts_at([6, 0, 0, 6], [0, 1, 1, 0], [10, 10, 0, 10], [100, 100, 100, 0])
    table = nf.max_precision_uncertainty(nf.compute_rates(counts, interval="wilson"))
    assert table["reason"].to_list() == [
        "the half-width of FPR is not below FPR: delta tends to 1 as prevalence tends to 0",
        "the half-width of TPR is not below TPR: delta tends to 1 as prevalence tends to 1",
        "tpr has no bounds: no positives",
        "fpr has no bounds: no negatives",
    ]
    assert table.select("delta", "prevalence", "theorem_bound").null_count().row(0) == (4, 4, 4)
    assert table["cv_fpr"].is_null().to_list() == [True, False, False, True]
    # sigma = FPR and sigma > FPR, as a user gives them
    for sigma in (0.001, 0.01):
        given = nf.compute_rates(COUNTS.head(1), half_width=(0.06, sigma))
        assert nf.max_precision_uncertainty(given)["reason"].item().startswith("the half-width of FPR")


def test_operating_points_without_bounds_say_why():
    log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    uncounted = "0.9 is not one of the counted thresholds"
    for thresholds, reason in (("exact", "tpr has no bounds"), ([0.5], uncounted)):
        counts = nf.count_confusion(log, thresholds=thresholds)
        point = nf.select_operating_points(nf.compute_rates(counts, interval="wilson"), threshold=0.9)
        table = nf.max_precision_uncertainty(point)
        assert table["prevalence"].item() is None
        assert table["reason"].item() == reason
        assert nf.precision_band(point, prevalence=0.1).select("lower", "upper").row(0) == (None, None)


def searched(expression: pl.Expr, row: dict[str, Any], eta: float, beta: float) -> tuple[float, float]:
    """The least and the largest value in a lattice of the box."""
    tpr, fpr = np.meshgrid(
        np.linspace(row["tpr_lower"], row["tpr_upper"], 21),
        np.linspace(row["fpr_lower"], row["fpr_upper"], 21),
    )
    lattice = pl.DataFrame({"tpr": tpr.ravel(), "fpr": fpr.ravel()}).with_columns(prevalence=eta, beta=beta)
    values = lattice.select(expression.alias("value"))["value"].drop_nulls()
    return values.min(), values.max()


def registered() -> list[str]:
    return nf.metrics().filter(kind="point")["name"].to_list()


@pytest.mark.thorough
@pytest.mark.parametrize("name", registered())
def test_the_band_of_every_monotone_metric_encloses_the_whole_box(name):
    """Whoever registers a metric as monotone that is not, fails here."""
    metric = find_metric(name)
    rng = np.random.default_rng(1)
    tpr, fpr = rng.random((2, 2)), rng.random((2, 2)) ** 3
    rates = boxes(tpr.mean(1), fpr.mean(1), abs(np.diff(tpr)[:, 0]) / 2, abs(np.diff(fpr)[:, 0]) / 2)
    etas = [1e-3, 0.9]
    table = nf.project_rates(rates, metrics=name, prevalence=etas, beta=2, band=True)
    assert table["lower"].is_null().all() == (not metric.monotone)
    for row in table.filter(pl.col("lower").is_not_null()).iter_rows(named=True):
        bounds = rates.filter(threshold=row["threshold"]).row(0, named=True)
        lower, upper = searched(metric.build(), bounds, row["prevalence"] or 0.5, 2.0)
        assert row["lower"] == pytest.approx(lower, rel=1e-9, abs=1e-12)
        assert row["upper"] == pytest.approx(upper, rel=1e-9, abs=1e-12)


def test_no_band_is_told_of_what_may_turn():
    gap = (pl.col("tpr") - pl.col("fpr")).pow(2)
    nf.register_metric("squared_gap", gap, range=(0, 1))
    nf.register_metric("fall_out", 1 - pl.col("fpr"), range=(0, 1), monotone=True)
    table = nf.project_rates(
        RATES,
        metrics=["squared_gap", "fall_out", nf.recall().alias("found"), nf.f_beta(beta=2)],
        prevalence=0.01,
        band=True,
    )
    known = dict(table.group_by("metric").agg(pl.col("lower").is_not_null().all()).rows())
    assert known == {"squared_gap": False, "fall_out": True, "found": False, "f_beta": True}
    fall_out = table.filter(metric="fall_out").select("lower", "upper").rows()
    assert fall_out == [(1 - high, 1 - low) for low, high in RATES.select("fpr_lower", "fpr_upper").rows()]


def test_the_band_of_precision_is_the_one_of_the_projection():
    etas = [0.0, 1e-4, 0.1, 1.0]
    band = nf.precision_band(RATES.lazy(), prevalence=etas)
    numbers = ["model", "threshold", "prevalence", "value", "lower", "upper"]
    assert band.columns == [*numbers, "supported", "reason"]
    table = nf.project_rates(RATES, metrics="precision", prevalence=etas, band=True)
    assert table.drop("metric", "beta").equals(band)
    # Without false positives precision may be 1 at any prevalence above 0.
    assert band.filter(model="b", prevalence=1e-4).select("value", "upper").row(0) == (1.0, 1.0)
    # Without positives and false positives nothing is positive.
    assert band.filter(prevalence=0.0)["lower"].to_list() == [0.0, None]


def test_what_is_undefined_in_the_log_has_no_bounds():
    """A classifier that never says positive has the precision 0/0, and the F1 score 0."""
    never = nf.compute_rates(counts_at(0, 0, 100, 9), interval="wilson")
    band = nf.project_rates(never, metrics=["f_beta", "precision"], prevalence=0.1, band=True)
    assert band.select("value", "lower").rows() == [(0.0, 0.0), (None, None)]
    assert band["upper"].is_null().to_list() == [False, True]


def test_logit_intervals_by_hand():
    """Mercaldo, Lau and Zhou (2007): the delta method on the log odds of both predictive values."""
    rates = RATES.filter(model="a").lazy()
    found = nf.predictive_value_interval(rates, prevalence=0.03, method="logit")
    se, sp, n1, n0, eta, z = 0.6, 0.999, 100, 10_000, 0.03, 1.959963984540054
    ppv = math.log(eta * se / ((1 - eta) * (1 - sp)))
    npv = math.log((1 - eta) * sp / (eta * (1 - se)))
    sd = {
        "precision": math.sqrt((1 - se) / se / n1 + sp / (1 - sp) / n0),
        "npv": math.sqrt(se / (1 - se) / n1 + (1 - sp) / sp / n0),
    }
    for metric, logit in (("npv", npv), ("precision", ppv)):
        row = found.filter(metric=metric).select("value", "lower", "upper").row(0)
        wanted = [1 / (1 + math.exp(-(logit + side * z * sd[metric]))) for side in (0, -1, 1)]
        assert row == pytest.approx(wanted, rel=1e-12)
    precision = nf.project_rates(RATES, metrics="precision", prevalence=0.03)["value"]
    every = nf.predictive_value_interval(RATES, prevalence=0.03).filter(metric="precision")
    assert every["value"].to_list() == pytest.approx(precision.to_list())


def test_score_intervals_are_those_of_statsmodels():
    counts = counts_at([60, 3, 5], [10, 5, 7], [100, 10, 10], [10_000, 20, 1000])
    found = nf.predictive_value_interval(nf.compute_rates(counts), prevalence=0.03, level=0.9)
    odds = 0.03 / 0.97
    for row in counts.iter_rows(named=True):
        positives, negatives = row["tp"] + row["fn"], row["fp"] + row["tn"]
        for metric, cells, factor in (
            ("precision", (row["tp"], positives, row["fp"], negatives), odds),
            ("npv", (row["tn"], negatives, row["fn"], positives), 1 / odds),
        ):
            ratios = confint_proportions_2indep(
                *cells, compare="ratio", method="score", correction=False, alpha=0.1
            )
            wanted = [factor * ratio / (1 + factor * ratio) for ratio in ratios]
            mine = found.filter(model=row["model"], metric=metric).select("lower", "upper").row(0)
            assert mine == pytest.approx(wanted, rel=1e-6)


def test_limits_of_predictive_values():
    counts = counts_at([6, 10, 0, 0], [0, 5, 0, 5], [10, 10, 10, 0], 90)
    rates = nf.compute_rates(counts)
    logit = nf.predictive_value_interval(rates, prevalence=[0.0, 0.1, 1.0], method="logit")
    known = logit.filter(prevalence=0.1).with_columns(known=pl.col("lower").is_not_null())
    assert known.select("model", "metric", "known").rows() == [
        ("a", "npv", True), ("a", "precision", False),  # no false positive
        ("b", "npv", False), ("b", "precision", True),  # no false negative
        ("c", "npv", True), ("c", "precision", False),  # never positive
        ("d", "npv", False), ("d", "precision", False),  # no positives
    ]  # fmt: skip
    found = nf.predictive_value_interval(rates, prevalence=[0.0, 0.1, 1.0])
    rows = {
        (model, metric): (lower, upper)
        for model, metric, lower, upper in found.filter(prevalence=0.1)
        .select("model", "metric", "lower", "upper")
        .rows()
    }
    assert rows["a", "precision"][1] == 1
    assert 0.3 < rows["a", "precision"][0] < 1
    assert rows["b", "npv"][1] == 1
    assert rows["c", "precision"] == rows["d", "precision"] == rows["d", "npv"] == (None, None)
    for table in (found, logit):
        ends = table.filter(model="b", metric="precision").select("value", "lower", "upper").rows()
        assert (ends[0], ends[2]) == ((0, 0, 0), (1, 1, 1))
    assert found.filter(model="c", metric="precision", prevalence=0.1)["value"].item() is None
    observed = nf.predictive_value_interval(rates, prevalence="observed")
    assert observed.filter(metric="precision")["prevalence"].to_list() == [0.1, 0.1, 0.1, 0.0]
