"""A report of rows that have weights: the same intervals and tests as without them, by strata."""

import functools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import norm

import nci_frames as nf
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.how_sure import read_independence
from tests.stratified import stratified_log

pytestmark = pytest.mark.thorough

GRID = [0.005, 0.05, 0.5]


def log_of_two(rows: int = 1600, seed: int = 1) -> pl.DataFrame:
    """Return rows of two models in two segments; b is better."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.2
    country = np.where(rng.random(rows) < 0.5, "at", "de")
    unit = pl.Series(np.arange(rows) // 4)
    return pl.concat(
        pl.DataFrame(
            {
                "model": model,
                "country": country,
                "unit": unit,
                "label": label,
                "score": rng.normal(label * distance, 1).round(2),
            }
        )
        for model, distance in (("a", 1.0), ("b", 2.0))
    )


@functools.cache
def compared(weights: tuple[float, float] | None, *, units: bool = False) -> Comparison:
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


#: Sums of weights are other numbers than rows; all else must be the same.
SUMS = (
    "tp",
    "fp",
    "fn",
    "tn",
    "positives",
    "negatives",
    "observed_prevalence",
    "rows",
    "prevalence_reference",
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
    for name in (
        "points",
        "areas",
        "best",
        "projection",
        "winners",
        "certainty",
        "certified",
        "support",
        "shifts",
    ):
        one, two = (getattr(each, name) for each in (plain, weighted))
        one, two = (
            table.drop(SUMS, strict=False).select(pl.exclude("^effective_.*$")) for table in (one, two)
        )
        if "prevalence" in one.columns and name != "support":
            one, two = (table.filter(pl.col("prevalence").is_in(at)) for table in (one, two))
        assert len(one), name
        assert_frame_equal(one, two, rel_tol=1e-6, check_column_order=False)


@pytest.mark.long
def test_a_report_of_a_down_sampled_log_says_bounds_ranks_and_who_may_be_the_best(tmp_path: Path) -> None:
    comparison = compared((1.0, 100.0))
    nf.write_report(comparison, tmp_path / "report.json")
    found = json.loads((tmp_path / "report.json").read_text())
    for row in found["answer"]:
        assert row["lower"] < row["value"] < row["upper"]
    assert [row["rank"] for row in found["answer"]] == [1, 2]
    assert [row["distinguishable"] for row in found["answer"]] == [False, True]
    said = "The rows of each of 2 weights are a sample of fixed size"
    assert said in read_independence(comparison)
    assert read_independence(compared((1.0, 100.0), units=True)).endswith(
        "Their rows count for what they weigh."
    )
    for form in ("txt", "md", "html"):
        nf.write_report(comparison, tmp_path / f"report.{form}")
        text = " ".join((tmp_path / f"report.{form}").read_text().split())
        assert "no intervals" not in text
    assert comparison.contenders is not None
    assert comparison.contenders.height
    assert comparison.precision_uncertainty is not None


def test_prevalence_and_segments_are_those_of_the_traffic() -> None:
    plain, weighted = compared(None), compared((1.0, 100.0))
    rows = log_of_two().filter(model="a")
    true, false = (rows.filter(label=side).height for side in (True, False))
    assert weighted.observed_prevalence == pytest.approx(true / (true + 100 * false), rel=1e-12)
    one, two = plain.segment_ranks, weighted.segment_ranks
    assert one is not None
    assert two is not None
    # At a common prevalence a segment is as good as without weights; its own prevalence is another.
    same = ["country", "value", "lower", "upper", "rank", "effect", "shift_p_value"]
    assert_frame_equal(one.select(same), two.select(same), rel_tol=1e-9, check_row_order=False)
    own = nf.compute_rates(
        nf.count_confusion(
            rows.with_columns(weight=pl.when("label").then(1.0).otherwise(100.0)).drop("unit"),
            thresholds=[1.0],
            by="country",
        )
    )
    assert two.sort("country")["observed_prevalence"].to_list() == pytest.approx(
        own.sort("country")["observed_prevalence"].to_list(), rel=1e-12
    )


def test_rows_of_a_class_that_weigh_differently_have_intervals_and_tests_of_segments() -> None:
    log = log_of_two().drop("unit")
    drawn = log.with_columns(weight=pl.when(pl.col("score") > 1).then(1.0).otherwise(5.0))
    counts = nf.count_confusion(drawn, thresholds=np.arange(-2, 4.5, 0.5).tolist())
    comparison = nf.compare_models(counts, prevalence=[0.05], threshold=1.0, segments="country", repeats=50)
    assert comparison.answer["lower"].null_count() == 0
    assert comparison.segment_ranks is not None
    assert comparison.segment_ranks["p_value"].null_count() == 0
    assert comparison.shifts is not None
    tested = nf.check_projection(counts, over="country")
    assert_frame_equal(comparison.shifts.select("p_value"), tested.select("p_value"))


def test_values_are_those_of_the_rows_repeated() -> None:
    """Whole weights: the rates, areas and F-beta are those of a log with every row as often as it weighs."""
    log = log_of_two(300).drop("unit", "country").with_columns(weight=pl.Series([1.0, 2.0, 5.0] * 200))
    often = log.select(pl.exclude("weight").repeat_by(pl.col("weight").cast(pl.Int64))).explode(pl.all())
    asked = {"prevalence": [0.05], "threshold": 1.0, "repeats": 30}
    one, two = (
        nf.compare_models(nf.count_confusion(rows, thresholds="exact"), **asked) for rows in (log, often)
    )
    for name, columns in (
        ("points", ["tpr", "fpr"]), ("areas", ["value", "rank"]), ("best", ["optimistic", "rank"])
    ):  # fmt: skip
        mine, theirs = (getattr(each, name).select(columns) for each in (one, two))
        assert_frame_equal(mine, theirs.cast(mine.schema), rel_tol=1e-12)


@pytest.mark.long
def test_the_answer_holds_where_rows_were_drawn_by_score() -> None:
    """Labels were drawn by score: the interval of the first model's F1 holds as often as it says."""
    eta, distance, repeats, at = 0.05, 3.0, 15, 2.7
    tpr, fpr = norm.sf(at - distance), norm.sf(at)
    truth = 2 * eta * tpr / (eta * (1 + tpr) + (1 - eta) * fpr)
    held, rng = 0, np.random.default_rng(11)
    for _ in range(repeats):
        log = stratified_log(rng, 30_000, eta, distance, [0.02, 0.1, 1.0])
        counts = nf.count_confusion(log, thresholds=[1.0, 2.5, at])
        asked = nf.Question(prevalence=eta, threshold=at)
        answer = nf.compare_models(counts, prevalence=[eta], question=asked, repeats=2).answer
        held += answer["lower"].item() <= truth <= answer["upper"].item()
    assert held / repeats > 0.95 - 2 * (0.95 * 0.05 / repeats) ** 0.5
