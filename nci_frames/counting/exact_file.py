"""Predictions -> a file with counts at every distinct score, of any number of rows."""

import os
import shutil
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl

from nci_frames.base.errors import OutputError, ParameterError, SchemaError
from nci_frames.base.files import file_kind, scratch_beside, writing
from nci_frames.base.memory import gigabytes
from nci_frames.counting.count import nearly_unique, need_whole_log
from nci_frames.counting.engine.groups import GroupNumbers, with_group_numbers
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.out_of_memory.bounded import Held, counted_parts, hold_rows
from nci_frames.counting.out_of_memory.result_file import write_counts
from nci_frames.counting.out_of_memory.room import Room
from nci_frames.counting.out_of_memory.spilling import Spill
from nci_frames.schemas.checked import checked


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
    warned = (
        *scan.source.warnings,
        scan.dropped(held.rows_by_code),
        nearly_unique(held.groups.frame(), held.rows_by_code.get(0, 0), scan.source.where),
    )
    for warning in warned:
        if warning is not None:
            warnings.warn(warning, stacklevel=3)  # whoever called the checked function


def _need_other_files(scan: Scan, target: Path) -> None:
    """Raise ParameterError if the target is a file of the log, under this or another name."""
    if not os.path.exists(target):  # noqa: PTH110 - pathlib raises for a name that is too long
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
