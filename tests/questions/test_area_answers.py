"""What an answer by an area says of its bounds, and of the order of models."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.answer_lines import measure_words, order_line
from nci_frames.questions.order import order_lines
from nci_frames.questions.where_it_changes import orders
from tests.cases import first_quick


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["pr_auc", "roc_auc"])
def test_bounds_of_an_area_are_those_of_the_log_however_strong_the_model(metric: str) -> None:
    """Few steps of recall stand for many rows. Their area was smaller, by up to hundreds of errors."""
    label = np.arange(30_000) % 10 == 0
    score = np.random.default_rng(4).normal(4.0 * label)
    log = pl.DataFrame({"model": "a", "label": label, "score": score})
    counts = nf.count_confusion(log, thresholds="exact")
    question = nf.Question(metric=metric, prevalence=0.3)
    told = nf.compare_models(counts, prevalence=[0.3], question=question, repeats=400).answer
    found = nf.bootstrap(counts, metric=metric, prevalence=0.3, repeats=400)
    lower, value, upper = told.select("lower", "value", "upper").row(0)
    assert lower < value < upper
    assert found.select("lower", "upper").row(0) == pytest.approx((lower, upper), abs=(upper - lower) / 5)


@pytest.mark.thorough
@pytest.mark.parametrize("unit", first_quick([None, "unit"]))
@pytest.mark.parametrize("thresholds", ["exact", np.linspace(-2, 4, 25).tolist()], ids=["exact", "grid"])
def test_bounds_of_an_area_are_those_of_bootstrap(thresholds: Any, unit: str | None) -> None:
    """Also those of tied scores, and of scores between thresholds."""
    label = np.arange(1_200) % 8 == 0
    score = np.random.default_rng(2).normal(1.5 * label).round(1)
    log = pl.DataFrame({"model": "a", "label": label, "score": score, "unit": np.arange(1_200) // 3})
    scan = nf.scan_predictions(log, unit=unit)
    counts = nf.count_confusion(scan if unit is None else nf.unit_buckets(scan), thresholds=thresholds)
    units = None if unit is None else "bucket"
    for metric in ("pr_auc", "roc_auc"):
        question = nf.Question(metric=metric, prevalence=0.1)
        told = nf.compare_models(counts, prevalence=[0.1], question=question).answer
        found = nf.bootstrap(counts, metric=metric, prevalence=0.1, repeats=400, units=units)
        expected = found.select("lower", "upper").row(0)
        assert told.select("lower", "upper").row(0) == pytest.approx(expected, abs=2e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["pr_auc", "roc_auc"])
def test_models_are_told_apart_only_by_more_than_a_grid_leaves_unknown(metric: str) -> None:
    """Of many rows, a test finds differences that are smaller than the distances between thresholds."""
    label, rng = np.arange(20_000) % 2 == 0, np.random.default_rng(6)
    logs = [
        pl.DataFrame({"model": name, "label": label, "score": rng.normal(distance * label)})
        for name, distance in (("a", 1.0), ("b", 1.07), ("far", 0.4))
    ]
    question = nf.Question(metric=metric, prevalence=0.5)
    told = {}
    for way, thresholds in (("exact", "exact"), ("grid", np.linspace(-4, 5, 31).tolist())):
        counts = nf.count_confusion(pl.concat(logs), thresholds=thresholds)
        comparison = nf.compare_models(counts, prevalence=[0.2, 0.5], question=question, repeats=20)
        told[way] = dict(comparison.answer.select("model", "distinguishable").iter_rows())
        for line in (order_line(comparison.said), *order_lines("PR-AUC", orders(comparison)["pr_auc"])):
            assert ("known to within" in line) == (way == "grid")
            assert "exact for this log" not in line or way == "exact"
    assert told["exact"] == {"b": False, "a": True, "far": True}
    assert told["grid"] == {"b": False, "a": False, "far": True}


def test_an_area_has_no_threshold_of_its_own() -> None:
    assert measure_words(nf.Question(metric="pr_auc")) == "PR-AUC"
    assert measure_words(nf.Question(metric="mcc")).endswith(", each model at its own best threshold")
