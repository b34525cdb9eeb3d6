"""Exact counts of rows that do not fit into memory: some groups at a time, with a pass over the log for each.

The first pass counts the rows of each group. Then the groups are taken in the order of the result, as many as
fit at a time.
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


@dataclass(frozen=True, slots=True)
class Parts:
    """The exact counts of all groups, in parts that each fit into memory, and what became of every row."""

    tables: Iterator[pl.DataFrame]
    rows_by_code: dict[int, int]
    groups: pl.DataFrame


def exact_parts(scan: Scan, group: list[str], budget: Budget, *, progress: bool) -> Parts:
    """Count the groups of a scan at every distinct score.

    Parameters
    ----------
    scan
        What to count. If it fits into memory it is read once.
    group
        The model and the keys to keep.
    budget
        How much memory a part may take.
    progress
        Whether to show the progress of each pass.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    ParameterError
        If a single group takes more memory than the budget has.
    SourceError
        While parts are taken, if the log has other rows than at first.
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
    """Yield the groups that are counted together: as many as have so many rows, or a larger one alone."""
    begin = rows = 0
    for place, mine in enumerate(sizes["rows"].to_list()):
        if place > begin and rows + mine > most:
            yield sizes[begin:place]
            begin, rows = place, 0
        rows += mine
    yield sizes[begin:]


def _rows_of(scan: Scan, groups: pl.DataFrame) -> Scan:
    """Return a scan of the rows of some groups alone."""
    prepare = functools.partial(_kept, prepare=scan.prepare, groups=groups.drop("rows"))
    return replace(scan, prepare=prepare, rows=None, passes=Passes(), models=())


def _kept(
    frame: pl.LazyFrame, *, prepare: Callable[..., pl.LazyFrame], groups: pl.DataFrame, **options: Any
) -> pl.LazyFrame:
    # A key without any value is the same in all rows.
    on = [key for key, dtype in groups.schema.items() if dtype != pl.Null]
    return prepare(frame, **options).join(groups.select(on).lazy(), on=on, how="semi", nulls_equal=True)
