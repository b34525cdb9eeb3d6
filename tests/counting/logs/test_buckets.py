"""Unit buckets: a hash that never changes, and predictions that stay what they were."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf
from nci_frames.counting.logs.units import bucket_of_units
from tests.cases import CHARACTERS
from tests.oracles import MASK, splitmix


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def test_the_reference_hash_has_its_published_values() -> None:
    """Of the test suite in RFC 9923 (FNV)."""
    assert [fnv1a(b""), fnv1a(b"a"), fnv1a(b"foobar")] == [
        0xCBF29CE484222325, 0xAF63DC4C8601EC8C, 0x85944171F73967E8
    ]  # fmt: skip


@given(st.lists(st.one_of(st.none(), st.text(CHARACTERS, max_size=8)), max_size=20), st.integers(2, 10**6))
def test_buckets_of_texts_are_those_of_the_reference_hash(texts: list[str | None], buckets: int) -> None:
    found = bucket_of_units(pl.Series("unit", texts, pl.String), buckets).to_list()
    assert found == [None if t is None else splitmix(fnv1a(t.encode())) % buckets for t in texts]


@given(st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)), max_size=20))
def test_buckets_of_whole_numbers_are_the_same_at_any_width(numbers: list[int | None]) -> None:
    expected = [None if n is None else splitmix(n & MASK) % 1000 for n in numbers]
    for dtype in (pl.Int32, pl.Int64):
        assert bucket_of_units(pl.Series("unit", numbers, dtype), 1000).to_list() == expected
    natural = [None if n is None else abs(n) for n in numbers]
    expected = [None if n is None else splitmix(n) % 1000 for n in natural]
    for unsigned in (pl.UInt32, pl.UInt64):
        assert bucket_of_units(pl.Series("unit", natural, unsigned), 1000).to_list() == expected


def test_buckets_are_even() -> None:
    numbers = np.bincount(bucket_of_units(pl.Series(np.arange(100_000)), 100).to_numpy())
    assert numbers.min() > 1000 - 5 * np.sqrt(1000)
    assert numbers.max() < 1000 + 5 * np.sqrt(1000)


@pytest.mark.parametrize(
    "change", [pl.LazyFrame.lazy, lambda scan: scan.filter(pl.col("unit") >= 0), pl.LazyFrame.collect]
)
def test_units_without_buckets_are_told(change: Callable[[pl.LazyFrame], Any]) -> None:
    log = pl.DataFrame({"model": "a", "label": [0, 1] * 9, "score": range(18), "unit": [1, 2] * 9})
    scan = nf.scan_predictions(log, unit="unit")
    with pytest.warns(nf.IgnoredUnitsWarning, match="units whose rows are counted as independent") as told:
        counts = nf.count_confusion(change(scan), thresholds=[5.0])
    assert told[0].filename == __file__
    for silent in (change(scan).drop("unit"), nf.scan_predictions(log)):
        assert nf.count_confusion(silent, thresholds=[5.0]).equals(counts)
    assert nf.count_confusion(nf.unit_buckets(change(scan)), thresholds=[5.0], by=[]).equals(counts)


def test_the_bucket_is_a_key_and_sums_away(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    log = pl.DataFrame(
        {"clf": "a", "y": rng.random(300) < 0.5, "p": rng.random(300), "user": rng.integers(0, 50, 300)}
    )
    log[:100].write_parquet(tmp_path / "1.parquet")
    log[100:].with_columns(p=pl.when(pl.col("user") > 0).then("p")).write_parquet(tmp_path / "2.parquet")
    scan = nf.scan_predictions(tmp_path, model="clf", label="y", score="p", unit="user", on_invalid="drop")
    bucketed = nf.unit_buckets(scan, buckets=30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = nf.count_confusion(bucketed, thresholds=[0.2, 0.5])
        plain = nf.count_confusion(scan.drop("unit"), thresholds=[0.2, 0.5])
        rows = bucketed.collect()
    # The scan behind the predictions is still known: dropped rows are reported as before.
    assert str(caught[0].message) == str(caught[1].message) == str(caught[2].message)
    assert counts.columns[:3] == ["model", "bucket", "threshold"]
    assert nf.pool_counts(counts, over="bucket").equals(plain)
    assert rows.group_by("unit").agg(pl.col("bucket").n_unique())["bucket"].max() == 1
