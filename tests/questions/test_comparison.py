"""The tables of a comparison are those of the functions, and every report shows what they hold."""

from html import unescape
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.options.report import ReportOptions
from nci_frames.questions.how_sure import read_assumption, read_direction, read_rows
from nci_frames.reporting.html import render_report
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.terminal import print_comparison, render_text
from nci_frames.tables.markdown import literal
from nci_frames.tables.numbers import format_value
from tests.cases import first_quick
from tests.comparisons import printed, questions
from tests.fuzz.calls import calls
from tests.logs import counts_at, random_log, small_logs, unit_log


@pytest.mark.thorough
@given(
    log=small_logs(),
    kind=st.sampled_from([pl.Float32, pl.Float64]),
    threshold=st.one_of(st.sampled_from([0.5, 0.7, 0.95, 2.5, -3.0]), st.floats(-2, 2)),
)
def test_a_point_of_exact_rates_is_the_count_at_that_threshold(log, kind, threshold):
    # A third of a Float32 is none, so these scores can only be Float64.
    score = pl.col("score").cast(kind)
    log = log.with_columns(
        score / 3 + 0.1 if kind == pl.Float64 else score * np.float32(0.3) + np.float32(0.1)
    )
    exact = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    point = nf.select_operating_points(exact, threshold=threshold).drop("reason", "resolution")
    expected = nf.compute_rates(nf.count_confusion(log, thresholds=[threshold])).drop("resolution")
    assert_frame_equal(point, expected)


@pytest.mark.thorough
def test_a_threshold_is_compared_in_the_precision_of_the_scores():
    """A Float32 score that was logged as 0.95 is less than 0.95 in Float64, and positive at 0.95."""
    rng = np.random.default_rng(2)
    score = pl.Series(np.round(rng.random(600), 2), dtype=pl.Float32)
    log = pl.DataFrame(
        {
            "model": "a",
            "unit": np.arange(600) // 3,
            "label": rng.random(600) < score.to_numpy(),
            "score": score,
        }
    )
    buckets = nf.unit_buckets(log, buckets=40)
    for threshold in (0.95, 0.7, 0.1):
        exact = nf.count_confusion(buckets, thresholds="exact")
        counted = nf.count_confusion(buckets, thresholds=[threshold])
        cells = ["tp", "fp", "fn", "tn"]
        point = nf.select_operating_points(nf.compute_rates(exact), threshold=threshold)
        assert_frame_equal(point.select("bucket", *cells), counted.select("bucket", *cells))
        options: Any = {"metric": "f_beta", "threshold": threshold, "units": "bucket", "repeats": 50}
        values = [nf.bootstrap(counts, **options)["value"].item() for counts in (exact, counted)]
        assert values[0] == values[1]


@pytest.mark.long
def test_a_question_is_enough():
    """Without prevalences, they are those of the command, with that of the question."""
    question = nf.Question(prevalence=3e-5, cost=(200, 5))
    counts = nf.count_confusion(random_log(), thresholds=[0.3, 0.6])
    compared = nf.compare_models(counts, question=question)
    assert compared.prevalence == (3e-5, *ReportOptions().prevalences)
    assert compared.answer["prevalence"].unique().to_list() == [3e-5]
    given = nf.compare_models(counts, prevalence=[0.1], question=question)
    assert_frame_equal(compared.answer, given.answer)


def test_all_that_a_report_shows_is_among_the_tables_and_is_that_of_the_functions():
    log = random_log(300, values=10)
    counts = nf.count_confusion(log, thresholds="exact")
    grid = [0.01, 0.3, 1.0]
    options: dict[str, Any] = {"prevalence": grid, "beta": [0.5, 1.0], "threshold": 0.4}
    comparison = nf.compare_models(counts, segments="country", fold="fold", repeats=2, **options)
    pooled = nf.count_confusion(log, thresholds="exact", by=[])
    rates = nf.compute_rates(pooled)
    points = nf.compute_rates(nf.select_operating_points(rates, threshold=0.4), interval="wilson")
    assert_frame_equal(comparison.points, points)
    assert_frame_equal(comparison.rates, rates)
    assert_frame_equal(comparison.decisions, nf.decision_map(rates))
    assert_frame_equal(comparison.areas, nf.rank_models(nf.compute_areas(pooled, prevalence=grid)))
    assert set(comparison.segment_areas["country"]) == {"at", "de", None}
    assert comparison.observed_prevalence == pytest.approx(log["label"].mean())
    asked = comparison.asking(prevalence=0.1).answer_prevalences
    assert {*grid[:2], 0.1, comparison.observed_prevalence} <= {*asked}
    assert comparison.undefined.is_empty()

    assert {"answer", "areas", "contenders", "folds", "segment_ranks"} <= set(comparison.tables)
    assert not {"field", "field_projection", "field_areas", "field_averages"} & set(comparison.tables)
    assert all(comparison.tables[name] is getattr(comparison, name) for name in comparison.tables)
    assert sorted(comparison.leading) == sorted(log["model"].unique())

    curves = comparison.curves
    assert_frame_equal(curves, comparison.rates)
    assert_frame_equal(
        comparison.curve_projection.drop("supported_from"),
        nf.project_rates(
            curves, metrics=["precision", "pos_fraction", "recall"], prevalence=comparison.asked_prevalence
        ),
    )
    assert_frame_equal(comparison.precision_uncertainty, nf.max_precision_uncertainty(points))
    assert comparison.area_errors["error"].to_list() == [0.0] * len(comparison.area_errors)

    assert dict(comparison.segment_sizes.iter_rows()) == dict(log["country"].value_counts().iter_rows())
    assert comparison.segment_sizes["rows"].is_sorted(descending=True)
    largest = comparison.segment_sizes["country"].drop_nulls()[0]
    assert comparison.differences["reference"].unique().to_list() == [largest]
    expected = nf.decompose_difference(
        comparison.segment_points, metric=nf.f_beta(beta=1.0).alias("F1"), over="country", reference=largest
    )
    assert_frame_equal(comparison.differences, expected)
    costs = comparison.asking(cost=(5, 1))
    metric = nf.expected_cost(c_fp=1, c_fn=5, c_alert=0)
    expected = nf.decompose_difference(costs.segment_points, metric=metric, over="country", reference=largest)
    assert_frame_equal(costs.differences, expected)

    assert nf.compare_models(counts, repeats=2, **options).differences is None
    two = nf.compare_models(counts, segments=["country", "fold"], repeats=2, **options)
    assert two.differences is None
    assert two.segment_sizes.columns == ["country", "fold", "rows"]


def test_how_far_an_area_may_be_off_is_that_of_the_coarsest_prevalence():
    counts = nf.count_confusion(random_log(800), thresholds=[0.2, 0.5], by=[])
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.3], repeats=2)
    assert comparison.area_errors["model"].to_list() == ["forest", "linear"]
    for model, error in comparison.area_errors.iter_rows():
        areas = comparison.areas.filter(metric="pr_auc", model=model)
        assert error == max((areas["upper"] - areas["lower"]) / 2) > 0


@pytest.mark.thorough
def test_the_folds_are_those_of_counting_each_at_the_threshold():
    log = random_log(900)
    grid, betas = [0.01, 0.25, 0.6], [0.0, 0.5, 1.0, 2.0]
    options: dict[str, Any] = {"prevalence": grid, "beta": betas, "threshold": 0.4}
    counts = nf.count_confusion(log, thresholds="exact")
    comparison = nf.compare_models(counts, fold="fold", segments="country", **options)
    apart = nf.compute_rates(nf.count_confusion(log, thresholds=[0.4], by="fold"))
    assert_frame_equal(comparison.folds, nf.compare_folds(apart, beta=betas, prevalence=0.25))
    assert comparison.folds["folds"].unique().to_list() == [3]
    winners = nf.winner_ranges(comparison.points, metric="f_beta", over="beta", prevalence=0.25)
    assert_frame_equal(comparison.beta_winners.drop("lower", "upper"), winners)
    assert nf.compare_models(counts, **options).folds is None
    one = nf.compare_models(counts.filter(fold="1"), fold="fold", **options)
    assert one.folds is None


@pytest.mark.long
@settings(max_examples=3)
@given(log=small_logs(), thresholds=st.sampled_from(["exact", [0.2, 0.5]]))
def test_every_log_can_be_compared(log, thresholds):
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


def test_groups_of_one_class_are_named_with_the_reason():
    log = pl.DataFrame(
        {"model": "a", "country": ["at", "at", "de"], "label": [True, False, False], "score": [0.9, 0.1, 0.2]}
    )
    comparison = nf.compare_models(
        nf.count_confusion(log, thresholds="exact"), prevalence=0.1, segments="country"
    )
    assert comparison.undefined.select("model", "country", "positives", "reason").rows() == [
        ("a", "de", 0, "no positives: tpr, and what depends on it, is undefined")
    ]


@pytest.mark.long
def test_a_threshold_that_was_not_counted_is_named_with_its_neighbours():
    log = random_log(900)
    counts = nf.count_confusion(log, thresholds=[0.1, 0.45, 0.7, 0.9])
    comparison = nf.compare_models(
        counts, prevalence=[0.01, 0.3], segments="country", repeats=2, question=nf.Question(threshold=0.5)
    )
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
    assert f"Check the threshold: {sentence}." in page
    assert f"{literal(sentence)}\\.\n" in markdown
    assert " ".join(printed(print_comparison, comparison).split()).count(sentence) == 1

    below = nf.compare_models(counts, prevalence=0.3, threshold=0.05, repeats=2)
    assert "the nearest that were: 0.1. Count" in below.uncounted
    above = nf.compare_models(counts, prevalence=0.3, threshold=0.99999987, repeats=2)
    assert above.uncounted.startswith("threshold 0.99999987 was not counted")
    assert nf.compare_models(counts, prevalence=0.3, threshold=0.45, repeats=2).uncounted is None
    some = counts.filter(~((pl.col("model") == counts["model"][0]) & (pl.col("threshold") == 0.45)))
    mixed = nf.compare_models(some, prevalence=0.3, threshold=0.45, repeats=2)
    assert mixed.uncounted is None
    assert mixed.undefined["model"].to_list() == [counts["model"][0]]
    assert "the nearest that were: 0.1 and 0.7." in mixed.undefined["reason"].item()
    assert mixed.observed_prevalence == pytest.approx(log["label"].mean())


@pytest.mark.thorough
def test_scores_that_are_lower_for_positives_are_doubted():
    """On the page, too."""
    log = unit_log({"good": 2.0, "turned": -2.0, "none": 0.0}, 400, share=0.1, digits=0).drop("unit")
    comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=0.1, repeats=2)
    turned = comparison.areas.filter(model="turned", metric="roc_auc")["value"][0]
    sentence = "Check the scores of model 'turned': positives have lower scores than negatives (ROC-AUC "
    sentence += f"{format_value(turned)})"
    direction = questions("direction")
    assert sentence in " ".join(render_text(comparison, questions=direction).split())
    assert sentence in unescape(render_report(comparison, questions=direction))


def test_scores_without_information_are_not_doubted():
    rng = np.random.default_rng(7)
    models = [pl.DataFrame({"model": f"m{i:03}", "score": rng.integers(0, 9, 60)}) for i in range(200)]
    log = pl.concat(models).with_columns(label=pl.Series(rng.random(12_000) < 0.2))
    comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=0.1, repeats=2)
    assert comparison.areas.filter(metric="roc_auc")["value"].min() < 0.3
    assert read_direction(comparison) == []


@pytest.mark.long
def test_what_projection_assumes_is_tested_over_the_segments():
    country = pl.Series(np.random.default_rng(3).choice(["at", "de"], 6000))
    log = unit_log({"a": 1.0}, 6000).drop("unit").with_columns(country=country)
    shifted = log.with_columns(score=pl.col("score") + 0.4 * (pl.col("country") == "de"))
    sentences = []
    for rows in (log, shifted):
        counts = nf.count_confusion(rows, thresholds=np.linspace(-3, 4, 50).tolist())
        comparison = nf.compare_models(counts, prevalence=[0.01, 0.1], segments="country")
        expected = nf.check_projection(counts, over="country")
        assert comparison.shifts["adjusted"].to_list() == expected["adjusted"].to_list()
        assert comparison.shifts["segments"].to_list() == [2, 2]
        sentences.append(read_assumption(comparison.shifts, comparison.segments))
    same = "that each class has the same score distribution in all segments"
    assumed = f"Values at other prevalences assume {same}."
    assert sentences[0] == f"{assumed} 2 tests found nothing against it."
    doubt = "This is in doubt: 2 of 2 tests reject it; the largest distance between two distributions is 0.1"
    assert sentences[1].startswith(f"{assumed} {doubt}")
    page = render_report(comparison)
    assert page.count("2 of 2 tests reject it") == 1  # beside the answer
    text = render_markdown(comparison)
    assert "2 of 2 tests reject it" in text
    assert "The largest differences between segments" in page
    pooled = nf.compare_models(counts, prevalence=0.1)
    assert pooled.shifts is None
    assert read_assumption(None) == f"{assumed} This was not tested: no segments were named."
    assert read_assumption(None, ["country"]).endswith("not tested: these segments allow no test.")


def test_counts_without_a_row_have_tables_without_a_row():
    """Without a warning of Polars."""
    call = calls()["compare_models"]
    comparison = nf.compare_models(call.frames[0].clear(), **call.options)
    assert comparison.rates.is_empty()


@pytest.mark.parametrize(
    ("totals", "told"),
    first_quick(
        [
            # Of the models between, nothing is said.
            ((25, 975), "a has 1,000 (2 % positive), c has 1,000 (2.5 % positive)"),
            ((0, 0), "c has none, b has 1,000 (2 % positive)"),
            ((30, 2_970), "a has 1,000 (2 % positive), c has 3,000 (1 % positive)"),
            ((20, 980), None),
        ]
    ),
)
@pytest.mark.parametrize("weight", first_quick([None, 1.0]))
def test_models_with_different_rows_are_said_to_have_them(totals, told, weight):
    positives, negatives = np.array([20, 20, totals[0]]), np.array([980, 980, totals[1]])
    key = {} if weight is None else {"weight": weight}
    counts = counts_at(positives // 2, negatives // 100, positives, negatives, **key)
    compared = nf.compare_models(counts, prevalence=[0.01], repeats=2)
    same = "the same rows" if weight is None else "the same rows, or the same weights"
    said = [f"The models do not have {same}: {told}."] if told else []
    assert [line[: len(said[0])] for line in read_rows(compared)] == said
