"""Predictions -> a file with counts at every distinct score, written a few groups at a time."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.files import BUFFER, ROWS_OF_A_GROUP, exists, file_kind, replacing, row_groups
from nci_frames.counting.count import need_whole_log
from nci_frames.counting.engine.exact import columns_of_counts
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.log_warnings import warnings_of
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.out_of_memory import exact_parts
from nci_frames.schemas import checked

_COUNTS = columns_of_counts(weighted=False)
#: Encodings for columns that rise or fall from row to row: half of the bytes and of the time.
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

    The file equals the result of ``count_confusion(predictions, thresholds="exact", by=by)``, row by row and
    bit by bit. A log that does not fit into memory is read several times, as many groups at a time as fit.

    Parameters
    ----------
    predictions
        As in ``count_confusion``; rows in Spark are refused. A source that can be read only once must fit
        into memory.
    path
        The file; its name ends in ".parquet". It replaces an existing file only when it is complete: after
        any failure, even if the process is killed, the existing file is unchanged, though a hidden
        one may stay beside it after a kill. Missing folders are created.
    by
        Keys to keep besides the model; counts are summed over the others. None keeps all keys.
    memory_limit
        Maximum number of bytes for the rows and counts of the groups that are counted together, as in
        ``count_confusion``; a single group must fit. None means half of the machine's memory.
    progress
        Whether to show progress, if standard error is a terminal.

    Raises
    ------
    InvalidRowsError, SchemaError
        As ``count_confusion`` does.
    OutputError
        If the file cannot be written.
    ParameterError
        If *path* is a folder, a file of the log, or does not end in ".parquet"; if *memory_limit* is too
        small for the largest group; or if the log has weights.
    SourceError
        As ``count_confusion`` does; if the log changes between two readings; or if the rows are in Spark.

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
    group = ["model", *kept_keys(scan.keys, by)]
    raw = scan.raw.collect_schema()
    for key in group:
        if raw[key] in (pl.Int128, pl.UInt128):
            wanted, hint = "of a type that Parquet has", "cast it to Int64 or String"
            raise SchemaError.wrong_type(key, scan.source.where, str(raw[key]), wanted, hint)
    if scan.weighted:
        msg = "exact counts in a file do not support weights"
        hint = "take count_confusion, on a grid of thresholds"
        raise ParameterError(msg, where=scan.source.where, hint=hint)
    budget = replace(Budget.of(memory_limit), to_file=False)
    with replacing(target) as beside, beside.open("wb", buffering=BUFFER) as file:
        parts = exact_parts(scan, group, budget, progress=progress)
        need_whole_log(scan, parts.rows_by_code)
        like = parts.groups.clear().hstack(pl.DataFrame(schema={**_COUNTS, "resolution": pl.String}))
        options = {"use_dictionary": [*group, "resolution"], "column_encoding": _ENCODINGS}
        with row_groups(file, like, **options) as append:
            for table in parts.tables:
                for rows in table.iter_slices(ROWS_OF_A_GROUP):
                    append(rows.with_columns(resolution=pl.lit("exact")))
    for warning in warnings_of(scan, parts.rows_by_code, parts.groups):
        warnings.warn(warning, stacklevel=3)  # the caller of the public function


def _need_other_files(scan: Scan, target: Path) -> None:
    """Raise ParameterError if the target is a file of the log, under any name."""
    if not exists(target):
        return
    for file in scan.source.files:
        if target.samefile(file):
            msg = "the output would replace a file of the log"
            raise ParameterError(msg, found=f"{str(target)!r} is {file!r}", hint="name another file")
