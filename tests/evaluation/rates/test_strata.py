"""What rows of strata are worth, against linearisation row by row, and the coverage of intervals."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import nci_frames as nf
from nci_frames.evaluation.rates.intervals import wilson_bounds
from tests.logs import counts_at
from tests.stratified import holds, mixed_log, stratified_log


def linearised(log: pl.DataFrame, threshold: float, of_class: bool) -> tuple[float, float]:
    """Return a rate and its variance: of each stratum the sum of squares about the mean of its rows."""
    hit = (log["score"] >= threshold).to_numpy()
    mine, weight = (log["label"] == of_class).to_numpy(), log["weight"].to_numpy()
    rate = (weight * (hit & mine)).sum() / (weight * mine).sum()
    moved = weight * mine * (hit - rate) / (weight * mine).sum()
    variance = sum(((moved[weight == w] - moved[weight == w].mean()) ** 2).sum() for w in np.unique(weight))
    return rate, float(variance)


@pytest.mark.thorough
@given(seed=st.integers(0, 10**6))
def test_with_many_rows_intervals_are_those_of_the_linearised_variance(seed: int) -> None:
    log = mixed_log(seed, 6000, [1.0, 2.0, 3.5])
    rates = nf.compute_rates(nf.count_confusion(log, thresholds=[0.0, 0.5, 1.0]), interval="wilson")
    for row in rates.iter_rows(named=True):
        for name, of_class in (("tpr", True), ("fpr", False)):
            rate, variance = linearised(log, row["threshold"], of_class)
            assert row[name] == pytest.approx(rate, rel=1e-12)
            worth = row["effective_positives" if of_class else "effective_negatives"]
            # One row more of the heaviest changes little.
            assert worth == pytest.approx(rate * (1 - rate) / variance, rel=0.02)
            bounds = wilson_bounds(np.array([rate]), np.array([worth]), norm.isf(0.025))
            assert (row[f"{name}_lower"], row[f"{name}_upper"]) == pytest.approx(
                (bounds[0].item(), bounds[1].item()), rel=1e-9
            )


def test_no_hit_says_as_little_as_the_heaviest_rows_can_hide() -> None:
    """Of 50 rows of weight 1 and 50 of weight 9, none is flagged: 500 in all, of 9 each at worst."""
    log = pl.DataFrame({"model": "a", "label": [True] * 100 + [False] * 20, "score": [0.1, 0.2] * 60})
    log = log.with_columns(weight=pl.when(pl.int_range(pl.len()) % 4 < 2).then(1.0).otherwise(9.0))
    rates = nf.compute_rates(nf.count_confusion(log, thresholds=[0.5]), interval="wilson")
    assert rates["effective_positives"].item() == pytest.approx(500 / 9)
    z2 = norm.isf(0.025) ** 2
    assert rates["tpr_upper"].item() == pytest.approx(z2 / (500 / 9 + z2))


@pytest.mark.thorough
def test_strata_made_by_score_have_no_rows_in_the_scores_of_others() -> None:
    """All 500 false positives are of weight 1; no row of weight 100, which all score lower, can be one."""
    score = np.append(np.linspace(0.5, 1.0, 1000), np.linspace(0.0, 0.49, 1000))
    log = pl.DataFrame({"model": "a", "score": score, "label": np.arange(2000) % 100 == 99,
                        "weight": np.repeat([1.0, 100.0], 1000)})  # fmt: skip
    apart = worth(log, 0.75)
    overlapping = log.with_columns(score=pl.when(pl.int_range(pl.len()) == 1000).then(0.6).otherwise("score"))
    assert worth(overlapping, 0.75) < apart / 5
    # So it is with misses: those of the log turned round are its hits.
    turned = log.with_columns(score=-pl.col("score"))
    for at in (0.502, 0.75):
        assert worth(turned, -at) == pytest.approx(worth(log, at), rel=1e-9)


def worth(log: pl.DataFrame, threshold: float) -> float:
    rates = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    point = rates.filter(pl.col("threshold") >= threshold)
    return float(point["effective_negatives"][0])


@pytest.mark.thorough
def test_intervals_hold_where_strata_are_made_by_score() -> None:
    rng, repeats, held = np.random.default_rng(0), 25, np.zeros((2, 3))
    for _ in range(repeats):
        log = stratified_log(rng, 50_000, 0.02, 3.0, [0.01, 0.1, 1.0])
        counts = nf.count_confusion(log, thresholds=[1.5, 2.7, 3.5])
        held += holds(nf.compute_rates(counts, interval="wilson"), 3.0)
    # 0.93, less two standard errors of so many draws.
    assert (held / repeats > 0.93 - 2 * (0.93 * 0.07 / repeats) ** 0.5).all()


@pytest.mark.thorough
def test_a_log_knows_a_rate_no_better_than_all_rows_of_its_traffic():
    """Of 20,000 rows those above the threshold are all in the log, and 1,000 of the others."""
    rng, logs, rows = np.random.default_rng(3), 400, 20_000
    tp, fp = (rng.binomial(size, norm.sf(2 - mean), logs) for size, mean in ((200, 2), (rows - 200, 0)))
    low = rows - tp - fp
    fn = rng.hypergeometric(200 - tp, low - (200 - tp), 1000)
    names = {"model": [f"{log:03}" for log in range(logs)], "threshold": 2.0}
    counts = [
        counts_at(tp, fp, tp, fp, **names, weight=1.0),
        counts_at(0 * fn, 0, fn, 1000 - fn, **names, weight=low / 1000),
    ]
    rates = nf.compute_rates(pl.concat(counts), interval="wilson")
    # As if from 110,000 rows, it held in 0.57 of the logs.
    assert rates.select((pl.col("effective_negatives") <= rows).all()).item()
    held = rates.select(pl.lit(float(norm.sf(2))).is_between("fpr_lower", "fpr_upper").mean())
    assert held.item() > 0.92


@pytest.mark.parametrize("seed", range(6))
def test_a_rate_of_one_at_minus_infinity_has_bounds(seed: int) -> None:
    """No row can be missed there, so the effective rows are those of Kish. Rounding made them 0."""
    log = mixed_log(seed, 400, [1.0, 33.0, 100.0])
    log = log.with_columns(score=pl.when(pl.int_range(pl.len()) < 8).then(-np.inf).otherwise("score"))
    lowest = nf.compute_rates(nf.count_confusion(log, thresholds="exact"), interval="wilson").row(
        0, named=True
    )
    assert lowest["threshold"] == -np.inf
    for rate, worth, of_class in (
        ("tpr", "effective_positives", True),
        ("fpr", "effective_negatives", False),
    ):
        weight = log.filter(label=of_class)["weight"]
        kish = weight.sum() ** 2 / (weight**2).sum()
        assert lowest[worth] == pytest.approx(kish)
        assert lowest[f"{rate}_lower"] == pytest.approx(kish / (kish + norm.isf(0.025) ** 2))


def test_rows_of_weight_0_tell_nothing() -> None:
    log = mixed_log(3, 80, [1.0, 3.0])
    more = pl.concat([log, log.with_columns(~pl.col("label"), weight=pl.lit(0.0))])
    few, many = (nf.count_confusion(some, thresholds="exact") for some in (log, more))
    for found in (
        lambda counts: nf.compute_rates(counts, interval="simultaneous"),
        lambda counts: nf.auc_interval(counts, method="delong"),
    ):
        assert found(few).equals(found(many))
