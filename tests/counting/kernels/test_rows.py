"""The inner loops, in C and in NumPy, each beside the plain way to do the same."""

import struct

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.extra.numpy import arrays

import nci_frames as nf
from nci_frames.counting.kernels import library
from nci_frames.counting.kernels.mixing import mix_values
from nci_frames.counting.kernels.rows import (
    Bins,
    CellCounts,
    HashTable,
    by_group,
    cells_of_strata,
    count_sorted,
    highest,
)
from tests.oracles import splitmix

TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(autouse=True, scope="module", params=["C", "NumPy"])
def language(request: pytest.FixtureRequest) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "NumPy":
            patch.setattr(library, "LIBRARY", None)
        elif library.LIBRARY is None:
            pytest.skip("the package was built without a C compiler")
        yield


def binned(thresholds: np.ndarray, scores: np.ndarray) -> np.ndarray:
    bins = Bins(thresholds, scores.dtype.type)
    return bins.codes(np.zeros(len(scores), np.int64), None, scores)


@example(grid=[0.0, -1e-300], scores=np.zeros(1), dtype=np.float32)  # in single precision -0.0, as low as 0.0
@example(grid=[-1.8e308, 5e-324], scores=np.array([-5e-324]), dtype=np.float64)
@given(
    grid=st.lists(st.floats(allow_nan=False), min_size=1, max_size=50, unique=True),
    scores=arrays(np.float64, 40, elements=st.floats(allow_nan=False)),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_bins_are_a_sorted_search(grid: list[float], scores: np.ndarray, dtype: type) -> None:
    thresholds = np.array(sorted(set(grid)))
    near = np.nextafter(thresholds.astype(dtype), dtype(np.inf))
    both = np.concatenate([scores, thresholds, near]).astype(dtype)
    expected = np.searchsorted(thresholds.astype(dtype), both, side="right")
    assert (binned(thresholds, both) == expected).all()


@TYPES
@pytest.mark.parametrize(
    "thresholds",
    [
        nf.uniform_thresholds(1024),
        nf.logit_thresholds(65_535),
        [-np.inf, *np.linspace(-1e-9, 1e-9, 3_001), 1e30],  # nearly all of them in one cell
        [-np.inf, np.inf],
        [0.0],
    ],
    ids=len,
)
def test_bins_of_named_grids(thresholds: list[float], dtype: type) -> None:
    rng = np.random.default_rng(0)
    rare = 10 ** -rng.uniform(0, 12, 10_000)
    parts = [rng.random(10_000), rare, -rare, thresholds, [0, 1, np.inf, -np.inf]]
    scores = np.concatenate(parts).astype(dtype)
    edges = np.unique(thresholds)
    expected = np.searchsorted(edges.astype(dtype), scores, side="right")
    assert (binned(edges, scores) == expected).all()


@TYPES
def test_codes_number_the_cells_of_groups_classes_and_bins(dtype: type) -> None:
    rng = np.random.default_rng(0)
    groups, labels, scores = rng.integers(0, 7, 1000), rng.random(1000) < 0.3, rng.random(1000).astype(dtype)
    bins = Bins(np.linspace(0, 1, 11), dtype)
    of = np.searchsorted(np.linspace(0, 1, 11).astype(dtype), scores, side="right")
    assert len(bins) == 12
    expected = np.ravel_multi_index((groups, labels.astype(int), of), (7, 2, 12))
    assert (bins.codes(groups.copy(), labels, scores) == expected).all()
    # Every second value of an array, and values of another type.
    expected = np.ravel_multi_index((groups[::2], of[::2]), (7, 12))
    assert (bins.codes(groups[::2].copy(), None, scores[::2]) == expected).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_occurrences_are_counted_and_weights_added_in_the_order_of_rows(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5000, (10, 2000)) % np.arange(5, 5055, 505)[:, None]
    weights = rng.random(codes.shape)
    expected = [0.0] * 5050
    for code, weight in zip(codes.ravel(), weights.ravel(), strict=True):
        expected[code] += weight if weighted else 1
    assert weighted or max(expected) > 256  # more than the lowest 8 bits
    cells = CellCounts(weighted=weighted)
    for batch, mine in zip(codes, weights, strict=True):
        cells.grow(int(batch.max()) + 1)
        cells.add(batch, mine if weighted else None)
    cells.grow(5050)
    assert cells.take().tolist() == expected
    assert cells.take().tolist() == expected


@pytest.mark.parametrize("equal_bits", [0, 63], ids=["spread", "all begin alike"])
def test_hashes_get_numbers_in_the_order_in_which_they_are_added(equal_bits: int) -> None:
    rng = np.random.default_rng(0)
    # No hash of the second half is known.
    hashes = rng.permutation(
        np.unique(rng.integers(0, 1 << 63, 9000, np.uint64)) >> np.uint64(equal_bits and 40)
    )
    hashes = np.array([*dict.fromkeys(hashes.tolist())], np.uint64)
    known, others = np.array_split(hashes, 2)
    table = HashTable()
    assert (table.find(known) == -1).all()
    for part in np.array_split(known, 20):
        table.add(part)
    assert len(table) == len(known)
    assert (table.find(known) == np.arange(len(known))).all()
    assert (table.find(others) == -1).all()


@TYPES
@pytest.mark.parametrize("columns", [1, 2, 10, 300])
def test_the_highest_score_is_that_of_argmax(columns: int, dtype: type) -> None:
    rng = np.random.default_rng(columns)
    scores = rng.integers(-3, 4, (columns, 1300)).astype(dtype)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[:, 5] = np.inf
    assert (highest(list(scores))[0] == scores.argmax(axis=0)).all()
    # Columns of different types, one of them with every second value of an array.
    mixed = [scores[0].astype(np.float64), *np.repeat(scores, 2, axis=1)[1:, ::2]]
    assert (highest(mixed)[0] == scores.argmax(axis=0)).all()


@TYPES
@pytest.mark.parametrize("row", [0, 700, 1299])
def test_a_nan_among_scores_is_noticed(row: int, dtype: type) -> None:
    scores = np.random.default_rng(row).random((3, 1300)).astype(dtype)
    scores[1, 7] = np.inf
    assert highest(list(scores))[1] is False
    scores[row % 3, row] = np.nan
    assert highest(list(scores))[1] is True


@TYPES
@pytest.mark.parametrize("strata", [1, 2, 16, 300])
def test_a_cell_is_a_stratum_and_the_first_bits_of_a_hash(strata: int, dtype: type) -> None:
    rng = np.random.default_rng(strata)
    lower = np.append(-np.inf, np.sort(rng.normal(size=strata - 1)))
    scores = np.concatenate([rng.normal(size=1300), lower, [np.inf, 0.0, -0.0]]).astype(dtype)
    expected = np.searchsorted(lower.astype(dtype), scores, side="right") - 1
    hashes = rng.integers(0, 1 << 64, len(scores), np.uint64)
    cells = cells_of_strata(scores, lower, 7, hashes)
    assert [divmod(cell, 1 << 7) for cell in cells.tolist()] == [
        (stratum, number >> 57) for stratum, number in zip(expected.tolist(), hashes.tolist(), strict=True)
    ]
    # The hash of a score is that of its bits in double precision, without the sign of zero.
    bits = [struct.unpack("<Q", struct.pack("<d", score + 0.0))[0] for score in scores.tolist()]
    spread = [number * 0x9E3779B97F4A7C15 % 2**64 >> 57 for number in bits]
    of_scores = cells_of_strata(np.repeat(scores, 2)[::2], lower, 7)
    assert (of_scores == (expected << 7) + spread).all()


@TYPES
@pytest.mark.parametrize("groups", [5, 1 << 17])
def test_rows_of_a_group_and_a_sign_come_together_in_their_order(groups: int, dtype: type) -> None:
    rng = np.random.default_rng(groups)
    numbers, labels, weights = rng.integers(0, groups, 1000), rng.random(1000) < 0.3, rng.random(1000)
    numbers[0] = groups - 1
    scores = rng.normal(size=1000).astype(dtype)
    scores[:6] = [np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42]  # a negative zero is no negative score
    runs = 2 * numbers + (scores >= 0)
    rows = np.abs(scores).view(f"u{scores.itemsize}") << 1 | labels
    cut = [700, 700]  # the second piece is empty
    pieces = (np.split(values, cut) for values in (numbers.copy(), scores, labels, weights))
    bounds, *ordered = by_group(*pieces)
    order = sorted(range(1000), key=lambda row: runs[row])
    assert (bounds == np.searchsorted(runs[order], np.arange(2 * groups + 1))).all()
    for found, values in zip(ordered, (rows, weights), strict=True):
        assert (found == values[order]).all()
        assert found.dtype == values.dtype
    # Every second value of an array, without weights.
    _, ordered, missing = by_group([numbers[::2].copy()], [scores[::2]], [labels[::2]], [])
    assert (ordered == rows[::2][sorted(range(500), key=lambda row: runs[2 * row])]).all()
    assert missing is None


@TYPES
@pytest.mark.parametrize(
    "values", [[], [0.0], [-0.5, 0.5], [-1.0], [-np.inf, -0.25, -0.0, 0.0, 0.25, 1e-42, np.inf]], ids=str
)
def test_sorted_rows_are_counted_at_each_distinct_score(values: list[float], dtype: type) -> None:
    rng = np.random.default_rng(0)
    scores = np.sort(np.repeat(np.array(values, dtype), 3) + dtype(0))  # without a negative zero
    labels = rng.random(len(scores)) < 0.4
    bits = np.abs(scores).view(f"u{scores.itemsize}")
    found = count_sorted(bits << 1 | labels, (scores < 0).sum(), scores.dtype)
    distinct = np.unique(scores).astype(np.float64)
    assert [column.dtype for column in found] == [np.float64] + 4 * [np.int64]
    assert found[0].tolist() == distinct.tolist()
    for counts, of_class, reached in zip(found[1:], [1, 0, 1, 0], [1, 1, 0, 0], strict=True):
        assert counts.tolist() == [sum((labels == of_class) & ((scores >= at) == reached)) for at in distinct]


def test_values_are_mixed_into_hashes_as_in_splitmix64() -> None:
    rng = np.random.default_rng(0)
    hashes, values = rng.integers(0, 1 << 64, (2, 1300), np.uint64)
    expected = [splitmix(sum(pair) % 2**64) for pair in zip(hashes.tolist(), values.tolist(), strict=True)]
    mix_values(hashes, np.repeat(values, 2)[::2])
    assert hashes.tolist() == expected
