"""The sub-sampling study against sub-sampling rows, and against the law of what is left."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from scipy import stats

import nci_frames as nf
from tests.logs import counts_at, exact_counts, unit_log


def log_of(positives: int, negatives: int, seed: int = 0) -> pl.DataFrame:
    return unit_log({"a": 1.5}, (positives, negatives), digits=1, seed=seed).drop("unit")


@pytest.mark.thorough
def test_the_law_is_that_of_leaving_out_rows():
    """Means and quantiles over many sub-samples equal those of sub-sampled rows, with ties, both ways."""
    log = log_of(40, 400)
    counts = nf.count_confusion(log)
    rng = np.random.default_rng(1)
    label, score = log["label"].to_numpy(), log["score"].to_numpy()
    for prevalence, positives, negatives in ((0.4, 40, 60), (0.05, 21, 400)):
        study = nf.subsample_study(counts, prevalence=prevalence, repeats=2000)
        drawn = [
            np.concatenate(
                [
                    rng.choice(np.flatnonzero(label), positives, replace=False),
                    rng.choice(np.flatnonzero(~label), negatives, replace=False),
                ]
            )
            for _ in range(2000)
        ]
        some = study.filter(pl.col("threshold").is_in([0.0, 1.0, 1.5]))
        assert len(some) == 3
        for row in some.iter_rows(named=True):
            said = np.array([score[rows] >= row["threshold"] for rows in drawn])
            true = np.array([label[rows] for rows in drawn])
            precision = (said & true).sum(axis=1) / said.sum(axis=1)
            error = precision.std() / np.sqrt(1000)
            assert row["mean"] == pytest.approx(precision.mean(), abs=4 * error)
            assert row["q25"] == pytest.approx(np.quantile(precision, 0.25), abs=0.02)
            assert row["q75"] == pytest.approx(np.quantile(precision, 0.75), abs=0.02)
            assert row["repeats"] == 2000


def test_the_figure_of_the_paper():
    """50 positives in 50,000 images, to one in a hundred: the adjusted curve lies inside the min-max band."""
    counts = nf.count_confusion(log_of(50, 49_950, seed=1), thresholds=[1.0, 2.0, 3.0])
    study = nf.subsample_study(counts, prevalence=0.01)
    rates = nf.compute_rates(counts)
    expected = nf.project_rates(rates, metrics="precision", prevalence=0.01)["value"]
    assert study["adjusted"].to_list() == pytest.approx(expected.to_list())
    assert study["tpr"].to_list() == rates["tpr"].to_list()
    ordered = study.select("min", "q25", "mean", "q75", "max").to_numpy()
    assert (ordered[:, [0, 1, 3]] <= ordered[:, [1, 3, 4]]).all()
    inside = study.select(pl.col("adjusted").is_between("min", "max")).to_series()
    assert inside.all()
    # 30 sub-samples are told apart: that is the error that adjusting all rows avoids.
    assert study.filter(threshold=3.0).select(pl.col("max") - pl.col("min")).item() > 0.05


@given(st.integers(1, 30), st.integers(1, 30), st.floats(0.05, 0.95))
def test_all_rows_kept_is_the_log_itself(positives, negatives, prevalence):
    counts = nf.count_confusion(log_of(positives, negatives))
    observed = positives / (positives + negatives)
    study = nf.subsample_study(counts, prevalence=observed, repeats=2)
    for name in ("mean", "min", "q25", "q75", "max"):
        assert_frame_equal(study.select("adjusted"), study.select(adjusted=name))
    if prevalence < observed and round(negatives * prevalence / (1 - prevalence)) < 1:
        with pytest.raises(nf.ParameterError, match="no log with prevalence"):
            nf.subsample_study(counts, prevalence=prevalence)


def test_undefined_precision_is_counted():
    counts = exact_counts([True] * 5 + [False] * 45, [0.5] * 5 + [0.9] + [0.5] * 44)
    row = nf.subsample_study(counts, prevalence=0.5, repeats=400).row(1, named=True)
    # Of the one row above 0.5, a negative, 5 of 45 sub-samples keep it; in the others nothing is positive.
    assert row["adjusted"] == row["mean"] == row["max"] == 0
    assert row["repeats"] == pytest.approx(400 / 9, abs=4 * np.sqrt(400 * 8 / 81))
    none = counts_at(0, 0, 5, 45, threshold=2.0)
    row = nf.subsample_study(none, prevalence=0.5).row(0, named=True)
    names = ("adjusted", "mean", "min", "q25", "q75", "max", "repeats")
    assert [row[name] for name in names] == [None] * 6 + [0]


@pytest.mark.thorough
def test_of_four_thousand_million_negatives_the_mean_is_the_adjusted_precision():
    huge = counts_at(600, 4_000_000, 1000, 4_004_000_000)
    row = nf.subsample_study(huge, prevalence=1e-5, repeats=200).row(0, named=True)
    assert row["mean"] == pytest.approx(row["adjusted"], rel=0.001)
    expected = stats.hypergeom(4_004_000_000, 4_000_000, 99_999_000)
    band = 600 / (600 + expected.ppf([0.75, 0.25]))
    assert (row["q25"], row["q75"]) == pytest.approx(tuple(band), rel=3e-4)
