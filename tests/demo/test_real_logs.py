"""The pipeline on real predictions: against scikit-learn, and what the papers say of ranks."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import nci_frames as nf

pytestmark = pytest.mark.thorough

PREVALENCES = [1e-4, 1e-3, 0.01, 0.1, 0.5]
DATASETS = ["digits", "wine"]


@pytest.fixture(scope="module")
def log(real_logs: Path) -> pl.DataFrame:
    scan = nf.scan_predictions(real_logs, fold="fold", segments=["dataset", "segment"])
    return scan.collect().filter(pl.col("dataset").is_in(DATASETS))


def test_areas_equal_scikit_learn_at_every_prevalence(log):
    counts = nf.count_confusion(log, thresholds="exact", by="dataset")
    areas = nf.compute_areas(counts, prevalence=PREVALENCES)
    assert len(areas) == log["model"].n_unique() * len(DATASETS) * (len(PREVALENCES) + 1)
    for row in areas.iter_rows(named=True):
        rows = log.filter(model=row["model"], dataset=row["dataset"])
        label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        etas = PREVALENCES if row["prevalence"] is None else [row["prevalence"]]
        measure = roc_auc_score if row["metric"] == "roc_auc" else average_precision_score
        for eta in etas:
            weight = np.where(label, eta / label.mean(), (1 - eta) / (1 - label.mean()))
            assert row["value"] == pytest.approx(measure(label, score, sample_weight=weight), abs=1e-12)


def test_precision_keeps_its_order_and_f1_and_pr_auc_do_not(log):
    counts = nf.count_confusion(log.filter(dataset="digits"), thresholds="exact", by=[])
    comparison = nf.compare_models(counts, prevalence=PREVALENCES)

    def orders(ranking: pl.DataFrame) -> set[tuple[str, ...]]:
        return {tuple(group.sort("rank", "model")["model"]) for group in ranking.partition_by("prevalence")}

    assert len(orders(comparison.projection.filter(metric="precision"))) == 1
    assert len(orders(comparison.projection.filter(metric="f_beta"))) > 1
    assert len(orders(comparison.areas.filter(metric="pr_auc"))) > 1
