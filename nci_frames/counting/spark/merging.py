"""Partial counts that any engine has added -> the counts of all rows."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import endless_weights
from nci_frames.counting.engine.grid import Counted, counted_cells, joined
from nci_frames.counting.engine.groups import GroupNumbers, with_group_numbers
from nci_frames.counting.engine.memory import KEY_BYTES, Budget
from nci_frames.counting.engine.partitions import key_names
from nci_frames.counts.increments import counts_of


def counted_of(
    summed: pl.DataFrame,
    keys: Mapping[str, pl.DataType],
    grid: Floats | None,
    also: Floats | None,
    budget: Budget,
    where: str,
) -> Counted:
    """Return the counts that partial counts add up to.

    Parameters
    ----------
    summed
        The sums of ``positives`` and ``negatives`` of all partial counts, by all of their other columns.
    keys
        Names and types of the model and the keys.
    grid
        Thresholds; None stands for every distinct score.
    also
        More thresholds, whose counts are returned apart. The partial counts are at both.
    budget
        How much memory the counts may take.
    where
        For messages: what was counted.

    Raises
    ------
    InvalidRowsError
        If the weights add up to more than Float64 holds.
    ParameterError
        If the counts take more memory than the budget has.
    """
    codes = summed.filter(pl.col("code").is_not_null())
    rows_by_code = dict(codes.select(pl.col("code", "positives").cast(pl.Int64)).rows())
    added = summed.filter(pl.col("code").is_null()).drop("code")
    added = added.rename(dict(zip(key_names(len(keys)), keys, strict=True)))
    if not np.isfinite(added.select((pl.col("positives") + pl.col("negatives")).sum()).item()):
        raise endless_weights(where)
    if grid is None:
        keyed = len(added) * len(keys)
        budget.need_rows(0, weighted=False, distinct=len(added), key_bytes=KEY_BYTES * keyed)
        counts = counts_of(added.rename({"place": "threshold"}), list(keys), None).drop("resolution")
        return Counted(counts, rows_by_code, counts.select(list(keys)).unique())

    def lay_out(groups: GroupNumbers) -> Counted:
        numbers = groups.numbers(added.select(groups.hash).to_series().to_numpy(), added)
        bins = 1 + len(joined(grid, also))
        budget.need_cells(groups, bins)
        cells = np.zeros((len(groups), bins, 2), added["positives"].to_numpy().dtype)
        place = added["place"].to_numpy()
        cells[numbers, place, 1] = added["positives"].to_numpy()
        cells[numbers, place, 0] = added["negatives"].to_numpy()
        return counted_cells(groups, grid, also, cells, rows_by_code)

    return with_group_numbers(keys, lay_out)
