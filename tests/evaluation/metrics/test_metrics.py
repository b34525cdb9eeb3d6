"""The metrics against the count formulas, their limits, and the numbers of the papers."""

import math

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf

INF = float("inf")


def value(metric: pl.Expr, tpr: float | None, fpr: float | None) -> float | None:
    rates = pl.DataFrame({"tpr": [tpr], "fpr": [fpr]}, schema={"tpr": pl.Float64, "fpr": pl.Float64})
    found = rates.select(metric).item()
    assert found is None or not math.isnan(found)
    return found


def ratio(above: float, below: float) -> float | None:
    return above / below if below else None


cells = st.integers(0, 50)


@given(tp=cells, fp=cells, fn=cells, tn=cells, beta=st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 10.0, INF]))
def test_at_the_observed_prevalence_metrics_are_their_count_formulas(tp, fp, fn, tn, beta):
    positives, negatives = tp + fn, fp + tn
    if not (positives and negatives):
        return
    eta = positives / (positives + negatives)
    tpr, fpr = tp / positives, fp / negatives
    if math.isinf(beta):
        f_beta = tpr
    else:
        f_beta = ratio((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)
    expected = [
        (nf.precision(prevalence=eta), ratio(tp, tp + fp)),
        (nf.recall(), tp / positives),
        (nf.f_beta(beta=beta, prevalence=eta), f_beta),
        (nf.accuracy(prevalence=eta), (tp + tn) / (positives + negatives)),
        (nf.pos_fraction(prevalence=eta), (tp + fp) / (positives + negatives)),
    ]
    for metric, wanted in expected:
        assert value(metric, tpr, fpr) == (
            None if wanted is None else pytest.approx(wanted, rel=1e-12, abs=1e-15)
        )


LIMITS: list[tuple[pl.Expr, float | None, float | None, float | None]] = [
    # eta = 0: every positive decision is false; eta = 1: every one is right
    (nf.precision(prevalence=0), 0.6, 0.1, 0.0),
    (nf.precision(prevalence=0), 0.6, 0.0, None),
    (nf.precision(prevalence=1), 0.6, 0.1, 1.0),
    (nf.precision(prevalence=1), 0.0, 0.1, None),
    (nf.precision(prevalence=0.2), 0.0, 0.0, None),
    (nf.precision(prevalence=1e-300), 0.6, 0.0, 1.0),
    (nf.f_beta(beta=1, prevalence=0), 0.6, 0.1, 0.0),
    (nf.f_beta(beta=1, prevalence=1), 0.5, 0.1, 2 / 3),
    (nf.f_beta(beta=1, prevalence=0.2), 0.0, 0.0, 0.0),  # never positive: 0, not null
    (nf.f_beta(beta=0, prevalence=0.2), 0.0, 0.0, None),  # beta = 0 is precision, null where precision is
    (nf.f_beta(beta=0, prevalence=0.5), 0.6, 0.2, 0.75),
    (nf.f_beta(beta=INF, prevalence=0.5), 0.6, 0.2, 0.6),
    (nf.f_beta(beta=INF, prevalence=0), 0.6, 0.2, 0.6),
    (nf.f_beta(beta=INF, prevalence=0.5), 0.6, None, 0.6),
    (nf.f_beta(beta=1e200, prevalence=0.5), 0.6, 0.2, 0.6),
    (nf.f_beta(beta=1, prevalence=0.3), 0.5, 0.0, 2 / 3),  # FPR = 0: precision 1 at every eta
    (nf.accuracy(prevalence=0), 0.6, 0.1, 0.9),
    (nf.accuracy(prevalence=1), 0.6, 0.1, 0.6),
    (nf.pos_fraction(prevalence=0), 0.6, 0.1, 0.1),
    (nf.pos_fraction(prevalence=1), 0.6, 0.1, 0.6),
    (nf.precision(prevalence=0.5), None, 0.1, None),
    (nf.accuracy(prevalence=0.5), 0.1, None, None),
]


@pytest.mark.parametrize(("metric", "tpr", "fpr", "wanted"), LIMITS, ids=range(len(LIMITS)))
def test_limits(metric, tpr, fpr, wanted):
    assert value(metric, tpr, fpr) == (None if wanted is None else pytest.approx(wanted, abs=1e-15))


def test_the_columns_prevalence_and_beta_are_read_unless_given():
    frame = pl.DataFrame({"tpr": [0.8], "fpr": [0.1], "prevalence": [0.2], "beta": [2.0], "eta": [0.5]})
    found = frame.select(
        read=nf.f_beta(),
        given=nf.f_beta(beta=1, prevalence=0.5),
        named=nf.f_beta(beta=1, prevalence=pl.col("eta")),
    ).row(0)
    # (1 + beta²)·eta·TPR / (beta²·eta + eta·TPR + (1 - eta)·FPR)
    assert found == pytest.approx((0.8 / 1.04, 0.8 / 0.95, 0.8 / 0.95))
    assert nf.f_beta().meta.output_name() == "f_beta"
