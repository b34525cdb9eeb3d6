"""The prevalence of traffic: formulas, coverage, and the test of whether it is a mixture."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, softmax
from scipy.stats import norm

import nci_frames as nf
from nci_frames.evaluation.prevalence.mixtures import Mixtures
from tests.logs import counts_at, unit_log
from tests.small_jobs import ended
from tests.traffic import EDGES, law, simulated


@pytest.mark.parametrize(("tp", "fp", "positives", "negatives"), [(90, 50, 100, 1000), (40, 30, 40, 300)])
def test_two_bins_are_the_formula_of_rogan_and_gladen(tp, fp, positives, negatives):
    """Also if all positives are above the threshold."""
    traffic = pl.DataFrame({"model": "a", "threshold": [0.5], "above": [2300], "below": [7700]})
    tpr, fpr = tp / positives, fp / negatives
    for method in ("em", "adjusted_count", "matching"):
        found = nf.estimate_prevalence(counts_at(tp, fp, positives, negatives), traffic, method=method)
        assert found["prevalence"].item() == pytest.approx((0.23 - fpr) / (tpr - fpr), abs=1e-9)
        for eta in found.select("lower", "upper").row(0):
            # A bound is just not rejected, with the variance of three binomial rates at that prevalence.
            share = eta * tpr + (1 - eta) * fpr
            own = eta**2 * tpr * (1 - tpr) / positives + (1 - eta) ** 2 * fpr * (1 - fpr) / negatives
            variance = share * (1 - share) / 10_000 + own
            assert abs(0.23 - share) / variance**0.5 == pytest.approx(norm.isf(0.025), rel=1e-9)


def test_a_bin_of_fewer_than_ten_negatives_is_joined_to_the_next():
    """Six negatives more would narrow the interval to three fifths of what 20 of them tell."""
    tp, fp, above = np.array([60, 30]), np.array([20, 14]), np.array([900, 500])
    place = {"model": "a", "threshold": [0.6, 0.7]}
    reference = counts_at(tp, fp, 100, 1000, **place)
    traffic = pl.DataFrame({**place, "above": above, "below": 10_000 - above})
    found = [nf.estimate_prevalence(reference[some], traffic[some]) for some in ([0, 1], [1])]
    told = ("prevalence", "lower", "upper")
    assert found[0].select(told).equals(found[1].select(told))


def test_scores_of_no_positive_do_not_separate_the_classes_in_reverse():
    """Of ten positives none scores as high as a tenth of the negatives, by chance."""
    place = {"model": "a", "threshold": [0.5, 0.9]}
    reference = counts_at(np.array([8, 0]), np.array([300, 100]), 10, 1000, **place)
    traffic = pl.DataFrame({**place, "above": [4000, 900], "below": [6000, 9100]})
    for method in ("em", "adjusted_count", "matching"):
        found = nf.estimate_prevalence(reference, traffic, method=method)
        assert found["prevalence"].item() == pytest.approx(0.2)


bins = st.lists(st.tuples(*[st.integers(20, 200)] * 3), min_size=2, max_size=8)


def mixture_of(rows: list[tuple[int, int, int]], times: int = 1) -> Mixtures:
    positives, negatives, traffic = (times * np.array(column) for column in zip(*rows, strict=True))
    # Another group with more bins changes nothing.
    longer = np.arange(20, 20 + len(rows) + 2)
    return Mixtures.of([(positives, negatives, traffic), (longer, longer[::-1], longer)])


def laws_of(mixture: Mixtures) -> list[Any]:
    """Return the shares of the bins that the first group has."""
    return [law[0, mixture.used[0]] for law in mixture.laws]


def estimate(mixture: Mixtures, method: str) -> tuple[float, float, float] | None:
    prevalence, lower, upper = (float(side[0]) for side in mixture.estimates(method, 1.96))
    return None if np.isnan(prevalence) else (prevalence, lower, upper)


@pytest.mark.parametrize(
    ("method", "distance"),
    [
        ("em", lambda mixed, p, n, t: -(t @ np.log(mixed))),
        ("matching", lambda mixed, p, n, t: ((t - mixed) ** 2 / (p + n)).sum()),
    ],
)
@given(rows=bins)
def test_the_likelihood_is_the_largest_and_the_squared_distance_the_least(method, distance, rows):
    mixture = mixture_of(rows)
    p, n, t = laws_of(mixture)
    result = estimate(mixture, method)
    if result is None:
        return

    def loss(eta: float) -> float:
        return float(distance(eta * p + (1 - eta) * n, p, n, t))

    best = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    assert loss(result[0]) <= best.fun + 1e-9


@given(bins)
def test_the_interval_holds_the_estimate_and_narrows_with_rows(rows):
    few, many = (estimate(mixture_of(rows, times), "matching") for times in (1, 100))
    if few is None:
        return
    assert 0 <= few[1] <= few[0] <= few[2] <= 1
    assert many[2] - many[1] <= few[2] - few[1] + 1e-9
    statistic, freedom = mixture_of(rows).misfits()
    assert statistic[0] >= 0
    assert freedom[0] in (len(rows) - 2, len(rows) - 1)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_the_fit_statistic_is_the_likelihood_ratio(seed):
    """Against a general optimiser over both laws and the prevalence."""
    rng = np.random.default_rng(seed)
    p, n = np.array([0.1, 0.15, 0.2, 0.25, 0.3]), np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    shares = (p, n, rng.dirichlet(np.ones(5)) * 0.2 + 0.8 * (0.3 * p + 0.7 * n))
    logs = [rng.multinomial(size, law) for size, law in zip((60, 80, 200), shares, strict=True)]

    def log_likelihood(laws: list[Any]) -> float:
        some = [rows > 0 for rows in logs]
        return float(
            sum((rows[at] * np.log(law[at])).sum() for rows, law, at in zip(logs, laws, some, strict=True))
        )

    def loss(x: Any) -> float:
        one, other, eta = softmax(x[:5]), softmax(x[5:10]), expit(x[10])
        return -log_likelihood([one, other, eta * one + (1 - eta) * other])

    best = min(minimize(loss, rng.normal(size=11), method="BFGS").fun for _ in range(4))
    free = log_likelihood([rows / rows.sum() for rows in logs])
    statistic, freedom = Mixtures.of([(logs[0], logs[1], logs[2])]).misfits()
    assert statistic[0] == pytest.approx(2 * (free + best), abs=1e-4)
    assert freedom[0] == 3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("eta", "rows", "seen", "refused"), [(0.01, 10_000, 0.6, 0.1), (0.1, 100_000, 0.8, 0.8)]
)
def test_the_fit_test_sees_other_positives_and_is_seldom_wrong(eta, rows, seen, refused):
    """A fifth of the positives, 20 of 10,000 rows, score above nearly all of the reference."""
    changed = 0.8 * law(2.0) + 0.2 * law(4.5)
    found = nf.estimate_prevalence(*simulated(eta, rows=rows, repeats=150, field=changed))
    # With bins at sevenths of the positives alone the test saw 10 % of 20 rows.
    assert (found["fit_p_value"] < 0.05).mean() >= seen
    unsupported = found.filter(~pl.col("supported"))
    assert len(unsupported) >= refused * len(found)  # by Holm, fewer than are seen
    assert unsupported["prevalence"].null_count() == len(unsupported)
    assert unsupported["reason"].str.contains("no mixture").all()
    for share in (eta / 100, eta):
        same = nf.estimate_prevalence(*simulated(share, rows=rows, repeats=300))
        assert 0.01 <= (same["fit_p_value"] < 0.05).mean() <= 0.09
        assert same["supported"].mean() >= 0.99


@pytest.mark.thorough
@pytest.mark.parametrize("eta", [0.3, 0.9, 0.97, 1.0])
def test_intervals_hold_where_most_traffic_is_positive_and_few_positives_are_known(eta):
    found = nf.estimate_prevalence(*simulated(eta, rows=3000, repeats=200, labelled=(50, 1000)))
    held = (found["lower"] <= eta) & (found["upper"] >= eta)
    assert held.mean() > 0.9


@pytest.mark.parametrize("eta", [0.001, 0.03, 0.1, 0.3, 0.6])
def test_many_rows_of_a_mixture_are_one(eta):
    positives, negatives = (np.array(law) * 10**9 for law in ([1, 2, 3, 4], [6, 3, 2, 1]))
    traffic = (10**13 * (eta * positives / 10 + (1 - eta) * negatives / 12) / 10**9).round().astype(np.int64)
    above = [rows[::-1].cumsum()[::-1][1:] for rows in (positives, negatives, traffic)]
    labelled = pl.concat(
        counts_at(tp, fp, 10**10, 12 * 10**9).with_columns(threshold=pl.lit(float(place)))
        for place, (tp, fp) in enumerate(zip(*(rows.tolist() for rows in above[:2]), strict=True))
    )
    counted = {
        "model": "a",
        "threshold": [0.0, 1.0, 2.0],
        "above": above[2],
        "below": traffic.sum() - above[2],
    }
    found = nf.estimate_prevalence(labelled, pl.DataFrame(counted))
    assert found["prevalence"].item() == pytest.approx(eta, rel=1e-6)
    assert found["fit_p_value"].item() > 0.99


def test_keys_of_another_type_or_of_one_side_alone():
    reference, traffic = simulated(0.2, rows=10_000, repeats=3)
    assert nf.estimate_prevalence(reference, traffic.cast({"segment": pl.Int8}))["supported"].all()
    shared = nf.estimate_prevalence(nf.pool_counts(reference, over="segment"), traffic)
    assert shared["segment"].to_list() == [0, 1, 2]
    whole = nf.estimate_prevalence(reference, traffic, by=[])
    assert whole.columns[:2] == ["model", "prevalence"]
    assert whole["prevalence"].item() == pytest.approx(0.2, abs=0.02)
    lacking = nf.estimate_prevalence(reference.filter(pl.col("segment") < 2), traffic)
    assert lacking["supported"].to_list() == [True, True, False]
    assert "the reference has no counts" in lacking["reason"][2]


def test_what_cannot_be_estimated_has_a_reason():
    labelled = counts_at(50, 500, 100, 1000)
    traffic = pl.DataFrame({"model": "a", "threshold": [0.5], "above": [500], "below": [500]})
    found = nf.estimate_prevalence(labelled, traffic)
    assert found.select("prevalence", "lower", "supported").row(0) == (None, None, False)
    assert "do not separate" in found["reason"].item()
    few = labelled.with_columns(tp=pl.lit(4, pl.Int64), fn=pl.lit(4, pl.Int64))
    for method in ("em", "adjusted_count", "matching"):
        none = nf.estimate_prevalence(few, traffic, method=method)
        assert "fewer than 10 positives" in none["reason"].item()


def test_scores_are_counted_without_labels():
    rng = np.random.default_rng(3)
    log = pl.DataFrame(
        {"model": rng.choice(["a", "b"], 500), "country": rng.choice(["x", "y"], 500), "p": rng.random(500)}
    )
    scan = nf.scan_predictions(log, score="p", label=None, segments="country")
    assert scan.collect_schema().names() == ["model", "country", "score"]
    assert len(scan.collect()) == 500
    counts = nf.count_scores(scan, thresholds=[0.25, 0.75])
    for model, country, threshold, above, below in counts.rows():
        mine = log.filter(model=model, country=country)["p"]
        assert (above, below) == ((mine >= threshold).sum(), (mine < threshold).sum())
    assert nf.count_scores(scan, thresholds="exact", by=[])["threshold"].len() == 500
    labelled = log.rename({"p": "score"}).with_columns(label=1)
    assert nf.count_scores(labelled, thresholds=[0.25, 0.75]).equals(counts)
    assert nf.count_scores(labelled.drop("label"), thresholds=[0.25, 0.75]).equals(counts)


def test_an_exact_reference_answers_any_threshold():
    log = unit_log({"a": 2.0}, 3000).drop("unit")
    traffic = unit_log({"a": 2.0}, 2000, share=0.1, seed=1).select("model", "score")
    exact = nf.count_scores(traffic, thresholds="exact")
    found = nf.estimate_prevalence(nf.count_confusion(log, thresholds="exact"), exact)
    same = nf.count_confusion(log, thresholds=sorted(traffic["score"]))
    assert found.equals(nf.estimate_prevalence(same, exact))
    assert found["lower"].item() < 0.1 < found["upper"].item()
    # Thresholds above every score of the reference are reached by none of its rows.
    beyond = nf.count_scores(traffic.with_columns(score=pl.lit(99.0)), thresholds=[0.0, 1.0, 98.0])
    refused = nf.estimate_prevalence(nf.count_confusion(log, thresholds="exact"), beyond)
    assert refused["reason"].item() == "no threshold has enough rows on both sides"


def test_a_score_of_an_exact_reference_reaches_its_threshold_in_the_type_of_the_scores():
    """A Float32 score of 0.7 is positive at the threshold 0.7, in the traffic as in the reference."""
    tenths = [place / 10 for place in range(1, 10)]
    log = unit_log({"a": 2.0}, 3000).drop("unit")
    log = log.with_columns(score=(1 / (1 + (-pl.col("score")).exp())).round(1).cast(pl.Float32))
    traffic = nf.count_scores(log.filter(pl.int_range(pl.len()) % 2 == 0).drop("label"), thresholds=tenths)
    exact, grid = (nf.count_confusion(log, thresholds=thresholds) for thresholds in ("exact", tenths))
    for method in ("em", "adjusted_count", "matching"):
        found = nf.estimate_prevalence(exact, traffic, method=method)
        assert found["supported"].all()
        assert found.equals(nf.estimate_prevalence(grid, traffic, method=method))


def test_the_command_estimates_by_segment(tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in ("labelled", "traffic")]
    for seed, (path, eta) in enumerate(zip(paths, (0.2, 0.05), strict=True)):
        log = unit_log({"a": 2.0}, 20_000, share=eta, seed=seed)
        log = log.with_columns(country=pl.lit("x"), score=norm.cdf(log["score"]))
        (log.drop("label") if path is paths[1] else log).write_parquet(path)
    told = ended(0, "estimate", *paths, "--segments", "country")
    (row,) = [line for line in told.output.splitlines() if line.startswith("│")]
    prevalence, lower, upper = (float(cell.strip(" │")) for cell in row.split("│")[3:6])
    assert lower < 0.05 < upper
    assert prevalence == pytest.approx(0.05, abs=0.005)


def test_quapy_estimates_the_same():
    """EM and the adjusted count of QuaPy, from the posteriors and decisions of rows in the same bins."""
    why = "the oracle QuaPy is not installed: pip install quapy"
    aggregative = pytest.importorskip("quapy.method.aggregative", reason=why)
    functional = pytest.importorskip("quapy.functional", reason=why)
    rng = np.random.default_rng(4)
    for eta in (0.005, 0.1, 0.6):
        shares_p, shares_n = np.array([0.1, 0.2, 0.7]), np.array([0.85, 0.13, 0.02])
        positives, negatives = rng.multinomial(2000, shares_p), rng.multinomial(8000, shares_n)
        traffic = rng.multinomial(5000, eta * shares_p + (1 - eta) * shares_n)
        reached = {name: rows[::-1].cumsum()[::-1][1:] for name, rows in
                   {"tp": positives, "fp": negatives, "above": traffic}.items()}  # fmt: skip
        place = {"model": "a", "threshold": [0.3, 0.6]}
        labelled = counts_at(reached["tp"], reached["fp"], 2000, 8000, **place)
        field = pl.DataFrame({**place, "above": reached["above"], "below": 5000 - reached["above"]})
        found = nf.estimate_prevalence(labelled, field)
        assert found["fit_statistic"].null_count() == 0  # all three bins were used
        p, n = positives / 2000, negatives / 8000
        posterior = np.repeat(p / (p + 4 * n), traffic)
        both = np.stack([1 - posterior, posterior], axis=1)
        theirs, _ = aggregative.EMQ.EM(np.array([0.8, 0.2]), both, epsilon=1e-7)
        assert found["prevalence"].item() == pytest.approx(theirs[1], abs=1e-5)
        found = nf.estimate_prevalence(labelled, field, method="adjusted_count")
        at = np.argmax(reached["tp"] / 2000 - reached["fp"] / 8000)
        theirs = functional.solve_adjustment_binary(
            reached["above"][at] / 5000, reached["tp"][at] / 2000, reached["fp"][at] / 8000
        )
        assert found["prevalence"].item() == pytest.approx(theirs, abs=1e-9)


AT = float(EDGES[55])


def f1(tpr: float, fpr: float, eta: float) -> float:
    return 2 * eta * tpr / (eta + eta * tpr + (1 - eta) * fpr)


def test_bounds_by_hand():
    reference, traffic = simulated(0.1, rows=5000, repeats=2)
    found = nf.estimate_prevalence(reference, traffic)
    rates = nf.compute_rates(reference.filter(pl.col("threshold") == AT), interval="wilson")
    table = nf.project_traffic(rates, found, metrics="f_beta", beta=[1.0, 2.0])
    assert table.columns[:4] == ["model", "segment", "threshold", "metric"]
    assert len(table) == 4
    for row, point, estimate in zip(
        table.filter(beta=1.0).iter_rows(named=True),
        rates.iter_rows(named=True),
        found.iter_rows(named=True),
        strict=True,
    ):
        tpr, fpr, eta = point["tpr"], point["fpr"], estimate["prevalence"]
        value = f1(tpr, fpr, eta)
        assert row["prevalence"] == eta
        assert row["value"] == pytest.approx(value)
        for side, other in (("lower", "upper"), ("upper", "lower")):
            end = estimate[side]
            there = f1(tpr, fpr, end)
            moved = f1(point[f"tpr_{side}"], fpr, end), f1(tpr, point[f"fpr_{other}"], end)
            change = math.hypot(*(there - each for each in moved))
            assert row[side] == pytest.approx(there - change if side == "lower" else there + change)


def test_precision_without_a_false_positive_may_be_low_at_the_lowest_prevalence():
    """Moved alone, FPR and prevalence each left it high: both may be wrong together."""
    counts = counts_at(20, 0, 30, 300)
    traffic = pl.DataFrame({"model": "a", "threshold": [0.5], "above": [100], "below": [1900]})
    known = {"prevalence": 0.05, "lower": 0.001, "upper": 0.09}
    estimate = nf.estimate_prevalence(counts, traffic).with_columns(
        **{name: pl.lit(at) for name, at in known.items()}, reason=pl.lit(None, pl.String)
    )
    rates = nf.compute_rates(counts, interval="wilson")
    found = nf.project_traffic(rates, estimate, metrics="precision")
    assert found["value"].item() == 1
    assert found["lower"].item() < 0.1  # it was 0.7


@pytest.mark.thorough
def test_all_models_get_one_estimate_the_median():
    reference, traffic = simulated(0.1, rows=5000, repeats=2)
    twin = reference.with_columns(pl.lit("b").alias("model"))
    rates = nf.compute_rates(
        nf.pool_counts(pl.concat([reference, twin]), over="segment").filter(pl.col("threshold") == AT),
        interval="wilson",
    )
    found = nf.estimate_prevalence(reference, traffic)
    low, high = (
        found.with_columns(model=pl.lit(name), prevalence=pl.lit(eta), lower=lower, upper=upper)
        for name, eta, lower, upper in (("b", 0.0, 0.0, 0.01), ("c", 0.5, 0.4, 0.9))
    )
    table = nf.project_traffic(rates, pl.concat([high, found, low]), metrics="precision")
    # Keys of the traffic that the rates lack are added.
    assert table.select("model", "segment").rows() == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert table["prevalence"].to_list() == 2 * found["prevalence"].to_list()
    assert table.equals(nf.project_traffic(rates, found, metrics="precision"))
    ranks = nf.rank_models(table)
    assert ranks["rank"].to_list() == [1] * 4
    # Of two models neither is the middle one.
    one, two = (
        nf.project_traffic(rates, estimates, metrics="pos_fraction").head(2)
        for estimates in (found, pl.concat([found, low]))
    )
    assert two["prevalence"].to_list() == pytest.approx([eta / 2 for eta in one["prevalence"]])
    whole = nf.estimate_prevalence(reference, traffic, by=[])
    assert nf.project_traffic(rates, whole, metrics="precision")["prevalence"].n_unique() == 1


@pytest.mark.thorough
def test_without_an_estimate_there_is_a_reason():
    reference, traffic = simulated(0.1, rows=5000, repeats=2)
    rates = nf.compute_rates(reference.filter(pl.col("threshold") == AT), interval="wilson")
    found = nf.estimate_prevalence(reference.filter(segment=0), traffic)
    table = nf.project_traffic(rates, found, metrics=["precision", "mcc"])
    assert table["supported"].to_list() == [True, True, False, False]
    assert table["reason"].null_count() == 2
    assert table["reason"].to_list()[2:] == 2 * ["the reference has no counts for this group"]
    assert table.filter(~pl.col("supported")).select("value", "lower", "upper").null_count().row(0) == (
        2,
        2,
        2,
    )


def test_a_metric_that_is_not_monotone_has_no_bounds():
    reference, traffic = simulated(0.1, rows=5000, repeats=1)
    rates = nf.compute_rates(reference.filter(pl.col("threshold") == AT), interval="wilson")
    found = nf.estimate_prevalence(reference, traffic)
    own = (pl.col("tpr") * pl.col("prevalence")).alias("found")
    table = nf.project_traffic(rates, found, metrics=[own, "recall"])
    assert table.filter(metric="found").select("lower", "upper").row(0) == (None, None)
    recall = table.filter(metric="recall").row(0, named=True)
    lower, upper = rates.select("tpr_lower", "tpr_upper").row(0)
    assert (recall["lower"], recall["upper"]) == (pytest.approx(lower), pytest.approx(upper))
