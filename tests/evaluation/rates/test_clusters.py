"""Intervals of rates from buckets of units: against brute force, and against the truth."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import nci_frames as nf
from nci_frames.evaluation.arrays.buckets import bucket_counts
from nci_frames.evaluation.rates.clusters import effective_rows
from tests.cases import first_quick
from tests.logs import counts_at, in_buckets, unit_log

GRID = [-1.0, 0.0, 1.0, 2.0, 2.5, 3.0]


def units_scored(times: int, *, units: int = 1000, seed: int = 0) -> pl.DataFrame:
    """Units whose scores in several passes are correlated by 0.9."""
    sizes = (units // 10, units - units // 10)
    return unit_log({"a": 2.0, "b": 2.0}, sizes, times=times, noise=0.1**0.5, seed=seed)


@pytest.mark.parametrize(("thresholds", "buckets"), first_quick([(GRID, 50), (GRID, 200), ("exact", 200)]))
def test_effective_rows_against_brute_force(thresholds: object, buckets: int) -> None:
    log = nf.unit_buckets(units_scored(3, units=600), buckets=buckets)
    counts = nf.count_confusion(log, thresholds=thresholds)  # type: ignore[arg-type]
    found = effective_rows(counts, "bucket", bucket_counts(counts, "bucket"), level=0.95)
    rows = log.collect()
    pooled = nf.pool_counts(counts, over="bucket")
    points = nf.select_operating_points(nf.compute_rates(pooled), threshold=1.0)
    assert points["model"].to_list() == ["a", "b"]
    for point in points.iter_rows(named=True):
        mine = rows.filter(model=point["model"])
        for label, hit, name in ((True, "tp", "__positives"), (False, "fp", "__negatives")):
            of_class = mine.filter(label=label)
            by_bucket = of_class.group_by("bucket").agg(
                h=(pl.col("score") >= point["threshold"]).cast(pl.Int64).sum(), n=pl.len().cast(pl.Int64)
            )
            h, n = by_bucket["h"].to_numpy(), by_bucket["n"].to_numpy()
            rate = h.sum() / n.sum()
            without = np.array([np.delete(h, b).sum() / np.delete(n, b).sum() for b in range(len(h))])
            variance = (len(h) - 1) / len(h) * ((without - rate) ** 2).sum()
            effect = max(variance / (rate * (1 - rate) / n.sum()), 1.0)
            freedom = n.sum() ** 2 / (n**2).sum() - 1
            worth = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, freedom)) ** 2
            assert min(h.sum(), (n - h).sum()) >= 10
            row = found.filter(model=point["model"], tp=point["tp"], fp=point["fp"])
            assert point[hit] == h.sum()
            by_wilson = [
                stats.binomtest(int(k), int(m)).proportion_ci(method="wilson")
                for k, m in zip(h, n, strict=True)
            ]
            apart = max(max(b.low for b in by_wilson) - rate, rate - min(b.high for b in by_wilson), 0)
            missed, z = 1 - 0.025 ** (1 / (freedom + 1)), stats.norm.ppf(0.975)
            expected = 1 / (effect / (n.sum() * worth) + (apart * missed / z) ** 2 / (rate * (1 - rate)))
            if missed > 0.04:  # a kind of which one unit in 25 is may be missing
                lower, upper = proportion_confint(rate * expected, expected, method="wilson")
                lower = rate - np.hypot(rate - lower, (missed - 0.04) * rate)
                upper = rate + np.hypot(upper - rate, (missed - 0.04) * (1 - rate))
                expected = min(z**2 * b * (1 - b) / (b - rate) ** 2 for b in (lower, upper))
            assert row[name].item() == pytest.approx(expected)


def test_no_hit_has_the_design_effect_of_other_thresholds() -> None:
    """Without a false positive nothing is seen of how they come together; elsewhere it is."""
    log = nf.unit_buckets(units_scored(2))
    counts = nf.count_confusion(log, thresholds=[*GRID, 9.0])
    top = nf.compute_rates(counts, interval="wilson", units="bucket").filter(threshold=9.0, model="a")
    by_rows = nf.compute_rates(nf.pool_counts(counts, over="bucket"), interval="wilson")
    alone = by_rows.filter(threshold=9.0, model="a")
    assert top["fpr_lower"].item() == 0
    assert 1.5 < top["fpr_upper"].item() / alone["fpr_upper"].item() < 2.2
    nothing = nf.compute_rates(counts.filter(threshold=9.0), interval="wilson", units="bucket")
    assert nothing.select("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper").null_count().row(0) == (2,) * 4


@pytest.mark.parametrize("weight", [{}, {"weight": 2.0}])
def test_positives_that_are_all_in_one_bucket_are_worth_one_row(weight: dict[str, float]) -> None:
    size = np.zeros(30, np.int64)
    size[3] = 40
    alone = in_buckets(size // 2, size).with_columns(**{name: pl.lit(each) for name, each in weight.items()})
    row = nf.compute_rates(alone, interval="wilson", units="bucket").row(0, named=True)
    assert (row["tpr"], row["tpr_lower"], row["tpr_upper"]) == (0.5, None, None)
    assert row["effective_positives"] == 1
    assert row["fpr_lower"] is not None


def test_rows_of_units_do_not_know_more_than_their_units() -> None:
    """20 identical rows of each unit; four units among the false positives."""
    unit = np.arange(2100)
    hit = np.where(unit < 100, unit < 60, unit >= 2096)
    log = pl.DataFrame({"model": "a", "label": unit < 100, "score": hit * 1.0, "unit": unit})
    alone = nf.count_confusion(log.drop("unit"), thresholds=[0.5])
    repeated = nf.unit_buckets(pl.concat([log] * 20), buckets=2048)
    counts = nf.count_confusion(repeated, thresholds=[0.5])
    rates = nf.compute_rates(counts, interval="wilson", units="bucket")
    together, apart = (
        nf.predictive_value_interval(known, prevalence=0.01)
        .filter(metric="precision")
        .select("lower", "upper")
        .row(0)
        for known in (rates, nf.compute_rates(alone))
    )
    # Wider, since the log may lack a kind of unit.
    assert 0.6 * apart[0] < together[0] < 1.1 * apart[0]
    assert together[1] == pytest.approx(apart[1], rel=0.1)
    found = nf.bootstrap(counts, metric=["fpr", "precision"], threshold=0.5, units="bucket", repeats=50)
    assert found["interval"].to_list() == ["band", "band"]


@pytest.mark.long
def test_precision_and_thresholds_of_few_units_hold_where_their_rates_do() -> None:
    """Of 30 buckets a few have most false positives: numbers of rows over all thresholds tell too little."""
    logs, eta, tpr, fpr = 100, 0.01, 0.6, 0.01
    rng, shape = np.random.default_rng(1), (100, 30)
    true, false = (
        rng.binomial(n, rng.beta(p * 2.3, (1 - p) * 2.3, shape)) for n, p in ((20, tpr), (200, fpr))
    )
    log, bucket = np.indices(shape).reshape(2, -1)
    cells = true.ravel(), false.ravel(), 20, 200
    counts = counts_at(*cells, model=["a"] * logs * 30, log=log, bucket=bucket)
    rates = nf.compute_rates(counts, interval="wilson", units="bucket")
    found = nf.predictive_value_interval(rates, prevalence=eta).filter(metric="precision").drop_nulls("lower")
    precision = eta * tpr / (eta * tpr + (1 - eta) * fpr)
    assert len(found) > 0.9 * logs
    assert found.select(pl.lit(precision).is_between("lower", "upper").mean()).item() >= 0.93
    kept = nf.select_operating_points(rates, fpr=fpr * 0.999, confidence=0.95)
    assert kept["threshold"].null_count() >= 0.93 * logs
    # Without bounds there is no number of rows either.
    lone = np.where(np.arange(30) == 3, 40, 0)
    alone = nf.compute_rates(in_buckets(lone // 2, lone), interval="wilson", units="bucket")
    bounds = nf.predictive_value_interval(alone, prevalence=eta).select("lower", "upper")
    assert bounds.null_count().row(0) == (2, 2)
