"""Partly labelled logs: the formula, its bias under a right and a wrong assumption, and coverage."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, poisson

import nci_frames as nf
from nci_frames.evaluation.rates.partial_labels import split_sums
from tests.logs import counts_at, counts_of_bins

GRID = [-1.0, 0.0, 1.0, 2.0, 3.0]


def laws(*means: float) -> np.ndarray[Any, Any]:
    edges = np.array([-np.inf, *GRID, np.inf])
    return np.stack([np.diff(norm.cdf(edges, mean)) for mean in means])


def reviewed(logs: int, *, share: float = 0.05) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Logs whose alerts at 2.0 are all labelled, and a share of the others."""
    rng = np.random.default_rng(0)
    law_p, law_n = laws(2.0, 0.0)
    size = rng.binomial(50_000, 0.02, logs)
    positives, negatives = rng.multinomial(size, law_p), rng.multinomial(50_000 - size, law_n)
    shares = np.where(np.append(-np.inf, GRID) >= 2.0, 1.0, share)
    labelled = counts_of_bins(rng.binomial(positives, shares), rng.binomial(negatives, shares), GRID)
    everyone = counts_of_bins(0 * positives, positives + negatives, GRID)
    return labelled, everyone.select("model", "segment", "threshold", above="fp", below="tn")


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=2, max_size=6))
def test_rates_are_the_formula(bins: list[tuple[int, int, int]]) -> None:
    """TPR(t) = sum over bins >= t of N·pi over that of all bins, in plain Python."""
    grid = [float(i) for i in range(1, len(bins))]

    def counted(positives: list[int], negatives: list[int]) -> dict[str, list[int]]:
        return {
            name: [sum(rows[i:]) if above else sum(rows[:i]) for i in range(1, len(rows))]
            for name, rows, above in (
                ("tp", positives, True), ("fn", positives, False),
                ("fp", negatives, True), ("tn", negatives, False),
            )
        }  # fmt: skip

    some = [(k, m, other) if k + m else (0, 0, 0) for k, m, other in bins]
    labelled = pl.DataFrame(
        {"model": "a", "threshold": grid, **counted([k for k, _, _ in some], [m for _, m, _ in some])}
    )
    total = [k + m + other for k, m, other in some]
    scored = pl.DataFrame({"model": "a", "threshold": grid, **counted([0] * len(total), total)})
    scored = scored.select("model", "threshold", above="fp", below="tn")
    found = nf.correct_partial_labels(labelled, scored)
    for place, row in enumerate(found.iter_rows(named=True), 1):
        for index, (rate, hits) in enumerate((("tpr", "tp"), ("fpr", "fp"))):
            expected = [
                n * cell[index] / (cell[0] + cell[1]) if n else 0.0
                for n, cell in zip(total, some, strict=True)
            ]
            assert row[hits] == pytest.approx(sum(expected[place:]))
            if sum(expected):
                assert row[rate] == pytest.approx(sum(expected[place:]) / sum(expected))
                assert 0 <= row[f"{rate}_lower"] <= row[rate] + 1e-12
                assert row[rate] <= row[f"{rate}_upper"] + 1e-12 <= 1 + 1e-11
            else:
                assert row[rate] is row[f"{rate}_lower"] is row[f"{rate}_upper"] is None


def test_labels_of_all_rows_change_nothing() -> None:
    labelled, scored = reviewed(3, share=1.0)
    found = nf.correct_partial_labels(labelled, scored)
    usual = nf.compute_rates(labelled, interval="wilson")
    names = ["tp", "fp", "fn", "tn", "positives", "negatives", "tpr", "fpr", "observed_prevalence"]
    np.testing.assert_allclose(found.select(names).to_numpy(), usual.select(names).to_numpy(), rtol=1e-12)
    worth = found.select("effective_positives", "effective_negatives").to_numpy()
    np.testing.assert_allclose(worth, usual.select("positives", "negatives").to_numpy(), rtol=1e-3)
    bounds = ["tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper"]
    np.testing.assert_allclose(found.select(bounds).to_numpy(), usual.select(bounds).to_numpy(), atol=0.004)
    assert found.equals(nf.correct_partial_labels(labelled, shares={-math.inf: 1.0}))


def test_values_are_supported_by_the_rows_with_labels_not_by_those_that_they_represent() -> None:
    """One false positive represents 100, which as rows would be enough at every prevalence."""
    labelled = counts_at([25, 20], [985, 1], 25, 985, model="a", threshold=[-math.inf, 0.5])
    scored = pl.DataFrame(
        {"model": "a", "threshold": [-math.inf, 0.5], "above": [1_002_100, 2100], "below": [0, 1_000_000]}
    )
    rates = nf.correct_partial_labels(labelled, scored)
    worth = rates.select("effective_positives", "effective_negatives").filter(rates["threshold"] == 0.5)
    # As if it were the weighted log of these rows.
    weighted = counts_at(
        [20, 20, 5, 0], [1, 1, 984, 0], [20, 20, 5, 5], [1, 1, 984, 984],
        model="a", weight=[100.0, 100.0, 1000.0, 1000.0], threshold=[-math.inf, 0.5] * 2,
    )  # fmt: skip
    drawn = nf.compute_rates(weighted, interval="wilson")
    assert drawn["tpr_lower"].null_count() == rates["tpr_lower"].null_count() == 0
    assert worth["effective_negatives"].item() * 0.0001 == pytest.approx(1, rel=0.3)
    assert worth.row(0) == pytest.approx(drawn.select(worth.columns).row(1), rel=0.5)
    for each in (rates, drawn):
        values = nf.project_rates(each, metrics="precision", prevalence=[1e-5, 0.1]).filter(threshold=0.5)
        assert values["supported"].to_list() == [False, True]


def test_bounds_of_equal_weights_are_the_exact_ones_of_poisson() -> None:
    """With nothing certain below, the sum above has Garwood's interval, which Fay and Feuer's contains."""
    rows, weights = np.array([0.0, 7.0]), np.array([0.0, 1.0])
    above, below, lower, upper = (
        side.item() for side in split_sums(weights * rows, weights**2 * rows, weights, 1.959964)
    )
    assert (above, below, lower, upper) == (7, 0, 1, 1)
    rows, weights = np.array([1e12, 7.0]), np.ones(2)
    _, _, lower, upper = (
        side.item() for side in split_sums(weights * rows, weights**2 * rows, weights, 1.959964)
    )
    assert poisson.sf(6, lower * 1e12) == pytest.approx(0.025, rel=1e-4)
    assert poisson.cdf(7, upper * 1e12) == pytest.approx(0.025, rel=1e-4)


def test_later_functions_take_the_rates() -> None:
    labelled, scored = reviewed(2)
    rates = nf.correct_partial_labels(labelled, scored)
    values = nf.project_rates(rates, metrics="precision", prevalence=0.01, band=True)
    assert values.filter(pl.col("threshold") == 2.0)["lower"].null_count() == 0
    assert nf.compute_areas(rates, prevalence=0.02)["value"].null_count() == 0
    chosen = nf.select_operating_points(rates, tpr=0.4)
    assert chosen["threshold"].to_list() == [2.0, 2.0]


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.01, 0.2])
def test_intervals_of_precision_hold_it_and_known_thresholds_keep_their_target(share: float) -> None:
    logs, eta = 300, 0.01
    rates = nf.correct_partial_labels(*reviewed(logs, share=share))
    tpr, fpr = norm.sf(1.0, loc=2.0), norm.sf(1.0)
    precision = float(eta * tpr / (eta * tpr + (1 - eta) * fpr))
    found = nf.predictive_value_interval(rates.filter(threshold=1.0), prevalence=eta)
    found = found.filter(metric="precision")
    # The standard error of a share of 0.95 of 300 logs is 0.013.
    assert pl.select(pl.lit(precision).is_between(found["lower"], found["upper"]).mean()).item() >= 0.91
    chosen = nf.select_operating_points(rates, tpr=0.6, confidence=0.95)["threshold"].drop_nulls()
    assert len(chosen) > 0.5 * logs
    assert (norm.sf(chosen.to_numpy(), loc=2.0) >= 0.6).mean() >= 0.93


def test_shares_begin_at_scores_of_float32_as_at_those_of_float64():
    """Shares of 1 from score 0.7 on and 1/10 below: of 8 and 6 + 1 rows they make tp 8 and fp 6 + 10."""
    log = pl.DataFrame({"model": "a", "label": [1] * 8 + [0] * 7, "score": [0.7] * 14 + [0.3]})
    for dtype in (pl.Float32, pl.Float64):
        counts = nf.count_confusion(log.with_columns(pl.col("score").cast(dtype)), thresholds="exact")
        found = nf.correct_partial_labels(counts, shares={-math.inf: 0.1, 0.7: 1.0})
        assert found.select("tp", "fp", "fn", "tn").rows() == [(8.0, 16.0, 0.0, 0.0), (8.0, 6.0, 0.0, 10.0)]
