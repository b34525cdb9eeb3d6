"""ROC and precision-recall curves: what a specification says, and the numbers in it."""

import polars as pl
import pytest
from sklearn.metrics import average_precision_score

import nci_frames as nf
from nci_frames.base.errors import ParameterError, SchemaError
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


def test_folds_are_not_drawn_over_one_another():
    twice = pl.concat([rates_of().with_columns(fold=pl.lit(f)) for f in "ab"])
    with pytest.raises(ParameterError, match=r"several rows for one model and threshold\n.*'fold'"):
        nf.chart_roc(twice)


def test_nothing_to_draw_is_refused():
    log = pl.DataFrame({"model": "a", "label": [0, 0], "score": [0.1, 0.4]})
    undefined = nf.compute_rates(nf.count_confusion(log, thresholds=[0.2]))
    with pytest.raises(ParameterError, match="no point to draw"):
        nf.chart_roc(undefined)
    with pytest.raises(ParameterError, match="no point to draw"):
        nf.chart_pr(pr_of().with_columns(value=pl.lit(None, pl.Float64)))


def test_what_cannot_be_told_apart_is_refused():
    with pytest.raises(ParameterError, match=r"at most 5 prevalences.*\n.*0\.01, 0\.02"):
        nf.chart_pr(pr_of(prevalence=[0.01, 0.02, 0.03, 0.04, 0.05, 0.06]))
    with pytest.raises(ParameterError, match=r"at most 8 models\n.*2 prevalences and 9 models"):
        nf.chart_pr(pr_of([f"m{i}" for i in range(9)]))


def test_frames_of_another_kind_are_refused():
    with pytest.raises(SchemaError, match="not a rates frame"):
        nf.chart_roc(pr_of())
    with pytest.raises(ParameterError, match="no rows of metric 'recall'"):
        nf.chart_pr(pr_of().filter(pl.col("metric") == "precision"))
