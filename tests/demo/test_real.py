"""The logs of the demonstration are held-out predictions of every row."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import datasets
from sklearn.metrics import roc_auc_score

from nci_frames.base.errors import MissingPackageError, ParameterError
from nci_frames.demo import TASKS, write_demo_logs
from tests.processes import in_python

pytestmark = pytest.mark.long
ROWS = {"digits": 1797, "breast_cancer": 569, "wine": 178}


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder, hive_partitioning=True)


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def real_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_logs(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def real(real_logs: Path) -> pl.DataFrame:
    return read(real_logs)


def test_every_row_is_predicted_once_in_each_repeat_in_folds_of_all_models(real_logs, real):
    models = real["model"].unique().to_list()
    assert len(models) >= 8
    paths = {f"dataset={name}/model={model}/part-0.parquet" for name in ROWS for model in models}
    assert files_in(real_logs) == paths
    texts = dict.fromkeys(("repeat", "fold", "segment"), pl.String)
    promised = {**texts, "unit": pl.Int64, "label": pl.Int8, "score": pl.Float64}
    for path in paths:
        assert pl.read_parquet_schema(real_logs / path) == promised
    assert real.null_count().sum_horizontal().item() == 0
    assert real["score"].is_between(0, 1).all()
    for (name, _, _), rows in real.group_by("dataset", "model", "repeat"):
        assert rows["unit"].sort().to_list() == list(range(ROWS[str(name)]))
    size, positives = pl.len().cast(pl.Int64).alias("rows"), pl.col("label").cast(pl.Int64).sum()
    folds = real.group_by("dataset", "model", "repeat", "fold").agg(size, positives)
    assert set(folds.select("repeat", "fold").rows()) == {
        (f"r{repeat}", f"r{repeat}f{fold}") for repeat in (1, 2) for fold in range(1, 6)
    }
    spread = folds.group_by("dataset", "model").agg(
        pl.col("rows", "label").max() - pl.col("rows", "label").min()
    )
    assert spread.select(pl.col("rows", "label").max()).row(0) == (1, 1)
    assert real.group_by("dataset", "unit", "repeat").agg(pl.col("fold").n_unique())["fold"].max() == 1


@pytest.mark.parametrize(
    ("name", "loader", "positive", "measure"),
    [
        ("digits", datasets.load_digits, 8, lambda data: data.data.mean(axis=1)),
        ("breast_cancer", datasets.load_breast_cancer, 0, lambda data: data.data[:, 0]),
        ("wine", datasets.load_wine, 2, lambda data: data.data[:, 0]),
    ],
)
def test_labels_and_segments_are_those_of_the_data(real, name, loader, positive, measure):
    data = loader()
    frame = real.filter(dataset=name)
    unit = frame["unit"].to_numpy()
    np.testing.assert_array_equal(frame["label"].to_numpy(), (data.target == positive)[unit])

    low, middle, high = TASKS[name].segments
    measured = frame.with_columns(measured=pl.Series(measure(data)[unit]))
    ranges = {
        segment: measured.filter(segment=segment)["measured"].to_numpy() for segment in (low, middle, high)
    }
    assert set(frame["segment"]) == set(ranges)
    assert ranges[low].max() < ranges[middle].min()
    assert ranges[middle].max() < ranges[high].min()
    # Equal values stay together, so terciles of few values are not quite equal.
    for values in ranges.values():
        assert abs(len(values) / len(frame) - 1 / 3) < 0.02


def test_every_model_ranks_well_and_no_two_are_alike(real):
    for name in ROWS:
        scores = {}
        for (model,), frame in real.filter(dataset=name).group_by("model"):
            label, score = frame["label"].to_numpy(), frame["score"].to_numpy()
            # The weakest measured is the decision tree on the digits, 0.90.
            assert roc_auc_score(label, score) > 0.85, (name, model)
            scores[model] = frame.sort("fold", "unit")["score"].to_numpy()
        for a, b in combinations(scores, 2):
            assert np.abs(scores[a] - scores[b]).max() > 0.1, (name, a, b)


def test_real_logs_are_repeatable_and_replaced(real, tmp_path):
    stale = tmp_path / "dataset=wine" / "model=decision_tree" / "part-0.parquet"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"of an earlier run")
    write_demo_logs(tmp_path, datasets="wine")
    keys = ["dataset", "model", "fold", "unit"]
    assert_frame_equal(read(tmp_path).sort(keys), real.filter(dataset="wine").sort(keys), check_exact=True)
    assert len(files_in(tmp_path)) == real["model"].n_unique()


def test_a_file_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path):
    first = tmp_path / "dataset=wine" / "model=logistic_regression" / "part-0.parquet"
    first.mkdir(parents=True)
    with pytest.raises(ParameterError, match=r"part-0\.parquet"):
        write_demo_logs(tmp_path, datasets=("wine",))
    assert files_in(tmp_path) == set()


def test_without_scikit_learn_the_error_says_what_to_install(tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "sklearn"] + ["sklearn"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError) as caught:
        write_demo_logs(tmp_path)
    assert caught.value.hint == "pip install 'nci_frames[demo]'"
    assert "sklearn" in (caught.value.found or "")
    assert files_in(tmp_path) == set()


def test_importing_the_module_imports_no_learning_library():
    code = "import sys, nci_frames.demo; print({'sklearn', 'scipy'} & set(sys.modules))"
    assert in_python(code).stdout.strip() == "set()"
