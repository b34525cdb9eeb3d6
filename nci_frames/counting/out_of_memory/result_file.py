"""Counts part by part -> row groups of a Parquet file, of which a reader needs only those of its groups."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import polars as pl

from nci_frames.base.files import ROWS_OF_A_GROUP, row_groups
from nci_frames.counting.engine.distinct import Part, columns_of_counts
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.progress import rows_shown

#: A group with so many rows has row groups of its own.
_ALONE_ROWS = 1 << 16

_COUNTS = columns_of_counts(weighted=False)
#: What makes columns that rise or fall from row to row small: half of the bytes and the time.
_ENCODINGS = {
    name: "DELTA_BINARY_PACKED" if dtype.is_integer() else "BYTE_STREAM_SPLIT"
    for name, dtype in _COUNTS.items()
}


def write_counts(file: BinaryIO, parts: Iterable[Part], groups: GroupNumbers, *, progress: bool) -> None:
    """Write the counts of all groups.

    Parameters
    ----------
    file
        Where to write.
    parts
        The counts, in the order of their groups and thresholds.
    groups
        The keys of the groups.
    progress
        Whether to show progress.
    """
    like = groups.frame().clear().hstack(pl.DataFrame(schema={**_COUNTS, "resolution": pl.String}))
    options = {"use_dictionary": [*groups.keys, "resolution"], "column_encoding": _ENCODINGS}
    shown = rows_shown(None, 0, show=progress, doing="writing counts")
    with shown as advance, row_groups(file, like, **options) as append:
        for table in _tables(parts, groups):
            append(table)
            advance(len(table))


def _tables(parts: Iterable[Part], groups: GroupNumbers) -> Iterator[pl.DataFrame]:
    """Yield the counts as row groups: a large group has its own, small ones share theirs."""
    waiting: list[pl.DataFrame] = []
    waiting_of, rows = None, 0
    for part in parts:
        size = len(part.columns[0])
        alone = int(part.numbers[0]) if len(part.numbers) == 1 else None
        if alone != waiting_of and size < _ALONE_ROWS:
            alone = None
        if waiting and alone != waiting_of:
            yield pl.concat(waiting)
            waiting, rows = [], 0
        waiting_of, begin = alone, 0
        while begin < size:
            end = size if alone is None else min(size, begin + ROWS_OF_A_GROUP - rows)
            waiting.append(_table(part, slice(begin, end), groups))
            rows += end - begin
            begin = end
            if rows >= (ROWS_OF_A_GROUP if alone is not None else ROWS_OF_A_GROUP // 2):
                yield pl.concat(waiting)
                waiting, rows = [], 0
    if waiting:
        yield pl.concat(waiting)


def _table(part: Part, rows: slice, groups: GroupNumbers) -> pl.DataFrame:
    """Return some rows of a part, all of them if it has several groups."""
    sizes = part.sizes if len(part.numbers) > 1 else rows.stop - rows.start
    # Memory that is shared is kept for all groups.
    keys = groups.repeated(part.numbers, sizes, shared=False)
    return keys.hstack(part.table(_COUNTS, rows)).with_columns(resolution=pl.lit("exact"))
