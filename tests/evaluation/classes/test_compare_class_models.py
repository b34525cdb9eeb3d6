"""Two models on the same units: what they decide alike cancels, and equal models are seldom told apart."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

import nci_frames as nf


def log_of(rng, units=400, right=(0.8, 0.8), alike=0.7):
    """Labels of three classes, and decisions of two models that err together on some units."""
    label = rng.integers(0, 3, units)
    luck = rng.random(units)
    columns = {}
    for name, share in zip("ab", right, strict=True):
        own = np.where(rng.random(units) < alike, luck, rng.random(units))
        columns[name] = np.where(own < share, label, (label + 1) % 3)
    return pl.DataFrame({"unit": range(units), "label": label, **columns})


def counts_of(log, buckets=400):
    scan = nf.scan_classes(log, decision={"a": "a", "b": "b"}, unit="unit")
    return nf.count_classes(nf.unit_buckets(scan, buckets=buckets))


def test_accuracy_at_the_observed_mix_is_a_paired_t_test_of_buckets():
    log = log_of(np.random.default_rng(0), right=(0.85, 0.8))
    counts = counts_of(log, 40)
    found = nf.compare_class_models(counts, metric="accuracy", priors="observed").row(0, named=True)
    right = (
        counts.filter(pl.col("label") == pl.col("decision"))
        .group_by("model", "bucket")
        .agg(pl.col("rows").sum())
    )
    a, b = (right.filter(model=name).sort("bucket")["rows"].to_numpy() for name in "ab")
    expected = ttest_1samp((a - b) / len(log) * len(a), 0)
    bounds = expected.confidence_interval(0.95)
    assert found["difference"] == pytest.approx((a - b).sum() / len(log))
    # The shares of the classes are held fixed, so that buckets with more rows of one count no more.
    assert found["p_value"] == pytest.approx(expected.pvalue, abs=0.03)
    assert (found["lower"], found["upper"]) == pytest.approx(tuple(bounds), abs=0.004)


def test_rows_without_a_unit_are_no_unit_of_their_own():
    log = log_of(np.random.default_rng(0)).with_columns(unit=pl.when(pl.col("unit") > 5).then("unit"))
    counts = counts_of(log, 40)
    assert nf.project_classes(counts, priors="observed", metrics="accuracy").height == 2
    for compared in (
        lambda: nf.compare_class_models(counts, metric="accuracy", priors="observed"),
        lambda: nf.project_classes(counts, priors="observed", metrics="accuracy", interval="delta"),
    ):
        with pytest.raises(nf.InvalidRowsError, match="rows without a bucket"):
            compared()


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["accuracy", "macro_f_beta"])
def test_equal_models_are_told_apart_as_often_as_the_level_says(metric):
    rng = np.random.default_rng(1)
    mix = {0: 0.1, 1: 0.2, 2: 0.7}
    logs = (counts_of(log_of(rng, 300), 60) for _ in range(40))
    found = pl.concat(nf.compare_class_models(counts, metric=metric, priors=mix) for counts in logs)
    assert 0 < found["distinguishable"].mean() < 0.15
    better = counts_of(log_of(rng, 600, (0.9, 0.8)), 60)
    found = nf.compare_class_models(better, metric=metric, priors=mix).row(0, named=True)
    assert found["distinguishable"]
    assert found["lower"] > 0


def test_identical_models_do_not_differ_and_scenarios_are_apart():
    log = log_of(np.random.default_rng(2)).with_columns(b="a")
    mixes = {"x": {0: 0.5, 1: 0.25, 2: 0.25}, "y": {0: 0.0, 1: 0.5, 2: 0.5}}
    found = nf.compare_class_models(counts_of(log, 30), metric="mcc", priors=mixes)
    assert found.select("scenario", "difference", "p_value", "distinguishable").rows() == [
        ("x", 0.0, 1.0, False),
        ("y", 0.0, 1.0, False),
    ]


def test_a_class_of_few_rows_is_told():
    counts = counts_of(log_of(np.random.default_rng(3)), 30)
    few = counts.filter((pl.col("label") < 2) | (pl.col("bucket") < 5))
    told = nf.compare_class_models(few, metric="accuracy", priors="uniform").row(0, named=True)
    assert (told["supported"], told["lower"], told["distinguishable"]) == (False, None, None)
    assert told["reason"] == "fewer than 10 independent rows of 2"


def equal_models(models, logs, rows, laws, seed):
    """Counts of many logs with so many rows of each class, decided by the same laws in each model."""
    rng, tables = np.random.default_rng(seed), []
    label = np.repeat(np.arange(len(rows)), rows)
    one = pl.DataFrame({"label": label, "bucket": np.arange(len(label)), "rows": np.ones_like(label)})
    for log, model in itertools.product(range(logs), models):
        decision = (rng.random((len(label), 1)) > np.cumsum(laws, axis=1)[label, :-1]).sum(axis=1)
        tables.append(one.with_columns(log=pl.lit(log), model=pl.lit(model), decision=decision))
    return pl.concat(tables)


@pytest.mark.thorough
def test_many_pairs_of_equal_models_are_seldom_told_apart():
    laws = [[0.9, 0.1, 0], [0, 0.8, 0.2], [0.4, 0, 0.6]]
    counts = equal_models("abcdef", 60, [200, 100, 100], laws, seed=5)
    found = nf.compare_class_models(counts, metric="balanced_accuracy", priors="observed")
    told = found.group_by("log").agg(pl.col("distinguishable").any())["distinguishable"]
    assert told.mean() < 0.1


@pytest.mark.thorough
def test_a_false_decision_for_a_rare_class_tells_no_equal_models_apart():
    """If one model alone has it, that model alone had a variance; and ten rows are no normal sample."""
    laws = np.array([[97, 1, 1, 1], [2, 95, 2, 1], [1, 5, 90, 4], [0.2, 0.3, 0.5, 99]]) / 100
    counts = equal_models("ab", 150, [10, 12, 20, 200], laws, seed=3)
    mix = dict(enumerate([0.002, 0.01, 0.05, 0.938]))
    found = nf.compare_class_models(counts, metric="macro_precision", priors=mix)
    assert found["supported"].all()
    assert (found["p_value"] < 0.05).mean() < 0.075  # it was 0.11
    assert ((found["lower"] <= 0) & (found["upper"] >= 0)).mean() > 0.925
