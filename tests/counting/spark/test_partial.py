"""Partial counts of any partition of the rows add up to the counts of all of them."""

import itertools
import pickle
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import FEW_SCORES
from nci_frames.counting.logs.opened import FILE
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.spark.partial import (
    Kernel,
    counted_of,
    files_of_invalid,
    key_names,
    partial_counts,
    partial_scores,
)
from tests.logs import GRID, odd_log, random_log, small_logs

BUDGET = Budget.of(None)


def kernel_of(predictions: pl.LazyFrame, find: Any, *more: str) -> Kernel:
    scan = scan_behind(predictions)
    schema = pl.Schema({**scan.source.schema(), **dict.fromkeys(more, pl.String())})
    # As it travels to another process.
    return pickle.loads(pickle.dumps(Kernel(schema, scan.prepare, scan.models, find)))  # noqa: S301


def batches_of(log: pl.DataFrame, rows: int) -> Iterator[pa.RecordBatch]:
    """The rows as an engine sends them: in small Arrow batches, whose columns are known by place."""
    table = log.to_arrow(compat_level=pl.CompatLevel.oldest())
    return iter(table.rename_columns([f"c{place}" for place in range(len(log.columns))]).to_batches(rows))


def added(
    predictions: pl.LazyFrame, log: pl.DataFrame, cuts: list[int], grid: list[float] | None
) -> tuple[pl.DataFrame, dict[int, int]]:
    """Count parts of a log, each with hashes of its own, add them by a plain sum, and return the counts."""
    scan = scan_behind(predictions)
    group = ["model", *scan.keys]
    thresholds = None if grid is None else np.array(grid)
    kernel = kernel_of(predictions, partial(partial_counts, group=group, grid=thresholds, budget=BUDGET))
    bounds = [0, *sorted(cuts), len(log)]
    parts = [
        kernel(batches_of(log[low:high], 3), seed=place)
        for place, (low, high) in enumerate(itertools.pairwise(bounds))
    ]
    summed = (
        pl.concat(parts)
        .group_by(*key_names(len(group)), "place", "code")
        .agg(pl.col("positives", "negatives").sum())
    )
    raw = scan.raw.collect_schema()
    # On a grid, every third threshold is one of those whose counts are returned apart.
    counted_at = also = None
    if thresholds is not None:
        counted_at, also = np.delete(thresholds, slice(1, None, 3)), thresholds[1::3]
    counted = counted_of(summed, {key: raw[key] for key in group}, counted_at, also, BUDGET, "here")
    counts = counted.counts
    if counted.also is not None:
        assert counts["threshold"].is_in(counted_at).all()
        assert counted.also["threshold"].is_in(also).all()
        counts = pl.concat([counts, counted.also]).sort(*group, "threshold")
    return counts, counted.rows_by_code


@pytest.mark.thorough
@pytest.mark.parametrize("grid", [GRID, None])
@given(log=small_logs(), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_any_partition_adds_up(grid: list[float] | None, log: pl.DataFrame, cuts: list[int]) -> None:
    counts, rows = added(
        nf.scan_predictions(log, segments=["segment", "day"]), log, [min(cut, len(log)) for cut in cuts], grid
    )
    expected = nf.count_confusion(log, thresholds="exact" if grid is None else grid).drop("resolution")
    assert_frame_equal(counts, expected, check_exact=True)
    assert rows == {0: len(log)}


@pytest.mark.parametrize("grid", [GRID, None])
def test_rows_that_are_not_valid_are_counted_by_reason(grid: list[float] | None) -> None:
    log = odd_log()
    predictions = nf.scan_predictions(
        log, segments=["country", "day", "old", "date", "time"], on_invalid="drop"
    )
    counts, rows = added(predictions, log, [100, 150, 150], grid)
    with pytest.warns(nf.InvalidRowsWarning):
        expected = nf.count_confusion(predictions, thresholds="exact" if grid is None else grid)
    assert_frame_equal(counts, expected.drop("resolution"), check_exact=True)
    label, score = pl.col("label"), pl.col("score")
    valid_label = label.is_in([0, 1])
    assert rows == {
        0: log.filter(valid_label & score.is_not_nan()).height,
        1: log["label"].null_count(),
        2: log.filter(label == 2).height,
        4: log.filter(valid_label & score.is_nan()).height,
    }


def test_the_files_of_rows_that_are_not_valid_are_named() -> None:
    log = (
        odd_log()
        .with_columns(pl.Series(FILE, ["good", "bad"] * 200))
        .filter((pl.col(FILE) == "bad") | (pl.col("label").is_in([0, 1]) & pl.col("score").is_not_nan()))
    )
    kernel = kernel_of(nf.scan_predictions(log.drop(FILE), segments=["country"]), files_of_invalid, FILE)
    assert kernel(batches_of(log, 7))[FILE].to_list() == ["bad"]


@pytest.mark.parametrize("grid", [GRID, None])
def test_weights_add_up_and_a_weight_of_zero_is_a_row(grid: list[float] | None) -> None:
    log = random_log(300).with_columns(weight=np.random.default_rng(0).random(300))
    log = log.with_columns(pl.when(country="at").then(0.0).otherwise("weight").alias("weight"))
    counts, rows = added(
        nf.scan_predictions(log, fold="fold", segments="country", weight="weight"), log, [7, 200], grid
    )
    strata = nf.count_confusion(log, thresholds="exact" if grid is None else grid)
    expected = nf.pool_counts(strata, over="weight").drop("resolution")
    assert_frame_equal(counts, expected, rel_tol=1e-12, abs_tol=1e-12)
    assert counts.select(pl.min_horizontal(pl.col("tp", "fp", "fn", "tn").min())).item() >= 0
    assert rows == {0: 300}


def test_buckets_of_units_are_made_where_the_rows_are() -> None:
    log = random_log(200).with_columns(unit=pl.Series(range(200)) // 3)
    counts, _ = added(nf.unit_buckets(log, buckets=5), log, [50], GRID)
    expected = nf.count_confusion(nf.unit_buckets(log, buckets=5), thresholds=GRID)
    assert_frame_equal(counts, expected.drop("resolution"), check_exact=True)


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        ([0.5, 0.1, 0.5], [0.1, 0.5]),
        ([float("-inf"), 2.0, float("inf")], [float("-inf"), 2.0, float("inf")]),
        ([float("nan")], []),
        # Of too many scores the ends are found.
        (np.arange(FEW_SCORES + 1.0), [None, 0.0, FEW_SCORES]),
        (np.append(np.arange(FEW_SCORES), [-np.inf, np.inf]), [None, -np.inf, 0.0, FEW_SCORES - 1]),
        (np.arange(0.0, FEW_SCORES), np.arange(0.0, FEW_SCORES).tolist()),
    ],
)
def test_the_scores_of_a_partition(scores: Any, found: list[float | None]) -> None:
    log = pl.DataFrame({"model": "a", "label": 1, "score": scores})
    kernel = kernel_of(nf.scan_predictions(log, on_invalid="drop"), partial_scores)
    assert kernel(batches_of(log, 9999))["score"].to_list() == found


@pytest.mark.thorough
def test_sums_of_weights_are_never_below_zero() -> None:
    """The weights at and above a threshold, added in another order, could be more than all of them."""
    thresholds = np.linspace(0, 1, 3001).tolist()
    for seed in range(10):
        weights = np.random.default_rng(seed).random(3001)
        increments = pl.DataFrame(
            {"model": "a", "threshold": thresholds, "positives": weights, "negatives": 0.1}
        )
        counts = nf.read_counts(increments, thresholds=thresholds)
        assert counts.select(pl.min_horizontal(pl.col("tp", "fp", "fn", "tn").min())).item() >= 0
