"""One class against the rest at a mix of all classes is what weighted rows give."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import nci_frames as nf
from tests.class_logs import scored_log

NAMES = ["ant", "bee", "cat", "dog"]
MIX = {"ant": 0.05, "bee": 0.6, "cat": 0.3, "dog": 0.05}


def scanned(**options):
    log, columns = scored_log(NAMES, rows=400)
    log = log.with_columns(model=pl.lit("m"))
    return log, columns, nf.scan_classes(log, scores=columns, **options)


@pytest.mark.parametrize("of", NAMES)
@pytest.mark.parametrize("thresholds", ["exact", [0.0, 0.2, 0.5, 0.9]])
def test_rates_and_precision_are_those_of_weighted_rows(of, thresholds):
    log, columns, scan = scanned()
    counts = nf.count_class_scores(scan, of=of, thresholds=thresholds)
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
    log, columns, scan = scanned(segments="country", unit="unit")
    counts = nf.counts_at_mix(nf.count_class_scores(scan, of="bee"), priors="observed")
    binary = log.select("model", "country", label=pl.col("label") == "bee", score=columns["bee"])
    expected = nf.compute_rates(nf.count_confusion(binary, thresholds="exact"))
    found = nf.compute_rates(counts)
    assert found.select("country", "threshold").rows() == expected.select("country", "threshold").rows()
    for rate in ("tpr", "fpr"):
        assert found[rate].to_list() == pytest.approx(expected[rate].to_list())


def test_the_rows_of_classes_of_one_weight_are_one_stratum():
    _, _, scan = scanned()
    counts = nf.count_class_scores(scan, of="ant", thresholds=[0.5])
    even = counts.with_columns(
        tn=pl.when(pl.col("true_class") != "ant").then(60 - pl.col("fp")).otherwise("tn")
    )
    assert nf.counts_at_mix(even, priors="uniform").height == 2


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        ({}, {"priors": {"ant": 1.0}}, "missing: 'bee', 'cat', 'dog'"),
        ({}, {"priors": {"s": MIX, "t": MIX}}, "must be one mix"),
        ({"weight": 2.0}, {"priors": "uniform"}, "cannot be weighted again"),
        ({"fp": 0, "tn": 0}, {"priors": "uniform"}, r"no rows[^']*'m'[^']*'bee'"),
    ],
)
def test_mixes_that_the_counts_do_not_have_are_refused(change, options, told):
    _, _, scan = scanned()
    counts = nf.count_class_scores(scan, of="ant", thresholds=[0.5])
    with pytest.raises(nf.ParameterError, match=told):
        nf.counts_at_mix(
            counts.with_columns(
                **{
                    name: pl.lit(value, pl.Float64 if name == "weight" else pl.Int64)
                    for name, value in change.items()
                }
            ),
            **options,
        )


def test_what_has_no_scores_of_the_class_is_refused():
    log, _, scan = scanned()
    with pytest.raises(nf.ParameterError, match="no class with scores"):
        nf.count_class_scores(scan, of="owl")
    decided = nf.scan_classes(log.with_columns(decision="label"))
    with pytest.raises(nf.ParameterError, match="no scores"):
        nf.count_class_scores(decided, of="ant")
    with pytest.raises(nf.SchemaError, match="missing column 'true_class'"):
        nf.counts_at_mix(
            nf.count_confusion(log.select("model", label=True, score="p0"), thresholds=[0.5]),
            priors="uniform",
        )
