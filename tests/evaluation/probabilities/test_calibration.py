"""Calibration curves: isotonic regression, scikit-learn's bins, exact intervals, simulated coverage."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve as of_scikit_learn

import nci_frames as nf
from tests.evaluation.probabilities import logs


@given(logs.rows, logs.prevalences)
def test_blocks_are_those_of_isotonic_regression_without_rounding(rows, eta):
    if not 0 < eta < 1:
        return
    log = logs.log_of(rows, 20)
    found = nf.calibration_curve(logs.exact(log), prevalence=eta)
    expected = pl.DataFrame(
        [(score, float(share)) for score, share in logs.pooled_adjacent(log, Fraction(eta)).items()],
        schema=["score", "observed"],
        orient="row",
    )
    blocks = expected.group_by("observed", maintain_order=True).agg(
        pl.col("score").min().alias("low"), pl.col("score").max()
    )
    assert found["observed"].to_list() == pytest.approx(blocks["observed"].to_list(), rel=1e-12)
    assert found.select("score_lower", "score_upper").rows() == blocks.select("low", "score").rows()
    assert found["share"].sum() == pytest.approx(1)
    # The mean of what is observed is the prevalence, and that of what is predicted the mean score.
    assert (found["share"] * found["observed"]).sum() == pytest.approx(eta, rel=1e-9)
    weights = logs.row_weights(log["label"].to_numpy(), eta)
    mean = (weights * log["score"].to_numpy()).sum()
    assert (found["share"] * found["predicted"]).sum() == pytest.approx(mean, rel=1e-9, abs=1e-12)


def test_bins_between_edges_are_those_of_scikit_learn():
    log = logs.probability_log(models=["a"]).with_columns(pl.col("score").round(2))
    observed, predicted = of_scikit_learn(log["label"], log["score"], n_bins=5)
    # 0.6 in Float64 is the edge of scikit-learn, too.
    edges = np.linspace(0, 1, 6).tolist()
    found = nf.calibration_curve(logs.exact(log), prevalence="observed", bins=edges)
    # Its bins have their upper end, these their lower one.
    shifted = log.with_columns(score=1 - pl.col("score"), label=~pl.col("label"))
    other = nf.calibration_curve(
        logs.exact(shifted), prevalence="observed", bins=(1 - np.array(edges))[::-1].tolist()
    )
    assert len(found) == 5
    assert (1 - other["observed"]).reverse().to_list() == pytest.approx(observed.tolist(), rel=1e-9)
    assert (1 - other["predicted"]).reverse().to_list() == pytest.approx(predicted.tolist(), rel=1e-9)


@pytest.mark.thorough
@given(logs.rows)
def test_bins_of_equal_share(rows):
    log = logs.log_of([(label, place) for place, (label, _) in enumerate(rows)], 100)
    for eta in ("observed", 0.01):
        found = nf.calibration_curve(logs.exact(log), prevalence=eta, bins=4)
        largest = (
            1 / len(log)
            if eta == "observed"
            else 1
            / log.select(pl.col("label").sum(), (~pl.col("label")).sum().alias("n")).min_horizontal()[0]
        )
        assert found["share"].sum() == pytest.approx(1)
        assert ((found["share"] - 0.25).abs() <= largest + 1e-9).all()
        assert found["score_lower"].is_sorted()
        assert (found["score_upper"][:-1] < found["score_lower"][1:]).all()


@pytest.mark.thorough
def test_no_rounding_decides_where_a_tie_is_cut():
    """Rows in the middle of which a bin of equal share ends; other groups and weights round the sums."""
    log = pl.concat(
        logs.probability_log(10 * day, day, models=["a"]).with_columns(pl.col("score").round(1), day=day)
        for day in range(1, 10)
    )
    for bins in (None, 10):
        asked = {"prevalence": "observed", "bins": bins}
        together = nf.calibration_curve(logs.exact(log), **asked)
        weighed = nf.calibration_curve(logs.exact(log.with_columns(weight=0.3)), **asked)
        assert_frame_equal(weighed, together, rel_tol=1e-9)
        for (day,), alone in log.partition_by("day", as_dict=True).items():
            found = nf.calibration_curve(logs.exact(alone), **asked)
            assert_frame_equal(found, together.filter(day=day), rel_tol=1e-9)


def test_intervals_of_bins_are_exact_and_move_with_the_prevalence():
    log = logs.log_of([(True, 0.8)] * 6 + [(False, 0.8)] * 2 + [(False, 0.1)] * 30 + [(True, 0.1)])
    counts = logs.exact(log)
    own = nf.calibration_curve(counts, prevalence="observed", bins=[0, 0.5, 1])
    for row, (hits, rows) in zip(own.iter_rows(named=True), [(1, 31), (6, 8)], strict=True):
        interval = binomtest(hits, rows).proportion_ci(0.95)
        assert (row["lower"], row["upper"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
        assert (row["observed"], row["share"]) == pytest.approx((hits / rows, rows / len(log)))
    there = nf.calibration_curve(counts, prevalence=0.001, bins=[0, 0.5, 1])
    for name in ("lower", "upper", "observed"):
        moved = nf.adjust_scores(name, prevalence=0.001, logged_prevalence=7 / 39)
        assert there[name].to_list() == pytest.approx(own.select(moved)[name].to_list(), rel=1e-9)


def test_adjusted_scores_are_predicted_where_they_were_moved_to():
    counts = logs.exact(logs.probability_log())
    plain = nf.calibration_curve(counts, prevalence=0.01)
    adjusted = nf.calibration_curve(counts, prevalence=0.01, adjusted=True)
    assert adjusted.drop("predicted").equals(plain.drop("predicted"))
    assert (adjusted["predicted"] < plain["predicted"]).all()
    grouped = adjusted.group_by("model").agg((pl.col("share") * pl.col("predicted")).sum())
    assert (grouped["share"] < 0.05).all()


def test_a_grid_has_its_thresholds_as_edges():
    log = logs.probability_log(models=["a"])
    grid = nf.count_confusion(log, thresholds=[0.0, 0.2, 0.5, 0.9])
    found = nf.calibration_curve(grid, prevalence=0.3, bins=[0, 0.2, 0.5, 1])
    exact = nf.calibration_curve(logs.exact(log), prevalence=0.3, bins=[0, 0.2, 0.5, 1])
    for name in ("observed", "share", "lower", "upper"):
        assert found[name].to_list() == pytest.approx(exact[name].to_list(), rel=1e-12)
    assert found.select("score_lower", "score_upper").rows() == [(0.0, 0.2), (0.2, 0.5), (0.5, 1.0)]
    inner = nf.calibration_curve(grid, prevalence=0.3, bins=[0.2, 0.5])
    assert inner.select("score_lower", "score_upper").rows() == [(0.2, 0.5)]


def test_edges_meet_scores_in_their_own_precision():
    log = logs.log_of([(True, 0.7), (False, 0.2)] * 5).with_columns(pl.col("score").cast(pl.Float32))
    found = nf.calibration_curve(logs.exact(log), prevalence=0.5, bins=[0.2, 0.7, 1.0])
    assert found["observed"].to_list() == [0.0, 1.0]


def test_sums_of_weights_have_no_bounds():
    log = logs.probability_log(1500, models=["a"])
    weights = pl.Series(np.random.default_rng(2).random(1500) + 0.1)
    found = nf.calibration_curve(logs.exact(log.with_columns(weight=weights)), prevalence=0.1)
    assert found["lower"].null_count() == found["upper"].null_count() == len(found) > 3
    assert nf.calibration_curve(logs.exact(log), prevalence=0.1)["lower"].null_count() == 0


@pytest.mark.parametrize("bins", [None, 5])
def test_a_higher_level_has_wider_bounds(bins):
    counts = logs.exact(logs.probability_log(600, models=["a"]))
    wide, narrow = (
        nf.calibration_curve(counts, prevalence=0.1, bins=bins, level=level) for level in (0.95, 0.5)
    )
    assert (wide["upper"] - wide["lower"] > narrow["upper"] - narrow["lower"]).all()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("bins", "eta"), [(None, "observed"), (None, 0.02), (5, "observed"), ([0.0, 0.1, 0.4, 1.0], 0.02)]
)
def test_simulated_coverage(bins, eta):
    rng = np.random.default_rng(7)
    everyone = np.sort(rng.beta(0.7, 3, 200_000))
    truth = 0.9 * everyone**1.5
    total, base = np.append(0, truth.cumsum()), truth.mean()
    held = []
    for _ in range(40):
        rows = rng.choice(len(everyone), 600)
        log = pl.DataFrame({"model": "a", "label": rng.random(600) < truth[rows], "score": everyone[rows]})
        found = nf.calibration_curve(logs.exact(log), prevalence=eta, bins=bins)
        # The population between the ends of each bin.
        first = np.searchsorted(everyone, found["score_lower"])
        last = np.searchsorted(everyone, found["score_upper"], "right")
        own = (total[last] - total[first]) / (last - first)
        if eta != "observed":
            odds = own / (1 - own) * eta / (1 - eta) * (1 - base) / base
            own = odds / (1 + odds)
        lower, upper = found["lower"].to_numpy(), found["upper"].to_numpy()
        inside = ((lower - 1e-12 <= own) & (own <= upper + 1e-12)).tolist()
        # A band holds if all of it does.
        held += [all(inside)] if bins is None else inside
    assert np.mean(held) >= 0.93
