"""Counts that are added: parts of a log, folds and segments, up to the largest sums."""

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.cases import first_quick
from tests.logs import counts_at, random_log, small_logs


@pytest.mark.thorough
@given(log=small_logs())
def test_pooling_exact_counts_is_counting_the_pool(log):
    log = log.with_columns(pl.col("score") + 0.0)
    counts = nf.count_confusion(log, thresholds="exact")
    pooled = nf.pool_counts(counts, over=["segment", "day"])
    assert_frame_equal(pooled, nf.count_confusion(log, thresholds="exact", by=[]))


@pytest.mark.thorough
@pytest.mark.parametrize("thresholds", ["exact", [-0.5, 0.0, 0.5]], ids=str)
def test_merging_parts_is_counting_the_whole(thresholds):
    log = random_log(900).with_columns(weight=pl.Series([1.0, 0.5, 7.5] * 300).shuffle(seed=0))
    parts = [nf.count_confusion(log[part::3], thresholds=thresholds) for part in range(3)]
    whole = nf.count_confusion(log, thresholds=thresholds)
    for some in (parts, parts[::-1]):
        assert_frame_equal(nf.merge_counts(*some), whole)


def test_counts_of_rows_and_of_weights_add_up():
    log = random_log(300).drop("country")
    rows = nf.count_confusion(log[:100], thresholds=[0.0, 0.5])
    strata = nf.count_confusion(log[100:].with_columns(weight=pl.lit(1.0)), thresholds=[0.0, 0.5])
    weights = nf.pool_counts(strata, over="weight")
    whole = nf.count_confusion(log, thresholds=[0.0, 0.5])
    cells = ["tp", "fp", "fn", "tn"]
    for parts in ((rows, weights), (weights, rows)):
        assert_frame_equal(nf.merge_counts(*parts), whole.with_columns(pl.col(cells).cast(pl.Float64)))


@pytest.mark.thorough
def test_one_sum_wherever_counts_are_pooled():
    """To the bit, whatever the order of the rows, for pooling, folds and segments."""
    log = random_log(2000).with_columns(weight=pl.Series([0.1, 0.7, 1.3, 0.03] * 500))
    scan = nf.scan_predictions(log, fold="fold", segments=["country"], weight="weight")
    strata = nf.count_confusion(scan, thresholds=[0.2], by=["fold", "country"])
    counts = nf.pool_counts(strata, over="weight")
    recall = nf.compute_rates(nf.pool_counts(counts, over=["fold", "country"]))["tpr"].to_list()
    for seed in range(5):
        rates = nf.compute_rates(counts.sample(fraction=1, shuffle=True, seed=seed))
        rolled = nf.roll_up(rates, over=["fold", "country"], metrics="recall").filter(average="micro")
        assert rolled["value"].to_list() == recall


def test_exact_and_other_counts_add_up_on_equal_thresholds():
    """A filter by threshold leaves one group with scores below, and another without."""
    log = pl.DataFrame({"model": "a", "fold": ["1"] * 3 + ["2"] * 2, "label": [0, 1, 1, 0, 1]})
    log = log.with_columns(score=pl.Series([0.1, 0.5, 0.8, 0.5, 0.8]))
    counts = nf.count_confusion(log, thresholds="exact").filter(pl.col("threshold") >= 0.4)
    pooled = nf.pool_counts(counts, over="fold")
    assert pooled.select("threshold", "tp", "fp", "fn", "tn").rows() == [(0.5, 3, 1, 0, 1), (0.8, 2, 0, 1, 2)]


def huge(tp: int | float, fn: int | float = 0, **keys: object) -> pl.DataFrame:
    return pl.DataFrame(
        {"model": "a", **keys, "threshold": 0.5, "tp": [tp], "fp": [1], "fn": [fn], "tn": [9]}
    )


@pytest.mark.parametrize("resolution", ["grid", "exact"])
def test_a_sum_of_more_rows_than_a_count_can_hold_is_refused(resolution):
    most = 2**53
    number = dict.fromkeys(("day", "tp", "fp", "fn", "tn"), pl.Int64)
    half = huge(most // 2, day=1).with_columns(resolution=pl.lit(resolution), tn=0).cast(number)
    days = [half, half.with_columns(day=2).cast(number)]
    assert nf.pool_counts(pl.concat(days), over="day")["tp"].to_list() == [most]
    one_more = half.with_columns(day=3, tp=1).cast(number)
    with pytest.raises(nf.SchemaError, match=r"sum of column 'tp' is more than 2\^53.*\n *where: model 'a'"):
        nf.pool_counts(pl.concat([*days, one_more]), over="day")
    with pytest.raises(nf.SchemaError, match=r"sum of column 'tp' is more than 2\^53"):
        nf.merge_counts(*(day.drop("day") for day in [*days, days[0]]))


def test_large_sums_are_exact():
    odd = 2**52 - 1
    assert nf.merge_counts(huge(odd), huge(odd + 1))["tp"].to_list() == [2**53 - 1]


GRIDS = {"grid": [-0.5, 0.0, 0.25, 0.5], "one threshold": [0.25]}


@pytest.mark.thorough
@pytest.mark.parametrize("grid", first_quick([*GRIDS.values(), "exact"]), ids=[*GRIDS, "exact"])
def test_counts_are_added_in_any_order(grid):
    log = random_log(700)
    counts = nf.count_confusion(log, thresholds=grid)
    for over, by in (("fold", ["country"]), ("country", ["fold"]), (["country", "fold"], [])):
        expected = nf.count_confusion(log, thresholds=grid, by=by)
        for other in (counts, counts.sample(fraction=1.0, shuffle=True, seed=1), counts.sort("threshold")):
            assert_frame_equal(nf.pool_counts(other, over=over), expected)


@pytest.mark.parametrize("words", [["exact", "grid"], ["grid", "exact"], ["exact", "exact"]], ids=str)
def test_a_sum_is_exact_where_all_counts_are(words):
    counts = pl.DataFrame({
        "model": "a", "day": ["1", "1", "2", "2"], "threshold": [0.1, 0.2] * 2, "tp": [6, 2, 8, 1],
        "fp": [3, 1, 4, 2], "fn": [0, 4, 0, 7], "tn": [0, 2, 0, 2], "resolution": [*words, "exact", "grid"],
    })  # fmt: skip
    added = nf.pool_counts(counts, over="day")
    expected = ["exact" if words[0] == "exact" else "grid", "grid"]
    assert added["resolution"].to_list() == expected
    assert added.select("tp", "fp", "fn", "tn").rows() == [(14, 7, 0, 0), (3, 3, 11, 4)]


def test_a_point_selected_for_two_prevalences_is_pooled_once():
    """In each fold, both prevalences select the same point, but the folds have other ones."""
    counts = counts_at(
        [9, 5, 9, 9], [0, 0, 20, 2], 10, 100, model="a", threshold=[0.5, 0.8] * 2, fold=[*"xxyy"]
    )
    rates = nf.compute_rates(counts)
    points = nf.select_operating_points(rates, metric="f_beta", prevalence=[0.1, 0.3])
    assert points["threshold"].to_list() == [0.5, 0.5, 0.8, 0.8]
    with pytest.raises(nf.ParameterError, match="different thresholds"):
        nf.pool_counts(points, over="fold")
    with pytest.raises(nf.ParameterError, match="different thresholds"):
        nf.check_projection(points, over="fold")
    with pytest.raises(nf.ParameterError, match="stands in several rows"):
        nf.roll_up(points, over="fold", metrics="recall", prevalence=0.1)
    alike = nf.select_operating_points(rates, threshold=0.5)
    twice = pl.concat([alike, alike])
    assert nf.pool_counts(twice, over="fold").equals(nf.pool_counts(alike, over="fold"))
