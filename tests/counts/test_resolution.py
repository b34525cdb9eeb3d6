"""What counts still tell after rows were removed from them."""

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import assume, given
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.evaluation.rates.hull import roc_convex_hull
from tests.logs import exact_counts, random_log, small_logs

PLAIN = exact_counts([True, False, True, True, False, False], [0.9, 0.8, 0.7, 0.3, 0.2, 0.1])


def test_thresholds_below_a_filter_are_unknown_in_groups_with_rows_there():
    """All three positives of "a" reach 0.2; the rows left of its counts show only two."""
    high = exact_counts([True, False], [0.9, 0.8], model="high")
    upper = pl.concat([PLAIN, high]).filter(pl.col("threshold") >= 0.4)
    for known in (PLAIN, high):
        assert nf.bootstrap(known, metric="recall", threshold=0.2, repeats=2)["value"].item() == 1.0
    with pytest.raises(nf.ParameterError, match=r"0\.2 is not one of the counted thresholds"):
        nf.bootstrap(upper, metric="recall", threshold=0.2, repeats=2)
    points = nf.select_operating_points(nf.compute_rates(upper), threshold=0.2)
    assert points.select("model", "tpr", "reason").rows() == [
        ("a", None, "0.2 is not one of the counted thresholds"), ("high", 1.0, None),
    ]  # fmt: skip


@pytest.mark.long
# A threshold of 32 bits is the same number beside scores of Float32 and of Float64.
@given(log=small_logs(), lowest=st.floats(-1, 1), at=st.floats(-1, 1, width=32))
def test_filtered_counts_answer_rightly_or_not_at_all(log, lowest, at):
    log = log.with_columns(pl.col("score") + 0.0)
    counts = nf.count_confusion(log, thresholds="exact", by=[])
    upper = counts.filter(pl.col("threshold") >= lowest)
    assume(len(upper))
    truth = nf.compute_rates(nf.count_confusion(log, thresholds=[at], by=[]))
    points = nf.select_operating_points(nf.compute_rates(upper), threshold=at)
    points = points.filter(pl.col("reason").is_null())
    columns = ["model", "tp", "fp", "fn", "tn"]
    assert_frame_equal(
        points.select(columns), truth.select(columns).join(points.select("model"), on="model"),
        check_row_order=False,
    )  # fmt: skip
    whole = nf.compute_areas(counts, prevalence=0.1).drop("lower", "upper")
    bounds = nf.compute_areas(upper, prevalence=0.1).drop("value")
    enclosed = whole.join(bounds, on=["model", "metric"]).drop_nulls("value").drop_nulls("lower")
    rounding = 1e-12
    assert enclosed.filter(
        (pl.col("value") < pl.col("lower") - rounding) | (pl.col("value") > pl.col("upper") + rounding)
    ).is_empty()


@pytest.mark.parametrize(
    "choose", [roc_convex_hull, lambda rates: nf.select_operating_points(rates, tpr=0.3)]
)
def test_chosen_rows_do_not_claim_every_score(choose):
    counts = nf.count_confusion(random_log(), thresholds="exact", by=[])
    chosen = choose(nf.compute_rates(counts))
    assert set(chosen["resolution"]) == {"grid"}
    truth = nf.compute_areas(counts, prevalence=0.1).select("model", "metric", truth="value")
    bounds = nf.compute_areas(chosen, prevalence=0.1).join(truth, on=["model", "metric"])
    assert bounds.filter(pl.col("truth").is_between("lower", "upper").not_()).is_empty()
    assert (bounds["upper"] > bounds["lower"]).all()


def test_weighted_counts_whose_lowest_row_is_all_rows_but_for_rounding():
    log = random_log().with_columns(weight=pl.Series([0.1, 0.7] * 250))
    scan = nf.scan_predictions(log, fold="fold", segments=["country"], weight="weight")
    folds = nf.pool_counts(nf.count_confusion(scan, thresholds="exact"), over=["fold", "country"])
    found = nf.select_operating_points(nf.compute_rates(folds), threshold=-100.0)
    assert found["tpr"].to_list() == [1.0, 1.0]
