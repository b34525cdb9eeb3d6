"""The pipeline on real predictions: against scikit-learn, and what the papers say of ranks."""

from pathlib import Path

import polars as pl
import pytest

import nci_frames as nf

pytestmark = pytest.mark.long

PREVALENCES = [1e-4, 1e-3, 0.01, 0.1, 0.5]
DATASETS = ["digits", "wine"]


@pytest.fixture(scope="module")
def log(real_logs: Path) -> pl.DataFrame:
    scan = nf.scan_predictions(real_logs, fold="fold", segments=["dataset", "segment"])
    return scan.collect().filter(pl.col("dataset").is_in(DATASETS))


def test_precision_keeps_its_order_and_f1_and_pr_auc_do_not(log):
    counts = nf.count_confusion(log.filter(dataset="digits"), thresholds="exact", by=[])
    comparison = nf.compare_models(counts, prevalence=PREVALENCES)

    def orders(ranking: pl.DataFrame) -> set[tuple[str, ...]]:
        return {tuple(group.sort("rank", "model")["model"]) for group in ranking.partition_by("prevalence")}

    assert len(orders(comparison.projection.filter(metric="precision"))) == 1
    assert len(orders(comparison.projection.filter(metric="f_beta"))) > 1
    assert len(orders(comparison.areas.filter(metric="pr_auc"))) > 1
