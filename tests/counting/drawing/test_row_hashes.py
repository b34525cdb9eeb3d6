"""Hashes of rows: the same everywhere, equal for equal rows alone."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

from nci_frames.counting.drawing.row_hashes import hash_rows
from nci_frames.counting.kernels.mixing import mixed
from tests.cases import CHARACTERS
from tests.oracles import MASK, splitmix


def by_hand(text: str) -> int:
    """The hash of a frame with one text in a column, in plain Python."""
    data, start = text.encode(), 0x9E3779B97F4A7C15
    found = splitmix(len(data) + start & MASK)
    for place in range(0, len(data), 8):
        found = splitmix(found ^ int.from_bytes(data[place : place + 8], "little"))
    return splitmix(start + found & MASK)


@given(st.lists(st.text(CHARACTERS, max_size=30), min_size=1, max_size=8))
def test_texts_by_hand(texts):
    assert hash_rows(pl.DataFrame({"a": texts})).tolist() == [by_hand(text) for text in texts]


def test_the_mixer_is_that_of_splitmix64():
    assert int(mixed(np.array([0x9E3779B97F4A7C15], np.uint64))[0]) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series([1, None, 3], dtype=pl.Int8), pl.Series([1, None, 3], dtype=pl.Int64)),
        (pl.Series([0.5, -0.0], dtype=pl.Float32), pl.Series([0.5, 0.0])),
        (pl.Series(["x", None], dtype=pl.Categorical), pl.Series(["x", None])),
        (pl.Series(["x"], dtype=pl.Enum(["y", "x"])), pl.Series(["x"])),
    ],
)
def test_equal_values_of_different_types(one, other):
    assert hash_rows(one.to_frame("a")).tolist() == hash_rows(other.to_frame("a")).tolist()


@given(st.data())
def test_other_rows_have_other_hashes_in_any_order_and_chunks(data):
    numbers, texts = st.none() | st.integers(-3, 3), st.none() | st.text("ab", max_size=3)
    row = st.tuples(numbers, texts, st.booleans(), st.sampled_from([0.0, 1.5, float("nan")]))
    rows = data.draw(st.lists(row, min_size=1))
    schema = {"n": pl.Int64, "t": pl.String, "b": pl.Boolean, "f": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    nested = frame.with_columns(both=pl.struct("n", "t"))
    hashes = hash_rows(nested)
    assert hash_rows(nested.select(reversed(nested.columns))).tolist() == hashes.tolist()
    cut = data.draw(st.integers(0, len(frame)))
    assert [*hash_rows(nested[:cut]), *hash_rows(nested[cut:])] == hashes.tolist()
    distinct = {repr(row) for row in frame.rows()}
    assert len(set(hashes.tolist())) == len(distinct)
