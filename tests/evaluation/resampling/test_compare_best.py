"""Comparisons with the best: against brute force, what they promise, and where the log cannot tell."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.evaluation.resampling import draws, replicates, samplers
from nci_frames.evaluation.significance.best_sets import Contenders, confidence_set
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.reporting.live import live_numbers
from tests.cases import first_quick
from tests.logs import counts_at, in_buckets, random_log, unit_log


def points(tp: list[int], fp: list[int], positives: int = 100, negatives: int = 1000) -> pl.DataFrame:
    return counts_at(tp, fp, positives, negatives, model=list("abcdefghijklmn"[: len(tp)]))


def slow_set(value: np.ndarray, drawn: np.ndarray) -> list[float]:
    """The model confidence set, pair by pair, as the paper has it."""
    alive, p_values, highest = list(range(len(value))), [1.0] * len(value), 0.0
    spread = {(i, j): np.std(drawn[i] - drawn[j], ddof=1) for i in alive for j in alive if i != j}
    while len(alive) > 1:
        pairs = list(itertools.permutations(alive, 2))
        leads = {pair: (value[pair[0]] - value[pair[1]]) / spread[pair] for pair in pairs}
        in_logs = [np.abs(drawn[i] - drawn[j] - (value[i] - value[j])) / spread[i, j] for i, j in pairs]
        largest = np.max(in_logs, axis=0)
        (_, loser), lead = max(leads.items(), key=lambda item: item[1])
        highest = max(highest, (1 + np.sum(largest >= lead)) / (1 + len(largest)))
        p_values[loser] = highest
        alive.remove(loser)
    return p_values


def contenders(value: np.ndarray, drawn: np.ndarray, freedom: float = 1e12) -> Contenders:
    """Models whose values are known as far as the resampled logs tell."""
    size = len(value)
    none = np.zeros(size)
    return Contenders.of(value, drawn, none, np.full(size, freedom), none, np.zeros((2, size)))


@pytest.mark.parametrize("seed", range(5))
def test_the_confidence_set_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    value = rng.normal(0, 1.5, 6)
    drawn = value[:, None] + rng.multivariate_normal(np.zeros(6), np.eye(6) + 0.5, 400).T
    case = contenders(value, drawn)
    assert case.error[0, 1] == pytest.approx((drawn[0] - drawn[1]).std(ddof=1), rel=1e-9)
    (found,) = confidence_set([case])
    expected = slow_set(value, drawn)
    # Models far behind are removed together; their p-values are the least there is.
    assert found == pytest.approx(expected)


def test_the_standard_error_of_few_units_is_that_of_their_means():
    rng = np.random.default_rng(2)
    units = rng.normal(size=(2, 10))
    value = units.mean(axis=1)
    drawn = units[:, rng.integers(0, 10, (20_000, 10))].mean(axis=2)
    case = contenders(value, drawn, 9.0)
    apart = units[0] - units[1]
    # Resampled means vary by 0.95 times as much.
    assert case.error[0, 1] == pytest.approx(apart.std(ddof=1) / 10**0.5, rel=0.02)


def test_several_cases_at_once_are_one_set():
    """The same models twice are one comparison; further ones make every p-value larger."""
    rng = np.random.default_rng(1)
    value, noise = np.array([0.0, 0.5, 3.0]), rng.normal(size=(3, 500))
    case = contenders(value, value[:, None] + noise)
    (alone,) = confidence_set([case])
    twice = confidence_set([case, case])
    assert [p.tolist() for p in twice] == [pytest.approx(alone.tolist())] * 2
    other = contenders(value * 0, rng.normal(size=(3, 500)))
    wider, _ = confidence_set([case, other])
    assert (wider >= alone).all()
    assert wider.min() > alone.min()


def test_columns_and_differences():
    counts = points([60, 62, 30], [20, 21, 25])
    found = nf.compare_best(counts, prevalence=[0.01, 0.1])
    best = found.filter(prevalence=0.1)
    assert best["distinguishable"].to_list() == [False, False, True]
    value = best["value"].to_list()
    assert best["difference"].to_list() == [value[0] - value[1], value[1] - value[0], value[2] - value[1]]
    assert best["difference"].is_between(best["lower"], best["upper"]).all()
    assert best["upper"][2] < 0
    assert best["p_value"].max() == 1
    # A cost is better if it is lower.
    cost = nf.compare_best(counts, metric="expected_cost", prevalence=0.1)
    assert cost["distinguishable"].to_list() == [False, False, True]
    assert cost["lower"][2] > 0
    assert cost["difference"][2] > 0
    one = nf.compare_best(counts.head(1)).row(0, named=True)
    assert (one["p_value"], one["distinguishable"], one["difference"], one["lower"]) == (1, False, None, None)


@pytest.mark.thorough
def test_one_positive_tells_nothing():
    counts = points([1, 0], [3, 5], positives=1, negatives=100)
    for metric in ("recall", "f_beta"):
        found = nf.compare_best(counts, metric=metric, prevalence=0.1)
        assert found.select("p_value", "distinguishable", "lower").null_count().row(0) == (2, 2, 2)
        few = "fewer than 10 rows of a class, or buckets of equal size that have it"
        assert set(found["reason"]) == {few}
        # Resampling one row gives that row again, however often: that is no evidence.
        best = nf.probability_best(counts, metric=metric, prevalence=0.1).row(1, named=True)
        assert (best["probability"], best["reason"]) == (
            None, "no resampled log differs: a class has one row",
        )  # fmt: skip
    none = nf.probability_best(points([0, 0], [3, 5], positives=0, negatives=100), prevalence=0.1)
    assert set(none["reason"]) == {"there are no positives"}
    # FPR needs no positives.
    assert nf.compare_best(counts, metric="fpr")["distinguishable"].to_list() == [False, False]
    assert nf.probability_best(counts, metric="fpr")["reason"].to_list() == [None, None]


def test_no_false_positive_is_not_no_false_positive_rate():
    """At prevalence 1e-4 precision hangs on a handful of false positives: the log cannot tell 0 from 5."""
    counts = points([60, 60], [0, 5], negatives=10_000)
    found = nf.compare_best(counts, metric="precision", prevalence=1e-4)
    assert found["distinguishable"].to_list() == [False, None]
    assert found["reason"][1].startswith("too few rows")
    # Where false positives hardly matter, it can.
    assert nf.compare_best(counts, metric="f_beta", prevalence=0.5)["reason"].null_count() == 2
    found = nf.compare_best(points([60, 60], [0, 500], negatives=10_000), metric="fpr")
    assert found["distinguishable"].to_list() == [False, True]


@pytest.mark.thorough
def test_a_lead_by_pr_auc_needs_the_negatives_that_could_take_it():
    """One negative of b in 1,000 scores above most positives; two of five logs of 1,000 have none."""
    rng, label, tables = np.random.default_rng(2), np.repeat([True, False], [100, 1000]), []
    for log in range(60):
        odd = ~label & (rng.random(1100) < 0.001)
        score = {"a": rng.normal(3.0 * label), "b": rng.normal(np.where(odd, 6.0, 4.0 * label))}
        tables += [
            pl.DataFrame({"log": log, "model": name, "label": label, "score": of_model})
            for name, of_model in score.items()
        ]
    counts = nf.count_confusion(pl.concat(tables), by=["log"], thresholds="exact")
    asked = {"metric": "pr_auc", "prevalence": [1e-5, 0.2], "repeats": 100}
    worse = nf.compare_best(counts, **asked).filter(model="a").partition_by("prevalence")
    # At 1e-5 a is the better model: of the alerts of b 1 % are right at most. It has 0.04, and b 0.003.
    assert not worse[0]["distinguishable"].any()
    seen = worse[0]["reason"].drop_nulls()
    assert len(seen) > 9
    assert seen.str.starts_with("too few rows").all()
    # At 0.2 it is b, and the log may know.
    assert worse[1]["reason"].null_count() == 60
    assert worse[1]["distinguishable"].mean() > 0.3


def test_a_large_lead_by_pr_auc_needs_no_more_negatives():
    """Neither PR-AUC is supported at the prevalence of the log, but three negatives do not take the lead."""
    rng, label = np.random.default_rng(1), np.repeat([True, False], [200, 20_000])
    log = pl.concat(
        pl.DataFrame({"model": name, "label": label, "score": rng.normal(size=20_200) + mean * label})
        for name, mean in (("a", 2.0), ("b", 1.3))
    )
    counts = nf.count_confusion(log, thresholds="exact")
    eta = 200 / 20_200
    assert (nf.lowest_supported_prevalence(counts, metric="pr_auc")["prevalence"] > eta).all()
    asked = {"metric": "pr_auc", "prevalence": [eta, eta / 10], "repeats": 100}
    assert nf.compare_best(counts, **asked).filter(model="b")["distinguishable"].to_list() == [True, True]


def test_undefined_values():
    found = nf.compare_best(points([60, 0, 50], [20, 0, 20]), metric="precision", prevalence=0.1)
    assert found["reason"].to_list() == [None, "the metric is undefined", None]
    assert found["difference"].null_count() == 1


@pytest.mark.parametrize("metric", first_quick(["lr_plus", "lr_minus", "diagnostic_odds_ratio"]))
def test_infinite_values(metric):
    """A value without a distance to others is compared with none of them, and others are not with it."""
    counts = points([60, 62, 30, 0], [0, 21, 25, 1000])
    found = nf.compare_best(counts, metric=metric, prevalence=0.1)
    rows = found.filter(pl.col("value").is_infinite())
    assert len(rows) > 0
    assert set(rows["reason"]) == {"the metric is infinite"}
    told = ["difference", "lower", "upper", "p_value", "distinguishable", "group"]
    assert rows.select(told).null_count().row(0) == (len(rows),) * 6
    names = rows["model"].to_list()
    others = nf.compare_best(counts.filter(~pl.col("model").is_in(names)), metric=metric, prevalence=0.1)
    assert others["value"].is_finite().all()
    without = found.filter(~pl.col("model").is_in(names))
    assert without.select("difference").equals(others.select("difference"))


@pytest.mark.parametrize("unit", [2.0**-330, 2.0**330])
def test_the_unit_of_a_cost_changes_nothing_but_the_unit(unit):
    """The square of a very small or large difference is no longer a number."""
    counts = points([60, 62, 30], [20, 21, 25])
    plain, scaled = (
        nf.compare_best(counts, metric=nf.expected_cost(c_fp=c, c_fn=c), prevalence=0.1) for c in (1.0, unit)
    )
    assert scaled["p_value"].to_list() == plain["p_value"].to_list()
    assert scaled["distinguishable"].to_list() == plain["distinguishable"].to_list() == [False, False, True]
    for name in ("value", "difference", "lower", "upper"):
        assert (scaled[name] / unit).to_list() == pytest.approx(plain[name].to_list(), rel=1e-9)


@pytest.mark.thorough
def test_identical_models_are_not_distinguishable():
    log = unit_log({"m0": 1.5}, (300, 900), seed=3)
    twice = pl.concat([log, log.with_columns(model=pl.lit("twin"))])
    counts = nf.count_confusion(nf.unit_buckets(twice, buckets=50), thresholds=[0.0, 0.5, 1.0])
    for metric, options in (("pr_auc", {}), ("f_beta", {"threshold": 0.5}), ("f_beta", {"threshold": "own"})):
        found = nf.compare_best(counts, metric=metric, prevalence=[0.01, 0.1], units="bucket", **options)
        assert found["distinguishable"].to_list() == [False] * 4
        assert found["difference"].to_list() == [0.0] * 4
        best = nf.probability_best(counts, metric=metric, prevalence=[0.01, 0.1], units="bucket", **options)
        assert set(best["probability"]) == {0.5}


def test_own_thresholds_are_those_of_each_model():
    log = unit_log({"m0": 1.0, "m1": 2.0}, (300, 3000), alike=0.9, seed=5)
    counts = nf.count_confusion(log.drop("unit"), thresholds=np.linspace(-3, 5, 60).tolist())
    found = nf.compare_best(counts, metric="f_beta", prevalence=[0.01, 0.1], threshold="own")
    best = (
        nf.project_rates(nf.compute_rates(counts), metrics="f_beta", prevalence=[0.01, 0.1])
        .group_by("prevalence", "model")
        .agg(pl.max("value"))
        .sort("prevalence", "model")
    )
    assert found["value"].to_list() == best["value"].to_list()
    assert found["distinguishable"].to_list() == [True, False] * 2


@pytest.mark.parametrize(("beta", "limit"), [(1e-200, 0.0), (1e200, np.inf)])
def test_a_beta_whose_square_is_no_number_is_its_limit(beta, limit):
    counts = nf.count_confusion(random_log(), thresholds="exact", by=[])
    asked = {"threshold": "own", "prevalence": 0.1, "repeats": 100}
    for compare in (nf.compare_best, nf.probability_best):
        found, expected = (compare(counts, beta=each, **asked).drop("beta") for each in (beta, limit))
        assert_frame_equal(found, expected)


def test_what_does_not_vary_has_no_width_however_large_the_lead():
    """The normal tail beyond 39 is 0, so Student's quantile there is infinite."""
    error = np.array([[0.0, 0.1], [0.1, 0.0]])
    shape = error.shape
    found = Contenders(
        np.zeros(shape),
        np.zeros(shape),
        error,
        np.full(shape, 20.0),
        np.ones(shape, np.bool_),
        np.ones(shape, np.bool_),
        np.zeros((2, 5)),
    )
    assert found.half_width(50.0).tolist() == [[0.0, np.inf], [np.inf, 0.0]]
    assert found.half_width(2.0)[0, 0] == 0.0
    assert 0.2 < found.half_width(2.0)[0, 1] < 0.3


@pytest.mark.parametrize("metric", ["roc_auc", "pr_auc", "brier"])
def test_a_lead_counts_only_beyond_what_a_grid_leaves_unknown(metric):
    """Between two thresholds, "a" scores the positives highest, and "b" the negatives; "c" is far behind."""
    rng, size = np.random.default_rng(3), 20_000
    label = rng.random(size) < 0.3
    cell = np.floor(10 / (1 + np.exp(-rng.normal(2.0 * label - 1, 1))))
    apart = np.where(label, 0.6, 0.4)
    models = {"a": (cell + apart) / 10, "b": (cell + 1 - apart) / 10, "c": rng.random(size)}
    scan = nf.scan_predictions(
        pl.DataFrame({"label": label, **models}), scores={name: name for name in models}
    )
    grid, exact = (
        nf.compare_best(nf.count_confusion(scan, thresholds=at), metric=metric, prevalence=0.3, repeats=200)
        for at in (np.linspace(0, 1, 11).tolist(), "exact")
    )
    assert grid["difference"][:2].to_list() == [0, 0]
    assert exact["difference"].is_between(grid["lower"], grid["upper"]).all()
    assert exact["distinguishable"].to_list() == [False, True, True]
    assert grid["distinguishable"].to_list() == [False, False, True]
    assert grid["p_value"][:2].to_list() == [1, 1]


def test_a_loss_that_may_be_infinite_has_no_bound_on_its_side():
    """A score below 0.1 may be 0, and the loss of its positive infinite."""
    rng, size = np.random.default_rng(3), 20_000
    label = rng.random(size) < 0.3
    models = {"inner": 0.2 + 0.6 * label, "whole": rng.random(size)}
    scan = nf.scan_predictions(
        pl.DataFrame({"label": label, **models}), scores={name: name for name in models}
    )
    found = nf.compare_best(
        nf.count_confusion(scan, thresholds=np.linspace(0, 1, 11).tolist()), metric="log_loss", repeats=100
    )
    assert np.isinf(found.select("lower", "upper").to_numpy()).tolist() == [[True, False], [False, True]]


@pytest.mark.thorough
def test_groups_are_led_by_the_best_that_is_left():
    # Six models far apart but for two pairs.
    tp = {"a": 900, "b": 899, "c": 700, "d": 500, "e": 499, "f": 498}
    counts = points(list(tp.values()), [50] * 6, positives=1000, negatives=10_000)
    found = nf.compare_best(counts, repeats=200)
    assert found["group"].to_list() == [1, 1, 2, 3, 3, 3]
    assert found.filter(pl.col("group") == 1).equals(found.filter(~pl.col("distinguishable")))
    few = pl.concat(
        [counts, counts.head(1).with_columns(model=pl.lit("few"), tp=4, fn=1, fp=1, tn=9)],
        how="vertical_relaxed",
    )
    told = nf.compare_best(few, repeats=200)
    assert told.filter(pl.col("distinguishable").is_null())["group"].to_list() == [None]


def test_the_prior_has_a_stream_of_its_own_also_where_a_key_is_called_prior(monkeypatch):
    named: list[str] = []

    def remembered(seed, group):
        named.append(repr(sorted(group.items())))
        return draws.stream(seed, group)

    for module in (replicates, samplers):
        monkeypatch.setattr(module, "stream", remembered)
    counts = points([60, 30], [20, 25]).with_columns(prior=pl.lit("x"))
    nf.compare_best(counts, repeats=100)
    assert len(set(named)) == len(named) == 4


BUDGET = 0.01


def many_logs(number: int, positives: int, negatives: int, shifts: tuple[float, ...]) -> pl.DataFrame:
    """Return counts of independent normal models in many logs, which are told apart by the key "log"."""
    models = {f"model {place}": shift for place, shift in enumerate(shifts)}
    rows = pl.concat(
        unit_log(models, (positives, negatives), seed=seed).with_columns(log=pl.lit(f"{seed}"))
        for seed in range(number)
    )
    return nf.count_confusion(
        rows.drop("unit").with_columns(score=1 / (1 + (-pl.col("score")).exp())), thresholds="exact"
    )


@pytest.mark.parametrize("metric", first_quick(["recall", "precision", "f_beta", "mcc"], 2))
@pytest.mark.parametrize("thresholds", first_quick(["exact", [0.5], [0.0, 0.5, 1.0, 1.5, 2.0]], 2))
def test_the_values_are_those_of_selected_points(metric, thresholds):
    counts = nf.count_confusion(random_log(3000, values=400).drop("fold", "country"), thresholds=thresholds)
    etas = [0.001, 0.02, 0.3]
    found = nf.compare_best(counts, metric=metric, prevalence=etas, pos_fraction=0.05, repeats=100)
    points = nf.select_operating_points(nf.compute_rates(counts), pos_fraction=0.05, prevalence=etas)
    if metric == "recall":  # without a prevalence of its own
        values = points.select("model", "prevalence", value="tpr")
    else:
        values = nf.project_rates(points, metrics=metric, prevalence="selected")
    joined = found.join(values, on=["model", "prevalence"], suffix="_selected")
    assert joined.height == found.height == len(etas) * counts["model"].n_unique()
    # Above every score nothing is positive: a resampled log has no such threshold.
    known = joined.filter(pl.col("value").is_not_null())
    assert known.height >= joined.filter(pl.col("value_selected") > 0).height > 0
    assert known["value"].to_list() == pytest.approx(known["value_selected"].to_list(), abs=1e-12)


def significant(found: pl.DataFrame) -> float:
    return float(found.group_by("log").agg(pl.col("distinguishable").any())["distinguishable"].mean() or 0)


@pytest.mark.long
def test_equal_models_seldom_differ_and_others_do():
    """At the thresholds of each log, the luck of a few negatives makes equal models differ."""
    counts = many_logs(60, 300, 2000, (2.0, 2.0))
    asked: dict[str, Any] = {"metric": "recall", "prevalence": 1e-3, "repeats": 100}
    points = nf.select_operating_points(nf.compute_rates(counts), pos_fraction=BUDGET, prevalence=1e-3)
    assert significant(nf.compare_best(points.drop("prevalence", "reason"), **asked)) > 0.15
    # The standard error of a share of 0.05 of 60 logs is 0.028.
    assert significant(nf.compare_best(counts, pos_fraction=BUDGET, **asked)) <= 0.05 + 3 * 0.028
    better = many_logs(15, 300, 2000, (2.0, 2.8))
    assert significant(nf.compare_best(better, pos_fraction=BUDGET, **asked)) > 0.8


def test_a_budget_below_the_resolution_tells_nothing():
    found = nf.compare_best(
        many_logs(1, 200, 2000, (2.0, 2.0)), metric="recall", prevalence=1e-4, pos_fraction=5e-5, repeats=200
    )
    assert found["distinguishable"].to_list() == [None, None]
    assert found["reason"].str.contains("undefined or infinite in many resampled logs").all()


@pytest.mark.thorough
def test_bounds_of_few_units_are_extended_to_the_band_of_the_rates():
    tp, size = np.zeros((2, 100), np.int64)
    tp[:8], size[:8] = [15, 11, 9, 14, 6, 12, 13, 10], 20
    counts = in_buckets(tp, size)
    found = nf.bootstrap(counts, metric="recall", units="bucket", repeats=50)
    rates = nf.compute_rates(counts, interval="wilson", units="bucket", level=0.95**0.5)
    assert found["interval"].item() == "band"
    assert found.select("lower", "upper").row(0) == rates.select("tpr_lower", "tpr_upper").row(0)
    # With as many rows of as many units each, resampling shows how much they vary.
    many = in_buckets(np.tile(tp[:8], 5), np.tile(size[:8], 5))
    assert nf.bootstrap(many, metric="recall", units="bucket", repeats=50)["interval"].item() == "percentile"


def test_models_are_not_compared_by_one_large_unit():
    size = np.full(40, 1)
    size[7] = 400
    better = in_buckets(np.minimum(size, 390), size)
    worse = in_buckets(size // 4, size).with_columns(model=pl.lit("b"))
    found = nf.compare_best(pl.concat([better, worse]), metric="recall", units="bucket", repeats=100)
    assert found["distinguishable"].to_list() == [None, None]
    assert found["reason"].unique().to_list() == [
        "fewer than 10 rows of a class, or buckets of equal size that have it"
    ]


def _few_units_of_positives(units: int) -> pl.DataFrame:
    """Two models; 120 positives of few users, 2,880 negatives of 288 others."""
    row = pl.col("unit")
    unit = pl.when("label").then(row % units).otherwise(units + row % 288)
    log = unit_log({"a": 2.0, "b": 1.0}, (120, 2880), seed=units).with_columns(unit=unit)
    return nf.count_confusion(nf.unit_buckets(log), thresholds=[-1.0, 0.0, 1.0, 2.0])


@pytest.mark.thorough
def test_resampling_says_nothing_of_a_class_that_is_in_one_bucket():
    counts, options = _few_units_of_positives(1), {"prevalence": 0.1, "units": "bucket", "repeats": 200}
    why = "fewer than 10 buckets of equal size have rows of a class"
    for metric, threshold in (("f_beta", 1.0), ("f_beta", "own"), ("recall", 1.0), ("roc_auc", None)):
        best = nf.probability_best(counts, metric=metric, threshold=threshold, **options)
        assert best["probability"].null_count() == 2
        assert best["reason"].to_list() == [why] * 2
    found = nf.bootstrap(counts, metric=["precision", "recall"], threshold=1.0, **options)
    assert found.select("lower", "upper", "interval").null_count().row(0) == (4, 4, 4)
    area = nf.bootstrap(counts, metric="roc_auc", **options)
    assert area.select("lower", "upper", "interval").null_count().row(0) == (2, 2, 2)
    # Of rates that do not need the class there is something to say.
    fpr = nf.probability_best(counts, metric="fpr", threshold=1.0, **options)
    assert fpr["probability"].null_count() == 0
    assert fpr["reason"].null_count() == 2


@pytest.mark.thorough
def test_few_buckets_of_a_class_have_a_probability_and_a_doubt():
    options = {"metric": "f_beta", "threshold": 1.0, "prevalence": 0.1, "units": "bucket", "repeats": 200}
    few, many = (nf.probability_best(_few_units_of_positives(n), **options) for n in (5, 20))
    assert (few["probability"].null_count(), few["reason"].null_count()) == (0, 0)
    assert (many["probability"].null_count(), many["reason"].null_count()) == (0, 2)


@pytest.mark.thorough
def test_a_report_without_bounds_shows_none():
    counts = _few_units_of_positives(1)
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.1], threshold=1.0, repeats=50)
    assert comparison.answer.select("lower", "upper").null_count().row(0) == (2, 2)
    sent = live_numbers(comparison)["answers"][0]["models"]["columns"]
    assert sent["lower"]["values"] == sent["upper"]["values"] == [None]
    assert not any("95 %" in line for line in answer_lines(comparison.said))


def test_a_lead_of_many_rows_is_told_however_little_either_value_varies():
    """Of two models one finds all positives and the other none; neither varies by two rows."""
    counts = counts_at([40, 0, 36], [0, 0, 0], 40, 4000, model=["all", "none", "most"])
    found = nf.compare_best(counts, metric="recall", prevalence=0.01, repeats=200)
    told = dict(found.select("model", "distinguishable").iter_rows())
    # Four rows may be chance.
    assert not told["most"]
    assert told["none"]
    assert found.filter(model="none")["reason"].item() is None


def two_models(rng: np.random.Generator, label: np.ndarray) -> list[np.ndarray]:
    shared, own = rng.normal(size=(2, len(label)))
    return [2.2 * label + shared, 2.6 * label + 0.7 * shared + 0.714 * own]


@pytest.mark.long
@pytest.mark.parametrize("units", [None, "bucket"])
def test_the_difference_of_areas_holds_where_heavy_positives_may_be_missing(units: str | None) -> None:
    """Down-sampled by the scores of one model, one row of 100 stands for the positives that it misses."""
    rng, logs = np.random.default_rng(3), 30

    def frame(label: np.ndarray, scores: list[np.ndarray], weight: np.ndarray) -> pl.DataFrame:
        rows = pl.DataFrame({"unit": np.arange(len(label)), "label": label, "weight": weight})
        return pl.concat(
            rows.with_columns(model=pl.lit(model), score=pl.Series(score))
            for model, score in zip("ab", scores, strict=True)
        )

    label = np.arange(100_000) % 2 == 0
    many = nf.count_confusion(
        frame(label, two_models(rng, label), np.ones(len(label))).drop("unit", "weight")
    )
    areas = nf.compute_areas(many, prevalence=0.3, metrics="pr_auc")["value"]
    held = 0
    for seed in range(logs):
        label = rng.random(50_000) < 0.02
        scores = two_models(rng, label)
        weight = np.array([100.0, 10.0, 1.0])[np.searchsorted(np.quantile(scores[0], [0.8, 0.98]), scores[0])]
        kept = rng.random(len(label)) < 1 / weight
        log = frame(label[kept], [score[kept] for score in scores], weight[kept])
        if units is None:
            counts = nf.count_confusion(log.drop("unit"), thresholds="exact")
        else:
            counts = nf.count_confusion(nf.unit_buckets(log, buckets=64), thresholds="exact", by=["bucket"])
        found = nf.compare_best(
            counts, metric="pr_auc", prevalence=0.3, units=units, repeats=100, seed=seed
        ).row(by_predicate=pl.col("model") == "b", named=True)
        assert found["lower"] is not None
        held += found["lower"] <= areas[1] - areas[0] <= found["upper"]
    assert held >= 0.95 * logs
