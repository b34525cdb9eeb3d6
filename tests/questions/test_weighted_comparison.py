"""A report of rows that have weights: the same intervals and tests as without them, by strata."""

import functools

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.questions.how_sure import read_independence
from nci_frames.reporting.html import render_report
from tests.comparisons import questions
from tests.logs import SUMS, unit_log
from tests.stratified import stratified_log

pytestmark = pytest.mark.thorough

GRID = [0.005, 0.05, 0.5]


def log_of_two(units: int = 400) -> pl.DataFrame:
    """Return rows of two models in two segments, four of each unit; b is better."""
    log = unit_log({"a": 1.0, "b": 2.0}, 4 * units, share=0.2, digits=2, seed=1)
    odd = pl.col("unit") % 2 == 1
    country = pl.when(odd).then(pl.lit("at")).otherwise(pl.lit("de"))
    return log.with_columns(pl.col("unit") // 4, country=country)


@functools.cache
def compared(weights: tuple[float, float] | None, *, units: bool = False) -> nf.Comparison:
    """Compare the models of the log, whose positives and negatives weigh so much."""
    log = log_of_two()
    if weights is not None:
        log = log.with_columns(weight=pl.when("label").then(weights[0]).otherwise(weights[1]))
    rows = nf.unit_buckets(log, buckets=32) if units else log.drop("unit")
    counts = nf.count_confusion(rows, thresholds=np.arange(-2, 4.5, 0.25).tolist())
    return nf.compare_models(
        counts,
        prevalence=GRID,
        question=nf.Question(prevalence=0.05),
        threshold=1.0,
        segments="country",
        repeats=60,
    )


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("weights", [(1.0, 100.0), (0.25, 7.0)])
@pytest.mark.long
def test_weights_that_are_constant_within_classes_change_no_table(
    weights: tuple[float, float], units: bool
) -> None:
    plain, weighted = compared(None, units=units), compared(weights, units=units)
    assert weighted.strata == 2
    # What a log is compared at beside the question is its own prevalence.
    at = [eta for eta in GRID if eta in weighted.prevalence]
    asked = plain.answer.drop("threshold")
    assert_frame_equal(weighted.answer.drop("threshold"), asked, rel_tol=1e-6)
    assert asked["lower"].null_count() == 0
    assert asked["distinguishable"].to_list() == [False, True]
    names = ["points", "areas", "best", "projection", "winners", "certainty", "certified", "support"]
    for name in [*names, "shifts", "contenders", "precision_uncertainty"]:
        one, two = (getattr(each, name) for each in (plain, weighted))
        one, two = (table.drop(*SUMS, "rows", "prevalence_reference", strict=False) for table in (one, two))
        if "prevalence" in one.columns and name not in ("support", "precision_uncertainty"):
            one, two = (table.filter(pl.col("prevalence").is_in(at)) for table in (one, two))
        assert len(one), name
        assert_frame_equal(one, two, rel_tol=1e-6, check_column_order=False)
    # The own prevalence of a segment is another.
    same = ["country", "value", "lower", "upper", "rank", "effect", "shift_p_value"]
    one, two = (each.segment_ranks.select(same) for each in (plain, weighted))
    assert_frame_equal(one, two, rel_tol=1e-6, check_row_order=False)


def test_a_down_sampled_log_has_the_prevalence_of_the_traffic_and_says_what_its_rows_are() -> None:
    comparison, rows = compared((1.0, 100.0)), log_of_two().filter(model="a")
    true, false = (rows.filter(label=side).height for side in (True, False))
    assert comparison.observed_prevalence == pytest.approx(true / (true + 100 * false), rel=1e-12)
    told = read_independence(comparison)
    assert "The rows of each of the 2 weights are taken as a sample of their own" in told
    assert "weight" not in read_independence(compared((100.0, 100.0)))
    told = read_independence(compared((1.0, 100.0), units=True))
    assert told.endswith("Their rows count for what they weigh.")
    (counts,) = questions("counts")
    titles = [counts.title(each) for each in (comparison, compared(None))]
    assert [title.endswith("pooled, sums of weights") for title in titles] == [True, False]


def test_rows_of_a_class_that_weigh_differently_have_intervals_and_tests_of_segments() -> None:
    log = log_of_two().drop("unit")
    drawn = log.with_columns(weight=pl.when(pl.col("score") > 1).then(1.0).otherwise(5.0))
    counts = nf.count_confusion(drawn, thresholds=np.arange(-2, 4.5, 0.5).tolist())
    comparison = nf.compare_models(counts, prevalence=[0.05], threshold=1.0, segments="country", repeats=50)
    assert comparison.answer["lower"].null_count() == 0
    assert "within each class, or within each weight if a class has several, and" in render_report(comparison)
    assert comparison.segment_ranks is not None
    assert comparison.segment_ranks["p_value"].null_count() == 0
    assert comparison.shifts is not None
    tested = nf.check_projection(counts, over="country")
    assert_frame_equal(comparison.shifts.select("p_value"), tested.select("p_value"))


def test_a_page_does_not_say_that_sums_of_weights_by_segment_have_no_segments() -> None:
    sums = pl.DataFrame(
        {
            "model": "a", "country": ["at", "de"], "threshold": 0.5, "tp": [50.5, 40.2], "fp": [9.1, 8.3],
            "fn": [12.5, 10.0], "tn": [400.2, 300.1],
        }
    )  # fmt: skip
    page = render_report(nf.compare_models(sums, prevalence=[0.05], segments="country"))
    assert "These segments, or their counts, allow no test." in page
    assert "Without segments" not in page


def test_the_answer_of_a_log_drawn_by_score_has_the_interval_of_its_resampled_logs() -> None:
    log = stratified_log(np.random.default_rng(0), 50_000, 0.02, 3.0, [0.01, 0.1, 1.0])
    counts = nf.count_confusion(log, thresholds="exact")
    own = nf.count_confusion(log, thresholds=[2.7])
    (eta,) = nf.compute_rates(own)["observed_prevalence"]
    question = {"metric": "precision", "threshold": 2.7}
    compared = nf.compare_models(counts, prevalence=[0.01], question=nf.Question(**question), repeats=200)
    found = nf.bootstrap(counts, metric="precision", threshold=2.7, repeats=200)
    sides = ["value", "lower", "upper", "supported"]
    assert_frame_equal(compared.answer.select(sides), found.select(sides), rel_tol=1e-9)
    # At another prevalence, which needs both rates, it is that of the rates.
    rates = nf.select_operating_points(nf.compute_rates(counts, interval="wilson"), threshold=2.7)
    elsewhere = nf.compare_models(
        counts, prevalence=[0.01], question=nf.Question(prevalence=2 * eta, **question), repeats=200
    )
    band = nf.project_rates(rates, metrics="precision", prevalence=2 * eta, band=True)
    assert_frame_equal(elsewhere.answer.select(sides), band.select(sides), rel_tol=1e-9)


def test_a_threshold_that_was_not_counted_has_no_answer() -> None:
    log = stratified_log(np.random.default_rng(0), 5000, 0.02, 3.0, [0.01, 0.1, 1.0])
    counts = nf.count_confusion(log, thresholds=[2.0, 3.0])
    asked = nf.Question(metric="precision", threshold=2.5)
    answer = nf.compare_models(counts, prevalence=[0.01], question=asked, repeats=60).answer
    assert answer.select("value", "lower", "upper").row(0) == (None, None, None)
