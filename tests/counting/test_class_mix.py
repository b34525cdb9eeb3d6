"""One class against the rest at a mix of all classes is what weighted rows give."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import nci_frames as nf
from tests.cases import first_quick
from tests.class_logs import scored_log

NAMES = ["ant", "bee", "cat", "dog"]
MIX = {"ant": 0.05, "bee": 0.6, "cat": 0.3, "dog": 0.05}


def scored():
    log, columns = scored_log(NAMES, rows=400)
    return log.with_columns(model=pl.lit("m")), columns


def counted(log, columns, of, thresholds="exact", keys=()):
    """The counts of one class against all others, by true class."""
    rows = log.with_columns(true_class="label", label=pl.col("label") == of)
    scan = nf.scan_predictions(rows, score=columns[of], segments=["true_class", *keys])
    return nf.count_confusion(scan, thresholds=thresholds)


@pytest.mark.parametrize("of", first_quick(NAMES))
@pytest.mark.parametrize("thresholds", ["exact", [0.0, 0.2, 0.5, 0.9]])
def test_rates_and_precision_are_those_of_weighted_rows(of, thresholds):
    log, columns = scored()
    counts = counted(log, columns, of, thresholds)
    mixed = nf.counts_at_mix(counts, priors=MIX)
    rates = nf.compute_rates(mixed)
    rows = dict(log["label"].value_counts().rows())
    weight = np.array([MIX[name] / rows[name] for name in log["label"]])
    positive, score = (log["label"] == of).to_numpy(), log[columns[of]].to_numpy()
    assert rates["observed_prevalence"].to_list() == pytest.approx([MIX[of]] * len(rates))
    precision = nf.project_rates(rates, metrics="precision", prevalence=MIX[of])["value"]
    for threshold, tpr, fpr, value in zip(*rates.select("threshold", "tpr", "fpr"), precision, strict=True):
        flagged = score >= threshold
        assert tpr == pytest.approx(np.average(flagged[positive], weights=weight[positive]))
        assert fpr == pytest.approx(np.average(flagged[~positive], weights=weight[~positive]))
        if value is not None:
            assert value == pytest.approx(weight[flagged & positive].sum() / weight[flagged].sum())
    if thresholds == "exact":
        areas = nf.compute_areas(mixed, prevalence=MIX[of]).filter(pl.col("value").is_not_null())
        found = dict(areas.select("metric", "value").rows())
        assert found["roc_auc"] == pytest.approx(roc_auc_score(positive, score, sample_weight=weight))
        assert found["pr_auc"] == pytest.approx(
            average_precision_score(positive, score, sample_weight=weight)
        )


def test_the_observed_mix_is_the_log_itself_and_keys_are_kept():
    log, columns = scored()
    counts = nf.counts_at_mix(counted(log, columns, "bee", keys=["country"]), priors="observed")
    binary = log.select("model", "country", label=pl.col("label") == "bee", score=columns["bee"])
    expected = nf.compute_rates(nf.count_confusion(binary, thresholds="exact"))
    found = nf.compute_rates(counts)
    assert found.select("country", "threshold").rows() == expected.select("country", "threshold").rows()
    for rate in ("tpr", "fpr"):
        assert found[rate].to_list() == pytest.approx(expected[rate].to_list())


def test_the_rows_of_classes_of_one_weight_are_one_stratum():
    counts = counted(*scored(), "ant", [0.5])
    even = counts.with_columns(
        tn=pl.when(pl.col("true_class") != "ant").then(60 - pl.col("fp")).otherwise("tn")
    )
    assert nf.counts_at_mix(even, priors="uniform").height == 2


def test_a_larger_share_of_the_class_keeps_its_rates_and_narrows_the_bounds_of_tpr():
    """Rows of other classes might be positive: heavier ones if the class is rare, lighter ones if not."""
    counts = counted(*scored(), "ant", [0.5])
    rare, frequent = (
        nf.compute_rates(
            nf.counts_at_mix(
                counts, priors={"ant": p, **{name: (1 - p) * MIX[name] / 0.95 for name in NAMES[1:]}}
            ),
            interval="wilson",
        )
        for p in (0.001, 0.5)
    )
    alone = nf.compute_rates(counts.filter(true_class="ant"), interval="wilson")
    bounds = ["tpr_lower", "tpr_upper"]
    assert rare.select("tpr", "fpr").row(0) == pytest.approx(frequent.select("tpr", "fpr").row(0))
    assert frequent.select(bounds).row(0) == pytest.approx(alone.select(bounds).row(0), abs=0.005)
    lower, upper = rare.select(bounds).row(0)
    assert upper - lower > 2 * (frequent["tpr_upper"] - frequent["tpr_lower"]).item()
