"""ROC and precision-recall curves: what a specification says, and the numbers in it."""

import polars as pl
import pytest
from sklearn.metrics import average_precision_score

import nci_frames as nf
from tests.chart_specs import layer, rows_of


def log(models=("a", "b"), rows=60, seed=3):
    labels = [i % 3 == 0 for i in range(rows)]
    return pl.concat(
        pl.DataFrame({"model": name, "label": labels}).with_columns(
            score=pl.Series([(i * 37 + k * 11 + seed) % 29 / 29 + 0.3 * y for i, y in enumerate(labels)])
        )
        for k, name in enumerate(models)
    )


def rates_of(models=("a", "b")):
    return nf.compute_rates(nf.count_confusion(log(models), thresholds="exact"))


def pr_of(models=("a", "b"), prevalence=(0.01, 1 / 3)):
    return nf.project_rates(rates_of(models), metrics=["precision", "recall"], prevalence=list(prevalence))


def test_roc_runs_from_the_origin_to_the_corner_without_turning_back():
    rows = pl.DataFrame(rows_of(nf.chart_roc(rates_of()).to_dict()))
    for (_,), curve in rows.group_by("model"):
        assert curve.select("fpr", "tpr").row(0) == (0, 0)
        assert curve.select("fpr", "tpr").row(-1) == (1, 1)
        assert curve["fpr"].is_sorted()
        assert curve["tpr"].is_sorted()
    assert rows["threshold"].drop_nulls().len() >= rates_of().height - 2  # an infinite one is null in JSON


def test_a_logarithmic_roc_leaves_fpr_0_out_and_labels_powers():
    spec = nf.chart_roc(rates_of(), log_x=True).to_dict()
    x = layer(spec, "lines")["encoding"]["x"]
    least = rates_of().filter(pl.col("fpr") > 0)["fpr"].min()
    assert x["scale"] == {"type": "log", "domain": [least, 1.0], "nice": False}
    assert min(row["fpr"] for row in rows_of(spec)) == least
    chance = rows_of(spec, "chance")
    assert len(chance) > 2
    assert all(row["fpr"] == row["tpr"] for row in chance)


def test_the_area_below_the_pr_steps_is_the_average_precision():
    rows = pl.DataFrame(rows_of(nf.chart_pr(pr_of(["a"], [1 / 3])).to_dict()))
    width = rows["recall"].diff().fill_null(0)
    truth = log(["a"])
    assert (width * rows["precision"]).sum() == pytest.approx(
        average_precision_score(truth["label"], truth["score"]), abs=1e-12
    )


def test_one_prevalence_needs_no_strokes():
    spec = nf.chart_pr(pr_of(prevalence=[0.1])).to_dict()
    assert "strokeDash" not in layer(spec, "lines")["encoding"]
    assert spec["title"]["text"] == "Precision-recall curves at prevalence η = 0.1"
