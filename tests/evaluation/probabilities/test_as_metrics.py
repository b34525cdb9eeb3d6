"""Brier score and log loss wherever an area is: reports, gates, tests and resampling, end to end."""

import json

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from tests.cases import first_quick
from tests.evaluation.probabilities import logs
from tests.small_jobs import SMALL, ended, latest, small_job

METRICS = ["brier", "log_loss"]
GRID = nf.uniform_thresholds(101)
FEW = {"prevalence": 0.01, "repeats": 100}


def value(counts, metric, prevalence=0.01):
    return dict(
        nf.proper_scores(counts, prevalence=prevalence, metrics=metric).select("model", "value").rows()
    )


@pytest.fixture(scope="module")
def log():
    return logs.probability_log(1200)


@pytest.mark.long
@pytest.mark.parametrize("metric", METRICS)
def test_a_report_of_a_log_answers_by_it(log, metric, tmp_path):
    log.write_parquet(tmp_path / "log.parquet")
    options = ("--metric", metric, "--at", "0.01", "--out", tmp_path / "out", "--format", "json")
    ended(0, "report", tmp_path / "log.parquet", *options)
    answer = json.loads((tmp_path / "out" / "report.json").read_text())["answer"]
    # A report may take other thresholds than a test.
    exact = value(nf.count_confusion(log, thresholds="exact"), metric)
    assert [row["model"] for row in answer] == ["a", "b"]
    for row in answer:
        assert row["metric"] == metric
        assert row["value"] == pytest.approx(exact[row["model"]], rel=1e-2)
        assert row["lower"] < row["value"] < row["upper"]
    assert [row["rank"] for row in answer] == [1, 2]


@pytest.mark.long
def test_gates_judge_it(log, tmp_path):
    path = tmp_path / "logs" / "2026-03-01" / "a.parquet"
    path.parent.mkdir(parents=True)
    log.write_parquet(path)
    brier = value(nf.count_confusion(log, thresholds="exact"), "brier")
    gates = "".join(
        f'\n[[gates]]\nname = "{name}"\nmetric = "{metric}"\nprevalence = 0.01\n{promise}\n'
        for name, metric, promise in (
            ("kept", "brier", f"value_threshold = {{upper = {brier['b'] * 1.3}}}"),
            ("broken", "brier", f"value_threshold = {{upper = {brier['a'] * 0.7}}}"),
            ("log loss", "log_loss", "value_threshold = {upper = 5.0}"),
        )
    )
    champion = '\n[[gates]]\nname = "best"\nmetric = "brier"\nchampion = {model = "a", prevalence = [0.01]}\n'
    text = SMALL.replace("{date:%Y-%m-%d}", "2026-03-01")
    ended(10, "run", small_job(tmp_path, gates + champion, text))
    verdicts = pl.read_parquet(latest(tmp_path) / "verdicts.parquet")
    found = {
        (gate, model): verdict for gate, model, verdict in verdicts.select("gate", "model", "verdict").rows()
    }
    assert (
        {found["kept", model] for model in "ab"} == {found["log loss", model] for model in "ab"} == {"pass"}
    )
    assert {found["broken", model] for model in "ab"} == {"fail"}
    assert found["best", "a"] == "pass"


@pytest.mark.parametrize("metric", METRICS)
def test_the_best_model_is_tested_by_it(log, metric):
    counts = nf.count_confusion(log, thresholds=GRID)
    best, other = nf.compare_best(counts, metric=metric, **FEW).iter_rows(named=True)
    exact = value(counts, metric)
    assert (best["model"], other["distinguishable"]) == ("a", True)
    assert other["difference"] == pytest.approx(exact["b"] - exact["a"], rel=1e-9)
    assert other["lower"] < other["difference"] < other["upper"]
    wins = nf.probability_best(counts, metric=metric, **FEW)
    assert dict(wins.select("model", "probability").rows()) == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize("kind", first_quick(["rows", "strata", "units"]))
def test_resampled_values_vary_as_those_of_resampled_rows(kind):
    """The standard deviation is that of a mean over positives and one over negatives."""
    log = logs.probability_log(2000, models=["a"])
    log = log.with_columns(weight=pl.when("label").then(1.0).otherwise(4.0)) if kind == "strata" else log
    log = log.with_columns(bucket=pl.int_range(pl.len()) % 200) if kind == "units" else log
    counts = nf.count_confusion(log, thresholds=GRID)
    units = "bucket" if kind == "units" else None
    found = nf.bootstrap(counts, metric="brier", prevalence=0.3, repeats=400, units=units)
    loss = (log["label"] - log["score"]).to_numpy() ** 2
    label = log["label"].to_numpy()
    variance = 0.09 * loss[label].var() / label.sum() + 0.49 * loss[~label].var() / (~label).sum()
    assert found["std"].item() == pytest.approx(np.sqrt(variance), rel=0.2)
    assert found["lower"].item() < found["value"].item() < found["upper"].item()


def test_what_belongs_to_an_operating_point_refuses_it(log):
    folds = nf.count_confusion(log.with_columns(fold=pl.int_range(pl.len()) % 4), thresholds=GRID)
    why = "'brier' is one of all scores: it has no value at an operating point"
    with pytest.raises(nf.ParameterError, match=why) as error:
        nf.compare_folds(nf.compute_rates(folds), metric="brier")
    assert "proper_scores(counts, prevalence=...) computes it" in str(error.value)
    with pytest.raises(nf.ParameterError, match=why):
        nf.rank_segments(folds, metric="brier", segments="fold", threshold=0.5)
    # Over folds it has a mean.
    areas = nf.compute_areas(folds, prevalence=0.1, metrics="brier")
    mean = nf.average_over(areas, over="fold")
    assert mean["repeats"].to_list() == [4, 4]
    assert mean["value"][0] == pytest.approx(areas.filter(model="a")["value"].mean(), rel=1e-12)
