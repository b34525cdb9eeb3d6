"""The real logs against scikit-learn, the synthetic ones against their laws."""

import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import polars as pl
import pytest
from sklearn import datasets
from sklearn.metrics import average_precision_score, roc_auc_score

import nci_frames as nf
from nci_frames.demo import TASKS, ScoreLaw, extra, synthetic_laws, write_demo_logs, write_synthetic_logs

POSITIVE = {"digits": 8, "breast_cancer": 0, "wine": 2}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_logs(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def log(logs: Path) -> pl.DataFrame:
    return pl.read_parquet(logs / "**/*.parquet", hive_partitioning=True)


def test_real_logs_are_hive_folders_with_the_stated_columns(logs: Path, log: pl.DataFrame) -> None:
    assert {path.name for path in logs.iterdir()} == {f"dataset={name}" for name in TASKS}
    assert dict(log.schema) == {
        "fold": pl.String, "segment": pl.String, "unit": pl.Int64, "label": pl.Int8, "score": pl.Float64,
        "dataset": pl.String, "model": pl.String,
    }  # fmt: skip
    assert log["model"].n_unique() >= 8
    assert not [path for path in logs.rglob("*") if path.is_file() and path.name != "part-0.parquet"]


@pytest.mark.parametrize("name", TASKS)
def test_every_row_is_held_out_once_per_repeat_with_its_true_label(name: str, log: pl.DataFrame) -> None:
    data = getattr(datasets, TASKS[name].loader)()
    rows = log.filter(dataset=name).with_columns(repeat=pl.col("fold").str.slice(0, 2))
    assert len(rows) == len(data.target) * 2 * log["model"].n_unique()
    assert rows.select("model", "repeat", "unit").is_unique().all()
    assert (
        rows["label"] == pl.Series(data.target == POSITIVE[name]).cast(pl.Int8).gather(rows["unit"])
    ).all()
    share = rows.group_by("fold").agg(pl.col("label").mean())["label"]
    assert share.max() - share.min() < 0.03  # type: ignore[operator]  (the folds are stratified)
    assert rows["segment"].n_unique() == 3


def test_the_classifiers_have_learnt(log: pl.DataFrame) -> None:
    for (dataset, model), rows in log.partition_by("dataset", "model", as_dict=True).items():
        assert roc_auc_score(rows["label"], rows["score"]) > 0.85, (dataset, model)


def test_ranks_change_with_prevalence_on_real_logs(logs: Path) -> None:
    counts = nf.count_confusion(nf.scan_predictions(logs / "dataset=digits"), thresholds="exact")
    comparison = nf.compare_models(counts, prevalence=[1e-4, 0.01, 0.5])
    for table, metric in ((comparison.areas, "pr_auc"), (comparison.projection, "f_beta")):
        rows = table.filter(metric=metric)
        orders = {tuple(group.sort("rank", "model")["model"]) for group in rows.partition_by("prevalence")}
        assert len(orders) > 1, metric
    precision = comparison.projection.filter(metric="precision")
    assert len({tuple(g.sort("rank", "model")["model"]) for g in precision.partition_by("prevalence")}) == 1


def test_counts_of_the_real_logs_equal_numpy(logs: Path, log: pl.DataFrame) -> None:
    scan = nf.scan_predictions(logs, fold="fold", segments=["dataset", "segment"])
    counts = nf.count_confusion(scan, thresholds=[0.1, 0.5, 0.9])
    assert counts.select(pl.sum_horizontal("tp", "fp", "fn", "tn").sum()).item() == 3 * len(log)
    for (model, fold, dataset, segment, threshold), group in counts.partition_by(
        "model", "fold", "dataset", "segment", "threshold", as_dict=True
    ).items():
        rows = log.filter(model=model, fold=fold, dataset=dataset, segment=segment)
        label, said = rows["label"].to_numpy() == 1, rows["score"].to_numpy() >= threshold
        expected = (said & label).sum(), (said & ~label).sum(), (~said & label).sum(), (~said & ~label).sum()
        assert group.select("tp", "fp", "fn", "tn").row(0) == expected


def test_areas_of_the_real_logs_equal_scikit_learn(logs: Path, log: pl.DataFrame) -> None:
    counts = nf.count_confusion(nf.scan_predictions(logs, segments="dataset"), thresholds="exact")
    areas = nf.compute_areas(counts, prevalence=[1e-4, 1e-3, 0.01, 0.1, 0.5])
    for row in areas.iter_rows(named=True):
        rows = log.filter(model=row["model"], dataset=row["dataset"])
        label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        if row["metric"] == "roc_auc":
            assert row["value"] == pytest.approx(roc_auc_score(label, score), abs=1e-12)
            continue
        weight = np.where(
            label, row["prevalence"] / label.mean(), (1 - row["prevalence"]) / (1 - label.mean())
        )
        expected = average_precision_score(label, score, sample_weight=weight)
        assert row["value"] == pytest.approx(expected, abs=1e-12)


def test_real_logs_are_deterministic(logs: Path, tmp_path: Path) -> None:
    again = write_demo_logs(tmp_path, datasets=["wine"])
    for file in sorted(again.rglob("*.parquet")):
        assert pl.read_parquet(file).equals(pl.read_parquet(logs / file.relative_to(again)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"datasets": ["digit"]}, "did you mean 'digits'"),
        ({"datasets": []}, "at least one name"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_bad_arguments_of_the_real_logs(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(nf.ParameterError, match=message):
        write_demo_logs(tmp_path, **arguments)


def test_without_scikit_learn_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(extra.importlib, "import_module", missing)
    with pytest.raises(nf.NciFramesError, match=r"pip install 'nci_frames\[demo\]'"):
        write_demo_logs(tmp_path)


def true_area(law: ScoreLaw, eta: float | None) -> float:
    """Integrate precision (or, without eta, 1 - FPR) over recall with mpmath, along u = recall^(1/8)."""
    (ap, bp), (an, bn) = law.positive, law.negative

    def height(u: Any) -> Any:
        recall = u**8
        x = (1 - recall ** (mpmath.mpf(1) / bp)) ** (mpmath.mpf(1) / ap)
        fpr = (1 - x**an) ** bn
        value = 1 - fpr if eta is None else eta * recall / (eta * recall + (1 - eta) * fpr)
        return value * 8 * u**7

    with mpmath.workdps(30):
        return float(mpmath.quad(height, [0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999, 1]))


@pytest.mark.parametrize("name", synthetic_laws(4))
def test_true_areas_equal_another_integration(name: str) -> None:
    law = synthetic_laws(4)[name]
    assert law.roc_auc() == pytest.approx(true_area(law, None), abs=1e-8)
    for eta in (1e-4, 0.01, 0.5):
        assert law.pr_auc(eta) == pytest.approx(true_area(law, eta), abs=1e-8)
    assert (law.pr_auc(0), law.pr_auc(1)) == (0, 1)


def test_a_synthetic_log_follows_its_laws(tmp_path: Path) -> None:
    folder = write_synthetic_logs(
        tmp_path, rows=400_003, models=2, folds=3, segments=4, prevalence=0.2, files=3
    )
    log = pl.read_parquet(folder)
    assert len(log) == 400_003
    assert log["fold"].n_unique() == 3
    assert log["segment"].n_unique() == 4
    for name, law in synthetic_laws(2).items():
        rows = log.filter(model=name)
        for truth, mine in ((law.tpr, rows.filter("label")), (law.fpr, rows.filter(~pl.col("label")))):
            for threshold in (0.1, 0.5, 0.9):
                p = float(truth(threshold))
                sigma = math.sqrt(p * (1 - p) / len(mine))
                assert abs((mine["score"] >= threshold).mean() - p) < 5 * sigma + 1e-12  # type: ignore[operator]
        ap = average_precision_score(rows["label"], rows["score"])
        assert ap == pytest.approx(law.pr_auc(0.2), abs=0.01)


def test_the_rows_do_not_depend_on_the_files_and_scores_may_be_float32(tmp_path: Path) -> None:
    one = pl.read_parquet(write_synthetic_logs(tmp_path / "one", rows=1001, files=1))
    assert pl.read_parquet(write_synthetic_logs(tmp_path / "four", rows=1001, files=4)).equals(one)
    single = pl.read_parquet(write_synthetic_logs(tmp_path / "single", rows=1001, dtype="float32"))
    assert single.schema["score"] == pl.Float32
    assert single["score"].equals(one["score"].cast(pl.Float32))


@pytest.mark.parametrize("prevalence", [0, 1])
def test_a_synthetic_log_may_have_one_class(tmp_path: Path, prevalence: float) -> None:
    log = pl.read_parquet(write_synthetic_logs(tmp_path, rows=100, prevalence=prevalence))
    assert log["label"].unique().to_list() == [bool(prevalence)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": 0}, "rows must be a whole number >= 1"),
        ({"rows": 10, "prevalence": 1.5}, "prevalence must be in"),
        ({"rows": 10, "dtype": "float16"}, "did you mean"),
        ({"rows": 10, "models": 5, "files": 9}, "files must be a whole number from 1 to 2"),
    ],
)
def test_bad_arguments_of_synthetic_logs(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(nf.ParameterError, match=message):
        write_synthetic_logs(tmp_path, **arguments)


def test_a_law_with_a_bad_shape() -> None:
    with pytest.raises(nf.ParameterError, match="two positive finite numbers"):
        ScoreLaw((0.0, 1.0), (1.0, 1.0))
