import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.logs import random_log, small_logs


@given(log=small_logs())
def test_pooling_exact_counts_is_counting_the_pool(log: pl.DataFrame) -> None:
    log = log.with_columns(pl.col("score") + 0.0)
    counts = nf.count_confusion(log, thresholds="exact")
    pooled = nf.pool_counts(counts, over=["segment", "day"])
    assert_frame_equal(pooled, nf.count_confusion(log, thresholds="exact", by=[]))


@pytest.mark.parametrize("thresholds", ["exact", [-0.5, 0.0, 0.5]], ids=str)
def test_merging_parts_is_counting_the_whole(thresholds: object) -> None:
    log = random_log(900)
    parts = [nf.count_confusion(log[part::3], thresholds=thresholds) for part in range(3)]  # type: ignore[arg-type]
    whole = nf.count_confusion(log, thresholds=thresholds)  # type: ignore[arg-type]
    assert_frame_equal(nf.merge_counts(*parts), whole)
    assert_frame_equal(
        nf.pool_counts(whole, over="fold"), nf.count_confusion(log, thresholds=thresholds, by="country")
    )  # type: ignore[arg-type]


def test_what_cannot_be_added() -> None:
    log = random_log(50)
    coarse = nf.count_confusion(log, thresholds=[0.1])
    with pytest.raises(nf.ParameterError, match="different thresholds cannot be added"):
        nf.merge_counts(coarse, nf.count_confusion(log, thresholds=[0.1, 0.2]))
    with pytest.raises(nf.ParameterError, match="different thresholds cannot be added"):
        nf.merge_counts(coarse, nf.count_confusion(log, thresholds=[0.2]))
    with pytest.raises(nf.ParameterError, match="exact counts and counts on a grid"):
        nf.merge_counts(coarse, nf.count_confusion(log, thresholds="exact"))
    with pytest.raises(nf.SchemaError, match="missing column 'country'"):
        nf.merge_counts(coarse, nf.pool_counts(coarse, over="country"))
    with pytest.raises(nf.SchemaError, match="did you mean 'fold'"):
        nf.pool_counts(coarse, over="folds")
    with pytest.raises(nf.ParameterError, match="at least one counts frame"):
        nf.merge_counts()
