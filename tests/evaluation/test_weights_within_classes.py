"""Functions of counts whose rows weigh differently within a class, against brute force over the rows."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.stratified import holds, mixed_log, stratified_log

GRID = [-1.0, 0.0, 1.0, 2.5]


def shares(log: pl.DataFrame, threshold: float) -> tuple[float, float, float]:
    """Return TPR, FPR and the share of all rows that reach a threshold."""
    weight, label = log["weight"].to_numpy(), log["label"].to_numpy()
    hit = log["score"].to_numpy() >= threshold
    found = [weight[hit & kept].sum() / weight[kept].sum() for kept in (label, ~label, label | ~label)]
    return found[0], found[1], found[2]


def test_sub_samples_are_sums_of_the_rows_that_stay() -> None:
    """Two of five negatives stay: the means and extremes are those of all ten pairs."""
    log = pl.DataFrame({
        "model": "a", "label": [True, True] + [False] * 5, "score": [0.9, 0.4, 0.8, 0.7, 0.3, 0.2, 0.1],
        "weight": [1.0, 3.0, 1.0, 2.0, 2.0, 7.0, 8.0],
    })  # fmt: skip
    found = nf.subsample_study(nf.count_confusion(log), prevalence=0.5, repeats=2000)
    weight, score = log["weight"].to_numpy(), log["score"].to_numpy()
    weight = weight / np.where(log["label"], 2.0, 4.0)
    for row in found.filter(pl.col("threshold") <= 0.7).iter_rows(named=True):
        hit = score >= row["threshold"]
        tp = (weight * hit)[:2].sum()
        pairs = [(weight * hit)[list(pair)].sum() for pair in itertools.combinations(range(2, 7), 2)]
        precision = np.array([tp / (tp + fp) for fp in pairs])
        assert (row["min"], row["max"]) == pytest.approx((precision.min(), precision.max()), rel=1e-12)
        assert row["mean"] == pytest.approx(precision.mean(), abs=4 * precision.std() / np.sqrt(2000) + 1e-12)
        tpr, fpr, _ = shares(log, row["threshold"])
        assert row["adjusted"] == pytest.approx(tpr / (tpr + fpr), rel=1e-12)


@given(seed=st.integers(0, 10**6))
def test_score_counts_of_each_weight_are_rows(seed: int) -> None:
    log = mixed_log(seed, rows=40)
    scored = nf.count_scores(log, thresholds=GRID)
    assert scored.schema["above"] == pl.Int64
    for row in scored.iter_rows(named=True):
        own = log.filter(weight=row["weight"])["score"]
        assert (row["above"], row["below"]) == (
            (own >= row["threshold"]).sum(),
            (own < row["threshold"]).sum(),
        )


@pytest.mark.long
@given(seed=st.integers(0, 10**6))
def test_the_prevalence_of_weighted_traffic_by_one_threshold(seed: int) -> None:
    """Of two bins every method solves t = eta·TPR + (1 - eta)·FPR."""
    known, field = mixed_log(seed), mixed_log(seed + 1)
    counts, scored = nf.count_confusion(known, thresholds=[1.0]), nf.count_scores(field, thresholds=[1.0])
    (tpr, fpr, _), (_, _, reached) = shares(known, 1.0), shares(field, 1.0)
    for method in ("em", "adjusted_count", "matching"):
        found = nf.estimate_prevalence(counts, scored, method=method).row(0, named=True)
        expected = np.clip((reached - fpr) / (tpr - fpr), found["lower"], found["upper"])
        assert found["prevalence"] == pytest.approx(expected, rel=1e-6)


@given(seed=st.integers(0, 10**6))
@pytest.mark.long
def test_partial_labels_take_the_shares_of_weighted_rows_between_thresholds(seed: int) -> None:
    labelled, every = mixed_log(seed), mixed_log(seed + 1, rows=5000)
    rates = nf.correct_partial_labels(
        nf.count_confusion(labelled, thresholds=GRID), nf.count_scores(every, thresholds=GRID)
    )
    borders = [-np.inf, *GRID, np.inf]
    found = np.zeros((2, len(GRID) + 1))
    for place, (low, high) in enumerate(itertools.pairwise(borders)):
        known, rows = (
            log.filter((pl.col("score") >= low) & (pl.col("score") < high)) for log in (labelled, every)
        )
        share = known.filter("label")["weight"].sum() / known["weight"].sum()
        found[:, place] = rows["weight"].sum() * np.array([share, 1 - share])
    for place, row in enumerate(rates.iter_rows(named=True)):
        (tp, fp), (positives, negatives) = found[:, place + 1 :].sum(axis=1), found.sum(axis=1)
        expected = {"tp": tp, "fp": fp, "tpr": tp / positives, "fpr": fp / negatives}
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12)


def sampled(rng: np.random.Generator, rows: int, eta: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return traffic, and rows of it: all above 2.5, a tenth above 1, a hundredth of the others."""
    label = rng.random(rows) < eta
    score = rng.normal(label * 2.0, 1)
    weight = np.where(score >= 2.5, 1.0, np.where(score >= 1.0, 10.0, 100.0))
    log = pl.DataFrame({"model": "a", "label": label, "score": score, "weight": weight})
    return log.drop("weight"), log.filter(pl.Series(rng.random(rows) < 1 / weight))


@pytest.mark.long
def test_intervals_of_partial_labels_that_were_drawn_by_score_cover() -> None:
    """At thresholds that cut the ranges of the draw, and at others."""
    rng, grid = np.random.default_rng(5), [0.5, 1.5, 2.0, 3.0]
    held = np.zeros((2, 4))
    for _ in range(40):
        every, drawn = sampled(rng, 40_000, 0.05)
        rates = nf.correct_partial_labels(
            nf.count_confusion(drawn, thresholds=grid), nf.count_scores(every, thresholds=grid)
        )
        held += holds(rates, 2.0)
    assert (held >= 0.85 * 40).all(), held / 40


@pytest.mark.long
def test_intervals_of_the_prevalence_by_a_stratified_reference_cover() -> None:
    rng, grid = np.random.default_rng(6), np.arange(-1.0, 4.1, 0.5).tolist()
    held = refused = 0
    for _ in range(30):
        known = stratified_log(rng, 50_000, 0.05, 2.0, (0.01, 0.1, 1.0))
        field, _ = sampled(rng, 20_000, 0.01)
        found = nf.estimate_prevalence(
            nf.count_confusion(known, thresholds=grid), nf.count_scores(field, thresholds=grid)
        ).row(0, named=True)
        refused += found["prevalence"] is None
        held += found["prevalence"] is not None and found["lower"] <= 0.01 <= found["upper"]
    assert refused <= 0.1 * 30
    assert held >= 0.93 * (30 - refused)


def by_country(seed: int, *, shift: float = 0.0, rows: int = 30_000) -> pl.DataFrame:
    """Return rows of four countries that were drawn by score; negatives of one of them score higher."""
    rng = np.random.default_rng(seed)
    label, country = rng.random(rows) < 0.1, rng.integers(0, 4, rows)
    score = rng.normal(label * 2.0 + shift * (~label & (country == 2)), 1).round(1)
    weight = np.where(score >= 2, 1.0, np.where(score >= 0.5, 5.0, 20.0))
    log = pl.DataFrame({
        "model": "a", "label": label, "score": score, "weight": weight, "country": country.astype(str),
    })  # fmt: skip
    return log.filter(pl.Series(rng.random(rows) < 1 / weight))


@pytest.mark.thorough
@pytest.mark.parametrize("units", [None, "bucket"])
def test_segments_of_weighted_rows_are_those_of_their_weights(units: str | None) -> None:
    log = by_country(1, shift=0.8)
    if units is not None:
        log = log.with_columns(bucket=pl.int_range(pl.len()) % 64)
    counts = nf.count_confusion(log, thresholds=GRID)
    ranks = nf.rank_segments(
        counts, segments="country", threshold=2.5, metric="precision", units=units, min_positives=5
    )
    assert len(ranks) == 4
    for row in ranks.iter_rows(named=True):
        own = log.filter(country=row["country"])
        assert (row["positives"], row["negatives"]) == (own["label"].sum(), (~own["label"]).sum())
        hit = (own["score"] >= 2.5).to_numpy()
        weight, label = (own[name].to_numpy() for name in ("weight", "label"))
        assert row["own_value"] == pytest.approx(weight[hit & label].sum() / weight[hit].sum(), rel=1e-12)
        assert row["own_lower"] < row["own_value"] < row["own_upper"]
        assert row["observed_prevalence"] == pytest.approx(weight[label].sum() / weight.sum(), rel=1e-12)
    assert ranks.filter("shifted")["country"].to_list() == ["2"]
    tests = nf.check_projection(counts, over="country", units=units)
    assert tests.select("class", "distinguishable", "farthest").row(0) == ("negative", True, "2")
    (negative,) = tests.filter(pl.col("class") == "negative")["effect"]
    apart = [
        abs(shares(log.filter(country="2"), at)[1] - shares(log.filter(pl.col("country") != "2"), at)[1])
        for at in GRID
    ]
    assert negative == pytest.approx(max(apart), rel=1e-12)
    assert tests["rows"].sum() == len(log)


@pytest.mark.long
def test_equal_segments_of_weighted_rows_are_told_apart_as_seldom_as_promised() -> None:
    found = np.zeros(2)
    for seed in range(6):
        counts = nf.count_confusion(by_country(seed, rows=15_000), thresholds=GRID)
        found[0] += nf.check_projection(counts, over="country")["distinguishable"].any()
        ranks = nf.rank_segments(counts, segments="country", threshold=2.5, metric="fpr", min_positives=5)
        found[1] += ranks.select(pl.any("distinguishable", "shifted").any()).to_series().any()
    assert (found <= 1).all(), found


@pytest.mark.long
def test_slope_and_intercept_of_calibration_hold_where_rows_were_drawn_by_score() -> None:
    """Few heavy rows make most of the regression, and some logs have none of the heavy positives."""
    rng, held, repeats = np.random.default_rng(5), np.zeros(3), 25
    for _ in range(repeats):
        score = 1 / (1 + np.exp(-rng.normal(-3, 1.5, 12_000)))
        label = rng.random(12_000) < score
        weight = np.select([score >= 0.3, score >= 0.1], [1.0, 10.0], 100.0)
        log = pl.DataFrame({"model": "a", "label": label, "score": score, "weight": weight})
        drawn = log.filter(pl.Series(rng.random(12_000) < 1 / weight))
        found = nf.calibration_measures(nf.count_confusion(drawn, thresholds="exact"), prevalence="observed")
        for place, (measure, truth) in enumerate((("in_the_large", 0), ("intercept", 0), ("slope", 1))):
            row = found.filter(measure=measure).row(0, named=True)
            held[place] += row["lower"] is None or row["lower"] <= truth <= row["upper"]
    assert (held >= 0.84 * repeats).all(), held / repeats


@pytest.mark.long
def test_rates_of_segments_hold_where_all_segments_were_drawn_together() -> None:
    """At the border of two ranges all flagged rows are light: how many a segment has of them is chance."""
    rng, held, logs = np.random.default_rng(3), np.zeros((2, 2)), 30
    for _ in range(logs):
        log = stratified_log(rng, 40_000, 0.05, 2.0, (0.01, 0.1, 1.0))
        log = log.with_columns(country=pl.Series(rng.integers(0, 4, len(log))))
        rates = nf.compute_rates(nf.count_confusion(log, thresholds=[1.0, 2.5]), interval="wilson")
        for place, threshold in enumerate((1.0, 2.5)):
            held[:, place] += holds(rates.filter(threshold=threshold), 2.0).sum(axis=1)
    assert (held >= 0.93 * 4 * logs).all(), held / (4 * logs)


@pytest.mark.thorough
def test_resampled_segments_vary_as_their_rates() -> None:
    """At the border of two ranges of scores, where a segment with rows of fixed number would not vary."""
    rng = np.random.default_rng(4)
    log = stratified_log(rng, 100_000, 0.05, 2.0, (0.01, 0.1, 1.0))
    log = log.with_columns(country=pl.Series(rng.integers(0, 4, len(log))))
    counts = nf.count_confusion(log, thresholds=[1.0, 2.5])
    drawn = nf.bootstrap(counts, metric="fpr", threshold=1.0, repeats=400).sort("country")
    known = nf.compute_rates(counts).filter(threshold=1.0).sort("country")
    expected = (known["fpr"] * (1 - known["fpr"]) / known["effective_negatives"]).sqrt()
    assert (drawn["upper"] - drawn["lower"]).to_numpy() / 3.92 == pytest.approx(expected.to_numpy(), rel=0.2)


def test_bounds_of_areas_leave_out_rows_that_weigh_nothing() -> None:
    columns = {"model": ["a"] * 5 + ["b"] * 5, "label": [True, True, False, False, True] * 2}
    log = pl.DataFrame(
        columns | {"score": [0.9, 0.8, 0.4, 0.2, 0.3] * 2, "weight": [1.0, 2.0, 1.0, 2.0, 1.0] * 2}
    )
    more = log[:5].with_columns(weight=pl.lit(0.0))
    expected, found = (
        nf.compute_areas(
            nf.count_confusion(nf.scan_predictions(rows, weight="weight"), thresholds=[0.0, 0.25, 0.5, 1.0]),
            prevalence=0.1,
        )
        for rows in (log, pl.concat([log, more]))
    )
    assert expected["lower"].is_finite().all()
    assert_frame_equal(found, expected)
