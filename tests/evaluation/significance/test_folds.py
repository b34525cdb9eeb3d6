"""Folds against NumPy, SciPy's paired test, and published or simulated error rates."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import nci_frames as nf
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.significance.fold_values import bootstrap_test, t_test, without_spread
from tests.logs import counts_at


def fold_counts(models: int = 3, folds: int = 10, seed: int = 0, spread: float = 0.05) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    easy = rng.normal(0, spread, folds)  # what all models share of a fold
    better = np.arange(models)[:, None]
    tp = rng.binomial(200, np.clip(0.7 + easy + 0.03 * better, 0, 1)).ravel()
    fp = rng.binomial(1000, 0.02 + 0.004 * better, (models, folds)).ravel()
    names = [f"m{model}" for model in range(models) for _ in range(folds)]
    counts = counts_at(tp, fp, 200, 1000, model=names, fold=[str(fold) for fold in range(folds)] * models)
    return counts.sample(fraction=1, shuffle=True, seed=seed)


def f_values(counts: pl.DataFrame, beta: float) -> dict[str, np.ndarray]:
    tp, fp, fn = pl.col("tp"), pl.col("fp"), pl.col("fn")
    value = (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)
    ordered = counts.sort("model", "fold").with_columns(value=value)
    return {m[0]: part["value"].to_numpy() for m, part in ordered.partition_by("model", as_dict=True).items()}


def p_value(rates: pl.DataFrame, **options: Any) -> float:
    """That of the one model which is compared with the best."""
    return float(nf.compare_folds(rates, **options)["p_value"].drop_nulls().item())


def test_the_paired_test_is_that_of_scipy():
    counts = fold_counts()
    for beta in (0.5, 2.0):
        values = f_values(counts, beta)
        best = max(values, key=lambda model: values[model].mean())
        table = nf.compare_folds(
            nf.compute_rates(counts), beta=beta, ddof=0, test="paired_t", correction="none"
        )
        assert table["beta"].unique().to_list() == [beta]
        assert table["prevalence"].null_count() == 3  # each fold's own
        for row in table.iter_rows(named=True):
            mine = values[row["model"]]
            assert row["mean"] == pytest.approx(mine.mean())
            assert row["std"] == pytest.approx(mine.std())
            assert (row["folds"], row["skipped"]) == (10, 0)
            if row["model"] == best:
                assert (row["p_value"], row["distinguishable"], row["reason"]) == (None, False, None)
            else:
                assert row["p_value"] == pytest.approx(stats.ttest_rel(values[best], mine).pvalue, rel=1e-9)
                assert row["distinguishable"] == (row["p_value"] < 0.05)


def test_the_corrected_test_by_hand():
    counts = fold_counts(models=2)
    a, b = f_values(counts, 1.0).values()
    table = nf.compare_folds(nf.compute_rates(counts), test="corrected_t", test_train_ratio=1 / 9)
    d = a - b
    t = d.mean() / np.sqrt((1 / 10 + 1 / 9) * d.var(ddof=1))
    assert table["p_value"].drop_nulls().item() == pytest.approx(2 * stats.t.sf(abs(t), 9))
    plain = p_value(nf.compute_rates(counts), test="paired_t")
    assert table["p_value"].drop_nulls().item() > plain
    # The second of two repeats has the rows of the first, so that five folds are all there are.
    twice = p_value(nf.compute_rates(counts), test_train_ratio=1 / 4)
    t = d.mean() / np.sqrt((1 / 5 + 1 / 4) * d.var(ddof=1))
    assert twice == pytest.approx(2 * stats.t.sf(abs(t), 4))


@pytest.mark.thorough
def test_the_ratio_of_the_corrected_test_follows_from_the_keys():
    rates = nf.compute_rates(fold_counts(models=2))
    by_ratio = {k: p_value(rates, test_train_ratio=1 / (k - 1)) for k in (3, 4, 5, 10)}
    # One key of ten values may be five folds, twice.
    assert p_value(rates) == by_ratio[5] > by_ratio[10]
    number = pl.col("fold").cast(pl.Int64)
    twice = rates.with_columns(repeat=number // 5, fold=number % 5)
    found = p_value(twice, over=["repeat", "fold"])
    assert found == pytest.approx(by_ratio[5], rel=1e-12)
    three = rates.filter(number < 3)
    assert p_value(three) == p_value(three, test_train_ratio=1 / 2)


def test_equal_differences_have_no_spread_and_no_test():
    """Every fold says the same, which is no evidence of how folds vary."""
    models, folds = ["a"] * 10 + ["b"] * 10, [str(fold) for fold in range(10)] * 2
    counts = counts_at([9] * 10 + [6] * 10, [1, 2] * 10, 10, 90, model=models, fold=folds)
    for test in ("corrected_t", "paired_t", "bootstrap"):
        row = nf.compare_folds(nf.compute_rates(counts), metric="recall", test=test).row(1, named=True)
        assert (row["model"], row["p_value"], row["distinguishable"]) == ("b", None, None)
        assert row["reason"] == "it differs from the best by the same amount in every fold"
    # 0.1 + 0.2 and 0.3 are one number here.
    values = np.array([[[0.9, 0.8, 0.3], [0.6, 0.5, 0.1 + 0.2 - 0.3]]])
    equal, constant = without_spread(values[:, :1] - values, values)
    assert equal.tolist() == [[True, False]]
    assert constant.tolist() == [[False, True]]


def test_a_bootstrap_of_few_folds_with_a_value_has_a_reason():
    undefined = nf.compute_rates(
        fold_counts(models=2).with_columns(
            pl.when(model="m0", fold="3").then(0).otherwise(pl.col(name)).alias(name) for name in ("tp", "fn")
        )
    )
    row = nf.compare_folds(undefined, metric="recall", test="bootstrap").filter(model="m0").row(0, named=True)
    assert row["reason"] == "fewer than ten folds define it and the best"


def test_identical_models_are_never_told_apart():
    counts = fold_counts(models=1)
    twins = pl.concat([counts, counts.with_columns(model=pl.lit("twin"))])
    tests: list[dict[str, Any]] = [
        {}, {"test": "corrected_t", "test_train_ratio": 0.1}, {"test": "bootstrap"}
    ]  # fmt: skip
    for options in tests:
        rates = nf.compute_rates(twins)
        table = nf.compare_folds(rates, beta=[0, 1, float("inf")], prevalence=0.01, **options)
        assert table.filter(model="twin")["p_value"].to_list() == [1.0] * 3
        assert not table["distinguishable"].any()


def test_error_rates_of_the_tests():
    """Equal models: 5 % of the differences are found, give or take the Monte-Carlo error of 4,000 cases."""
    differences = np.random.default_rng(0).normal(0, 1, (4000, 1, 10))
    error = 4 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean(t_test(differences, 0.0) < 0.05) == pytest.approx(0.05, abs=error)
    assert np.mean(t_test(differences, 1 / 9) < 0.05) < 0.02
    # Resampled means alone, without their standard errors, find 9 %.
    assert 0.02 < np.mean(bootstrap_test(differences[:1000], Resampling(repeats=500)) < 0.05) < 0.05 + error


@pytest.mark.thorough
def test_holm_across_models():
    rates = nf.compute_rates(fold_counts(models=4))
    plain = nf.compare_folds(rates, beta=[0.5, 2], correction="none")
    corrected = nf.compare_folds(rates, beta=[0.5, 2])
    for beta in (0.5, 2.0):
        p = plain.filter(beta=beta)["p_value"].drop_nulls().to_list()
        assert corrected.filter(beta=beta)["p_value"].drop_nulls().to_list() == pytest.approx(
            multipletests(p, method="holm")[1]
        )
    assert (corrected["distinguishable"] <= plain["distinguishable"]).all()


def test_undefined_and_missing_folds_are_counted():
    tp, fp = [6, 4, 0, 5, 6, 4, 3, 0, 0, 0, 5], [2, 0, 0, 1, 3, 1, 1, 0, 0, 0, 2]
    folds = ["1", "2", "3", "4", "1", "2", "3", "1", "2", "3", "4"]
    counts = counts_at(tp, fp, 10, np.array(fp) + 98, model=[*"aaaabbbcccc"], fold=folds)
    table = nf.compare_folds(nf.compute_rates(counts), metric="precision", test="paired_t")
    assert table.select("model", "folds", "skipped").rows() == [("a", 3, 1), ("b", 3, 1), ("c", 1, 3)]
    assert table["reason"].to_list() == [None, None, "fewer than two folds define it and the best"]
    assert table["distinguishable"].to_list()[::2] == [False, None]
    a, b = np.array([6 / 8, 1.0]), np.array([6 / 9, 4 / 5])  # the folds that both have
    assert table["p_value"][1] == pytest.approx(stats.ttest_rel(a, b).pvalue)
    never = counts.with_columns(
        tp=pl.when(model="c").then(0).otherwise("tp"), fp=pl.when(model="c").then(0).otherwise("fp")
    )
    row = nf.compare_folds(nf.compute_rates(never), metric="precision").filter(model="c").row(0, named=True)
    assert (row["mean"], row["std"], row["reason"]) == (None, None, "undefined in every fold")
    assert table["mean"][0] == pytest.approx((6 / 8 + 1 + 5 / 6) / 3)


def test_the_prevalence_is_that_of_the_call_or_of_each_fold():
    rates = nf.compute_rates(fold_counts())
    for metric, prevalence in ((nf.precision(prevalence=0.02), 0.02), ("accuracy", None)):
        assert nf.compare_folds(rates, metric=metric)["prevalence"].unique().to_list() == [prevalence]


def test_minimised_metrics_are_turned_round():
    name = "false_alarms_in_folds"
    nf.register_metric(name, pl.col("fpr"), range=(0, 1), direction="minimize")
    counts = pl.concat([fold_counts(seed=s).with_columns(site=pl.lit(f"s{s}")) for s in (1, 2)])
    table = nf.compare_folds(nf.compute_rates(counts), metric=name)
    assert table.columns[:5] == ["site", "metric", "prevalence", "beta", "model"]
    best = table.filter(pl.col("p_value").is_null()).sort("site")
    lowest = table.sort("site", "mean").group_by("site", maintain_order=True).first()
    assert best["model"].to_list() == lowest["model"].to_list()
    renamed = counts.filter(site="s1").rename({"fold": "month"}).drop("site")
    assert nf.compare_folds(nf.compute_rates(renamed), over="month", metric=name).height == 3


def test_folds_with_an_infinite_value_of_both_models_are_not_compared():
    fp = {"a": [0, 2, 3, 1], "b": [0, 4, 4, 3]}
    tp, false = [50, 51, 52, 53] * 2, fp["a"] + fp["b"]
    counts = counts_at(tp, false, 100, 1000, model=[*"aaaabbbb"], fold=[0, 1, 2, 3] * 2)
    found = nf.compare_folds(nf.compute_rates(counts), metric="lr_plus", test="paired_t", correction="none")
    assert found["mean"].is_infinite().all()
    rates = {
        m: np.array([(50 + f) / 100 / (n / 1000) for f, n in enumerate(every) if n])
        for m, every in fp.items()
    }
    assert found["p_value"].drop_nulls().item() == pytest.approx(
        stats.ttest_rel(rates["a"], rates["b"]).pvalue
    )
    # Where only one of them is infinite, there is no test.
    counts = counts_at(tp, [0, 2, 3, 1, 1, 4, 4, 3], 100, 1000, model=[*"aaaabbbb"], fold=[0, 1, 2, 3] * 2)
    alone = nf.compare_folds(nf.compute_rates(counts), metric="lr_plus")
    assert alone.select("p_value", "reason").rows() == [(None, None), (None, "infinite in a fold")]
