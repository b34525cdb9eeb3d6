import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.reporting.answers import read_assumption
from nci_frames.reporting.report import render_report
from tests.logs import random_log, small_logs


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
    assert points["reason"].unique().to_list() == ["0.15 is not among the thresholds that were counted"]
    assert nf.select_operating_points(rates, threshold=0.2)["reason"].null_count() == len(points)
    with pytest.raises(nf.ParameterError, match="threshold must be a number"):
        nf.select_operating_points(rates, threshold=float("nan"))


def test_a_comparison_holds_the_tables_of_the_functions() -> None:
    log = random_log(800)
    counts = nf.count_confusion(log, thresholds="exact")
    grid, betas = [0.01, 0.3], [0.5, 1.0]
    comparison = nf.compare_models(counts, prevalence=grid, beta=betas, threshold=0.4, segment="country")
    pooled = nf.count_confusion(log, thresholds="exact", by=[])
    points = nf.select_operating_points(nf.compute_rates(pooled), threshold=0.4)
    assert_frame_equal(comparison.points, points)
    assert_frame_equal(comparison.areas, nf.rank_models(nf.compute_areas(pooled, prevalence=grid)))
    assert comparison.segment_areas is not None
    assert set(comparison.segment_areas["country"]) == {"at", "de", None}
    assert comparison.observed_prevalence == pytest.approx(log["label"].mean())
    assert comparison.undefined.is_empty()
    with pytest.raises(nf.SchemaError, match="did you mean 'country'"):
        nf.compare_models(counts, prevalence=grid, segment="contry")


def test_groups_of_one_class_are_named_with_the_reason() -> None:
    log = pl.DataFrame(
        {"model": "a", "country": ["at", "at", "de"], "label": [True, False, False], "score": [0.9, 0.1, 0.2]}
    )
    comparison = nf.compare_models(
        nf.count_confusion(log, thresholds="exact"), prevalence=0.1, segment="country"
    )
    assert comparison.undefined.select("model", "country", "positives", "reason").rows() == [
        ("a", "de", 0, "no positives: tpr, and what depends on it, is undefined")
    ]


def test_what_projection_assumes_is_tested_over_the_segments() -> None:
    rng = np.random.default_rng(3)
    label = rng.random(6000) < 0.3
    country = rng.choice(["at", "de"], 6000)
    log = pl.DataFrame({"model": "a", "country": country, "label": label, "score": rng.normal(label, 1)})
    shifted = log.with_columns(score=pl.col("score") + 0.4 * (pl.col("country") == "de"))
    sentences = []
    for rows in (log, shifted):
        counts = nf.count_confusion(rows, thresholds=np.linspace(-3, 4, 50).tolist())
        comparison = nf.compare_models(counts, prevalence=[0.01, 0.1], segment="country")
        assert comparison.shifts is not None
        expected = nf.check_projection(counts, over="country")
        assert comparison.shifts["adjusted"].to_list() == expected["adjusted"].to_list()
        assert comparison.shifts["value"].unique().sort().to_list() == ["at", "de"]
        sentences.append(read_assumption(comparison.shifts))
    assert sentences[0].endswith("in 8 tests over the segments no difference was found.")
    assert "a difference was found in 8 of 8 tests; the largest distance is 0.1" in sentences[1]
    page = render_report(comparison)
    assert (
        page.count("a difference was found in 8 of 8 tests") >= 5
    )  # beside every table, and where it is told
    assert "The largest differences between segments" in page
    pooled = nf.compare_models(counts, prevalence=0.1)
    assert pooled.shifts is None
    assert "was not tested, since there are no segments" in read_assumption(pooled.shifts)
