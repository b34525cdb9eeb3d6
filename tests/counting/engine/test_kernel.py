"""Counts of logs, against a plain count by NumPy; what is dropped, refused and warned of."""

import itertools
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.count import tally_scan
from nci_frames.counting.logs.scan import scan_behind
from tests.cases import first_quick
from tests.logs import COUNTS, brute_force, random_log, small_logs

# Logs and thresholds are drawn, whatever their scales.
pytestmark = pytest.mark.filterwarnings("ignore::nci_frames.base.errors.OutsideGridWarning")

KEYS = [list(keys) for n in range(3) for keys in itertools.combinations(("segment", "day"), n)]


#: One score of both signs, and before it a row without a positive beside it.
FEW = pl.DataFrame(
    {"model": "a", "segment": "x", "day": 1, "label": [False, True, False], "score": [0.5, -0.0, 0.0]}
)


THRESHOLDS = st.one_of(st.sampled_from([0.1, 0.3, 0.5, 0.7, float("inf"), float("-inf")]), st.floats(-3, 3))


@pytest.mark.parametrize("exact", first_quick([True, False]))
@pytest.mark.parametrize("keys", first_quick(KEYS, 2), ids=str)
@example(log=FEW, grid=[0.0])
@example(log=FEW.head(1), grid=[0.0])
@given(log=small_logs(), grid=st.lists(THRESHOLDS, min_size=1, max_size=8, unique=True).map(sorted))
def test_counts_equal_brute_force(keys: list[str], exact: bool, log: pl.DataFrame, grid: list[float]) -> None:
    counts = nf.count_confusion(log, thresholds="exact" if exact else grid, by=keys)
    found = counts.select("model", *keys, "threshold", *COUNTS).rows()
    assert found == brute_force(log, keys, None if exact else grid)
    assert counts["resolution"].unique().to_list() == ["exact" if exact else "grid"]


@pytest.mark.parametrize("thresholds", ["exact", [-0.5, 0.0, 0.5]], ids=str)
def test_row_order_files_and_engine_make_no_difference(tmp_path: Path, thresholds: object) -> None:
    log = random_log(2000)
    expected = nf.count_confusion(log, thresholds=thresholds)  # type: ignore[arg-type]
    log.write_parquet(tmp_path / "whole.parquet", row_group_size=100)
    for part in range(7):
        log.sample(fraction=1, shuffle=True, seed=1)[part::7].write_parquet(tmp_path / f"part-{part}.parquet")
    columns = {"fold": "fold", "segments": "country"}
    parts = nf.scan_predictions(f"{tmp_path}/part-*.parquet", **columns)  # type: ignore[arg-type]
    assert_frame_equal(nf.count_confusion(parts, thresholds=thresholds), expected)  # type: ignore[arg-type]
    whole = nf.scan_predictions(tmp_path / "whole.parquet", **columns)  # type: ignore[arg-type]
    for engine in ("in-memory", "streaming"):
        with pl.Config() as config:
            config.set_engine_affinity(engine)
            assert_frame_equal(nf.count_confusion(whole, thresholds=thresholds), expected)  # type: ignore[arg-type]


def test_weights_are_summed_in_float64() -> None:
    log = pl.DataFrame(
        {
            "model": "a",
            "label": [True, True, False, False] * 2,
            "score": [0.9, 0.2, 0.8, 0.1] * 2,
            # In Float32 the sum of the two is the larger one.
            "weight": pl.Series([2.0**24] * 4 + [1.0] * 4, dtype=pl.Float32),
        }
    )
    counts = nf.pool_counts(nf.count_confusion(log, thresholds=[0.5]), over="weight")
    assert counts.select(COUNTS).row(0) == (2**24 + 1,) * 4


def test_dropped_rows_are_reported_by_reason() -> None:
    nan = float("nan")
    rows = [
        (1, 0.9, 1),
        (0, 0.1, 1),
        (None, 0.5, 1),
        (nan, 0.5, 1),
        (2, 0.3, 1),
        (1, None, 1),
        (1, nan, 1),
        (1, 0.5, -1),
    ]
    log = pl.DataFrame(rows, ["label", "score", "weight"], orient="row").with_columns(model=pl.lit("a"))
    scan = nf.scan_predictions(log, weight="weight", on_invalid="drop")
    message = (
        r"rows dropped from the DataFrame: 1 \(label is null\), 1 \(label is neither 0 nor 1\), "
        r"1 \(score is null\), 1 \(score is NaN\), 1 \(weight is [^()]*\), 1 \(label is NaN\)"
    )
    with pytest.warns(nf.InvalidRowsWarning, match=message):
        counts = nf.count_confusion(scan, thresholds=[0.5])
    assert counts.select(COUNTS).row(0) == (1, 0, 0, 1)
    tally = tally_scan(scan_behind(scan), thresholds=[0.5])
    assert (tally.counted, sum(tally.dropped.values())) == (2, 6)
    with pytest.warns(nf.InvalidRowsWarning, match=message):
        rows = scan.collect().select("model", "label", "score", "weight").rows()
    assert rows == [("a", True, 0.9, 1.0), ("a", False, 0.1, 1.0)]


def test_a_key_with_nearly_as_many_values_as_rows_is_named() -> None:
    one = pl.DataFrame({"label": [0, 1] * 30, "score": 0.5, "day": [1, 2, 3] * 20, "row": range(60)})
    one = one.with_columns(time=datetime(2026, 1, 1) + pl.duration(seconds="row"))
    log = one.join(pl.DataFrame({"model": ["a", "b", "c"]}), how="cross")
    for kind in ("row", "time"):
        named = nf.scan_predictions(log, segments=["day", kind])
        for frame in (log.select("model", "label", "score", "day", kind).lazy(), named):
            with pytest.warns(nf.NearlyUniqueKeyWarning, match=f"'{kind}' has 60 values for 60 rows"):
                nf.count_confusion(frame, thresholds=[0.5])
            nf.count_confusion(frame, thresholds=[0.5], by="day")
