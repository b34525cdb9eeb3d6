"""Areas against scikit-learn, and at their limits."""

import math
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from scipy.integrate import quad
from sklearn.metrics import auc, average_precision_score, roc_auc_score

import nci_frames as nf
from nci_frames.evaluation.rates import hull
from nci_frames.questions import drawn_curves
from tests.cases import first_quick
from tests.evaluation.probabilities.logs import row_weights
from tests.fuzz.calls import calls
from tests.logs import counts_at, exact_counts, labels_and_scores, random_log, small_logs

PREVALENCES = [1e-4, 0.003, 0.1, 0.5, 0.97]


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [3, 30, 10_000_000])
def test_areas_equal_scikit_learn(dtype, values):
    log = random_log(3000, dtype=dtype, values=values)
    areas = nf.compute_areas(nf.count_confusion(log, thresholds="exact"), prevalence=PREVALENCES)
    for (model, fold, country), group in log.partition_by("model", "fold", "country", as_dict=True).items():
        label, score = group["label"].to_numpy(), group["score"].to_numpy()
        mine = areas.filter(
            pl.col("model").eq_missing(model),
            pl.col("fold").eq_missing(fold),
            pl.col("country").eq_missing(country),
        )
        for eta in PREVALENCES:
            weight = row_weights(label, eta)
            ap = mine.filter(metric="pr_auc", prevalence=eta)["value"].item()
            assert ap == pytest.approx(average_precision_score(label, score, sample_weight=weight), abs=1e-12)
        # ROC-AUC does not depend on the class balance, so the same value answers every weighting.
        auc = mine.filter(metric="roc_auc")["value"].item()
        assert auc == pytest.approx(roc_auc_score(label, score, sample_weight=weight), abs=1e-12)
    observed = nf.compute_areas(exact_counts(label.tolist(), score.tolist()), prevalence="observed")
    ap = observed.filter(metric="pr_auc")["value"].item()
    assert ap == pytest.approx(average_precision_score(label, score), abs=1e-12)


def test_bounds_are_reached():
    """One bin, 3 positives and 4 negatives: the best and the worst order of its rows reach the ROC bounds."""
    best = [(True, 2.0)] * 3 + [(False, 1.0)] * 4
    worst = [(label, 3.0 - score) for label, score in best]
    for rows, side in ((best, "upper"), (worst, "lower")):
        log = pl.DataFrame({"model": "a", "label": [r[0] for r in rows], "score": [r[1] for r in rows]})
        exact = nf.compute_areas(nf.count_confusion(log, thresholds="exact"), prevalence=0.5)
        coarse = nf.compute_areas(nf.count_confusion(log, thresholds=[0.0, 5.0]), prevalence=0.5)
        assert exact.filter(metric="roc_auc")["value"].item() == coarse.filter(metric="roc_auc")[side].item()
    upper = coarse.filter(metric="pr_auc")["upper"].item()
    assert upper == 1.0  # all positives first


def test_a_bin_with_one_positive_and_no_negative_is_exact():
    """The second bin has precision 2/3; of the three positives in the last one, the first has 3/4 or more."""
    counts = counts_at([1, 2, 5], [1, 1, 1], 5, 10, model="a", threshold=[0.9, 0.8, 0.7])
    areas = nf.compute_areas(counts, prevalence=1 / 3, metrics="pr_auc")
    lower = 0.2 * (1 / 2 + 2 / 3 + 3 / 4) + 0.4 - 0.2 * math.log(1.2 / 0.8)
    assert areas["lower"].item() == pytest.approx(lower, rel=1e-14)
    assert areas["upper"].item() == pytest.approx(0.2 * (1 + 2 / 3) + 0.6 * 5 / 6, rel=1e-14)


@mpmath.workdps(50)
def test_short_steps_do_not_cancel():
    """The lower bound of a narrow bin at a tiny eta, against the formula with mpmath's 50 digits."""
    counts = counts_at([501, 500], [900, 800], 1000, 1000, model=["a", "a"], threshold=[0.1, 0.2])
    eta = 1e-7
    found = nf.compute_areas(counts, prevalence=eta).filter(metric="pr_auc")["lower"].item()
    k = (1 - mpmath.mpf(eta)) / mpmath.mpf(eta)
    total = mpmath.mpf(0)
    steps = [((0, 0), (500, 800)), ((500, 800), (501, 900)), ((501, 900), (1000, 1000))]
    for (tp0, _), (tp1, fp1) in steps:
        c = k * mpmath.mpf(fp1) / 1000
        t0, t1 = mpmath.mpf(tp0) / 1000, mpmath.mpf(tp1) / 1000
        total += (t1 - t0) - c * mpmath.log((t1 + c) / (t0 + c))
    assert found == pytest.approx(float(total), rel=1e-13)


@pytest.mark.parametrize(
    ("label", "score", "roc", "pr"),
    [
        ([True, False], [1.0, 0.0], 1.0, {0.0: None, 0.1: 1.0, 1.0: 1.0}),  # at eta 0: 0/0 where FPR is 0
        ([True, False], [0.0, 1.0], 0.0, {0.0: 0.0, 0.1: 0.1, 1.0: 1.0}),
        ([True, False], [0.5, 0.5], 0.5, {0.0: 0.0, 0.1: 0.1, 1.0: 1.0}),  # all tied
        ([True, True], [0.5, 0.6], None, {0.1: None, 0.5: None}),
        ([False, False], [0.5, 0.6], None, {0.1: None, 0.5: None}),
    ],
)
def test_limits(label, score, roc, pr):
    areas = nf.compute_areas(exact_counts(label, score), prevalence=list(pr))
    assert areas.filter(metric="roc_auc")["value"].item() == roc
    found = dict(areas.filter(metric="pr_auc").select("prevalence", "value").rows())
    assert found == {eta: None if v is None else pytest.approx(v) for eta, v in pr.items()}
    assert areas.filter(pl.col("value").is_null())["lower"].null_count() == areas["value"].null_count()


def test_weights_may_be_subnormal():
    """Quotients of them overflow, which was a warning."""
    counts = calls()["compute_areas"].frames[0]
    tiny = nf.compute_areas(counts.with_columns(pl.col("tp", "fp", "fn", "tn") * 5e-324), prevalence=0.1)
    assert tiny["value"].to_list() == nf.compute_areas(counts, prevalence=0.1)["value"].to_list()


METHODS = ["average_precision", "interpolated", "trapezoid"]


def curve_of(rows: list[tuple[bool, int]]) -> tuple[pl.DataFrame, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Exact counts of a log, and its ROC points from (0, 0) on."""
    counts = exact_counts([row[0] for row in rows], [float(row[1]) for row in rows])
    rates = nf.compute_rates(counts).sort("threshold", descending=True)
    return counts, np.append(0, rates["tpr"].to_numpy()), np.append(0, rates["fpr"].to_numpy())


def pr_auc(counts: pl.DataFrame, eta: float, method: str) -> float:
    areas = nf.compute_areas(counts, prevalence=eta, method=method)
    return float(areas.filter(metric="pr_auc")["value"].item())


@given(rows=labels_and_scores, eta=st.sampled_from([1e-9, 1e-4, 0.1, 0.5, 0.999]))
@mpmath.workdps(50)
def test_interpolated_areas_equal_quadrature_and_high_precision(rows, eta):
    counts, tpr, fpr = curve_of(rows)
    found = pr_auc(counts, eta, "interpolated")
    exact, numeric = mpmath.mpf(0), 0.0
    for t0, t1, f0, f1 in zip(tpr[:-1], tpr[1:], fpr[:-1], fpr[1:], strict=True):
        if t1 == t0:
            continue
        k = (1 - mpmath.mpf(eta)) / mpmath.mpf(eta)
        slope = (mpmath.mpf(f1) - mpmath.mpf(f0)) / (mpmath.mpf(t1) - mpmath.mpf(t0))
        a, b = 1 + k * slope, k * (mpmath.mpf(f0) - slope * mpmath.mpf(t0))
        logs = mpmath.log((a * t1 + b) / (a * t0 + b)) if b else mpmath.mpf(0)
        exact += (mpmath.mpf(t1) - mpmath.mpf(t0)) / a - (b / a**2 * logs if b else 0)

        def precision(t: float, at: tuple[float, ...] = (t0, t1, f0, f1)) -> float:
            begin, end, low, high = at
            said = eta * t + (1 - eta) * (low + (high - low) * (t - begin) / (end - begin))
            return eta * t / said if said else 1.0

        numeric += quad(precision, t0, t1, epsabs=1e-13, epsrel=1e-13, limit=400)[0]
    assert found == pytest.approx(float(exact), rel=1e-12)
    assert found == pytest.approx(numeric, abs=1e-10)


@pytest.mark.thorough
@given(rows=labels_and_scores, eta=st.sampled_from([1e-4, 0.1, 0.5, 0.999]))
def test_the_trapezoid_has_no_anchor(rows, eta):
    counts, tpr, fpr = curve_of(rows)
    precision = eta * tpr[1:] / (eta * tpr[1:] + (1 - eta) * fpr[1:])
    expected = auc(tpr[1:], precision) if len(precision) > 1 else 0.0
    assert pr_auc(counts, eta, "trapezoid") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_no_rule_has_an_area_without_negatives(method):
    """Not even if all positives have the same score."""
    counts = counts_at([2], [0], 2, 0, resolution="exact")
    areas = nf.compute_areas(counts, prevalence=[0.0, 0.5, 1.0], metrics="pr_auc", method=method)
    assert areas.select("value", "lower", "upper").unique().rows() == [(None, None, None)]


@pytest.mark.thorough
@pytest.mark.parametrize("method", METHODS)
@given(
    rows=labels_and_scores,
    thresholds=st.lists(st.integers(-1, 13), min_size=1, max_size=6, unique=True).map(sorted),
    eta=st.sampled_from([1e-6, 1e-3, 0.2, 0.5, 0.999, 1.0]),
    weights=st.sampled_from([None, [0.25], [3.0, 0.5], [100.0, 1.0, 7.0]]),
)
def test_bounds_of_a_grid_hold_for_every_rule_whatever_the_rows_were(method, rows, thresholds, eta, weights):
    log = pl.DataFrame({"model": "a", "label": [r[0] for r in rows], "score": [float(r[1]) for r in rows]})
    if weights is not None:
        weight = [weights[place % len(weights)] for place in range(len(log))]
        log = nf.scan_predictions(log.with_columns(weight=pl.Series(weight)), weight="weight")
    exact, coarse = (
        nf.compute_areas(
            nf.count_confusion(log, thresholds=t), prevalence=eta, method=method, fpr_range=(0.1, 0.6)
        )
        for t in ("exact", [float(t) for t in thresholds])
    )
    assert exact["metric"].to_list() == ["partial_roc_auc", "pr_auc", "roc_auc"]
    for true, row in zip(exact.iter_rows(named=True), coarse.iter_rows(named=True), strict=True):
        assert row["lower"] - 1e-12 <= true["value"] <= row["upper"] + 1e-12
        assert row["lower"] <= row["value"] <= row["upper"]
        assert true["lower"] == true["value"] == true["upper"]


def test_a_group_without_positives_takes_no_bound_from_others():
    log = pl.DataFrame({
        "model": "a", "label": [True] * 500 + [False] * 1500, "score": np.arange(2000)[::-1] / 2000,
        "seg": ["x"] * 1000 + ["y"] * 1000, "weight": 1 + np.arange(2000) / 1000,
    })  # fmt: skip
    scan = nf.scan_predictions(log, segments="seg", weight="weight")
    counts = nf.count_confusion(scan, thresholds=[0.0, 0.5, 0.8, 0.9])
    found, alone = (nf.compute_areas(rows, prevalence=0.1) for rows in (counts, counts.filter(seg="x")))
    assert alone["lower"].is_finite().all()
    assert_frame_equal(found.filter(seg="x"), alone)


def test_no_area_exceeds_1_by_rounding():
    """Where all rows are positives, precision is 1, but the steps of recall may add up to 1 + 2e-16."""
    for seed in (0, 14):  # in which the one and the other would
        rng = np.random.default_rng(seed)
        log = pl.DataFrame({"model": "a", "label": rng.random(500) < 0.3, "score": rng.random(500)})
        counts = nf.count_confusion(log, thresholds="exact")
        areas = nf.compute_areas(counts, prevalence=1.0, metrics="pr_auc")
        drawn = nf.bootstrap(counts, metric="pr_auc", prevalence=1.0, repeats=5)
        for found in (areas, drawn):
            lower, value, upper = found.select("lower", "value", "upper").row(0)
            assert 1 - 1e-12 <= lower <= value <= upper <= 1


@pytest.mark.parametrize("most", first_quick([0.01, 0.2, 1.0]))
def test_partial_areas_equal_scikit_learn(most):
    log = random_log(2000, values=500)
    for (model,), group in log.partition_by("model", as_dict=True).items():
        counts = nf.count_confusion(group, thresholds="exact", by=[])
        areas = nf.compute_areas(counts, prevalence=0.1, fpr_range=(0, most))
        found = areas.filter(metric="partial_roc_auc", model=model)["value"].item()
        standardised = roc_auc_score(group["label"], group["score"], max_fpr=most)
        least = most**2 / 2
        expected = standardised if most == 1 else least + (2 * standardised - 1) * (most - least)
        assert found == pytest.approx(expected, abs=1e-12)
        halves = [
            nf.compute_areas(counts, prevalence=0.1, fpr_range=ends).filter(metric="partial_roc_auc")["value"]
            for ends in ((0, most / 3), (most / 3, most))
        ]
        assert halves[0].item() + halves[1].item() == pytest.approx(found, abs=1e-12)


points = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=25)


@given(points=points)
def test_the_hull_has_all_points_below_it_and_no_corner_to_spare(points):
    tp, fp = (sorted(cells, reverse=True) for cells in zip(*points, strict=True))
    rates = nf.compute_rates(counts_at(tp, fp, 20, 20, model="a", threshold=np.arange(len(tp)) / 100))
    found = hull.roc_convex_hull(rates)
    corners = sorted({(0.0, 0.0), (1.0, 1.0), *found.select("fpr", "tpr").rows()})
    x, y = np.array(corners).T
    assert (np.interp(rates["fpr"], x, y) >= rates["tpr"].to_numpy() - 1e-12).all()
    slopes = np.diff(y) / np.where(np.diff(x) == 0, 1e-12, np.diff(x))
    assert (np.diff(slopes) < 1e-9).all()
    assert found.select("fpr", "tpr").is_unique().all()
    # Every best point of every linear cost is at the height of a corner.
    for weight in (0.1, 1.0, 7.0):
        best = (rates["tpr"] - weight * rates["fpr"]).max()
        assert max(best, 0.0, 1 - weight) == pytest.approx((y - weight * x).max())


@pytest.mark.long
@given(log=small_logs())
def test_the_highest_thresholds_of_each_tpr_have_all_that_may_be_the_best(log):
    rates = nf.compute_rates(nf.count_confusion(log, thresholds="exact", by=[]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hull, "_MANY", 0)
        few = hull.highest_of_each_tpr(rates)
    assert few.select("model", "tp").unique().height + few["model"].n_unique() >= few.height
    assert hull.roc_convex_hull(few).equals(hull.roc_convex_hull(rates))
    assert nf.decision_map(few).equals(nf.decision_map(rates))
    options: Any = {"metric": "f_beta", "prevalence": [0.001, 0.5], "beta": 2.0}
    assert nf.select_operating_points(few, **options).equals(nf.select_operating_points(rates, **options))


def test_only_many_points_at_every_score_are_thinned_and_are_a_grid_then(monkeypatch):
    log = random_log(rows=500)
    exact = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    assert hull.highest_of_each_tpr(exact) is exact
    monkeypatch.setattr(hull, "_MANY", 0)
    monkeypatch.setattr(drawn_curves, "_MANY_POINTS", 20)
    thinned = drawn_curves.report_curves(exact, exact["model"].unique().to_list())
    for few in (hull.highest_of_each_tpr(exact), thinned):
        assert len(few) < len(exact)
        # It is not claimed that no score was left out.
        assert few["resolution"].unique().to_list() == ["grid"]
    weighed = exact.with_columns(pl.col("tp", "fp", "fn", "tn").cast(pl.Float64))
    for rates in (weighed, nf.compute_rates(nf.count_confusion(log, thresholds=[0.2, 0.4, 0.6]))):
        assert hull.highest_of_each_tpr(rates) is rates
