"""Exact counts of a log that does not fit into memory.

The first pass counts the rows of each group. Each later pass counts the next groups, in the order of the
result, as many as fit.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from nci_frames.counting.engine.exact import TooManyRowsError
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import count_at
from nci_frames.counting.logs.reading import Passes, Scan
from nci_frames.counting.logs.rows import score_name


@dataclass(frozen=True, slots=True)
class Parts:
    """The exact counts of all groups, in parts that fit into memory, and the fate of every row."""

    tables: Iterator[pl.DataFrame]
    rows_by_code: dict[int, int]
    groups: pl.DataFrame


def exact_parts(scan: Scan, group: list[str], budget: Budget, *, progress: bool) -> Parts:
    """Count the groups of a scan at every distinct score.

    Parameters
    ----------
    scan
        The log. It is read once if it fits into memory.
    group
        The model and the keys to keep.
    budget
        Memory limit of a part.
    progress
        Whether to show the progress of each pass.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan does not drop such rows.
    ParameterError
        If a single group exceeds the memory limit.
    SourceError
        While the parts are iterated, if the log has changed since the first pass.
    """
    most = budget.most_rows(len(group), weighted=False)
    if scan.rows is None or scan.rows <= most:
        with contextlib.suppress(TooManyRowsError):
            whole = count_at(scan, group, None, budget=budget, progress=progress, most_rows=most)
            return Parts(iter([whole.counts]), whole.rows_by_code, whole.groups)
    lowest = np.array([-np.inf])
    first = count_at(scan, group, lowest, budget=budget, progress=progress)
    sizes = first.counts.select(*group, rows=pl.col("tp") + pl.col("fp"))
    budget.need_rows(max(sizes["rows"], default=0), weighted=False)

    dropped = sum(first.rows_by_code.values()) - first.rows_by_code.get(0, 0)

    def tables() -> Iterator[pl.DataFrame]:
        seen = dropped
        for some in _together(sizes, most):
            part = count_at(_rows_of(scan, some), group, None, budget=budget, progress=progress)
            seen += part.rows_by_code.get(0, 0)
            yield part.counts
        scan.need_same_rows(seen)
        scan.source.need_unchanged()

    return Parts(tables(), first.rows_by_code, first.groups)


def _together(sizes: pl.DataFrame, most: int) -> Iterator[pl.DataFrame]:
    """Yield the groups to count together: consecutive groups with up to *most* rows, or one larger group."""
    begin = rows = 0
    for place, mine in enumerate(sizes["rows"].to_list()):
        if place > begin and rows + mine > most:
            yield sizes[begin:place]
            begin, rows = place, 0
        rows += mine
    yield sizes[begin:]


def _rows_of(scan: Scan, groups: pl.DataFrame) -> Scan:
    """Return a scan that keeps only the rows of *groups*."""
    prepare = functools.partial(_kept, prepare=scan.prepare, groups=groups.drop("rows"))
    return replace(scan, prepare=prepare, rows=None, passes=Passes(), models=())


def _kept(
    frame: pl.LazyFrame,
    *,
    prepare: Callable[..., pl.LazyFrame],
    groups: pl.DataFrame,
    wide: bool = False,
    **options: Any,
) -> pl.LazyFrame:
    # A key of type Null is null in all rows, so it needs no join.
    on = [key for key, dtype in groups.schema.items() if dtype != pl.Null]
    rows = prepare(frame, **options).join(groups.select(on).lazy(), on=on, how="semi", nulls_equal=True)
    # The model is a column, since it is among the keys of the groups.
    return rows.rename({"score": score_name(0, 0)}) if wide else rows
