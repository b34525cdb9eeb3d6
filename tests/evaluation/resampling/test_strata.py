"""Logs of strata are resampled stratum by stratum."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import beta, norm

import nci_frames as nf
from nci_frames.evaluation.arrays.buckets import strata_counts
from tests.cases import first_quick
from tests.logs import counts_at, unit_log
from tests.stratified import holds, mixed_log, stratified_log


def two_models(rows: int = 1500) -> pl.DataFrame:
    return unit_log({"a": 1.5, "b": 1.8}, rows, share=0.2, digits=1).drop("unit")


def test_resampled_logs_vary_as_other_traffic() -> None:
    """Of 20,000 rows those above the threshold are all in the log, and 1,000 of the others."""
    cells = {"weight": [1.0, 19.45], "tp": [100, 0], "fp": [450, 0], "fn": [0, 5], "tn": [0, 995]}
    counts = pl.DataFrame({"model": "a", "threshold": 2.0, **cells})
    rate = 450 / (450 + 995 * 19.45)
    # With strata of fixed size it was 0.0004, and the interval held the FPR of other traffic in 0.57 of logs.
    error = (rate * (1 - rate) / (450 + 995 * 19.45)) ** 0.5
    assert nf.bootstrap(counts, metric="fpr")["std"].item() == pytest.approx(error, rel=0.1)
    found = nf.compute_rates(counts)["effective_negatives"].item()
    assert rate * (1 - rate) / found == pytest.approx(error**2, rel=0.01)


@pytest.mark.thorough
def test_few_rows_have_bounds_however_their_weights_add_up() -> None:
    """Sums of weights round the observed prevalence in several ways; it is one all the same."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        label = rng.random(200) < 0.3
        score = (1 / (1 + np.exp(-rng.normal(label)))).round(1)
        weight = rng.choice([1.1, 3.7, 9.3, 22.72], 200)
        log = pl.DataFrame({"model": "a", "label": label, "score": score, "weight": weight})
        counts = nf.count_confusion(log, thresholds="exact")
        asked = {"metric": ["recall", "roc_auc", "pr_auc"], "threshold": 0.5, "repeats": 20}
        found = nf.bootstrap(counts, **asked)
        (eta,) = found["prevalence"].drop_nulls().unique()
        known = nf.bootstrap(counts, prevalence=eta, **asked)
        assert found.select("lower", "upper", "supported").null_count().sum_horizontal().item() == 0
        assert_frame_equal(found.drop("prevalence"), known.drop("prevalence"), check_exact=False)


def test_the_bootstrap_varies_as_the_linearised_rates() -> None:
    log = stratified_log(
        np.random.default_rng(2), rows=400_000, eta=0.1, distance=2.0, shares=[0.01, 0.1, 1.0]
    )
    counts = nf.count_confusion(log, thresholds=[1.5, 2.0])
    found = nf.bootstrap(counts, metric=["recall", "fpr"], threshold=1.5, repeats=1000)
    point = nf.compute_rates(counts).filter(threshold=1.5).row(0, named=True)
    for row, rate, worth in zip(
        found.sort("metric").iter_rows(named=True), ("fpr", "tpr"), ("negatives", "positives"), strict=True
    ):
        expected = (point[rate] * (1 - point[rate]) / point[f"effective_{worth}"]) ** 0.5
        # One heavy row more is allowed for in the rates.
        assert expected * 0.8 < row["std"] <= expected * 1.1


def test_the_area_under_the_curve_varies_as_its_resampled_values() -> None:
    log = two_models(rows=4000).filter(model="a")
    log = log.with_columns(weight=pl.when(pl.col("score") > 1).then(1.0).otherwise(pl.lit(4.0)))
    counts = nf.count_confusion(log, thresholds="exact")
    error = nf.auc_interval(counts, method="delong")["std_error"].item()
    drawn = nf.bootstrap(counts, metric="roc_auc", repeats=800)["std"].item()
    assert error == pytest.approx(drawn, rel=0.1)


@pytest.mark.long
def test_intervals_hold_where_whole_units_were_drawn() -> None:
    """Units of five rows that share their luck, of which one in five of low scores was labelled."""
    rng, repeats, held = np.random.default_rng(7), 25, np.zeros(2)
    for _ in range(repeats):
        units = 3000
        luck = rng.normal(size=units)
        kept = (luck > 1) | (rng.random(units) < 0.2)
        rows = np.repeat(np.flatnonzero(kept), 5)
        label = rng.random(len(rows)) < 0.1
        score = 0.6 * luck[rows] + 0.8 * rng.normal(size=len(rows)) + 2 * label
        weight = np.where(luck[rows] > 1, 1.0, 5.0)
        log = pl.DataFrame({"model": "a", "label": label, "score": score, "weight": weight, "unit": rows})
        counts = nf.count_confusion(nf.unit_buckets(log), thresholds=[1.0])
        held += holds(nf.compute_rates(counts, interval="wilson", units="bucket"), 2.0)[:, 0]
    assert held.min() / repeats > 0.95 - 2 * (0.95 * 0.05 / repeats) ** 0.5


def labelled(*strata: tuple[float, float, int, int]) -> pl.DataFrame:
    """Counts of rows by score, weight, and how many of them are positives and negatives."""
    parts = [
        pl.DataFrame({"score": score, "weight": weight, "label": np.arange(hits + misses) < hits})
        for score, weight, hits, misses in strata
    ]
    return nf.count_confusion(pl.concat(parts).with_columns(model=pl.lit("a")), thresholds="exact")


@pytest.mark.parametrize(("hits", "misses"), first_quick([(7, 13), (0, 40), (15, 0), (100, 300)], 2))
def test_precision_of_one_stratum_has_mid_p_bounds(hits: int, misses: int) -> None:
    """Whatever is not known of the rows that are not flagged."""
    counts = labelled((2.0, 3.0, hits, misses), (1.0, 500.0, 1, 30))
    found = nf.bootstrap(counts, metric="precision", threshold=2.0, repeats=4000).row(0, named=True)

    def beyond(share: float, sign: int) -> float:
        at = [beta.cdf(share, hits + more, hits + misses + 1 - hits - more) for more in (0, 1)]
        at = [1.0 if hits == 0 else at[0], 0.0 if misses == 0 else at[1]]
        return sum(at) / 2 - (0.025 if sign < 0 else 0.975)

    lower = 0.0 if hits == 0 else brentq(beyond, 0, 1, args=(-1,))
    upper = 1.0 if misses == 0 else brentq(beyond, 0, 1, args=(1,))
    assert found["lower"] == pytest.approx(lower, abs=0.02)
    assert found["upper"] == pytest.approx(upper, abs=0.02)
    assert found["interval"] == "percentile"
    assert found["supported"] or found["std"] > 0.1 * found["value"]


def test_a_heavy_stratum_without_a_positive_may_have_three_rows_of_them() -> None:
    counts = labelled((2.0, 1.0, 400, 400), (1.0, 100.0, 0, 300))
    found = nf.bootstrap(counts, metric=["recall", "fpr"], threshold=2.0, repeats=4000)
    fpr, recall = found.sort("metric").iter_rows(named=True)
    assert recall["lower"] == pytest.approx(400 / (400 + 3 * 100), abs=0.02)
    assert recall["upper"] == 1
    # None of its rows is flagged: those that are belong to another range of scores.
    assert fpr["upper"] < 1.2 * fpr["value"]


@pytest.mark.long
def test_resampled_intervals_hold_where_strata_are_made_by_score() -> None:
    eta, distance, at, repeats = 0.02, 3.0, 2.7, 12

    def precision(threshold: float) -> float:
        true = eta * norm.sf(threshold - distance)
        return float(true / (true + (1 - eta) * norm.sf(threshold)))

    truth = {
        "pr_auc": quad(lambda t: norm.pdf(t - distance) * precision(t), -6, 10)[0],
        "precision": precision(at),
    }
    held = dict.fromkeys(truth, 0)
    rng, grid = np.random.default_rng(5), sorted([at, *np.linspace(-3, 7, 60).tolist()])
    for _ in range(repeats):
        log = stratified_log(rng, 50_000, eta, distance, [0.01, 0.1, 1.0])
        counts = nf.count_confusion(log, thresholds=grid)
        table = pl.concat(
            nf.bootstrap(counts, metric=metric, threshold=at, prevalence=eta, repeats=100) for metric in truth
        )
        for row in table.iter_rows(named=True):
            held[row["metric"]] += row["lower"] <= truth[row["metric"]] <= row["upper"]
    assert min(held.values()) / repeats > 0.93 - 2 * (0.93 * 0.07 / repeats) ** 0.5


def test_a_bound_between_infinite_values_is_infinite():
    """Without a false positive every resampled likelihood ratio may be infinite."""
    counts = counts_at([60, 10], 0, [100, 15], [100, 500], model="a", weight=[1.0, 10.0])
    found = nf.bootstrap(counts, metric="lr_plus", repeats=100).row(0, named=True)
    assert found["value"] == found["upper"] == np.inf
    assert 0 < found["lower"] < np.inf


def test_a_model_whose_negatives_weigh_nothing_stands_beside_one_that_is_resampled() -> None:
    both = {"label": [True, True, False, False] * 2, "score": [0.9, 0.4, 0.5, 0.1] * 2}
    weight = [1.0, 7.0, 1.0, 7.0, 1.0, 7.0, 0.0, 0.0]
    log = pl.DataFrame({"model": [*"aaaabbbb"], **both, "weight": weight})
    counts = nf.count_confusion(nf.scan_predictions(log, weight="weight"))
    found = nf.bootstrap(counts, metric=["pr_auc", "log_loss"], prevalence=0.3, repeats=10)
    bounds = found.select("model", pl.col("lower", "upper").is_null())
    assert bounds.rows() == [("a", False, False)] * 2 + [("b", True, True)] * 2


def test_a_model_may_lack_rows_as_heavy_as_its_own_only() -> None:
    weights = {"a": [0.5, 30.0], "b": [2.0, 4000.0]}
    logs = (mixed_log(0, weights=own).with_columns(model=pl.lit(name)) for name, own in weights.items())
    counts = nf.count_confusion(pl.concat(logs), thresholds=[0.0, 1.0])
    assert [of_model.mixed for of_model in strata_counts(counts)] == [30.0, 4000.0]


@pytest.mark.parametrize("weight", [1 / 4000, 20.0])
def test_models_are_told_apart_by_weights_of_any_scale(weight: float) -> None:
    """At a prevalence that the log does not support, the rows that it may lack weigh what its rows do."""
    rng = np.random.default_rng(1)
    label = rng.random(4000) < 0.1
    log = pl.concat(
        pl.DataFrame({"model": model, "label": label, "score": rng.normal(distance * label).round(2)})
        for model, distance in (("a", 4.0), ("b", 1.5))
    )
    plain, scaled = (
        nf.compare_best(
            nf.count_confusion(some, thresholds="exact"), metric="pr_auc", prevalence=0.001, repeats=100
        )
        for some in (log, log.with_columns(weight=pl.lit(weight)))
    )
    assert plain["distinguishable"].to_list() == [False, True]
    assert_frame_equal(scaled, plain)


@pytest.mark.parametrize("seed", range(5))
def test_support_is_told_however_sums_of_weights_are_rounded(seed: int) -> None:
    log = pl.concat(
        [mixed_log(seed, 600, [1 / 0.29, 1 / 0.07, 1 / 0.613]).with_columns(model=pl.lit(m)) for m in "ab"]
    )
    two, four = (nf.count_confusion(log, thresholds=grid) for grid in ([0.0, 1.0], [-0.5, 0.0, 1.0, 2.0]))
    best = nf.probability_best(two, metric="f_beta", threshold=1.0, repeats=100)
    assert best["supported"].to_list() == [True, True]
    # On a grid, bounds need the certified ones at the same prevalence.
    assert nf.compare_best(four, metric="pr_auc", repeats=100)["lower"].is_not_null().all()
