"""Areas against scikit-learn, and at their limits."""

import mpmath
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import nci_frames as nf
from tests.fuzz.calls import calls
from tests.logs import counts_at, exact_counts, random_log

PREVALENCES = [1e-4, 0.003, 0.1, 0.5, 0.97]


def reweighted(label: np.ndarray, eta: float) -> np.ndarray:
    """Weights that turn the class balance of the labels into eta."""
    share = label.mean()
    return np.where(label, eta / share, (1 - eta) / (1 - share))


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
            weight = reweighted(label, eta)
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


def test_short_steps_do_not_cancel():
    """The lower bound of a narrow bin at a tiny eta, against the formula with mpmath's 50 digits."""
    mpmath.mp.dps = 50
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


def test_columns_and_order():
    counts = nf.count_confusion(random_log(), thresholds=[0.0, 0.5])
    areas = nf.compute_areas(counts, prevalence=[0.5, 0.1])
    columns = "model fold country metric method prevalence value lower upper supported reason"
    assert areas.columns == columns.split()
    assert areas.filter(metric="roc_auc").select("method", "prevalence").unique().rows() == [(None, None)]
    assert areas.equals(areas.sort(areas.columns[:6]))
    assert nf.compute_areas(counts.clear(), prevalence=0.1).is_empty()
    observed = nf.compute_areas(counts, prevalence="observed").filter(metric="pr_auc")["prevalence"]
    rates = nf.compute_rates(counts).filter(threshold=0.5)
    assert observed.to_list() == rates["observed_prevalence"].to_list()


def test_weights_may_be_subnormal():
    """Quotients of them overflow, which was a warning."""
    counts = calls()["compute_areas"].frames[0]
    tiny = nf.compute_areas(counts.with_columns(pl.col("tp", "fp", "fn", "tn") * 5e-324), prevalence=0.1)
    assert tiny["value"].to_list() == nf.compute_areas(counts, prevalence=0.1)["value"].to_list()
