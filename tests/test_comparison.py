"""The tables of a comparison are those of the functions, and every report shows what they hold."""

import dataclasses
import io
import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from rich.console import Console

import nci_frames as nf
from nci_frames.reporting.findings.summary import summarise
from nci_frames.reporting.findings.verdicts import name_best, read_assumption
from nci_frames.reporting.pages.html import render_report
from nci_frames.reporting.pages.json import render_json
from nci_frames.reporting.pages.markdown import render_markdown
from nci_frames.reporting.pages.terminal import print_comparison
from nci_frames.reporting.tables.markdown import literal
from tests.logs import random_log, small_logs

# Normal scores are compared at the default threshold.
pytestmark = pytest.mark.filterwarnings("ignore::nci_frames.errors.OutsideGridWarning")


@pytest.mark.thorough
@given(
    log=small_logs(), threshold=st.one_of(st.sampled_from([0.5, 0.7, 2.5, -3.0]), st.floats(-2, 2, width=32))
)
def test_a_point_of_exact_rates_is_the_count_at_that_threshold(log: pl.DataFrame, threshold: float) -> None:
    log = log.with_columns(pl.col("score").cast(pl.Float64))
    exact = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    point = nf.select_operating_points(exact, threshold=threshold).drop("reason", "resolution")
    expected = nf.compute_rates(nf.count_confusion(log, thresholds=[threshold])).drop("resolution")
    assert_frame_equal(point, expected)


def test_a_threshold_that_a_grid_lacks_is_null_with_the_reason() -> None:
    rates = nf.compute_rates(nf.count_confusion(random_log(), thresholds=[0.1, 0.2]))
    points = nf.select_operating_points(rates, threshold=0.15)
    assert points["tpr"].null_count() == len(points) == 2 * 3 * 3
    assert points["reason"].unique().to_list() == ["0.15 is not one of the counted thresholds"]
    assert nf.select_operating_points(rates, threshold=0.2)["reason"].null_count() == len(points)
    with pytest.raises(nf.ParameterError, match="threshold must be a number"):
        nf.select_operating_points(rates, threshold=float("nan"))


@pytest.mark.thorough
def test_a_comparison_holds_the_tables_of_the_functions() -> None:
    log = random_log(800)
    counts = nf.count_confusion(log, thresholds="exact")
    grid, betas = [0.01, 0.3], [0.5, 1.0]
    comparison = nf.compare_models(counts, prevalence=grid, beta=betas, threshold=0.4, segments="country")
    pooled = nf.count_confusion(log, thresholds="exact", by=[])
    rates = nf.compute_rates(pooled)
    points = nf.compute_rates(nf.select_operating_points(rates, threshold=0.4), interval="wilson")
    assert_frame_equal(comparison.points, points)
    assert_frame_equal(comparison.rates, rates)
    assert_frame_equal(comparison.decisions, nf.decision_map(rates))
    assert_frame_equal(comparison.areas, nf.rank_models(nf.compute_areas(pooled, prevalence=grid)))
    assert comparison.segment_areas is not None
    assert set(comparison.segment_areas["country"]) == {"at", "de", None}
    assert comparison.observed_prevalence == pytest.approx(log["label"].mean())
    assert comparison.undefined.is_empty()
    with pytest.raises(nf.SchemaError, match="did you mean 'country'"):
        nf.compare_models(counts, prevalence=grid, segments="contry")


@pytest.mark.thorough
def test_all_that_a_report_shows_is_among_the_tables() -> None:
    log = random_log(800)
    counts = nf.count_confusion(log, thresholds="exact")
    options: dict[str, Any] = {"prevalence": [0.01, 0.3, 1.0], "beta": [0.5, 1.0], "threshold": 0.4}
    comparison = nf.compare_models(counts, segments="country", fold="fold", repeats=20, **options)
    held = {field.name for field in dataclasses.fields(comparison)}
    single = {"prevalence", "beta", "threshold", "segments", "observed_prevalence", "leading"}
    single |= {"uncounted", "off_scale", "buckets", "unit_rows", "repeats"}
    single |= {"field", "field_projection", "field_areas", "field_averages"}  # without a field frame
    assert set(comparison.tables) == held - single
    assert all(comparison.tables[name] is getattr(comparison, name) for name in comparison.tables)
    assert sorted(comparison.leading) == sorted(log["model"].unique())

    curves = comparison.curves
    assert_frame_equal(curves, comparison.rates)
    assert_frame_equal(
        comparison.curve_projection,
        nf.project_rates(curves, metrics=["precision", "pos_fraction", "recall"], prevalence=[0.01, 0.3]),
    )
    points = comparison.points
    assert comparison.precision_bands is not None
    assert_frame_equal(comparison.precision_bands, nf.precision_band(points, prevalence=[0.01, 0.3, 1.0]))
    assert comparison.precision_uncertainty is not None
    assert_frame_equal(comparison.precision_uncertainty, nf.max_precision_uncertainty(points))
    assert comparison.area_errors["error"].to_list() == [0.0] * len(comparison.area_errors)

    assert comparison.segment_sizes is not None
    assert dict(comparison.segment_sizes.iter_rows()) == dict(log["country"].value_counts().iter_rows())
    assert comparison.segment_sizes["rows"].is_sorted(descending=True)
    assert comparison.differences is not None
    largest = comparison.segment_sizes["country"].drop_nulls()[0]
    assert comparison.differences["reference"].unique().to_list() == [largest]
    assert comparison.segment_points is not None
    expected = nf.decompose_difference(
        comparison.segment_points, metric=nf.f_beta(beta=1.0).alias("F1"), over="country", reference=largest
    )
    assert_frame_equal(comparison.differences, expected)

    alone = nf.compare_models(counts, repeats=2, **options)
    assert "differences" not in alone.tables
    two = nf.compare_models(counts, segments=["country", "fold"], repeats=2, **options)
    assert two.differences is None
    assert two.segment_sizes is not None
    assert two.segment_sizes.columns == ["country", "fold", "rows"]


def test_how_far_an_area_may_be_off_is_that_of_the_coarsest_prevalence() -> None:
    counts = nf.count_confusion(random_log(800), thresholds=[0.2, 0.5], by=[])
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.3], repeats=2)
    assert comparison.area_errors["model"].to_list() == ["forest", "linear"]
    for model, error in comparison.area_errors.iter_rows():
        areas = comparison.areas.filter(metric="pr_auc", model=model)
        assert error == max((areas["upper"] - areas["lower"]) / 2) > 0


@pytest.mark.thorough
def test_the_folds_are_those_of_counting_each_at_the_threshold() -> None:
    log = random_log(900)
    grid, betas = [0.01, 0.25, 0.6], [0.0, 0.5, 1.0, 2.0]
    options: dict[str, Any] = {"prevalence": grid, "beta": betas, "threshold": 0.4}
    counts = nf.count_confusion(log, thresholds="exact")
    comparison = nf.compare_models(counts, fold="fold", segments="country", **options)
    apart = nf.compute_rates(nf.count_confusion(log, thresholds=[0.4], by="fold"))
    assert comparison.folds is not None
    assert_frame_equal(comparison.folds, nf.compare_folds(apart, beta=betas, prevalence=0.25))
    assert comparison.folds["folds"].unique().to_list() == [3]
    winners = nf.winner_ranges(comparison.points, metric="f_beta", over="beta", prevalence=0.25)
    assert_frame_equal(comparison.beta_winners.drop("lower", "upper"), winners)
    assert nf.compare_models(counts, **options).folds is None
    one = nf.compare_models(counts.filter(fold="1"), fold="fold", **options)
    assert one.folds is None
    with pytest.raises(nf.SchemaError, match="did you mean 'fold'"):
        nf.compare_models(counts, fold="folds", **options)


@pytest.mark.thorough
def test_each_model_is_best_at_its_own_threshold() -> None:
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
    assert (best["lower"] <= best["value"]).all()
    assert (best["value"] <= best["upper"]).all()
    assert comparison.best_points.height < comparison.rates.height / 2
    # Else a threshold between two of them would be answered by the wrong one.
    assert comparison.rates["resolution"].unique().to_list() == ["exact"]
    assert comparison.best_points["resolution"].unique().to_list() == ["grid"]
    ranked = best.with_columns(
        expected=pl.col("value").rank("min", descending=True).over("prevalence", "beta").cast(pl.Int64)
    )
    assert (ranked["rank"] == ranked["expected"]).all()


def test_models_that_share_thresholds_compete_at_different_ones() -> None:
    counts = pl.DataFrame(
        {
            "model": ["a", "a", "b", "b"],
            "threshold": [0.3, 0.6] * 2,
            "tp": [90, 50, 80, 60],
            "fp": [100, 5, 40, 10],
            "fn": [10, 50, 20, 40],
            "tn": [900, 995, 960, 990],
        }
    )
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
def test_probabilities_of_being_best_add_up_for_every_measure() -> None:
    counts = nf.count_confusion(random_log(4_000), thresholds="exact", by=[])
    grid = [0.001, 0.05, 0.3, 0.6]
    comparison = nf.compare_models(counts, prevalence=grid, beta=[0.5, 1.0], repeats=100)
    assert comparison.main_prevalences == (0.001, 0.3, 0.6)
    assert comparison.certainty is not None
    assert comparison.best_certainty is not None
    for table in (comparison.certainty, comparison.best_certainty):
        sums = table.group_by("metric", "prevalence", "beta").agg(pl.col("probability").sum())
        assert sums["probability"].to_list() == pytest.approx([1.0] * len(sums))
        assert sorted(table["prevalence"].unique()) == grid
        assert table["repeats"].unique().to_list() == [100]
    assert set(comparison.certainty["metric"]) == {"pr_auc", "f_beta"}
    with pytest.raises(nf.ParameterError, match="repeats"):
        nf.compare_models(counts, prevalence=grid, repeats=1)


@pytest.mark.thorough
def test_only_models_near_the_top_are_resampled() -> None:
    names = [f"model {i:02d}" for i in range(30)]
    counts = pl.DataFrame(
        {
            "model": names,
            "threshold": [0.5] * 30,
            "tp": [30 + 2 * i for i in range(30)],
            "fp": [30] * 30,
            "fn": [70 - 2 * i for i in range(30)],
            "tn": [9_970] * 30,
        }
    )
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.1], repeats=50)
    assert comparison.certainty is not None
    assert sorted(comparison.certainty["model"].unique()) == names[10:]
    assert comparison.best["model"].n_unique() == 30


@pytest.mark.thorough
@settings(max_examples=3)
@given(log=small_logs(), thresholds=st.sampled_from(["exact", [0.2, 0.5]]))
def test_every_log_can_be_compared(log: pl.DataFrame, thresholds: Any) -> None:
    counts = nf.count_confusion(log, thresholds=thresholds)
    comparison = nf.compare_models(
        counts,
        prevalence=[0.0, 0.2, 1.0],
        beta=[0.0, 1.0, 2.0, float("inf")],
        segments="segment",
        fold="day",
        repeats=2,
    )
    assert (comparison.folds is None) == (log["day"].n_unique() == 1)
    assert comparison.points["model"].to_list() == sorted(log["model"].unique())
    assert "</html>" in render_report(comparison)


@pytest.mark.thorough
def test_sums_of_weights_have_no_bounds_and_are_not_resampled() -> None:
    log = random_log(300).with_columns(weight=pl.lit(0.5))
    counts = nf.count_confusion(nf.scan_predictions(log, weight="weight"), thresholds="exact")
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.1])
    assert comparison.certainty is None
    assert comparison.best_certainty is None
    assert "lower" not in comparison.best.columns
    assert "</html>" in render_report(comparison)


@pytest.mark.thorough
def test_groups_of_one_class_are_named_with_the_reason() -> None:
    log = pl.DataFrame(
        {"model": "a", "country": ["at", "at", "de"], "label": [True, False, False], "score": [0.9, 0.1, 0.2]}
    )
    comparison = nf.compare_models(
        nf.count_confusion(log, thresholds="exact"), prevalence=0.1, segments="country"
    )
    assert comparison.undefined.select("model", "country", "positives", "reason").rows() == [
        ("a", "de", 0, "no positives: tpr, and what depends on it, is undefined")
    ]


@pytest.mark.thorough
def test_a_threshold_that_was_not_counted_is_named_with_its_neighbours() -> None:
    log = random_log(900)
    counts = nf.count_confusion(log, thresholds=[0.1, 0.45, 0.7, 0.9])
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.3], segments="country", repeats=2)
    sentence = "threshold 0.5 was not counted; the nearest that were: 0.45 and 0.7. "
    sentence += "Count it as well, or compare at one of these"
    assert comparison.uncounted == sentence
    assert comparison.undefined["reason"].unique().to_list() == [sentence]
    label = pl.col("label").cast(pl.Int64)
    rows = log.group_by("model", "country").agg(positives=label.sum(), negatives=(1 - label).sum())
    order = ["model", "country"]
    assert_frame_equal(comparison.undefined.drop("reason"), rows, check_row_order=False)
    assert comparison.undefined.select(order).equals(comparison.undefined.select(order).sort(order))
    # What does not depend on the threshold is there all the same.
    assert comparison.observed_prevalence == pytest.approx(log["label"].mean())
    assert comparison.best["value"].null_count() == 0
    page, markdown = render_report(comparison), render_markdown(comparison)
    assert "has no rows" not in page + markdown
    assert f"Check the threshold:</strong> {sentence}." in page
    assert f"\n{literal(sentence)}.\n" in markdown
    console = Console(file=io.StringIO(), width=200)
    print_comparison(comparison, console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().count(sentence) == 1

    below = nf.compare_models(counts, prevalence=0.3, threshold=0.05, repeats=2)
    assert below.uncounted is not None
    assert "the nearest that were: 0.1. Count" in below.uncounted
    assert nf.compare_models(counts, prevalence=0.3, threshold=0.45, repeats=2).uncounted is None
    some = counts.filter(~((pl.col("model") == counts["model"][0]) & (pl.col("threshold") == 0.45)))
    mixed = nf.compare_models(some, prevalence=0.3, threshold=0.45, repeats=2)
    assert mixed.uncounted is None
    assert mixed.undefined["model"].to_list() == [counts["model"][0]]
    assert "the nearest that were: 0.1 and 0.7." in mixed.undefined["reason"].item()
    assert mixed.observed_prevalence == pytest.approx(log["label"].mean())


@pytest.mark.thorough
def test_what_projection_assumes_is_tested_over_the_segments() -> None:
    rng = np.random.default_rng(3)
    label = rng.random(6000) < 0.3
    country = rng.choice(["at", "de"], 6000)
    log = pl.DataFrame({"model": "a", "country": country, "label": label, "score": rng.normal(label, 1)})
    shifted = log.with_columns(score=pl.col("score") + 0.4 * (pl.col("country") == "de"))
    sentences = []
    for rows in (log, shifted):
        counts = nf.count_confusion(rows, thresholds=np.linspace(-3, 4, 50).tolist())
        comparison = nf.compare_models(counts, prevalence=[0.01, 0.1], segments="country")
        assert comparison.shifts is not None
        expected = nf.check_projection(counts, over="country")
        assert comparison.shifts["adjusted"].to_list() == expected["adjusted"].to_list()
        assert comparison.shifts["segments"].to_list() == [2, 2]
        sentences.append(read_assumption(comparison.shifts))
    same = "each class has the same score distribution in all segments"
    assert sentences[0] == f"No test speaks against projection: none of 2 rejects that {same}."
    assert sentences[1].startswith(
        f"Projection is in doubt: 2 of 2 tests reject that {same}; the largest distance is 0.1"
    )
    page = render_report(comparison)
    assert page.count("2 of 2 tests reject that") == 1  # beside the answer
    (text, *_) = render_markdown(comparison).split("\n## ")
    assert "2 of 2 tests reject that" in text
    assert "The largest differences between segments" in page
    pooled = nf.compare_models(counts, prevalence=0.1)
    assert pooled.shifts is None
    assert "was not tested, since there are no segments." in read_assumption(pooled.shifts)


@pytest.mark.thorough
def test_the_models_that_may_be_the_best_are_those_of_compare_best() -> None:
    """Paired where the counts have buckets: two models that differ by noise, and one that is far behind."""
    rng = np.random.default_rng(0)
    label = np.repeat([True, False], [200, 2000])
    common = rng.normal(size=2200)
    log = pl.concat(
        pl.DataFrame(
            {"model": model, "unit": np.arange(2200), "label": label,
             "score": 1 / (1 + np.exp(-(common + 0.3 * rng.normal(size=2200) + shift * label)))}
        )
        for model, shift in (("mlp", 1.6), ("rf", 1.6), ("tree", 0.3))
    )  # fmt: skip
    by_unit = nf.count_confusion(nf.unit_buckets(log, buckets=50), thresholds=np.linspace(0, 1, 41).tolist())
    pooled = nf.pool_counts(by_unit, over="bucket")
    for counts, units in ((by_unit, "bucket"), (pooled, None)):
        found = nf.compare_models(counts, prevalence=[0.01, 0.1, 0.5])
        held = found.contenders
        assert held is not None
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
        assert dict(own.select("model", "distinguishable").iter_rows()) == {
            "mlp": False, "rf": False, "tree": True
        }  # fmt: skip
        verdict = summarise(found).answers[1].verdicts["pr_auc"]
        assert {*verdict.best, *verdict.not_distinguishable} == {"mlp", "rf"}
        best, other = verdict.best[0], verdict.not_distinguishable[0]
        assert name_best(verdict) == f"{best}; not distinguishable from it: {other}"
        if units is not None:
            assert f"not distinguishable from it: {other}" in render_report(found)
        assert f"| {best} | {other} |" in render_markdown(found)
        content = json.loads(render_json(found))["answers"][1]["verdicts"]["pr_auc"]
        assert content["not_distinguishable"] == [other]
        console = Console(width=200, record=True, file=io.StringIO())
        print_comparison(found, console)
        assert f"at 0.1: {best}; not distinguishable from it: {other}" in console.export_text()
    assert "contenders" in found.tables


@pytest.mark.thorough
def test_every_border_has_the_interval_of_its_crossover() -> None:
    rng = np.random.default_rng(3)
    label = np.arange(3000) < 300
    scores = {
        "a": np.where(label, rng.normal(1.0, 2.0, 3000), rng.normal(size=3000)),
        "b": np.where(label, rng.normal(1.8, 1.0, 3000), rng.normal(size=3000)) + 1,
    }
    log = pl.concat(pl.DataFrame({"model": m, "label": label, "score": s}) for m, s in scores.items())
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


def test_more_prevalences_than_a_comparison_takes_are_refused() -> None:
    counts = nf.count_confusion(random_log(50), thresholds=[0.5])
    with pytest.raises(nf.ParameterError, match=r"at most 10,000 prevalences\n  found: 20,000"):
        nf.compare_models(counts, prevalence=[i / 20_000 for i in range(20_000)])
