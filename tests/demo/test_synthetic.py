"""Synthetic logs follow their laws, whose rates and areas are known."""

import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from nci_frames.base.errors import ParameterError
from nci_frames.demo import ScoreLaw, synthetic_laws, write_synthetic_logs
from tests.cases import first_quick


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def density(x: Any, a: float, b: float) -> Any:
    return a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)


def test_rates_are_survival_functions_of_the_law():
    law = ScoreLaw(positive=(2.0, 3.0), negative=(0.5, 1.5))
    t = np.array([[-1.0, 0.0, 0.25], [0.64, 1.0, 7.0]])
    expected_tpr = [[1, 1, (15 / 16) ** 3], [(1 - 0.64**2) ** 3, 0, 0]]
    expected_fpr = [[1, 1, 0.5**1.5], [0.2**1.5, 0, 0]]
    np.testing.assert_allclose(law.tpr(t), expected_tpr, rtol=1e-14)
    np.testing.assert_allclose(law.fpr(t), expected_fpr, rtol=1e-14)
    assert law.tpr(0.25).shape == ()
    assert law.tpr(0.25).dtype == np.float64


@pytest.mark.parametrize("prevalence", [1e-9, 1e-4, 0.1, 0.5, 0.9, 1 - 1e-9])
def test_pr_auc_has_closed_forms_where_fpr_is_a_power_of_tpr(prevalence):
    odds = prevalence / (1 - prevalence)
    # Precision at recall t is eta t / (eta t + (1-eta) t^k), where k = b- / b+.
    square = ScoreLaw(positive=(1.7, 1.5), negative=(1.7, 3.0))
    assert square.pr_auc(prevalence) == pytest.approx(-odds * math.log(prevalence), rel=1e-9)
    cube = ScoreLaw(positive=(0.6, 0.9), negative=(0.6, 2.7))
    expected = math.sqrt(odds) * math.atan(1 / math.sqrt(odds))
    assert cube.pr_auc(prevalence) == pytest.approx(expected, rel=1e-9)
    blind = ScoreLaw(positive=(2.0, 5.0), negative=(2.0, 5.0))
    assert blind.pr_auc(prevalence) == pytest.approx(prevalence, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("prevalence", first_quick([1e-4, 0.01, 0.5]))
@pytest.mark.parametrize("model", range(8))
def test_areas_agree_with_an_integral_over_the_threshold(model, prevalence):
    law = synthetic_laws(8)[f"model_{model:02d}"]

    def precision(x):
        positive, negative = prevalence * float(law.tpr(x)), (1 - prevalence) * float(law.fpr(x))
        # Next to 1 both rates vanish, FPR first.
        return positive / (positive + negative) if positive + negative else 1.0

    def integral(rate, shapes):
        return float(mpmath.quad(lambda x: rate(float(x)) * density(x, *shapes), [0, 0.5, 1]))

    assert law.roc_auc() == pytest.approx(integral(lambda x: float(law.tpr(x)), law.negative), abs=1e-10)
    assert law.pr_auc(prevalence) == pytest.approx(integral(precision, law.positive), abs=1e-10)


def test_pr_auc_has_analytic_limits():
    law = synthetic_laws(1)["model_00"]
    assert law.pr_auc(0) == 0.0
    assert law.pr_auc(1) == 1.0


def test_sample_follows_the_law_and_uses_one_number_for_each_score():
    law = synthetic_laws(4)["model_03"]
    labels = np.arange(200_000) % 4 == 0
    rng, twin = np.random.default_rng(7), np.random.default_rng(7)
    scores = law.sample(rng, labels)
    twin.random(labels.size)
    assert rng.random() == twin.random()
    assert scores.dtype == np.float64
    assert ((scores >= 0) & (scores <= 1)).all()
    # Kolmogorov's statistic stays below 1.95 with probability 0.999 (asymptotically; the seed is fixed).
    for is_positive, survival in ((True, law.tpr), (False, law.fpr)):
        drawn = np.sort(scores[labels == is_positive])
        steps = np.arange(drawn.size + 1) / drawn.size
        cdf = 1 - survival(drawn)
        distance = max(np.abs(cdf - steps[1:]).max(), np.abs(cdf - steps[:-1]).max())
        assert distance * math.sqrt(drawn.size) < 1.95


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    folder = tmp_path_factory.mktemp("synthetic")
    return pl.read_parquet(write_synthetic_logs(folder, rows=1_000_003, models=4, prevalence=0.2, files=3))


@pytest.mark.thorough
def test_synthetic_log_has_exactly_the_rows_asked_for(synthetic):
    assert synthetic.schema == {
        "model": pl.String,
        "fold": pl.String,
        "segment": pl.String,
        "unit": pl.Int64,
        "label": pl.Boolean,
        "score": pl.Float64,
    }
    assert synthetic.height == 1_000_003
    assert synthetic.null_count().sum_horizontal().item() == 0
    counted = dict(synthetic["model"].value_counts().iter_rows())
    assert counted == {"model_00": 250_001, "model_01": 250_001, "model_02": 250_001, "model_03": 250_000}
    assert set(synthetic["fold"]) == {f"fold_{i}" for i in range(10)}
    assert set(synthetic["segment"]) == {f"segment_{i:02d}" for i in range(20)}


@pytest.mark.long
def test_all_models_score_the_same_units(synthetic):
    units = synthetic.group_by("unit").agg(
        pl.col("model").n_unique().cast(pl.Int64), pl.col("fold", "segment", "label").n_unique()
    )
    assert units.select(pl.col("fold", "segment", "label").max()).row(0) == (1, 1, 1)
    assert units.sort("unit")["model"].to_list() == [4] * 250_000 + [3]


@pytest.mark.thorough
def test_classes_folds_and_segments_are_independent_and_have_their_shares(synthetic):
    units = synthetic.filter(model="model_00")
    n = units.height
    assert abs(units["label"].mean() - 0.2) < 4 * math.sqrt(0.2 * 0.8 / n)
    sizes = units["fold"].value_counts()["count"]
    assert sizes.max() - sizes.min() <= 1
    for key, groups in (("fold", 10), ("segment", 20)):
        shares = units.group_by(key).agg(
            pl.len().cast(pl.Int64).alias("rows"), pl.col("label").mean().alias("prevalence")
        )
        sigma = math.sqrt(0.2 * 0.8 / (n / groups))
        assert ((shares["prevalence"] - 0.2).abs() < 4.5 * sigma).all()
        assert ((shares["rows"] - n / groups).abs() < 4.5 * math.sqrt(n / groups)).all()
    cells = units.group_by("fold", "segment").len()
    assert cells.height == 200
    assert ((cells["len"].cast(pl.Int64) - n / 200).abs() < 5 * math.sqrt(n / 200)).all()


def test_rows_do_not_depend_on_the_files_and_the_same_seed_repeats_them(tmp_path):
    options = {"rows": 10_007, "models": 3, "folds": 4, "segments": 5, "seed": 11}
    one = pl.read_parquet(write_synthetic_logs(tmp_path / "one", files=1, **options))
    seven = pl.read_parquet(write_synthetic_logs(tmp_path / "seven", files=7, **options))
    assert files_in(tmp_path / "seven") == {f"part-0000{k}.parquet" for k in range(7)}
    assert all(pl.read_parquet(path)["model"].n_unique() == 3 for path in (tmp_path / "seven").iterdir())
    assert_frame_equal(one, seven, check_exact=True)
    again = pl.read_parquet(write_synthetic_logs(tmp_path / "seven", files=7, **options))
    assert_frame_equal(one, again, check_exact=True)
    shorter = pl.read_parquet(write_synthetic_logs(tmp_path / "shorter", **(options | {"rows": 500})))
    assert_frame_equal(one.head(500), shorter, check_exact=True)
    other = pl.read_parquet(write_synthetic_logs(tmp_path / "other", **(options | {"seed": 12})))
    assert not one["score"].equals(other["score"])
    assert not one["label"].equals(other["label"])


def test_float32_scores_are_the_rounded_float64_scores(tmp_path):
    double = pl.read_parquet(write_synthetic_logs(tmp_path / "double", rows=5_000))
    single = pl.read_parquet(write_synthetic_logs(tmp_path / "single", rows=5_000, dtype="float32"))
    assert single.schema["score"] == pl.Float32
    assert_frame_equal(double.with_columns(pl.col("score").cast(pl.Float32)), single, check_exact=True)


@pytest.mark.parametrize("prevalence", [0, 1])
def test_a_log_of_one_class_and_of_one_row(tmp_path, prevalence):
    log = pl.read_parquet(write_synthetic_logs(tmp_path / "class", rows=50_000, prevalence=prevalence))
    assert log["label"].unique().to_list() == [bool(prevalence)]
    row = pl.read_parquet(write_synthetic_logs(tmp_path / "row", rows=1, prevalence=prevalence))
    assert row.select("model", "fold", "unit", "label").rows() == [("model_00", "fold_0", 0, prevalence)]


def test_a_folder_with_files_of_another_log_is_refused(tmp_path):
    write_synthetic_logs(tmp_path, rows=100, files=3)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ParameterError, match="the folder contains Parquet files of another log") as caught:
        write_synthetic_logs(tmp_path, rows=100, files=2)
    assert "part-00002.parquet" in (caught.value.found or "")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
