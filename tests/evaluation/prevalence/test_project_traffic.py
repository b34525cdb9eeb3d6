"""Metrics at an estimated prevalence: by hand, and how often their bounds hold."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import nci_frames as nf
from tests.logs import counts_at
from tests.traffic import EDGES, simulated

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
        down = math.hypot(value - f1(point["tpr_lower"], fpr, eta), value - f1(tpr, point["fpr_upper"], eta))
        up = math.hypot(value - f1(point["tpr_upper"], fpr, eta), value - f1(tpr, point["fpr_lower"], eta))
        assert row["lower"] == pytest.approx(value - down - (value - f1(tpr, fpr, estimate["lower"])))
        assert row["upper"] == pytest.approx(value + up + f1(tpr, fpr, estimate["upper"]) - value)


def test_all_models_get_one_estimate_the_median():
    reference, traffic = simulated(0.1, rows=5000, repeats=2)
    twin = reference.with_columns(pl.lit("b").alias("model"))
    rates = nf.compute_rates(
        nf.pool_counts(pl.concat([reference, twin]), over="segment").filter(pl.col("threshold") == AT),
        interval="wilson",
    )
    found = nf.estimate_prevalence(reference, traffic)
    low, high = (
        found.with_columns(model=pl.lit(name), prevalence=pl.lit(eta), lower=pl.lit(0.0), upper=pl.lit(upper))
        for name, eta, upper in (("b", 0.0, 0.01), ("c", 0.5, 0.9))
    )
    table = nf.project_traffic(rates, pl.concat([high, found, low]), metrics="precision")
    # Keys of the traffic that the rates lack are added.
    assert table.select("model", "segment").rows() == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert table["prevalence"].to_list() == 2 * found["prevalence"].to_list()
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
    assert not len(nf.project_traffic(rates.clear(), found, metrics="precision"))


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


@pytest.mark.thorough
@pytest.mark.parametrize("eta", [0.001, 0.01, 0.5])
def test_bounds_hold(eta):
    reference, traffic = simulated(eta, rows=20_000, repeats=200, seed=2)
    found = nf.estimate_prevalence(reference, traffic)
    rates = nf.compute_rates(reference.filter(pl.col("threshold") == AT), interval="wilson")
    table = nf.project_traffic(rates, found, metrics=["precision", "f_beta"]).filter(
        pl.col("value").is_not_null()
    )
    tpr, fpr = norm.sf(AT - 2), norm.sf(AT)
    for metric, truth in (
        ("precision", eta * tpr / (eta * tpr + (1 - eta) * fpr)),
        ("f_beta", f1(tpr, fpr, eta)),
    ):
        mine = table.filter(metric=metric)
        held = mine.select(pl.lit(float(truth)).is_between("lower", "upper").mean()).item()
        assert held >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


@pytest.mark.long
def test_the_interval_of_many_models_holds():
    """The narrowest of thirty intervals holds the truth in three quarters of the logs."""
    eta, models, logs = 0.02, 30, 15
    rates = nf.compute_rates(counts_at(800, 100, 1000, 1000, threshold=0.0), interval="wilson")
    # The share of positives among all rows, at TPR and FPR that are known exactly, tells the prevalence.
    exact = rates.with_columns(tpr_lower="tpr", tpr_upper="tpr", fpr_lower="fpr", fpr_upper="fpr")
    held = {"narrowest": 0, "pooled": 0}
    for log in range(logs):
        # Independent models, each with its own sample of the same traffic: the worst case of a choice.
        reference, traffic = simulated(eta, rows=2000, repeats=models, seed=log)
        found = nf.estimate_prevalence(reference, traffic).drop("segment")
        found = found.with_columns(model=pl.format("m{}", pl.int_range(models).cast(pl.String)))
        known = found.drop_nulls("prevalence").sort(pl.col("upper") - pl.col("lower"))
        said = nf.project_traffic(exact, found, metrics="pos_fraction").row(0, named=True)
        lower, upper = ((said[side] - 0.1) / 0.7 for side in ("lower", "upper"))
        held["pooled"] += lower <= eta <= upper
        held["narrowest"] += known["lower"][0] <= eta <= known["upper"][0]
    assert held["narrowest"] < 0.9 * logs
    assert held["pooled"] >= 0.95 * logs
