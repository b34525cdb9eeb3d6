"""Decision and cost curves: printed net benefits, definitions, the integral that is the Brier score."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.evaluation.probabilities import logs


@example([(False, 0), (True, 0)], 1.0, 1, True)
@given(logs.rows, logs.prevalences, st.integers(0, 19), st.booleans())
def test_net_benefit_is_what_the_rows_say(rows, eta, place, adjusted):
    log, t = logs.log_of(rows, 20), place / 20
    options = {
        "prevalence": eta,
        "threshold_probabilities": t,
        "adjusted": adjusted,
        "logged_prevalence": 0.4,
    }
    found = nf.decision_curve(logs.exact(log), **options).row(0, named=True)
    score = log["score"]
    if adjusted:
        score = log.select(nf.adjust_scores("score", prevalence=eta, logged_prevalence=0.4))["score"]
        # Moved there and back, a score that equals t may miss it by rounding.
        if ((score - t).abs() > 0).any() and ((score - t).abs() < 1e-12).any():
            return
    treated = (score >= t).to_numpy()
    weights, label = logs.row_weights(log["label"].to_numpy(), eta), log["label"].to_numpy()
    benefit = weights[label & treated].sum() - weights[~label & treated].sum() * t / (1 - t)
    assert found["net_benefit"] == pytest.approx(benefit, abs=1e-12)
    assert found["lower"] == found["upper"] == found["net_benefit"]
    assert found["treat_all"] == pytest.approx(eta - (1 - eta) * t / (1 - t), abs=1e-12)
    avoided = found["interventions_avoided"]
    assert (avoided is None) == (t == 0)
    if t:
        assert avoided == pytest.approx((benefit - found["treat_all"]) * (1 - t) / t, abs=1e-12)


def test_at_the_prevalence_of_the_log_adjusted_scores_are_those_that_were_logged():
    rng, of_log = np.random.default_rng(0), np.repeat(range(5, 60), range(5, 60))
    draws = rng.random((2, len(of_log))).round(1)
    log = pl.DataFrame({"model": "a", "log": of_log, "label": draws[0] < 0.4, "score": draws[1]})
    options = {"prevalence": "observed", "threshold_probabilities": np.arange(20) / 20}
    curves = [nf.decision_curve(logs.exact(log), **options, adjusted=adjusted) for adjusted in (True, False)]
    assert_frame_equal(*curves)
    adjusted = log.select(nf.adjust_scores("score", prevalence=0.4, logged_prevalence=pl.lit(0.4)))
    assert adjusted["score"].equals(log["score"])


@pytest.mark.thorough
@given(logs.anywhere, logs.prevalences, st.floats(0, 0.99), st.booleans())
def test_bounds_of_a_grid_enclose_the_net_benefit(rows, eta, t, adjusted):
    log = logs.log_of(rows)
    options = {"prevalence": eta, "threshold_probabilities": t, "adjusted": adjusted}
    exact = nf.decision_curve(logs.exact(log), **options).row(0, named=True)
    grid = nf.count_confusion(log, thresholds=[0.1, 0.3, 0.6, 0.95])
    found = nf.decision_curve(grid, **options).row(0, named=True)
    assert found["lower"] - 1e-12 <= exact["net_benefit"] <= found["upper"] + 1e-12
    assert found["lower"] - 1e-12 <= found["net_benefit"] <= found["upper"] + 1e-12
    at_threshold = nf.decision_curve(grid, prevalence=eta, threshold_probabilities=[0.3])
    assert at_threshold["lower"].equals(at_threshold["upper"])


def test_a_float32_score_reaches_the_threshold_that_it_was_logged_as():
    log = logs.log_of([(True, 0.7), (False, 0.2)] * 3).with_columns(pl.col("score").cast(pl.Float32))
    found = nf.decision_curve(logs.exact(log), prevalence=0.5, threshold_probabilities=0.7)
    assert found["net_benefit"].item() == 0.5


def test_a_float32_score_of_0_stays_0_where_all_rows_are_positive():
    log = pl.DataFrame({"model": "a", "label": [1, 1, 0, 0], "score": [0.0, 0.7, 0.2, 0.5]})
    found = [
        nf.decision_curve(
            logs.exact(log.cast({"score": dtype})), prevalence=1.0, threshold_probabilities=0.5, adjusted=True
        )
        for dtype in (pl.Float64, pl.Float32)
    ]
    assert [table["net_benefit"].item() for table in found] == [0.5, 0.5]


@pytest.mark.thorough
@given(logs.rows)
def test_the_brier_score_is_twice_the_mean_expected_cost(rows):
    log, eta = logs.log_of(rows, 20), 0.3
    # Between two scores the decision stays, so the cost is linear in t: the middle is the mean.
    t = (np.arange(20) + 0.5) / 20
    pc = eta * (1 - t) / (eta * (1 - t) + (1 - eta) * t)
    found = nf.cost_curve(logs.exact(log), prevalence=eta, probability_costs=pc.tolist())
    t = found["threshold_probability"]
    expected = found["actual"] * (eta * (1 - t) + (1 - eta) * t)
    brier = nf.proper_scores(logs.exact(log), prevalence=eta, metrics="brier")["value"].item()
    assert 2 * expected.mean() == pytest.approx(brier, abs=1e-12)


def test_achievable_costs_are_the_lowest_of_all_thresholds():
    log = logs.probability_log(200, models=["a"])
    counts = logs.exact(log)
    found = nf.cost_curve(counts, prevalence=0.02)
    rates = nf.compute_rates(counts)
    for pc, achievable, actual in found.select("probability_cost", "achievable", "actual").rows():
        costs = pc * (1 - rates["tpr"]) + (1 - pc) * rates["fpr"]
        assert achievable == pytest.approx(min(costs.min(), pc), abs=1e-12)
        assert achievable <= actual + 1e-12
    assert len(found) == 99
    # Moved scores are cut where the logged ones were: their cost curve is the same at every prevalence.
    moved = [nf.cost_curve(counts, prevalence=eta, adjusted=True)["actual"] for eta in (0.001, 0.6)]
    assert moved[0].to_list() == pytest.approx(moved[1].to_list(), abs=0.02)
