"""Bounds hold the truth, agree with each other, and follow from the slopes and draws that they claim."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.classes.intervals import slopes
from nci_frames.evaluation.classes.mixes import Mixes
from nci_frames.evaluation.metrics.classes import CLASS_METRICS
from tests.class_logs import RATES, counts_of_rows, drawn_rows

FIELD = {0: 0.1, 1: 0.6, 2: 0.3}


@pytest.mark.parametrize("metric", CLASS_METRICS.values(), ids=CLASS_METRICS)
def test_slopes_are_those_of_small_differences(metric):
    rng = np.random.default_rng(0)
    rates, priors = rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(4))
    classes, cost = np.array([True, True, True, False]), rng.normal(size=(4, 4))
    mixes = Mixes(["field"], priors[None], classes, 1.5, cost)

    def value(at):
        return mixes.value(metric, at)[0]

    (found,) = slopes(metric, mixes, rates)
    for row in range(4):
        for column in range(4):
            step = np.zeros((4, 4))
            step[row, column] = 1e-6
            expected = (value(rates + step) - value(rates - step)) / 2e-6
            assert found[:, row, column] == pytest.approx(expected, abs=1e-8)


@pytest.mark.thorough
@pytest.mark.parametrize(("interval", "logs"), [("delta", 50), ("bootstrap", 30)])
@pytest.mark.parametrize("sizes", [(400, 150, 60), (40, 40, 40)])
def test_bounds_hold_the_truth_at_a_shifted_mix(interval, logs, sizes):
    rng = np.random.default_rng(5)
    metrics = ["accuracy", "macro_f_beta", "precision", "mcc", "expected_cost"]
    options = {"priors": FIELD, "metrics": metrics, "cost": {(0, 1): 3, (2, 1): 8}}
    truth = nf.project_classes(counts_of_rows(RATES * 10_000), **options)
    truth = truth.select("metric", "class", true="value")
    held = []
    for seed in range(logs):
        found = nf.project_classes(
            counts_of_rows(drawn_rows(rng, sizes)), **options, interval=interval, repeats=200, seed=seed
        )
        held.append(
            found.with_columns(held=pl.col("lower").le(truth["true"]) & pl.col("upper").ge(truth["true"]))
        )
    coverage = pl.concat(held).group_by("metric", "class").agg(pl.col("held").mean())
    assert coverage["held"].min() > 0.95 - 3 * (0.95 * 0.05 / logs) ** 0.5, coverage
    assert coverage["held"].mean() < 0.985


@pytest.mark.thorough
def test_bounds_hold_the_precision_of_rare_classes_that_a_common_one_is_seldom_taken_for():
    """Of a hundred rows of a common class, two are taken for each rare one: a quarter of bounds missed."""
    rng, logs = np.random.default_rng(6), 100
    rates = np.full((10, 10), 0.15 / 9)
    np.fill_diagonal(rates, 0.85)
    options = {"priors": {**dict.fromkeys(range(9), 0.3 / 9), 9: 0.7}, "metrics": ["precision"]}
    truth = nf.project_classes(counts_of_rows(rates * 90_000), **options)["value"]
    rows = pl.concat(counts_of_rows(rng.multinomial(100, rates), f"{log:02}") for log in range(logs))
    found = nf.project_classes(rows, **options, interval="delta")
    held = pl.concat([truth] * logs).is_between(found["lower"], found["upper"])
    assert held.to_numpy().reshape(logs, 10).mean(axis=0).min() > 0.9


def test_both_bounds_hold_the_value_and_are_repeatable():
    counts = counts_of_rows(drawn_rows(np.random.default_rng(1), (30, 20, 12)))
    options = {"priors": FIELD, "metrics": ["accuracy", "precision", "recall", "mcc"]}
    delta = nf.project_classes(counts, **options, interval="delta")
    drawn_bounds = nf.project_classes(counts, **options, interval="bootstrap", repeats=300)
    for table in (delta, drawn_bounds):
        assert table["value"].is_between(table["lower"], table["upper"]).all()
    assert (drawn_bounds["lower"] <= delta["lower"]).all()
    assert drawn_bounds.equals(nf.project_classes(counts, **options, interval="bootstrap", repeats=300))
    wide = nf.project_classes(counts, **options, interval="delta", level=0.99)
    assert (wide["upper"] - wide["lower"] > delta["upper"] - delta["lower"]).all()


def test_what_is_undefined_in_every_resampled_log_has_the_other_bounds():
    """All rows get one decision, so that the MCC is 0/0 in each of them."""
    counts, options = counts_of_rows(np.array([[50, 0], [50, 0]])), {"priors": {0: 1, 1: 0}, "metrics": "mcc"}
    drawn_bounds = nf.project_classes(counts, **options, interval="bootstrap", repeats=20)
    assert drawn_bounds.equals(nf.project_classes(counts, **options, interval="delta"))


def test_a_decision_that_a_class_never_got_may_be_a_rare_one():
    counts = counts_of_rows(np.array([[50, 0], [0, 50]]))
    found = nf.project_classes(counts, priors={0: 0.01, 1: 0.99}, metrics="precision", interval="delta")
    row = found.row(0, named=True)
    assert row["value"] == row["upper"] == 1
    assert row["lower"] < 0.5


@pytest.mark.parametrize("interval", ["delta", "bootstrap"])
def test_units_of_alike_rows_are_drawn_whole(interval):
    """Each unit has ten rows alike: the bounds are those of a log with one row of each unit."""
    rng = np.random.default_rng(2)
    label = rng.integers(0, 3, 300)
    decision = np.array([rng.choice(3, p=RATES[name]) for name in label])
    log = pl.DataFrame({"model": "m", "unit": range(300), "label": label, "decision": decision})
    often = nf.unit_buckets(pl.concat([log] * 10), buckets=200)
    options = {"priors": FIELD, "metrics": ["accuracy", "recall"], "interval": interval}
    units = nf.project_classes(nf.count_classes(often), **options)
    alone = nf.project_classes(nf.count_classes(log.drop("unit")), **options)
    naive = nf.project_classes(nf.count_classes(often, by=[]), **options)
    assert units["value"].to_list() == pytest.approx(alone["value"].to_list())
    width, expected, narrow = (
        (table["upper"] - table["lower"]).to_numpy() for table in (units, alone, naive)
    )
    assert width == pytest.approx(expected, rel=0.25)
    assert (narrow < 0.5 * width).all()


@pytest.mark.parametrize("interval", ["delta", "bootstrap"])
def test_how_many_rows_a_stratum_stands_for_is_chance(interval):
    """All rows decided "a" are in the log, and one in twenty of the others."""
    both = {"label": ["a", "b", "a", "b"], "decision": ["a", "a", "b", "b"]}
    counts = pl.DataFrame(
        {"model": "m", **both, "weight": [1.0, 1.0, 20.0, 20.0], "rows": [100, 450, 5, 970]}
    )
    found = nf.project_classes(counts, priors="observed", metrics="recall", interval=interval)
    low, high = found.filter(pl.col("class") == "b").select("lower", "upper").row(0)
    rows = 450 + 20 * 970
    rate = 450 / rows
    of_traffic = 2 * 1.96 * (rate * (1 - rate) / rows) ** 0.5
    # With numbers that are fixed, it was 0.8 times as wide as from all the traffic.
    assert of_traffic < high - low < 1.3 * of_traffic


@pytest.mark.parametrize("keys", [{}, {"bucket": pl.int_range(pl.len()) % 30}])
def test_a_heavy_row_may_be_missing(keys):
    """All rows decided "c" are in the log, and one in 25 of the others, among which is no "c" by chance."""
    pairs = ["aa", "ab", "bb", "ba", "ac", "bc", "cc"]
    counts = pl.DataFrame(
        {"model": "m", "label": [*"aabbabc"], "decision": [pair[1] for pair in pairs],
         "weight": [25.0] * 4 + [1.0] * 3, "rows": [90, 10, 40, 10, 60, 50, 72]}
    )  # fmt: skip
    log = counts.select(pl.exclude("rows").repeat_by("rows").explode())
    asked = {"priors": "uniform", "metrics": ["recall", "precision"], "interval": "delta"}
    found = nf.project_classes(nf.count_classes(log.with_columns(**keys)), **asked)
    recall = found.filter(pl.col("class") == "c", metric="recall")
    # Three rows of weight 25 would be missing in 5 % of such logs.
    assert recall.item(0, "value") == 1
    assert recall.item(0, "lower") < 72 / (72 + 3 * 25)
    # No row of another class that is decided "c" is heavier than 1.
    lightly = found.filter(pl.col("class") == "c", metric="precision")
    assert lightly.item(0, "lower") > 0.8


def test_how_many_rows_of_a_weight_are_in_a_segment_is_chance():
    """Of 20 segments, each has its share of the rows; a single one varies nearly as rows drawn one by one."""
    both = {"label": ["a", "a"], "decision": ["a", "b"], "weight": [20.0, 1.0], "rows": [500, 600]}
    segment = pl.DataFrame({"model": "m", **both})
    log = pl.concat([segment.with_columns(part=pl.lit(number)) for number in range(20)])
    asked = {"priors": {"a": 1.0, "b": 0.0}, "metrics": "accuracy"}
    for interval in ("delta", "bootstrap"):
        low, high = nf.project_classes(log, **asked, interval=interval).select("lower", "upper").row(0)
        hits, misses = 500 * 20, 600
        alone = 2 * 1.96 * hits * misses / (hits + misses) ** 2 * (1 / 500 + 1 / 600) ** 0.5
        assert high - low > 0.9 * alone


def test_weights_are_strata_and_sums_of_many_have_no_bounds():
    """Of a class that is drawn at two rates, the bounds follow the rows, not the weights."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 400)
    decision = np.where(rng.random(400) < 0.8, label, 1 - label)
    log = pl.DataFrame({"model": "m", "label": label, "decision": decision, "weight": 1.0})
    options = {"priors": {0: 0.3, 1: 0.7}, "metrics": "accuracy"}
    plain = nf.project_classes(nf.count_classes(log.drop("weight")), **options, interval="delta")
    for weight in (pl.lit(50.0), pl.lit(1.0)):
        scaled = nf.project_classes(
            nf.count_classes(log.with_columns(weight=weight)), **options, interval="delta"
        )
        for column in ("value", "lower", "upper"):
            assert scaled[column].item() == pytest.approx(plain[column].item(), abs=1e-12)
    mixed = nf.count_classes(log.with_columns(weight=pl.Series(rng.choice([1.0, 20.0], 400))))
    for interval in ("delta", "bootstrap"):
        wider = nf.project_classes(mixed, **options, interval=interval)
        assert (wider["upper"] - wider["lower"]).item() > 1.15 * (plain["upper"] - plain["lower"]).item()
    many = pl.concat([log] * 3).with_columns(weight=pl.int_range(1200).cast(pl.Float64))
    sums = nf.project_classes(nf.count_classes(many), **options, interval="delta")
    assert sums.select("lower", "upper").row(0) == (None, None)
    assert sums["reason"].item() == "no bounds: rows are sums of more than 1,000 weights"
