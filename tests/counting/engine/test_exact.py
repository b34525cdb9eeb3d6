"""Exact counts: at distinct scores, in chunks of a frame whose keys share memory; against plain Python."""

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.engine import batch, exact
from tests.cases import first_quick
from tests.logs import random_log


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks as those of large groups, and blocks as those of large logs, of few rows."""
    for name, rows in {"_BLOCK_ROWS": 500, "ALONE_ROWS": 200, "_PART_ROWS": 400}.items():
        monkeypatch.setattr(exact, name, rows)
    for name, rows in {"_IN_CHUNKS": 0, "_CHUNK_ROWS": 150}.items():
        monkeypatch.setattr(exact, name, rows)
    monkeypatch.setattr(batch, "SLICE_ROWS", 300)


def buffers(column: pl.Series) -> Iterator[tuple[int, int]]:
    """Yield where the values of each chunk of a column lie, and how many bytes they take."""
    for chunk in column.get_chunks():
        views = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
        yield views.buffers()[1].address, views.buffers()[1].size


@pytest.mark.parametrize("weighted", first_quick([False, True]))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_in_chunks_are_those_in_one(
    dtype: type, weighted: bool, request: pytest.FixtureRequest
) -> None:
    # The second model is met after some blocks.
    log = random_log(6000, dtype=dtype, values=3000).sort("model")
    if weighted:
        log = log.with_columns(weight=np.random.default_rng(1).random(len(log)))
    expected = nf.count_confusion(log, thresholds="exact", by=["fold", "country"])
    areas = nf.compute_areas(expected, prevalence="observed")
    assert expected.n_chunks() == 1
    request.getfixturevalue("small_chunks")
    counts = nf.count_confusion(log, thresholds="exact", by=["fold", "country"])
    assert_frame_equal(counts, expected, check_exact=True)
    assert_frame_equal(nf.compute_areas(counts, prevalence="observed"), areas, check_exact=True)
    # Where all chunks of all columns are the same, Polars copies none of them.
    lengths = {tuple(map(len, counts[name].get_chunks())) for name in counts.columns if name != "resolution"}
    assert len(lengths) == 1
    assert len(*lengths) > 10
    assert list(buffers(counts.select("tp", "model")["model"])) == list(buffers(counts["model"]))


@pytest.mark.usefixtures("small_chunks")
def test_large_groups_share_the_memory_of_equal_keys() -> None:
    counts = nf.count_confusion(random_log(20_000, values=10**6), thresholds="exact", by=["fold"])
    assert len(counts) > 15_000
    for key, values in (("model", 2), ("fold", 3)):
        lies = dict(buffers(counts[key]))
        assert len(lies) == values
        # A row of its own would take 16 bytes.
        assert sum(lies.values()) <= values * 150 * 16
    changed = counts.with_columns(model=pl.col("model").str.to_uppercase())
    assert changed["model"].unique().sort().to_list() == ["FOREST", "LINEAR"]
    assert counts["model"].unique().sort().to_list() == ["forest", "linear"]


@pytest.mark.parametrize(("large", "weight", "kept"), [(True, 0, 16), (False, 0, 16), (True, 1, 48)])
def test_the_memory_of_keys_is_known_before(
    large: bool, weight: int, kept: int, request: pytest.FixtureRequest
) -> None:
    if large:
        request.getfixturevalue("small_chunks")
    log = random_log(6000, values=10**6)
    log = log.with_columns(weight=pl.int_range(pl.len()).cast(pl.Float64)) if weight else log
    rows = len(nf.count_confusion(log, thresholds="exact", by="fold"))
    # Large groups share the keys of a chunk: those of two models and three folds.
    keys = 16 * (5 * 150 if large else 2 * rows)
    needed = kept * len(log) + 40 * rows + keys
    assert len(nf.count_confusion(log, thresholds="exact", by="fold", memory_limit=needed)) == rows
    with pytest.raises(nf.ParameterError, match="write the counts to a file with sink_exact_counts") as error:
        nf.count_confusion(log, thresholds="exact", by="fold", memory_limit=needed - 1)
    assert f"{rows:,} distinct scores x 40 bytes, with keys of" in str(error.value)


def test_small_groups_share_the_memory_of_the_keys_that_they_have_in_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nci_frames.counting.engine.exact._PART_ROWS", 400)
    monkeypatch.setattr("nci_frames.counting.engine.exact._IN_CHUNKS", 1)
    log = random_log(4000, values=10**6).sort("model").with_columns(day=pl.Series(range(4000)) % 50)
    counts = nf.count_confusion(log, thresholds="exact", by=["day"])
    assert len(counts) > 3000
    # A part of all groups has one model, but for the part where the second one begins.
    assert sum(dict(buffers(counts["model"])).values()) < len(counts) * 16 / 2
    assert_frame_equal(counts, nf.count_confusion(log.reverse(), thresholds="exact", by=["day"]))


@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_log_without_valid_rows_has_no_counts(weight: str | None) -> None:
    log = pl.DataFrame(
        {"model": ["a"], "label": [True], "score": [None], "weight": [1.0]},
        schema_overrides={"score": pl.Float64},
    )
    scan = nf.scan_predictions(log, weight=weight, segments=(), on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning):
        counts = nf.count_confusion(scan, thresholds="exact")
    cells = dict.fromkeys(("tp", "fp", "fn", "tn"), pl.Int64)
    strata = {} if weight is None else {"weight": pl.Float64}
    assert counts.schema == {
        "model": pl.String, **strata, "threshold": pl.Float64, **cells, "resolution": pl.String
    }  # fmt: skip
    assert counts.is_empty()
