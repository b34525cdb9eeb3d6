"""Brier score and log loss: against scikit-learn, many digits, every place of the rows of a bin."""

import itertools
import math

import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

import nci_frames as nf
from tests.cases import first_quick
from tests.evaluation.probabilities import logs

ETAS = [1e-6, 0.01, 0.25, 0.5, 0.97]
LOGGED = 0.25


def moved(score, eta, logged):
    odds = score * eta * (1 - logged)
    return odds / (odds + (1 - score) * (1 - eta) * logged)


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("digits", first_quick([9, 1]))
def test_values_are_those_of_scikit_learn(adjusted, digits):
    log = logs.probability_log().with_columns(pl.col("score").round(digits).clip(0.01, 0.99))
    found = nf.proper_scores(logs.exact(log), prevalence=ETAS, adjusted=adjusted, logged_prevalence=LOGGED)
    assert found["lower"].equals(found["value"])
    assert found["upper"].equals(found["value"])
    assert "skill" in nf.rank_models(found).columns
    for model, metric, eta, value in found.select("model", "metric", "prevalence", "value").rows():
        rows = log.filter(model=model)
        label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        weights = logs.row_weights(label, eta)
        peer = {"brier": brier_score_loss, "log_loss": log_loss}[metric]
        expected = peer(label, moved(score, eta, LOGGED) if adjusted else score, sample_weight=weights)
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", first_quick([4, 3, 10]))
def test_rounded_sums_of_weights_are_no_row_with_another_score(seed):
    rng = np.random.default_rng(seed)
    log = logs.probability_log(60, seed, ["a"]).with_columns(weight=pl.Series(rng.random(60)))
    label, score, weight = (log[name].to_numpy() for name in ("label", "score", "weight"))
    counts = logs.exact(log)
    for summed in (counts, nf.pool_counts(counts, over="weight")):
        found = nf.proper_scores(summed, prevalence="observed")
        peers = (peer(label, score, sample_weight=weight) for peer in (brier_score_loss, log_loss))
        assert found["value"].to_list() == pytest.approx([*peers], rel=1e-12)
    # One positive has the score 0.
    lowest = (score == score[label].min()) & label
    counts = logs.exact(log.with_columns(score=pl.Series(np.where(lowest, 0.0, score))))
    found = nf.proper_scores(counts, prevalence=[0.0, 0.5, 1.0], metrics="log_loss")
    assert np.isinf(found["value"].to_list()).tolist() == [False, True, True]


@pytest.mark.parametrize("adjusted", [False, True])
def test_50_digits_at_a_prevalence_of_one_in_a_billion(adjusted):
    log = logs.probability_log(200, models=["a"]).with_columns(pl.col("score") ** 3)
    eta, logged = 1e-9, log["label"].mean()
    found = nf.proper_scores(logs.exact(log), prevalence=eta, adjusted=adjusted)["value"].to_list()
    with mpmath.workdps(50):
        rows = [(label, mpmath.mpf(score)) for label, score in log.select("label", "score").rows()]
        if adjusted:
            rows = [(label, moved(score, mpmath.mpf(eta), mpmath.mpf(logged))) for label, score in rows]
        positive, negative = ([s for label, s in rows if label == of] for of in (True, False))
        mean = {
            "brier": (mpmath.fsum((1 - s) ** 2 for s in positive), mpmath.fsum(s**2 for s in negative)),
            "log_loss": (
                -mpmath.fsum(map(mpmath.log, positive)),
                -mpmath.fsum(mpmath.log(1 - s) for s in negative),
            ),
        }
        for value, metric in zip(found, mean, strict=True):
            of_positives, of_negatives = mean[metric]
            exact = eta * of_positives / len(positive) + (1 - mpmath.mpf(eta)) * of_negatives / len(negative)
            assert abs(value / exact - 1) < 1e-12


@pytest.mark.thorough
def test_the_bounds_are_reached():
    thresholds, eta = [0.2, 0.6], 0.3
    log = logs.log_of([(True, 0.1), (True, 0.7), (False, 0.3), (False, 0.9)])
    grid = nf.proper_scores(nf.count_confusion(log, thresholds=thresholds), prevalence=eta, metrics="brier")
    ends = {(0, 1): (0.0, 0.2), (1, 2): (0.2, 0.6), (2, 3): (0.6, 1.0)}
    places = [list(ends.values())[int(np.searchsorted(thresholds, s, "right"))] for s in log["score"]]
    each = [logs.exact(log.with_columns(score=pl.Series(s))) for s in itertools.product(*places)]
    values = [nf.proper_scores(one, prevalence=eta, metrics="brier")["value"].item() for one in each]
    # To a rounding of the thresholds to Float32, which the scores may have been.
    assert grid["lower"].item() == pytest.approx(min(values), abs=1e-7)
    assert grid["upper"].item() == pytest.approx(max(values), abs=1e-7)


def test_a_thousand_logit_thresholds_bound_the_brier_score_closely():
    counts = nf.count_confusion(logs.probability_log(4000), thresholds=nf.logit_thresholds(1024))
    found = nf.proper_scores(counts, prevalence=[0.001, 0.25], metrics="brier")
    width = found["upper"] - found["lower"]
    assert 0 < width.max() < 5e-3


def test_scores_of_a_large_group_stay_when_adjusted_to_their_own_prevalence():
    """They are moved some at a time."""
    stays_when_adjusted(logs.probability_log(40_000))


@pytest.mark.thorough
@given(logs.rows)
def test_scores_at_their_own_prevalence_stay_when_adjusted(rows):
    stays_when_adjusted(logs.log_of(rows, 20))


def stays_when_adjusted(log):
    counts = logs.exact(log)
    plain = nf.proper_scores(counts, prevalence="observed")
    moved_scores = nf.proper_scores(counts, prevalence="observed", adjusted=True)
    assert moved_scores["value"].to_list() == pytest.approx(plain["value"].to_list(), rel=1e-12)
    skill = 1 - plain["value"] / plain["prevalence"] / (1 - plain["prevalence"])
    assert plain["skill"][0] == pytest.approx(skill[0], abs=1e-12)


def test_limits_are_analytic():
    log = logs.log_of([(True, 0.0), (True, 0.5), (False, 0.25), (False, 0.0)])
    found = nf.proper_scores(logs.exact(log), prevalence=[0, 0.5, 1])
    rows = {(metric, eta): rest for metric, eta, *rest in found.drop("model", "supported", "reason").rows()}
    assert rows["brier", 0.0] == [0.03125, 0.03125, 0.03125, None]
    assert rows["brier", 1.0] == [0.625, 0.625, 0.625, None]
    # No positive occurs at prevalence 0, and one with score 0 is infinitely surprising elsewhere.
    assert rows["log_loss", 0.0][0] == pytest.approx(-math.log(0.75) / 2)
    assert rows["log_loss", 0.5] == [math.inf, math.inf, math.inf, -math.inf]
    positives = "positives with score 0 have an infinite loss"
    assert found.filter(metric="log_loss")["reason"].to_list() == [None, positives, positives]
    # Certain scores stay certain, whatever they are moved to.
    certain = logs.exact(logs.log_of([(True, 1.0), (False, 1.0), (False, 0.0), (True, 0.0)]))
    adjusted = nf.proper_scores(certain, prevalence=[0, 0.1, 1], metrics="brier", adjusted=True)
    assert adjusted["value"].to_list() == pytest.approx([0.5, 0.5, 0.5])
    (both,) = nf.proper_scores(certain, prevalence=0.5, metrics="log_loss")["reason"]
    assert both == "positives with score 0 and negatives with score 1 have an infinite loss"


def test_rows_beyond_the_ends_of_a_grid_are_taken_as_probabilities():
    log = logs.log_of([(True, 0.0), (True, 1.0), (False, 0.0), (False, 1.0)])
    found = nf.proper_scores(nf.count_confusion(log, thresholds=[0.0, 1.0]), prevalence=0.5, metrics="brier")
    # Below the threshold 1 a score may be anything in [0, 1), and what reaches it is 1.
    assert (found["lower"].item(), found["upper"].item()) == (0.25, 0.75)


@pytest.mark.parametrize("many", [False, True])
def test_weights_are_those_of_scikit_learn(many):
    """Few values are strata of counts, and many are sums."""
    log = logs.probability_log(1500, models=["a"])
    rng = np.random.default_rng(4)
    weight = rng.random(1500) + 0.1 if many else rng.choice([1.0, 2.5, 40.0], 1500)
    counts = logs.exact(log.with_columns(weight=weight))
    assert ("weight" in counts.columns) != many
    found = nf.proper_scores(counts, prevalence=[0.02, 0.6]).sort("prevalence", "metric")
    label, score = log["label"].to_numpy(), log["score"].to_numpy()
    expected = []
    for eta in (0.02, 0.6):
        of_class = np.where(label, eta / weight[label].sum(), (1 - eta) / weight[~label].sum())
        rows = {"y_true": label, "y_proba": score, "sample_weight": weight * of_class}
        expected += [brier_score_loss(**rows), log_loss(label, score, sample_weight=rows["sample_weight"])]
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-12)
    parts = nf.decompose_scores(counts, prevalence=0.02)
    assert parts["value"].item() == pytest.approx(expected[0], rel=1e-12)


@pytest.mark.thorough
def test_many_groups_are_those_of_each_group_alone():
    log = pl.concat(
        logs.probability_log(200, seed, ["a"]).with_columns(day=pl.lit(seed)) for seed in range(300)
    )
    counts = nf.count_confusion(log, thresholds=nf.uniform_thresholds(201))
    found = nf.proper_scores(counts, prevalence=0.01)
    alone = nf.proper_scores(counts.filter(day=173), prevalence=0.01)
    assert found.filter(day=173).equals(alone)


@pytest.mark.long
@pytest.mark.parametrize("units", [None, "bucket"])
def test_simulated_coverage_of_intervals(units):
    rng, eta = np.random.default_rng(5), 0.1
    truth = nf.proper_scores(logs.exact(logs.probability_log(200_000, 9, ["a"])), prevalence=eta)["value"]
    # Each log has 300 units, of which each has its rows in it three times if units are named.
    parts = []
    for day in range(80):
        log = logs.probability_log(300, int(rng.integers(1 << 30)), ["a"]).with_columns(day=pl.lit(day))
        part = log.with_row_index("unit").select("model", "day", "label", "score", bucket="unit")
        parts += [part.with_columns(pl.col("bucket") % 60)] * 3 if units else [part.drop("bucket")]
    counts = nf.count_confusion(pl.concat(parts), thresholds=nf.uniform_thresholds(201))
    found = nf.bootstrap(counts, metric=["brier", "log_loss"], prevalence=eta, repeats=200, units=units)
    both = pl.DataFrame({"metric": ["brier", "log_loss"], "truth": truth})
    held = found.join(both, on="metric").select(
        (pl.col("lower") <= pl.col("truth")) & (pl.col("truth") <= pl.col("upper"))
    )
    assert len(held) == 160
    assert held.to_series().mean() >= 0.93


# The odds move by at most 10^6: beyond, a score near 1 has too few digits to come back.
inside = st.floats(1e-3, 1 - 1e-3)


@given(st.floats(0, 1), inside, inside)
def test_moved_there_and_back(score, eta, logged):
    log = pl.DataFrame({"s": [score]})
    there = log.select(nf.adjust_scores("s", prevalence=eta, logged_prevalence=logged))
    back = there.select(nf.adjust_scores("s", prevalence=logged, logged_prevalence=eta))
    assert back.item() == pytest.approx(score, rel=1e-9, abs=1e-9)
    odds, ratio = score / (1 - score) if score < 1 else float("inf"), eta / (1 - eta) * (1 - logged) / logged
    assert there.item() == pytest.approx(1 - 1 / (1 + odds * ratio), abs=1e-12)


def test_ends_nulls_and_columns():
    log = pl.DataFrame({"score": [0.0, 0.5, 1.0, None, -0.1, 1.1], "eta": [0.0, 0.0, 0.0, 0.5, 0.5, 0.5]})
    of_column = nf.adjust_scores(pl.col("score"), prevalence=pl.col("eta"), logged_prevalence=0.5)
    assert log.select(of_column)["score"].to_list() == [0.0, 0.0, 1.0, None, None, None]
    at_one = log.select(nf.adjust_scores("score", prevalence=1, logged_prevalence=0.5))
    assert at_one["score"].to_list() == [0.0, 1.0, 1.0, None, None, None]
    single = pl.DataFrame({"score": pl.Series([0.25], dtype=pl.Float32)})
    assert single.select(nf.adjust_scores("score", prevalence=0.5, logged_prevalence=0.5)).item() == 0.25
