"""Crossovers of F-beta: the curves meet there, and the intervals hold the truth."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.resampling.replicates import resample
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from tests.cases import first_quick
from tests.logs import counts_at, crossing_log


def points(tp: list[int], fp: list[int], models: str = "ab") -> pl.DataFrame:
    return counts_at(tp, fp, 100, 1000, model=list(models))


@pytest.mark.parametrize("threshold", [None, "own"])
def test_crossovers_of_single_points_are_those_in_closed_form(threshold):
    counts = points([60, 80], [10, 50])
    drawn = resample(counts, Asked(["fpr", "recall"]), Resampling())
    (fpr_a, tpr_a), (fpr_b, tpr_b) = (one.values.T for one in drawn)
    lambdas = (tpr_b - tpr_a) / (tpr_a * fpr_b - tpr_b * fpr_a)
    lambdas = lambdas[lambdas > 0]
    for options, crossed in (
        ({"over": "prevalence", "beta": 2.0}, 1 / (1 + 4 * lambdas)),
        ({"over": "beta", "prevalence": 0.1}, np.sqrt(9 / lambdas)),
    ):
        found = nf.crossover_intervals(counts, threshold=threshold, **options).row(0, named=True)
        assert [found["lower"], found["upper"]] == pytest.approx(np.quantile(crossed, [0.025, 0.975]))
        assert found["repeats"] == len(crossed)


@pytest.mark.long
def test_crossovers_of_pr_auc_are_those_of_resampled_rows():
    """Rows drawn one by one, and every crossover of 100 such logs found exactly."""
    rng = np.random.default_rng(0)
    log = crossing_log(rng, 2000)
    grid = np.linspace(-1, 6, 25).tolist()
    counts = nf.count_confusion(log, thresholds=grid)
    found = nf.crossover_intervals(counts, metric="pr_auc", repeats=400).row(0, named=True)
    exact = nf.find_crossovers(counts, metric="pr_auc", over="prevalence").row(0, named=True)
    assert (found["prevalence"], found["beta"]) == (exact["prevalence"], None)
    parts = [part for _, part in log.group_by("model", "label", maintain_order=True)]
    drawn = pl.concat(
        part[rng.integers(0, len(part), len(part))].with_columns(log=pl.lit(place))
        for place in range(100)
        for part in parts
    )
    logs = nf.count_confusion(drawn, thresholds=grid)
    crossings = nf.find_crossovers(logs, metric="pr_auc", over="prevalence").filter(model_a="a")
    assert crossings["log"].n_unique() / 100 == pytest.approx(found["probability"], abs=0.1)
    logit = np.log(crossings["prevalence"] / (1 - crossings["prevalence"])).to_numpy()
    low, high = np.quantile(logit, [0.025, 0.975])
    bounds = [np.log(found[name] / (1 - found[name])) for name in ("lower", "upper")]
    assert bounds == pytest.approx([low, high], abs=0.5 * (high - low) / 2)


@pytest.mark.thorough
def test_areas_of_models_on_the_same_units():
    rng = np.random.default_rng(1)
    log = crossing_log(rng, 3000).with_columns(
        unit=pl.int_range(pl.len()).over("model"), day=pl.lit("monday")
    )
    both = pl.concat([log, log.with_columns(day=pl.lit("sunday"))])
    counts = nf.count_confusion(nf.unit_buckets(both, buckets=40), thresholds=np.linspace(-3, 7, 60).tolist())
    for options in ({"metric": "pr_auc"}, {"threshold": "own"}):
        found = nf.crossover_intervals(counts, units="bucket", repeats=200, **options)
        assert found["day"].to_list() == ["monday", "sunday"]
        assert found["prevalence"].n_unique() == 1
        # The same rows, drawn anew.
        assert found["lower"][0] == pytest.approx(found["lower"][1], rel=0.5)
        assert found["upper"][0] == pytest.approx(found["upper"][1], rel=0.1)
        assert found.select(pl.col("prevalence").is_between("lower", "upper").all()).item()
        assert (found["probability"] > 0.5).all()


@pytest.mark.thorough
def test_never_crossing_and_doubtful_crossings():
    assert nf.crossover_intervals(points([60, 60], [10, 10])).is_empty()
    assert nf.crossover_intervals(points([60, 70], [10, 5])).is_empty()
    doubtful = nf.crossover_intervals(points([60, 61], [10, 11])).row(0, named=True)
    sure = nf.crossover_intervals(points([60, 90], [1, 100])).row(0, named=True)
    assert doubtful["probability"] < 0.5
    assert sure["probability"] > 0.99
    assert doubtful["repeats"] == 1000 * doubtful["probability"]
    for seed in (0, 1):  # of two logs none has the crossover, or one
        rare = nf.crossover_intervals(points([60, 61], [10, 11]), repeats=2, seed=seed).row(0, named=True)
        assert (rare["repeats"], rare["lower"], rare["upper"]) == (seed, None, None)
        assert rare["reason"] == "fewer than 2 resampled logs have it"
    rates = nf.compute_rates(points([60, 90], [1, 100]))
    assert nf.crossover_intervals(rates.lazy()).row(0, named=True) == sure
    three = nf.crossover_intervals(points([50, 60, 80], [5, 10, 50], "xyz"))
    assert three.select("model_a", "model_b").rows() == [("x", "y"), ("x", "z"), ("y", "z")]


def units_of(holders: int) -> pl.DataFrame:
    """Counts of 40 buckets at one threshold; the positives are those of the first few."""
    rng, size = np.random.default_rng(1), 60 // holders * (np.arange(40) < holders)
    tp = rng.binomial(size, [[0.6], [0.8]], (2, 40)).ravel()
    fp = rng.binomial(50, [[0.02], [0.1]], (2, 40)).ravel()
    models = ["a"] * 40 + ["b"] * 40
    return counts_at(tp, fp, np.tile(size, 2), 50, model=models, bucket=np.tile(np.arange(40), 2))


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"threshold": "own"}, {"metric": "pr_auc"}])
def test_a_class_in_few_buckets_shows_too_little_of_how_it_varies(options):
    """In one bucket it is the same in every resampled log: in simulated logs the bounds held it in 27 %."""
    for buckets in (1, 4):
        few = nf.crossover_intervals(units_of(buckets), units="bucket", repeats=50, **options)
        assert len(few) >= 1
        assert few.select("lower", "upper", "probability").null_count().row(0) == (len(few),) * 3
        assert set(few["reason"]) == {"fewer than 5 rows of a class, or buckets of equal size that have it"}
        assert few["repeats"].min() > 1
    several = nf.crossover_intervals(units_of(6), units="bucket", repeats=50, **options)
    told = several.filter(pl.col("repeats") > 1)
    assert len(told) >= 1
    assert told.select("lower", "upper", "probability", "reason").null_count().row(0) == (0, 0, 0, len(told))


@pytest.mark.parametrize("rows", [1, 4, 5])
def test_few_rows_of_a_class_show_too_little_either(rows):
    few = points([60, 90], [0, 1]).with_columns(tn=pl.Series([rows, rows - 1]))
    (row,) = nf.crossover_intervals(few, repeats=50).rows(named=True)
    if rows < 5:
        assert (row["lower"], row["upper"], row["probability"]) == (None, None, None)
        assert row["reason"] == "fewer than 5 rows of a class, or buckets of equal size that have it"
    else:
        assert row["lower"] < row["prevalence"] < row["upper"]
        assert row["reason"] is None


@pytest.mark.parametrize("beta", first_quick([5e-324, 1.7e308, 1e-300, 1e-150, 1e150], 2))
def test_every_beta_above_0_has_intervals(beta):
    counts = points([60, 80], [10, 50])
    found = nf.crossover_intervals(counts, beta=beta, repeats=20)
    crossings = nf.find_crossovers(nf.compute_rates(counts), metric="f_beta", over="prevalence", beta=beta)
    same = ("model_a", "model_b", "prevalence")
    assert found.select(same).equals(crossings.select(same))


def test_a_crossover_beyond_the_compared_prevalences_has_no_probability():
    found = nf.crossover_intervals(points([60, 80], [10, 50]), beta=1e8, repeats=20).row(0, named=True)
    assert found["prevalence"] < 1e-16
    assert (found["probability"], found["lower"], found["repeats"]) == (None, None, 0)
    assert found["reason"].startswith("resampled logs are compared at prevalences from 1e-7")
