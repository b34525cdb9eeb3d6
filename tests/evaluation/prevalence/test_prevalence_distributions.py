"""Means, masses and regrets over a distribution of the prevalence, against mpmath, loops and draws."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import norm

import nci_frames as nf
from nci_frames.evaluation.prevalence.expected_values import expected_values
from tests.logs import counts_at, random_log

GRID = [-1.0, 0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]


def counts_of(model: str, mean: float, spread: float) -> pl.DataFrame:
    """Counts of a model whose scores are normal."""
    tp = np.round(1_000 * norm.sf(GRID, mean, spread)).astype(int)
    fp = np.round(20_000 * norm.sf(GRID)).astype(int)
    cells = {"tp": tp, "fp": fp, "fn": 1_000 - tp, "tn": 20_000 - fp}
    return pl.DataFrame({"model": model, "threshold": GRID, **cells})


#: Of one model more positives score high, of the other fewer score low: each is the better one somewhere.
RATES = nf.compute_rates(pl.concat([counts_of("forest", 1.0, 2.0), counts_of("linear", 1.8, 0.8)]))
LAWS = {
    "Beta(2, 98)": nf.beta_prevalence(2, 98),
    "Beta(0.3, 30)": nf.beta_prevalence(0.3, 30),
    "Beta(7.5, 9993.5)": nf.beta_prevalence(7.5, 9993.5),
    "Beta(0.5, 0.5)": nf.beta_prevalence(0.5, 0.5),
    "between": nf.prevalence_between(0.0002, 0.001, level=0.9),
    "wide": nf.prevalence_between(1e-6, 0.9, level=0.5),
}


def density(name: str) -> Callable[[Any], Any]:
    """The density of the log odds, in 30 digits."""
    if name.startswith("Beta"):
        a, b = (mpmath.mpf(part) for part in name[5:-1].split(", "))

        def of_beta(t: Any) -> Any:
            eta, rest = 1 / (1 + mpmath.exp(-t)), 1 / (1 + mpmath.exp(t))
            return eta**a * rest**b / mpmath.beta(a, b)

        return of_beta
    low, high, level = {"between": (0.0002, 0.001, 0.9), "wide": (1e-6, 0.9, 0.5)}[name]
    ends = [mpmath.log(eta / (1 - mpmath.mpf(eta))) for eta in (low, high)]
    z = mpmath.sqrt(2) * mpmath.erfinv(level)
    mean, deviation = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / (2 * z)
    return lambda t: mpmath.npdf(t, mean, deviation)


def exact_mean(name: str, value: Callable[[Any], Any]) -> float:
    """The mean of a function of the prevalence, by mpmath over the log odds."""
    law, of = LAWS[name], density(name)
    inside = [law.quantile(share) for share in (1e-18, 0.05, 0.5, 0.95, 0.9999)]
    breaks = {float(np.log(eta) - np.log1p(-eta)) for eta in inside if 0 < eta < 1}
    # The metric changes fastest where positives and false positives are as many.
    breaks = sorted({*breaks, *range(-40, 41, 2)})
    with mpmath.workdps(25):
        total = mpmath.quad(
            lambda t: of(t) * value(1 / (1 + mpmath.exp(-t))), [breaks[0] - 400, *breaks, breaks[-1] + 60]
        )
    return float(total)


def f_one(tpr: float, fpr: float) -> Callable[[Any], Any]:
    return lambda eta: 2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Beta(2, 98)", "Beta(0.3, 30)", "between", "wide"])
def test_means_are_those_of_mpmath(name):
    points = RATES.filter(threshold=2.0, model="forest")
    table = expected_values(points, metric="f_beta", prevalence=LAWS[name])
    for tpr, fpr, value in zip(points["tpr"], points["fpr"], table["value"], strict=True):
        assert value == pytest.approx(exact_mean(name, f_one(tpr, fpr)), rel=1e-11)
    assert LAWS[name].mean == pytest.approx(exact_mean(name, lambda eta: eta), rel=1e-11)
    assert table["prevalence"].unique().to_list() == [LAWS[name].mean]


@pytest.mark.parametrize(("a", "b"), [(2, 98), (0.3, 30), (7.5, 9993.5), (1e-2, 3.0), (1e5, 1e8)])
def test_means_of_metrics_linear_in_the_prevalence_have_a_closed_form(a, b):
    mean = a / (a + b)
    law = nf.beta_prevalence(a, b)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    table = expected_values(RATES, metric=nf.expected_cost(c_fp=1, c_fn=200), prevalence=law)
    wanted = nf.project_rates(RATES, metrics=nf.expected_cost(c_fp=1, c_fn=200), prevalence=mean)
    assert table["value"].to_list() == pytest.approx(wanted["value"].to_list(), rel=1e-12)


def test_the_ends_of_a_range_are_its_quantiles():
    law = nf.prevalence_between(0.0002, 0.001, level=0.9)
    assert law.quantile(0.05) == pytest.approx(0.0002, rel=1e-12)
    assert law.quantile(0.95) == pytest.approx(0.001, rel=1e-12)
    assert law.masses(np.array([0, 0.0002, 0.001, 1])).tolist() == pytest.approx([0.05, 0.9, 0.05], rel=1e-12)


def by_hand(rates: pl.DataFrame, etas: np.ndarray) -> dict[tuple[str, float], np.ndarray]:
    """F1 of every point at every prevalence."""
    return {
        (row["model"], row["threshold"]): np.array([f_one(row["tpr"], row["fpr"])(eta) for eta in etas])
        for row in rates.iter_rows(named=True)
    }


def test_a_choice_over_draws_is_that_of_a_loop():
    rng = np.random.default_rng(3)
    etas = rng.beta(0.5, 8, 400)
    values = by_hand(RATES, etas)
    best = np.max(list(values.values()), axis=0)
    law = nf.prevalence_draws(etas.tolist())
    table = nf.choose_under_uncertainty(RATES, metric="f_beta", prevalence=law)
    assert len(table) == 2
    for row in table.iter_rows(named=True):
        means = {place: value.mean() for place, value in values.items() if place[0] == row["model"]}
        place = max(means, key=lambda at: means[at])
        assert row["threshold"] == place[1]
        assert row["value"] == pytest.approx(means[place], rel=1e-12)
        assert row["expected_regret"] == pytest.approx((best - values[place]).mean(), abs=1e-12)
        wins = np.max([v for at, v in values.items() if at[0] == row["model"]], axis=0) >= best
        assert row["probability_best"] == pytest.approx(wins.mean(), abs=1e-12)
        inside = (etas >= row["start"]) & (etas <= row["end"])
        assert row["max_regret"] >= (best - values[place])[inside].max() - 1e-12
    assert table["rank"].to_list() == [1, 2]
    assert table["value"].is_sorted(descending=True)
    assert table["probability_best"].sum() == pytest.approx(1, abs=1e-12)
    assert (table["start"][0], table["end"][0]) == tuple(
        np.quantile(etas, [0.025, 0.975], method="inverted_cdf")
    )


@pytest.mark.thorough
@pytest.mark.parametrize("name", LAWS)
def test_masses_and_means_are_those_of_many_draws(name):
    """2,000 stratified draws: the middle of each quantile."""
    law = LAWS[name]
    drawn = nf.prevalence_draws([law.quantile((place + 0.5) / 2_000) for place in range(2_000)])
    exact, rough = (
        nf.choose_under_uncertainty(RATES, metric="f_beta", prevalence=given).sort("model")
        for given in (law, drawn)
    )
    for column, slack in (("probability_best", 5e-4), ("value", 5e-6), ("expected_regret", 2e-5)):
        assert exact[column].to_list() == pytest.approx(rough[column].to_list(), abs=slack), column


rate = st.integers(0, 40)
point = st.tuples(rate, rate)


@pytest.mark.thorough
@settings(max_examples=15, deadline=None)
@given(
    points=st.lists(st.tuples(st.sampled_from("abc"), point), min_size=1, max_size=6),
    ends=st.tuples(st.floats(1e-5, 0.5), st.floats(1.01, 1000)),
)
def test_the_largest_regret_is_that_of_a_fine_grid(points, ends):
    start, end = ends[0], min(ends[0] * ends[1], 0.999)
    rows = [(model, float(place), tp, fp, 40 - tp, 40 - fp) for place, (model, (tp, fp)) in enumerate(points)]
    schema = ["model", "threshold", "tp", "fp", "fn", "tn"]
    # Each point is a group of its own in the counts, so that they need not be those of one curve.
    rates = pl.concat(nf.compute_rates(pl.DataFrame([row], schema=schema, orient="row")) for row in rows)
    rates = rates.with_columns(model=pl.col("model") + "-" + pl.col("threshold").cast(pl.String))
    found = nf.minimax_regret(rates, metric="f_beta", start=start, end=end)
    grid = np.exp(np.linspace(np.log(start), np.log(end), 4001))
    values = by_hand(rates, grid)
    best = np.nanmax(list(values.values()), axis=0)
    for row in found.iter_rows(named=True):
        wanted = (best - values[row["model"], row["threshold"]]).max()
        assert row["max_regret"] == pytest.approx(wanted, abs=1e-6)
        assert row["max_regret"] >= wanted - 1e-12


@pytest.mark.thorough
def test_the_safest_threshold_is_that_of_a_loop():
    grid = np.exp(np.linspace(np.log(1e-3), np.log(0.3), 20_001))
    values = by_hand(RATES, grid)
    best = np.max(list(values.values()), axis=0)
    table = nf.minimax_regret(RATES, metric="f_beta", start=1e-3, end=0.3)
    assert table["rank"].to_list() == [1, 2]
    for row in table.iter_rows(named=True):
        worst = {at: (best - v).max() for at, v in values.items() if at[0] == row["model"]}
        place = min(worst, key=lambda at: worst[at])
        assert row["threshold"] == place[1]
        assert row["max_regret"] == pytest.approx(worst[place], abs=1e-7)
        at = float(grid[np.argmax(best - values[place])])
        assert row["prevalence"] == pytest.approx(at, rel=1e-3)


def test_the_lowest_cost_is_chosen_where_less_is_better():
    law = nf.beta_prevalence(2, 98)
    cost = nf.expected_cost(c_fp=1, c_fn=50)
    table = nf.choose_under_uncertainty(RATES, metric=cost, prevalence=law)
    means = expected_values(RATES, metric=cost, prevalence=law)
    for row in table.iter_rows(named=True):
        assert row["value"] == pytest.approx(means.filter(model=row["model"])["value"].min(), rel=1e-14)
    assert table["value"].is_sorted()
    assert (table["expected_regret"] >= 0).all()


@pytest.mark.thorough
def test_segments_are_judged_apart():
    log = random_log(600).drop("fold").with_columns(pl.col("country").fill_null("fr"))
    rates = nf.compute_rates(nf.count_confusion(log, thresholds=[-0.5, 0.0, 0.5]))
    law = nf.beta_prevalence(2, 30)
    calls: tuple[Callable[[pl.DataFrame], pl.DataFrame], ...] = (
        lambda frame: nf.choose_under_uncertainty(frame, metric="f_beta", prevalence=law),
        lambda frame: expected_values(frame, metric="f_beta", prevalence=law),
        lambda frame: nf.minimax_regret(frame, metric="f_beta", start=0.01, end=0.1),
    )
    for call in calls:
        whole = call(rates)
        for country in ("at", "de", "fr"):
            alone = call(rates.filter(country=country))
            assert_frame_equal(whole.filter(country=country), alone)
        assert len(call(rates.clear())) == 0


def test_what_the_log_cannot_tell_is_said():
    counts = counts_at(60, 1, 100, 1000)
    rates = nf.compute_rates(counts)
    lowest = nf.lowest_supported_prevalence(counts, metric="precision", threshold=0.5)["prevalence"].item()
    law = nf.prevalence_between(0.01, 0.1)
    row = expected_values(rates, metric="precision", prevalence=law).row(0, named=True)
    assert row["unsupported"] == pytest.approx(float(law.below(np.array([lowest]))[0]))
    assert row["unsupported"] > 0.05
    assert not row["supported"]
    assert "this log cannot tell the value" in row["reason"]
    recall = expected_values(rates, metric="recall", prevalence=law).row(0, named=True)
    assert (recall["value"], recall["unsupported"], recall["supported"]) == (pytest.approx(0.6), 0.0, True)
    assert expected_values(rates, metric="precision", prevalence=nf.beta_prevalence(50, 50))[
        "supported"
    ].item()


def test_a_value_that_is_undefined_somewhere_has_no_mean():
    counts = counts_at(0, 0, 40, 999)
    rates, law = nf.compute_rates(counts), nf.beta_prevalence(2, 98)
    assert expected_values(rates, metric="precision", prevalence=law)["value"].to_list() == [None]
    row = nf.choose_under_uncertainty(rates, metric="precision", prevalence=law).row(0, named=True)
    undefined = ("threshold", "value", "rank", "expected_regret", "max_regret")
    assert [row[name] for name in undefined] == [None] * 5
    worst = nf.minimax_regret(rates, metric="precision", start=0.1, end=0.2).row(0, named=True)
    assert [worst[name] for name in ("threshold", "rank", "max_regret", "prevalence")] == [None] * 4


def test_one_draw_is_one_prevalence():
    law = nf.prevalence_draws([0.02])
    table = nf.choose_under_uncertainty(RATES, metric="f_beta", prevalence=law)
    at = nf.select_operating_points(RATES, metric="f_beta", prevalence=0.02)
    wanted = nf.project_rates(at, metrics="f_beta", prevalence=0.02)
    best = wanted["value"].max()
    for row in table.iter_rows(named=True):
        value = wanted.filter(model=row["model"])["value"].item()
        assert row["value"] == pytest.approx(value, rel=1e-14)
        assert row["expected_regret"] == pytest.approx(best - value, abs=1e-14)
        assert row["max_regret"] == pytest.approx(best - value, abs=1e-14)
