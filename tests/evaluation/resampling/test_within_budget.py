"""Models at the threshold that keeps a budget: the values, and how often equal models seem to differ."""

from typing import Any

import polars as pl
import pytest

import nci_frames as nf
from tests.cases import first_quick
from tests.logs import random_log, unit_log

BUDGET = 0.01


def logs(number: int, positives: int, negatives: int, shifts: tuple[float, ...]) -> pl.DataFrame:
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
@pytest.mark.parametrize("thresholds", ["exact", [0.0, 0.5, 1.0, 1.5, 2.0]])
def test_the_values_are_those_of_selected_points(metric, thresholds):
    counts = nf.count_confusion(random_log(3000, values=400).drop("fold", "country"), thresholds=thresholds)
    etas = [0.001, 0.02, 0.3]
    found = nf.compare_best(counts, metric=metric, prevalence=etas, pos_fraction=0.05, repeats=100)
    points = nf.select_operating_points(nf.compute_rates(counts), pos_fraction=0.05, prevalence=etas)
    expected = nf.project_rates(points, metrics=metric, prevalence="selected")
    at = points.select("model", "prevalence", "tpr")
    both = expected.drop("prevalence") if expected["prevalence"].null_count() else expected
    if "prevalence" not in both.columns:
        values = at.rename({"tpr": "value"})
    else:
        values = both.select("model", "prevalence", "value")
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
    counts = logs(60, 300, 2000, (2.0, 2.0))
    asked: dict[str, Any] = {"metric": "recall", "prevalence": 1e-3, "repeats": 100}
    points = nf.select_operating_points(nf.compute_rates(counts), pos_fraction=BUDGET, prevalence=1e-3).drop(
        "prevalence", "reason"
    )
    assert significant(nf.compare_best(points, **asked)) > 0.15
    # The standard error of a share of 0.05 of 60 logs is 0.028.
    assert significant(nf.compare_best(counts, pos_fraction=BUDGET, **asked)) <= 0.05 + 3 * 0.028
    better = logs(15, 300, 2000, (2.0, 2.8))
    assert significant(nf.compare_best(better, pos_fraction=BUDGET, **asked)) > 0.8


def test_a_budget_below_the_resolution_tells_nothing():
    found = nf.compare_best(
        logs(1, 200, 2000, (2.0, 2.0)), metric="recall", prevalence=1e-4, pos_fraction=5e-5, repeats=200
    )
    assert found["distinguishable"].to_list() == [None, None]
    assert found["reason"].str.contains("undefined or infinite in many resampled logs").all()


@pytest.mark.thorough
def test_the_answer_compares_models_at_the_budget():
    counts = logs(1, 300, 3000, (2.0, 2.5, 2.1)).drop("log")
    question = nf.Question(prevalence=1e-3, alerts=10, volume=1000)
    compared = nf.compare_models(counts, prevalence=[1e-3, 0.1], question=question, repeats=200)
    alone = nf.compare_best(counts, metric="recall", prevalence=1e-3, pos_fraction=0.01, repeats=200)
    told = dict(alone.select("model", "distinguishable").rows())
    assert dict(compared.answer.select("model", "distinguishable").rows()) == told
