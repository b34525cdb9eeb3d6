"""Counts part by part -> row groups of a Parquet file, of which a reader needs only those of its groups."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

import polars as pl

from nci_frames.base.files import ROWS_OF_A_GROUP, row_groups
from nci_frames.counting.engine.distinct import Part
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.progress import rows_shown

__all__ = ["write_counts"]

#: A group with so many rows has row groups of its own.
_ALONE_ROWS = 1 << 16


def write_counts(
    file: BinaryIO,
    parts: Iterable[Part],
    groups: GroupNumbers,
    counts: Mapping[str, pl.DataType],
    *,
    progress: bool,
) -> None:
    """Write the counts of all groups.

    Parameters
    ----------
    file
        Where to write.
    parts
        The counts, in the order of their groups and thresholds.
    groups
        The keys of the groups.
    counts
        Names and types of the columns of a part.
    progress
        Whether to show progress.
    """
    like = groups.frame().clear().hstack(pl.DataFrame(schema={**counts, "resolution": pl.String}))
    shown = rows_shown(None, 0, show=progress, doing="writing counts")
    with shown as advance, row_groups(file, like, **_encodings(like.schema, counts)) as append:
        waiting = _Waiting(append, groups, counts)
        for part in parts:
            waiting.add(part)
            advance(len(part.columns[0]))
        waiting.write()


def _encodings(schema: pl.Schema, counts: Mapping[str, pl.DataType]) -> dict[str, Any]:
    """Return what makes columns that rise or fall from row to row small: half of the bytes and the time."""
    encodings = {
        name: "DELTA_BINARY_PACKED" if dtype.is_integer() else "BYTE_STREAM_SPLIT"
        for name, dtype in counts.items()
    }
    return {"use_dictionary": [name for name in schema if name not in counts], "column_encoding": encodings}


class _Waiting:
    """Counts that wait until they are enough for a row group."""

    def __init__(
        self,
        append: Callable[[pl.DataFrame], None],
        groups: GroupNumbers,
        counts: Mapping[str, pl.DataType],
    ) -> None:
        self._append, self._groups, self._counts = append, groups, counts
        #: The number of their group, if that has row groups of its own.
        self._number: int | None = None
        self._tables: list[pl.DataFrame] = []
        self._rows = 0

    def add(self, part: Part) -> None:
        """Add a part, and write what is enough."""
        rows = len(part.columns[0])
        number = int(part.numbers[0]) if len(part.numbers) == 1 else None
        if number is not None and number != self._number and rows < _ALONE_ROWS:
            number = None
        if number != self._number:
            self.write()
            self._number = number
        begin = 0
        while begin < rows:
            end = rows if number is None else min(rows, begin + ROWS_OF_A_GROUP - self._rows)
            self._tables.append(self._table(part, slice(begin, end)))
            self._rows += end - begin
            begin = end
            if self._rows >= (ROWS_OF_A_GROUP if number is not None else ROWS_OF_A_GROUP // 2):
                self.write()

    def write(self) -> None:
        """Write what waits."""
        if self._tables:
            self._append(pl.concat(self._tables))
        self._tables, self._rows = [], 0

    def _table(self, part: Part, rows: slice) -> pl.DataFrame:
        """Return some rows of a part, all of them if it has several groups."""
        sizes = part.sizes if len(part.numbers) > 1 else rows.stop - rows.start
        # Memory that is shared is kept for all groups.
        keys = self._groups.repeated(part.numbers, sizes, shared=False)
        return keys.hstack(part.table(self._counts, rows)).with_columns(resolution=pl.lit("exact"))
