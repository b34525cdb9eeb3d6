"""Tests of shift against SciPy on the rows, and their rate of false alarms."""

import warnings

import numpy as np
import polars as pl
import pytest
from scipy import integrate, stats
from statsmodels.stats.multitest import multipletests

import nci_frames as nf
from nci_frames.evaluation.significance.quadratic import exceedances
from tests.cases import first_quick
from tests.logs import counts_at, random_log, unit_log


def log_with_shift(rows: int, shift: float, seed: int = 0) -> pl.DataFrame:
    """Positives and negatives of three months; in the last the negatives score higher by *shift*."""
    rng = np.random.default_rng(seed)
    month = rng.choice(["1", "2", "3"], rows)
    label = rng.random(rows) < np.where(month == "2", 0.1, 0.4)  # the class balance may change
    score = rng.normal(label * 1.0 + shift * (month == "3") * ~label, 1)
    return pl.DataFrame({"model": "a", "month": month, "label": label, "score": np.round(score, 3)})


@pytest.mark.thorough
def test_the_statistic_is_that_of_anderson_and_darling():
    """Scholz and Stephens' statistic of the rows, which their test standardises; and its p-value."""
    log = log_with_shift(3000, 0.1)
    found = nf.check_projection(nf.count_confusion(log), over="month")
    for row in found.iter_rows(named=True):
        of_class = log.filter(label=row["class"] == "positive")
        samples = [of_class.filter(month=month)["score"].to_numpy() for month in "123"]
        assert (row["segments"], row["rows"]) == (3, len(of_class))
        expected = by_the_rows(samples)
        # 64 cells of many scores lose little.
        assert row["statistic"] == pytest.approx(expected, rel=0.05)
        permuted = stats.PermutationMethod(n_resamples=999, rng=np.random.default_rng(1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's table of p-values ends at 0.25 and 0.001
            p_value = stats.anderson_ksamp(samples, method=permuted).pvalue
        assert row["p_value"] == pytest.approx(p_value, abs=0.04)


def by_the_rows(samples: list[np.ndarray]) -> float:
    """Eq. 3 of Scholz and Stephens (1987), without ties."""
    pooled = np.sort(np.concatenate(samples))
    size = len(pooled)
    j = np.arange(1, size)
    total = 0.0
    for sample in samples:
        n = len(sample)
        below = np.searchsorted(np.sort(sample), pooled[:-1], side="right")
        total += (((size * below - j * n) ** 2) / (j * (size - j))).sum() / n
    return total / size


def test_the_effect_is_the_distance_of_kolmogorov_and_smirnov():
    log = log_with_shift(3000, 0.5)
    row = nf.check_projection(nf.count_confusion(log), over="month").row(0, named=True)
    negatives = log.filter(~pl.col("label"))
    mine, others = (
        negatives.filter((pl.col("month") == "3") == is_it)["score"].to_numpy() for is_it in (True, False)
    )
    assert (row["class"], row["farthest"], row["distinguishable"]) == ("negative", "3", True)
    assert row["effect"] == pytest.approx(stats.ks_2samp(mine, others).statistic, abs=1e-12)


def test_two_cells_are_the_test_of_two_shares():
    counts = counts_at([60, 40], [10, 40], 100, 1000, model="a", site=["x", "y"])
    found = nf.check_projection(counts, over="site")
    tables = ([[10, 990], [40, 960]], [[60, 40], [40, 60]])
    p_values = []
    for row, table in zip(found.iter_rows(named=True), tables, strict=True):
        expected = stats.chi2_contingency(table, correction=False)
        # The weight of the one border is half its variance in Pearson's statistic.
        assert row["statistic"] == pytest.approx(expected.statistic / 2)
        assert row["p_value"] == pytest.approx(expected.pvalue)
        assert row["distinguishable"]
        p_values.append(expected.pvalue)
    assert found["adjusted"].to_list() == pytest.approx(multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize("small", [[1000], [40] * 25])
def test_one_rare_score_in_small_segments_is_as_probable_as_chance(small):
    negatives, false = [2_000_000, *small], [200, 1, *[0] * (len(small) - 1)]
    counts = counts_at(0, false, 0, negatives, model="a", site=list(range(len(false))))
    found = nf.check_projection(counts, over="site").filter(pl.col("class") == "negative").row(0, named=True)
    expected = stats.hypergeom(sum(negatives), sum(false), sum(small)).sf(0)
    # Of normal shares, the probability is below 0.005.
    assert found["p_value"] == pytest.approx(expected, abs=0.04)
    assert not found["distinguishable"]


@pytest.mark.parametrize("freedom", first_quick([4, 2]))
@pytest.mark.parametrize("known", first_quick([np.inf, 9.0]))
def test_exceedance_against_imhofs_integral(freedom, known):
    weights = np.array([1.0, 0.4, 0.2, 0.05])

    def exact(value: float) -> float:
        """Imhof (1961), eq. 3.2; an estimated scale is one more weight, of the other sign."""

        def integrand(u: float) -> float:
            theta = 0.5 * (freedom * np.arctan(weights * u)).sum()
            rho = np.prod((1 + (weights * u) ** 2) ** (freedom / 4))
            if known < np.inf:
                theta -= 0.5 * known * np.arctan(value / known * u)
                rho *= (1 + (value / known * u) ** 2) ** (known / 4)
            else:
                theta -= 0.5 * value * u
            return float(np.sin(theta) / (u * rho))

        return 0.5 + integrate.quad(integrand, 0, np.inf, limit=2000)[0] / np.pi

    mean = freedom * weights.sum()
    values = np.array([0.5, 1, 1.001, 2, 4]) * mean
    found = exceedances(values, weights, freedom, known)
    assert found.tolist() == pytest.approx([exact(value) for value in values], rel=0.05, abs=1e-4)
    # Of equal weights it is exact.
    f = stats.f(3 * freedom, known) if known < np.inf else stats.chi2(3 * freedom, scale=1 / (3 * freedom))
    equal = exceedances(values, np.ones(3), freedom, known)
    assert equal == pytest.approx(f.sf(values / (3 * freedom)))
    assert exceedances(np.zeros(1), weights, freedom, known) == [1]
    assert exceedances(np.ones(1), np.zeros(2), freedom, known) == [1]


def repeated(rows: int, segments: int, seed: int, times: int = 2) -> pl.DataFrame:
    """Units that are scored several times by two models; their segment says nothing of their scores."""
    log = unit_log({"a": 1.5, "b": 1.5}, rows, times=times, noise=0.3, alike=0.8, digits=2, seed=seed)
    return log.with_columns(country=pl.col("unit") % segments)


def test_buckets_with_a_shift():
    log = repeated(3000, 3, 0).with_columns(score=pl.col("score") + 0.5 * (pl.col("country") == 1))
    counts = nf.count_confusion(nf.unit_buckets(log), thresholds=np.linspace(-2, 4, 40).tolist())
    found = nf.check_projection(counts, over="country", units="bucket")
    assert found.select("model", "class", "farthest", "distinguishable").rows() == [
        (model, name, "1", True) for model in ("a", "b") for name in ("negative", "positive")
    ]


@pytest.mark.parametrize("found", [0, 1])
def test_small_segments_of_units_without_a_rare_score_are_no_finding(found):
    """Of 32 rows in as many buckets, 0.32 are expected beyond the threshold."""
    bucket, false = np.arange(64), np.where(np.arange(64) < found, 1, 0)
    both = [("big", np.ones(64, np.int64), 100), ("small", false, np.where(bucket < 32, 1, 0))]
    counts = pl.concat(
        counts_at(0, hits, 0, rows, model=["a"] * 64, site=site, bucket=bucket) for site, hits, rows in both
    )
    row = nf.check_projection(counts, over="site", units="bucket").row(0, named=True)
    assert (row["class"], row["segments"]) == ("negative", 2)
    assert row["p_value"] > 0.2


def test_few_rows_keys_and_order():
    log = random_log(300)
    found = nf.check_projection(nf.count_confusion(log), over="fold")
    assert found.columns[:3] == ["model", "country", "class"]
    assert found.equals(found.sort(found.columns[:3]))
    few = found.filter(pl.col("segments") < 2)
    assert len(few)
    assert few["reason"].str.contains("fewer than two values of 'fold' have 10").all()
    columns = ("statistic", "effect", "farthest", "p_value", "adjusted", "distinguishable")
    assert few.select(columns).null_count().row(0) == (len(few),) * len(columns)
    assert found.filter(pl.col("reason").is_null())["distinguishable"].null_count() == 0
    tied = nf.check_projection(nf.count_confusion(log.with_columns(score=0.5)), over="fold")
    assert tied.filter(pl.col("reason").is_null())["p_value"].unique().to_list() == [1.0]


def test_logs_of_millions_of_rows_and_of_hardly_any_distance():
    counts = counts_at(
        [1_000, 2_000] * 2,
        [19_599_000, 98_000_000, 19_603_000, 98_000_000],
        2000,
        98_000_000,
        model=["a"] * 4,
        threshold=[0.5, 0.0] * 2,
        month=["May", "May", "June", "June"],
    )
    negative, positive = nf.check_projection(counts, over="month").iter_rows(named=True)
    assert (positive["p_value"], positive["effect"]) == (1, 0)
    cells = [[19_599_000, 78_401_000], [19_603_000, 78_397_000]]
    expected = stats.chi2_contingency(cells, correction=False).pvalue
    assert negative["p_value"] == pytest.approx(expected, rel=1e-6)
    assert negative["effect"] == pytest.approx(4e3 / 98e6)
