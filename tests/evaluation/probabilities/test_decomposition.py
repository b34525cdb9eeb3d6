"""The parts of a proper score: printed numbers, isotonic regression without rounding, identities."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import entr
from scipy.stats import beta
from sklearn.isotonic import IsotonicRegression

import nci_frames as nf
from tests.cases import first_quick
from tests.evaluation.probabilities import logs

PARTS = ("value", "miscalibration", "discrimination", "uncertainty")


def test_the_six_rows_of_model_diagnostics_and_reliabilitydiag():
    log = logs.log_of(list(zip([False] * 3 + [True] * 3, [0.4, 0.3, 0.2, 0.1, 0.5, 0.9], strict=True)))
    (found,) = nf.decompose_scores(logs.exact(log), prevalence="observed").select(PARTS).rows()
    assert [round(part, 7) for part in found] == [0.2266667, 0.1016667, 0.125, 0.25]


@given(logs.rows, logs.prevalences)
def test_parts_are_those_of_isotonic_regression_without_rounding(rows, eta):
    log = logs.log_of(rows, 20)
    found = nf.decompose_scores(logs.exact(log), prevalence=eta).row(0, named=True)
    # At the ends some rows have no weight, and regression may give them any value.
    if 0 < eta < 1:
        values = {score: float(share) for score, share in logs.pooled_adjacent(log, Fraction(eta)).items()}
        least = logs.mean_loss(log, eta, lambda s, label: (s - label) ** 2, values.__getitem__)
        assert found["discrimination"] == pytest.approx(eta * (1 - eta) - least, abs=1e-14)
        assert found["miscalibration"] == pytest.approx(found["value"] - least, abs=1e-14)
    assert found["uncertainty"] == eta * (1 - eta)
    total = found["miscalibration"] - found["discrimination"] + found["uncertainty"]
    assert total == pytest.approx(found["value"], abs=1e-12)
    assert min(found[part] for part in PARTS) >= 0


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["brier", "log_loss"])
def test_parts_are_those_of_scikit_learn(metric):
    log = logs.probability_log().with_columns(pl.col("score").round(3).clip(0.001, 0.999))
    for adjusted in (False, True):
        options = {"prevalence": [0.01, 0.25, 0.8], "metric": metric}
        found = nf.decompose_scores(logs.exact(log), adjusted=adjusted, **options)
        scores = nf.proper_scores(
            logs.exact(log), prevalence=options["prevalence"], metrics=metric, adjusted=adjusted
        )
        assert found["value"].to_list() == pytest.approx(scores["value"].to_list(), rel=1e-12)
        for row in found.iter_rows(named=True):
            rows = log.filter(model=row["model"])
            label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
            weights = logs.row_weights(label, row["prevalence"])
            fitted = IsotonicRegression().fit(score, label, sample_weight=weights).predict(score)
            fitted = np.clip(fitted, 0, 1)
            if metric == "brier":
                least = (weights * (fitted - label) ** 2).sum()
            else:
                # Of the rows of a block so many are positive as its value says.
                least = (weights * (entr(fitted) + entr(1 - fitted))).sum()
            assert row["miscalibration"] == pytest.approx(row["value"] - least, abs=1e-12)
            assert row["discrimination"] == pytest.approx(row["uncertainty"] - least, abs=1e-12)


def test_an_infinite_log_loss_is_miscalibration():
    log = logs.log_of([(True, 0.0), (True, 0.5), (False, 0.25), (False, 0.0)])
    found = nf.decompose_scores(logs.exact(log), prevalence=[0, 0.5], metric="log_loss")
    assert found["value"].to_list()[1] == found["miscalibration"].to_list()[1] == float("inf")
    assert np.isfinite(found["discrimination"].to_numpy()).all()
    assert found["uncertainty"].to_list() == [0.0, pytest.approx(np.log(2))]


@given(
    logs.anywhere,
    logs.prevalences,
    st.booleans(),
    st.sampled_from(["brier", "log_loss"]),
    st.sampled_from([[0.5], [0.0, 0.1, 0.3, 0.7, 1.0], nf.logit_thresholds(9)]),
    st.sampled_from([pl.Float32, pl.Float64]),
)
# Float32 has no 0.7: its score is a little below the threshold that it reaches.
@example([(True, 0.7), (False, 0.7)], 0.0, False, "brier", [0.5, 0.7], pl.Float32)
def test_every_log_behind_a_grid_has_its_parts_within_the_bounds(
    rows, eta, adjusted, metric, thresholds, dtype
):
    log = logs.log_of(rows).with_columns(pl.col("score").cast(dtype))
    options = {"prevalence": eta, "adjusted": adjusted, "metric": metric}
    exact = nf.decompose_scores(logs.exact(log), **options).row(0, named=True)
    counts = nf.count_confusion(log, thresholds=thresholds)
    found = nf.decompose_scores(counts, **options).row(0, named=True)
    for part in ("value", "miscalibration", "discrimination"):
        assert exact[f"{part}_lower"] == exact[f"{part}_upper"] == exact[part]
        lower, upper = found[f"{part}_lower"], found[f"{part}_upper"]
        for inside in (exact[part], found[part]):
            assert lower - 1e-12 <= inside
            assert inside == pytest.approx(upper, rel=1e-12) or inside <= upper + 1e-12
    scores = nf.proper_scores(counts, prevalence=eta, adjusted=adjusted, metrics=metric)
    told = [found[name] for name in ("value_lower", "value", "value_upper")]
    assert scores.select("lower", "value", "upper").row(0) == pytest.approx(told, rel=1e-12)


def test_the_highest_discrimination_is_reached():
    log = logs.log_of([(True, 0.3), (False, 0.4), (True, 0.8), (False, 0.1), (False, 0.7), (True, 0.45)])
    grid = nf.decompose_scores(nf.count_confusion(log, thresholds=[0.2, 0.5]), prevalence=0.2)
    # In each bin the positives have the higher scores.
    best = log.with_columns(score=pl.Series([0.45, 0.3, 0.8, 0.1, 0.7, 0.45]))
    exact = nf.decompose_scores(logs.exact(best), prevalence=0.2)
    assert grid["discrimination_upper"].item() == pytest.approx(exact["discrimination"].item(), rel=1e-12)
    lowest = grid["discrimination_lower"].item()
    assert lowest == grid["discrimination"].item() < exact["discrimination"].item()


def test_the_example_of_the_python_package_hmeasure():
    # Its README: ten rows, H = 0.18889596344769588; the costs are those of its default severity ratio.
    scores = [0.84901876, 0.10282827, 0.43752488, 0.46004468, 0.90878931,
              0.79177719, 0.5297229, 0.13803906, 0.73166264, 0.22959056]  # fmt: skip
    log = logs.log_of(list(zip([1, 1, 0, 1, 1, 0, 1, 1, 1, 0], scores, strict=True)))
    log = log.with_columns(pl.col("label").cast(pl.Boolean))
    found = nf.h_measure(logs.exact(log), prevalence="observed", costs=(2.0, 1 + 3 / 7))
    assert found["value"].item() == pytest.approx(0.18889596344769588, rel=1e-12)


@pytest.mark.parametrize(
    ("costs", "eta"), first_quick(itertools.product([(1.5, 4.0), "prevalence", (2.0, 2.0)], [0.02, 0.5]), 2)
)
def test_it_is_the_integral_over_costs(costs, eta):
    rng = np.random.default_rng(2)
    log = logs.log_of(
        [(bool(y), float(s)) for y, s in zip(rng.random(40) < 0.4, rng.random(40), strict=True)]
    )
    rates = nf.compute_rates(logs.exact(log))
    tpr, fpr = np.append(rates["tpr"], 0.0), np.append(rates["fpr"], 0.0)
    weight = beta(1 + eta, 2 - eta) if costs == "prevalence" else beta(*costs)

    places = (np.arange(20_000)[:, None] + 0.5) / 20_000
    lowest = (places * (1 - eta) * fpr + (1 - places) * eta * (1 - tpr)).min(axis=1)
    constant = np.minimum(places * (1 - eta), (1 - places) * eta)[:, 0]
    sums = [(cost * weight.pdf(places[:, 0])).sum() for cost in (lowest, constant)]
    found = nf.h_measure(logs.exact(log), prevalence=eta, costs=costs)
    assert found["value"].item() == pytest.approx(1 - sums[0] / sums[1], abs=1e-6)


def test_it_is_exact_where_one_class_is_rare():
    """Against sums of incomplete beta functions with 30 digits (mpmath)."""
    counts = pl.DataFrame(
        {"model": "a", "threshold": [0.8, 0.35, 0.1], "tp": [3, 9, 10], "fp": [1, 5, 10],
         "fn": [7, 1, 0], "tn": [9, 5, 0], "resolution": "exact"}
    )  # fmt: skip
    for eta, costs, exact in (
        (1e-12, (0.01, 5.0), 0.013782733979127754), (1e-9, (0.01, 5.0), 0.01936161052357409),
        (1 - 1e-12, (5.0, 0.01), 0.017915492236492715),
    ):  # fmt: skip
        found = nf.h_measure(counts, prevalence=eta, costs=costs)["value"].item()
        assert found == pytest.approx(exact, rel=1e-12)


@given(logs.rows, st.sampled_from([1e-6, 0.03, 0.8]))
def test_with_even_costs_it_is_discrimination_over_uncertainty(rows, eta):
    counts = logs.exact(logs.log_of(rows, 20))
    parts = nf.decompose_scores(counts, prevalence=eta)
    found = nf.h_measure(counts, prevalence=eta, costs=(1.0, 1.0))
    share = (parts["discrimination"] / parts["uncertainty"]).item()
    assert found["value"].item() == pytest.approx(share, rel=1e-9, abs=1e-9)


@pytest.mark.thorough
@given(logs.anywhere, st.sampled_from([0.001, 0.4]))
def test_every_log_behind_a_grid_lies_within_the_bounds(rows, eta):
    log = logs.log_of(rows)
    exact = nf.h_measure(logs.exact(log), prevalence=eta)["value"].item()
    found = nf.h_measure(nf.count_confusion(log, thresholds=[0.2, 0.5, 0.9]), prevalence=eta)
    assert found["lower"].item() - 1e-12 <= exact <= found["upper"].item() + 1e-12
    assert found["lower"].item() == found["value"].item()


def test_only_the_order_of_scores_matters_and_what_is_undefined_is_null():
    log = logs.probability_log(200)
    shifted = log.with_columns(score=(pl.col("score") / (1 - pl.col("score"))).log())
    values = [nf.h_measure(logs.exact(each), prevalence=0.1)["value"].to_list() for each in (log, shifted)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert nf.h_measure(logs.exact(log), prevalence=[0.0, 1.0])["value"].null_count() == 4


@pytest.mark.parametrize("costs", [[2.0, 2.0], np.array([2, 2]), pl.Series([2.0, 2.0])])
def test_costs_are_two_numbers_of_any_kind(costs):
    counts = logs.exact(logs.log_of([(0, 0.1), (0, 0.4), (1, 0.35), (1, 0.8)]))
    assert nf.h_measure(counts, prevalence=0.5, costs=costs).equals(nf.h_measure(counts, prevalence=0.5))
