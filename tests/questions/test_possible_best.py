"""Which models of a comparison may be the best: at own thresholds, in resampled logs, between borders."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.comparisons import questions
from tests.logs import counts_at, crossing_log, random_log, unit_log


def test_each_model_is_best_at_its_own_threshold():
    counts = nf.count_confusion(random_log(800), thresholds="exact", by=[])
    grid, betas = [0.001, 0.05, 0.6], [0.5, 1.0, 3.0]
    comparison = nf.compare_models(counts, prevalence=grid, beta=betas)
    every = nf.project_rates(comparison.rates, metrics="f_beta", prevalence=grid, beta=betas)
    highest = every.group_by("model", "prevalence", "beta").agg(pl.col("value").max())
    order = ["model", "prevalence", "beta"]
    best = comparison.best.sort(order)
    optimistic = best.select(*order, value="optimistic")
    assert_frame_equal(optimistic, highest.sort(order).select(*order, "value"))
    named = best.join(every, on=[*order, "threshold"])
    assert (named["optimistic"] == named["value_right"]).all()
    fitted = nf.cross_fit(counts, prevalence=grid, beta=betas)
    assert_frame_equal(best.select(*order, "value"), fitted.sort(order).select(*order, "value"))
    assert best["value"].is_between(best["lower"], best["upper"]).all()
    assert comparison.best_points.height < comparison.rates.height / 2
    # Else a threshold between two of them would be answered by the wrong one.
    assert comparison.rates["resolution"].unique().to_list() == ["exact"]
    assert comparison.best_points["resolution"].unique().to_list() == ["grid"]
    ranked = best.with_columns(
        expected=pl.col("value").rank("min", descending=True).over("prevalence", "beta").cast(pl.Int64)
    )
    assert (ranked["rank"] == ranked["expected"]).all()


@pytest.mark.thorough
def test_models_that_share_thresholds_compete_at_different_ones():
    points = {"model": ["a", "a", "b", "b"], "threshold": [0.3, 0.6] * 2}
    counts = counts_at([90, 50, 80, 60], [100, 5, 40, 10], 100, 1000, **points)
    comparison = nf.compare_models(counts, prevalence=[0.001, 0.9], threshold=0.3)
    assert comparison.best.select("prevalence", "model", "threshold", "rank").rows() == [
        (0.001, "a", 0.6, 1),
        (0.001, "b", 0.6, 2),
        (0.9, "a", 0.3, 1),
        (0.9, "b", 0.3, 2),
    ]

    def won(ranges: pl.DataFrame) -> list[str]:
        return ranges.unique(["model", "threshold"], maintain_order=True)["model"].to_list()

    assert won(comparison.best_winners) == ["a", "b", "b", "a"]
    assert won(comparison.winners) == ["b", "a"]
    assert comparison.winners.drop("lower", "upper").equals(
        nf.winner_ranges(comparison.points, metric="f_beta", over="prevalence", beta=1.0)
    )


@pytest.mark.thorough
def test_only_models_near_the_top_are_resampled():
    names = [f"model {i:02d}" for i in range(30)]
    counts = counts_at(np.arange(30, 90, 2), 30, 100, 10_000, model=names)
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.1], repeats=50)
    assert sorted(comparison.certainty["model"].unique()) == names[10:]
    assert comparison.best["model"].n_unique() == 30


@pytest.mark.long
def test_the_models_that_may_be_the_best_are_those_of_compare_best(tmp_path):
    """Paired where the counts have buckets: two models that differ by noise, and one that is far behind."""
    log = unit_log({"m0": 1.6, "m1": 1.6, "m2": 0.3}, (200, 2000), alike=0.9)
    by_unit = nf.count_confusion(nf.unit_buckets(log, buckets=50), thresholds=np.linspace(-3, 5, 33).tolist())
    pooled = nf.pool_counts(by_unit, over="bucket")
    for counts, units in ((by_unit, "bucket"), (pooled, None)):
        found = nf.compare_models(counts, prevalence=[0.01, 0.1, 0.5])
        held = found.contenders
        assert held["measure"].unique().sort().to_list() == ["f_beta", "own", "pr_auc"]
        assert set(held["prevalence"]) == set(found.main_prevalences)
        expected = nf.compare_best(
            counts, metric="pr_auc", prevalence=found.main_prevalences, units=units, repeats=400
        )
        assert_frame_equal(held.filter(measure="pr_auc").drop("measure"), expected)
        at = nf.compare_best(
            counts, threshold=0.5, prevalence=found.main_prevalences, units=units, repeats=400
        )
        assert_frame_equal(held.filter(measure="f_beta").drop("measure"), at)
        own = held.filter(measure="own", prevalence=0.1)
        told = dict(own.select("model", "distinguishable").iter_rows())
        assert told == {"m0": False, "m1": False, "m2": True}
        asked = found.asking(prevalence=0.1, metric="pr_auc")
        best, other, _ = asked.answer["model"]
        assert {best, other} == {"m0", "m1"}
        told = f"{best} or {other}, which this log cannot tell apart"
        for form in ("md", "txt"):
            path = nf.write_report(asked, tmp_path / f"report.{form}", questions=questions("answer"))
            assert told in path.read_text("utf-8"), form


@pytest.mark.thorough
def test_every_border_has_the_interval_of_its_crossover():
    log = crossing_log(np.random.default_rng(3), 3000)
    log = log.with_columns(pl.col("score") + (pl.col("model") == "b"))
    counts = nf.count_confusion(log, thresholds=np.linspace(-3, 7, 41).tolist())
    found = nf.compare_models(counts, prevalence=[1e-4, 1e-2, 0.5], threshold=2.5)
    own = counts.join(found.best_points.select("model", "threshold"), on=["model", "threshold"])
    expected: dict[str, tuple[pl.DataFrame, pl.DataFrame, str]] = {
        "winners": (
            found.winners, nf.crossover_intervals(counts, threshold=2.5, repeats=400), "prevalence"
        ),
        "beta_winners": (
            found.beta_winners,
            nf.crossover_intervals(
                counts, threshold=2.5, over="beta", prevalence=found.middle_prevalence, repeats=400
            ),
            "beta",
        ),
        "best_winners": (
            found.best_winners, nf.crossover_intervals(own, threshold="own", repeats=400), "prevalence"
        ),
        "area_winners": (
            found.area_winners, nf.crossover_intervals(counts, metric="pr_auc", repeats=400), "prevalence"
        ),
    }  # fmt: skip
    for name, (winners, crossings, over) in expected.items():
        borders = winners.filter(pl.col("lower").is_not_null())
        assert len(borders) >= 1, name
        for row in borders.iter_rows(named=True):
            near = crossings.filter((pl.col(over) / row["start"]).log().abs() < 1e-3)
            (crossing,) = near.filter(model_b=row["model"]).iter_rows(named=True)
            for bound in ("lower", "upper"):
                assert row[bound] == pytest.approx(crossing[bound], rel=0.02), name


@pytest.mark.thorough
def test_where_a_model_leads_that_is_not_compared_the_certified_map_is_unknown():
    """It leads where the prevalence is very high, far from those asked for, and there are too many models."""
    rows = [("far", 100, 900, 20, 5), *((f"m{k:02}", 90 - k // 3, 500 + k, 60, 10 + k) for k in range(24))]
    names, *cells = zip(*rows, strict=True)
    low, high = np.array(cells[:2]), np.array(cells[2:])
    tp, fp = np.stack([low, high], axis=2).reshape(2, -1)
    counts = counts_at(
        tp, fp, 100, 1000, model=np.repeat(names, 2), threshold=np.tile([0.2, 0.8], len(names))
    )
    compared = nf.compare_models(counts, prevalence=[0.01, 0.02], repeats=20)
    assert compared.decisions["model"][0] == "far"
    first = compared.certified.row(0, named=True)
    assert (first["lambda_start"], first["verdict"]) == (0.0, "unknown")
    assert "was not compared" in first["reason"]
    assert compared.certified["verdict"].to_list()[1] == "several"
