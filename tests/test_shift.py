"""Tests of shift against SciPy on the rows, and their rate of false alarms."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy import special, stats

import nci_frames as nf
from nci_frames.evaluation.significance.shift import _law_of_distance, _merged
from tests.logs import random_log
from tests.test_folds import bonferroni_closed


def log_with_shift(rows: int, shift: float, seed: int = 0) -> pl.DataFrame:
    """Positives and negatives of three months; in the last the negatives score higher by *shift*."""
    rng = np.random.default_rng(seed)
    month = rng.choice(["1", "2", "3"], rows)
    label = rng.random(rows) < np.where(month == "2", 0.1, 0.4)  # the class balance may change
    score = rng.normal(label * 1.0 + shift * (month == "3") * ~label, 1)
    return pl.DataFrame({"model": "a", "month": month, "label": label, "score": np.round(score, 3)})


def test_statistics_are_those_of_scipy() -> None:
    log = log_with_shift(3000, 0.3)
    found = nf.check_projection(nf.count_confusion(log), over="month")
    p_values = {"ks": [], "chi_square": []}  # type: ignore[var-annotated]
    for row in found.iter_rows(named=True):
        of_class = log.filter(label=row["class"] == "positive")
        mine, others = (
            part["score"].to_numpy()
            for part in (
                of_class.filter(month=row["month"]),
                of_class.filter(pl.col("month") != row["month"]),
            )
        )
        assert row["rows"] == len(mine)
        p_values[row["test"]].append(row["p_value"])
        if row["test"] == "ks":
            expected = stats.ks_2samp(mine, others, method="asymp")
            assert row["statistic"] == pytest.approx(expected.statistic, abs=1e-12)
            assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
        else:
            # 20 cells of equal size over continuous scores: quantiles of all rows.
            edges = np.quantile(of_class["score"].to_numpy(), np.linspace(0, 1, 21)[1:-1])
            table = np.stack([np.bincount(np.searchsorted(edges, s), minlength=20) for s in (mine, others)])
            expected = stats.chi2_contingency(table, correction=False)
            assert row["statistic"] == pytest.approx(expected.statistic, rel=0.35)
    assert {len(p) for p in p_values.values()} == {2 * log["month"].n_unique()}
    for test, p in p_values.items():
        adjusted = found.filter(test=test)["adjusted"].to_list()
        assert adjusted == pytest.approx(bonferroni_closed(p))


def test_two_cells_are_the_test_of_two_shares() -> None:
    counts = pl.DataFrame(
        {"model": "a", "site": ["x", "y"], "threshold": 0.5, "tp": [60, 40], "fp": [10, 40], "fn": [40, 60],
         "tn": [990, 960]}
    )  # fmt: skip
    found = nf.check_projection(counts, over="site").filter(test="chi_square", site="x")
    tables = ([[10, 990], [40, 960]], [[60, 40], [40, 60]])
    for row, table in zip(found.iter_rows(named=True), tables, strict=True):
        expected = stats.chi2_contingency(table, correction=False)
        assert (row["statistic"], row["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
        assert row["verdict"] == "differs"


def test_a_shift_is_found_where_it_is() -> None:
    log = log_with_shift(20_000, 0.3)
    for thresholds in ("exact", np.linspace(-3, 4, 100).tolist()):
        found = nf.check_projection(nf.count_confusion(log, thresholds=thresholds), over="month")
        assert set(found.filter(month="3")["verdict"].to_list()[:2]) == {"differs"}
        positives = found.filter(pl.col("class") == "positive")
        # That the class balance changes is what projection is for, and no shift.
        assert positives["verdict"].unique().to_list() == ["no difference found"]


@pytest.mark.thorough
def test_false_alarms_are_as_rare_as_promised() -> None:
    """80 logs without a shift: at least one alarm in 5 % of them, at most; on a coarse grid KS has fewer."""
    alarms = {"ks": 0, "chi_square": 0}
    coarse = 0
    for seed in range(80):
        log = log_with_shift(600, 0.0, seed)
        for test, verdict in (
            nf.check_projection(nf.count_confusion(log), over="month")
            .select("test", "verdict")
            .unique()
            .rows()
        ):
            alarms[test] += verdict == "differs"
        on_grid = nf.check_projection(nf.count_confusion(log, thresholds=[0.0, 1.0]), over="month")
        coarse += bool(on_grid.filter(test="ks", verdict="differs").height)
    limit = 80 * 0.05 + 3 * np.sqrt(80 * 0.05 * 0.95)
    assert max(alarms.values()) < limit
    assert coarse <= alarms["ks"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12), st.integers(1, 30))
def test_merged_cells_are_large_enough_and_lose_nothing(rows: list[tuple[int, int]], least: int) -> None:
    table = np.array(rows, float).T
    merged = _merged(rows, least)
    assert (merged.sum(axis=1) == table.sum(axis=1)).all()
    assert merged.shape[1] == 1 or (merged.sum(axis=0) >= least).all()


def test_few_rows_keys_and_order() -> None:
    log = random_log(300)
    found = nf.check_projection(nf.count_confusion(log), over="fold")
    assert found.columns[:5] == ["model", "fold", "country", "class", "test"]
    assert found.equals(found.sort(found.columns[:5]))
    few = found.filter(pl.col("rows") < 10)
    assert len(few)
    assert few["reason"].unique().to_list() == ["fewer than 10 rows, here or elsewhere"]
    assert few.select("statistic", "p_value", "adjusted", "verdict").null_count().row(0) == (len(few),) * 4
    assert found.filter(pl.col("reason").is_null())["verdict"].null_count() == 0
    counts = nf.count_confusion(log)
    assert nf.check_projection(counts.clear(), over="fold").columns == found.columns
    tied = nf.check_projection(nf.count_confusion(log.with_columns(score=0.5)), over="fold")
    assert tied.filter(pl.col("reason").is_null())["p_value"].unique().to_list() == [1.0]


def test_bad_arguments() -> None:
    counts = nf.count_confusion(random_log(100), thresholds=[0.0])
    with pytest.raises(nf.ParameterError, match="level must be between 0 and 1"):
        nf.check_projection(counts, over="fold", level=1.5)
    with pytest.raises(nf.SchemaError, match="missing column 'week'"):
        nf.check_projection(counts, over="week")
    with pytest.raises(nf.ParameterError, match=r"all rows have the same fold(.|\n)*found: '1'"):
        nf.check_projection(counts.filter(fold="1"), over="fold")
    with pytest.raises(nf.ParameterError, match="sums of weights"):
        nf.check_projection(counts.with_columns(pl.col("tp") * 1.5), over="fold")
    uneven = counts.with_columns(threshold=pl.when(fold="1").then(0.1).otherwise("threshold"))
    with pytest.raises(nf.ParameterError, match="different thresholds cannot be added"):
        nf.check_projection(uneven, over="fold")


@pytest.mark.parametrize("size", [2_001, 20_000, 60_000])
def test_the_law_of_the_distance_of_many_rows_is_near_the_exact_one(size: int) -> None:
    distance = np.linspace(0.01, 2.2, 40) / np.sqrt(size)
    exact = stats.kstwo.sf(distance, size)
    found = _law_of_distance(distance, np.full(40, float(size)))
    assert np.abs(found - exact).max() < 4e-3
    assert found[exact < 0.1] == pytest.approx(exact[exact < 0.1], rel=0.02)


def test_logs_of_millions_of_rows_and_of_hardly_any_distance() -> None:
    counts = pl.DataFrame(
        {
            "model": ["a"] * 4,
            "month": ["May", "May", "June", "June"],
            "threshold": [0.5, 0.0] * 2,
            "tp": [1_000, 2_000] * 2,
            "fp": [19_599_000, 98_000_000, 19_603_000, 98_000_000],
            "fn": [1_000, 0] * 2,
            "tn": [78_401_000, 0, 78_397_000, 0],
        }
    )
    found = nf.check_projection(counts, over="month").filter(pl.col("test") == "ks")
    positive, negative = (found.filter(pl.col("class") == name) for name in ("positive", "negative"))
    assert positive["p_value"].to_list() == [1.0] * 2
    assert negative["p_value"].to_list() == pytest.approx(
        [special.kolmogorov(7_000 * 4e3 / 98e6)] * 2, rel=1e-6
    )
