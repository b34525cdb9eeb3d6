"""Columns of batches as arrays."""

import numpy as np
import polars as pl
import pytest

from nci_frames.counting.engine.batch import array_of


@pytest.mark.parametrize(("start", "rows"), [(0, 0), (0, 1), (3, 5), (8, 16), (9, 70), (1_000, 3), (999, 4)])
def test_a_slice_of_a_boolean_column_is_unpacked_alone(start: int, rows: int) -> None:
    """Each slice of a frame in memory unpacked the whole column, which took most of the time of counting."""
    column = pl.Series(np.random.default_rng(0).random(1_003) < 0.5)
    found = array_of(column.slice(start, rows))
    assert found.dtype == np.bool_
    assert found.tolist() == column.to_list()[start : start + rows]
    assert found.base is None or found.base.size <= rows + 15
