"""Predictions -> a file with counts at every distinct score, in memory that does not grow with the rows.

The rows are held in memory while they fit, and written to the disk in sorted blocks otherwise. Then they are
counted in the order of the result, part by part, into row groups of a Parquet file, of which a reader needs
only those of its groups.
"""

import shutil
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from nci_frames.base.errors import OutputError, ParameterError, SchemaError
from nci_frames.base.files import ROWS_OF_A_GROUP, exists, file_kind, row_groups, scratch_beside, writing
from nci_frames.base.memory import gigabytes
from nci_frames.counting.count import need_whole_log, warnings_of
from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.exact import (
    Block,
    Part,
    blocks_of,
    columns_of_counts,
    count_distinct,
    gather,
    parts_in_order,
    rows_of_groups,
)
from nci_frames.counting.engine.groups import GroupNumbers, with_group_numbers
from nci_frames.counting.engine.progress import rows_shown
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.out_of_memory import Room, Spill, merged
from nci_frames.schemas.checked import checked

#: A group with so many rows has row groups of its own.
_ALONE_ROWS = 1 << 16
_COUNTS = columns_of_counts(weighted=False)
#: What makes columns that rise or fall from row to row small: half of the bytes and the time.
_ENCODINGS = {
    name: "DELTA_BINARY_PACKED" if dtype.is_integer() else "BYTE_STREAM_SPLIT"
    for name, dtype in _COUNTS.items()
}


@checked
def sink_exact_counts(
    predictions: Predictions,
    /,
    path: str | Path,
    *,
    by: str | Sequence[str] | None = None,
    memory_limit: float | None = None,
    progress: bool = False,
) -> None:
    """Count at every distinct score of each group, and write the counts to a Parquet file.

    The file has what ``count_confusion(predictions, thresholds="exact", by=by)`` returns, row by row and bit
    by bit. The memory does not grow with the rows: those that do not fit are sorted on the disk. The log is
    read once, so that it may be a stream.

    Parameters
    ----------
    predictions
        As in ``count_confusion``; rows in Spark are refused.
    path
        The file, whose name ends in ".parquet". It takes the place of an earlier one when it is whole; if
        anything goes wrong, also if the process is killed, the earlier one stays as it was. Folders above it
        are created if missing. While rows are sorted, its disk needs 12 bytes for each, 8 where scores are
        Float32.
    by
        The keys to keep besides the model; the others are summed away. None keeps every key there is.
    memory_limit
        Maximum number of bytes that this process takes beyond those that it had. With n threads of Polars,
        320 million x sqrt(n) are for reading row groups of up to a million rows (larger ones take more);
        besides those, at least 100 million are needed, and 1,440 for each group. None stands for half of the
        machine's memory.
    progress
        Whether to show progress, if standard error is a terminal.

    Raises
    ------
    InvalidRowsError, SchemaError
        As ``count_confusion`` does.
    OutputError
        If the file cannot be written, or the disk is too small.
    ParameterError
        If *path* is a folder, a file of the log, or no Parquet file by its name; if memory_limit is too small
        for reading or for the groups; or if the log has weights.
    SourceError
        As ``count_confusion`` does; or if the rows are in Spark.

    Warns
    -----
    InvalidRowsWarning, NearlyUniqueKeyWarning
        As ``count_confusion`` does.

    Examples
    --------
    >>> import tempfile
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nf.sink_exact_counts(log, f"{folder}/exact.parquet")
    ...     counts = pl.scan_parquet(f"{folder}/exact.parquet").filter(model="a")
    ...     areas = nf.compute_areas(counts, prevalence=0.01)
    >>> areas.filter(metric="roc_auc")["value"].to_list()
    [0.75]
    """
    scan = scan_behind(predictions)
    target = Path(path)
    file_kind(target, ["parquet"])
    _need_other_files(scan, target)
    if scan.source.elsewhere is not None:
        raise scan.source.elsewhere.refusal()
    raw = scan.raw.collect_schema()
    group = {key: raw[key] for key in ["model", *kept_keys(scan.keys, by)]}
    for key, kind in group.items():
        if kind in (pl.Int128, pl.UInt128):
            wanted, hint = "of a type that Parquet has", "cast it to Int64 or String"
            raise SchemaError.wrong_type(key, scan.source.where, str(kind), wanted, hint)
    if scan.weighted:
        msg = "exact counts in a file do not support weights"
        raise ParameterError(
            msg, where=scan.source.where, hint="take count_confusion, on a grid of thresholds"
        )
    row = np.dtype(scan.score_type).itemsize
    room = Room.of(memory_limit, row)

    def hold(groups: GroupNumbers) -> Held:
        spill = Spill(scratch, str(target), scan.score_type)
        return hold_rows(scan, groups, spill, room, progress=progress)

    with scratch_beside(target) as scratch:
        _need_space(scan, target, row + 4, room)
        held = with_group_numbers(group, hold)
        need_whole_log(scan, held.rows_by_code)
        with writing(target) as file, closing(counted_parts(held, room)) as parts:
            write_counts(file, parts, held.groups, progress=progress)
    for warning in warnings_of(scan, held.rows_by_code, held.groups.frame()):
        warnings.warn(warning, stacklevel=3)  # whoever called the checked function


@dataclass(frozen=True, slots=True)
class Held:
    """The valid rows of a log: in memory, or all of them on the disk."""

    groups: GroupNumbers
    #: Rows by the code of their validity.
    rows_by_code: dict[int, int]
    blocks: list[Block]
    spill: Spill


def hold_rows(scan: Scan, groups: GroupNumbers, spill: Spill, room: Room, *, progress: bool) -> Held:
    """Read a log.

    Parameters
    ----------
    scan
        What to count.
    groups
        Numbers of the groups; it learns them here.
    spill
        Where rows go that do not fit into memory.
    room
        How many rows fit.
    progress
        Whether to show progress.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    OutputError
        If rows cannot be written to the disk.
    ParameterError
        If there are too many groups.
    """
    rows_by_code: dict[int, int] = {}
    held: list[Block] = []
    rows = 0
    for block in blocks_of(read_batches(scan, groups, rows_by_code, progress=progress), groups):
        held.append(block)
        rows += len(block.scores)
        room.need_groups(groups)
        if rows >= room.held(len(groups)):
            spill.write(held, groups)
            held.clear()
            rows = 0
    # A group that is divided is read from the disk.
    largest = int(rows_of_groups(held, len(groups)).sum(axis=1).max(initial=0))
    if held and (spill.blocks or largest > room.counted(len(groups), rows)):
        spill.write(held, groups)
        held.clear()
    return Held(groups, rows_by_code, held, spill)


def counted_parts(held: Held, room: Room) -> Generator[Part]:
    """Yield the counts of all groups in the order of their keys; those of a large one in several parts.

    The next part is counted while one is written.
    """
    order = held.groups.order()
    parts = (
        merged(held.spill, order, room.counted(len(order)))
        if held.spill.blocks
        else (Part(of, *count_distinct(gather(held.blocks, of))) for of in parts_in_order(held.blocks, order))
    )
    with ThreadPoolExecutor(1) as thread:
        counting = thread.submit(next, parts, None)
        while (part := counting.result()) is not None:
            counting = thread.submit(next, parts, None)
            yield part


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


def _need_other_files(scan: Scan, target: Path) -> None:
    """Raise ParameterError if the target is a file of the log, under this or another name."""
    if not exists(target):
        return
    for file in scan.source.files:
        if target.samefile(file):
            msg = "the output would replace a file of the log"
            raise ParameterError(msg, found=f"{str(target)!r} is {file!r}", hint="name another file")


def _need_space(scan: Scan, target: Path, row: int, room: Room) -> None:
    """Raise OutputError if the disk has no space for the rows that are sorted on it."""
    if scan.rows is None or scan.rows < room.held(0):
        return
    free, needed = shutil.disk_usage(target.parent).free, scan.rows * row
    if needed > free:
        found = f"{gigabytes(free)} are free, and {gigabytes(needed)} are needed"
        raise OutputError("the disk of the output is too small", where=repr(str(target)), found=found)
