"""Exact counts: at distinct scores, in chunks of a frame whose keys share memory; against plain Python."""

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.engine import batch, exact
from nci_frames.counting.engine.exact import Rows, count_distinct
from nci_frames.schemas.runs import group_starts, is_sorted
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


@given(st.data())
def test_whether_groups_are_sorted_does_not_depend_on_chunks(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=30))
    if data.draw(st.booleans()):
        rows = sorted(set(rows))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    whole = pl.DataFrame(rows, schema={"model": pl.String, "threshold": pl.Float64}, orient="row")
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    runs = 1 + sum(a[0] != b[0] for a, b in itertools.pairwise(rows))
    rising = all(a[0] != b[0] or a[1] < b[1] for a, b in itertools.pairwise(rows))
    expected = rising and runs == len({model for model, _ in rows})
    for frame in (whole, pl.concat(parts, rechunk=False)):
        first = group_starts(frame, ["model"])
        assert is_sorted(frame, ["model"], first) == expected


SCORES = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1e-300, 0.5, 7.0, np.inf])
ROWS = st.lists(st.tuples(st.integers(0, 2), SCORES, st.booleans()), min_size=1, max_size=40)


def counted(
    rows: list[tuple[int, float, bool]], weights: list[float] | None = None
) -> list[tuple[float, ...]]:
    numbers, scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    _, numbers = np.unique(numbers, return_inverse=True)
    some = Rows(
        int(numbers.max()) + 1,
        numbers.astype(np.uint16),
        scores,
        labels,
        None if weights is None else np.array(weights),
    )
    sizes, columns = count_distinct(some)
    group = np.repeat(np.arange(some.groups), sizes)
    return [tuple(row) for row in zip(*(column.tolist() for column in (group, *columns)), strict=True)]


def brute_force(rows: list[tuple[int, float, bool]], weights: list[float]) -> list[tuple[float, ...]]:
    found = []
    for place, group in enumerate(sorted({number for number, _, _ in rows})):
        mine = [(s, y, w) for (n, s, y), w in zip(rows, weights, strict=True) if n == group]
        for at in sorted({score for score, _, _ in mine}):
            cells = [
                sum(w for s, y, w in mine if y == label and (s >= at) == reached)
                for reached, label in ((True, True), (True, False), (False, True), (False, False))
            ]
            found.append((place, at, *cells))
    return found


@example(rows=[(0, 0.5, True)])
@example(rows=[(0, 0.5, False), (1, 0.5, True), (1, -0.0, True), (1, 0.0, False)])
@given(rows=ROWS)
def test_rows_are_counted_at_every_distinct_score(rows: list[tuple[int, float, bool]]) -> None:
    ones = [1] * len(rows)
    assert counted(rows) == brute_force(rows, ones)  # type: ignore[arg-type]
    alone = [(0, score, label) for _, score, label in rows]
    assert counted(alone) == brute_force(alone, ones)  # type: ignore[arg-type]


@given(rows=ROWS, seed=st.integers(0, 9))
def test_weights_are_summed(rows: list[tuple[int, float, bool]], seed: int) -> None:
    weights = np.random.default_rng(seed).integers(0, 50, len(rows)).tolist()
    assert counted(rows, weights) == brute_force(rows, weights)
