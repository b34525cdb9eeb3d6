"""Any source of a log -> one LazyFrame of the needed columns, checked before its rows are read."""

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import SchemaError, SourceError
from nci_frames.base.extras import require
from nci_frames.base.files import is_folder
from nci_frames.base.messages import first_line, quantity
from nci_frames.base.typing import PathLike
from nci_frames.base.urls import is_url, local_path
from nci_frames.counting.logs.local import open_files
from nci_frames.counting.logs.opened import OpenedLog, ignored_weights
from nci_frames.counting.logs.paths import DELTA_LOG, find_files
from nci_frames.counting.logs.types import common_types
from nci_frames.schemas import no_frame

#: Module of ``open_frame`` for frames of other engines, by module and name of their class.
_ENGINES = {("pyspark.sql.", "DataFrame"): "nci_frames.counting.spark.counting"}


@runtime_checkable
class ArrowStream(Protocol):
    """Any table with the Arrow PyCapsule interface: pandas, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream as a capsule."""


Predictions = pl.DataFrame | pl.LazyFrame | ArrowStream
SourceLike = (
    PathLike
    | pl.LazyFrame
    | pl.DataFrame
    | ArrowStream
    | Sequence[PathLike | pl.LazyFrame | pl.DataFrame | ArrowStream]
)


def open_source(
    source: SourceLike,
    needed: Mapping[str, str],
    storage_options: Mapping[str, Any] | None = None,
) -> OpenedLog:
    """Open a log, and check that it has the needed columns with one type each.

    Parameters
    ----------
    source
        A path, glob, folder, Delta table, URL, LazyFrame, DataFrame or Arrow table, or a list of them.
    needed
        Columns to read, with their roles for messages.
    storage_options
        Options for URLs, passed to Polars.

    Raises
    ------
    SourceError
        If nothing matches, or files cannot be read.
    SchemaError
        If a column is missing or has different types in different files.
    ParameterError
        If *source* is an empty list.
    """
    if isinstance(source, str | os.PathLike):
        return _open_path(local_path(source), needed, storage_options)
    if isinstance(source, Predictions):
        return need_columns(frame_source(source), needed)
    check_allowed(len(source), "source", source, "at least one path or frame")
    return _open_list(source, needed, storage_options)


def engine_of(frame: object) -> str | None:
    """Return the module that opens a frame of another engine; None for frames of this process."""
    for kind in type(frame).__mro__:
        for (module, name), opener in _ENGINES.items():
            if kind.__module__.startswith(module) and kind.__name__ == name:
                return opener
    return None


def frame_source(source: Predictions) -> OpenedLog:
    """Open a frame or an Arrow table."""
    engine = engine_of(source)
    if engine is not None:
        # Checked first: as an Arrow stream, it would send all rows to this process.
        return cast("OpenedLog", importlib.import_module(engine).open_frame(source))
    if isinstance(source, pl.LazyFrame):
        return OpenedLog(source, "the LazyFrame", has_frames=True)
    if isinstance(source, pl.DataFrame):
        return OpenedLog(source.lazy(), "the DataFrame", rows=len(source), has_frames=True)
    try:
        frame = pl.DataFrame(source)
    except pl.exceptions.PanicException as error:
        msg = "Polars cannot read a column of the table"
        hint = "remove the column, or cast it: an interval of DuckDB is one of months, days and microseconds"
        raise SourceError(msg, where=type(source).__name__, found=first_line(error), hint=hint) from error
    except pl.exceptions.PolarsError as error:
        # A single column is an Arrow stream, too.
        raise no_frame("the log", source, "a table, with a column for each part", None) from error
    # A stream that was already read is empty; counting then raises an error, as for a LazyFrame.
    return OpenedLog(frame.lazy(), f"the {type(source).__name__}", rows=len(frame) or None, has_frames=True)


def _open_path(path: str, needed: Mapping[str, str], storage_options: Mapping[str, Any] | None) -> OpenedLog:
    if is_url(path):
        return need_columns(_open_url(path, storage_options), needed)
    if _is_table(path):
        return need_columns(_open_delta(path), needed)
    return _with_rows(open_files(find_files([path]), repr(path), needed))


def _with_rows(opened: OpenedLog) -> OpenedLog:
    if opened.rows == 0:
        empty = f"{quantity(len(opened.files), 'file')} without a row"
        raise SourceError("the log has no rows", where=opened.where, found=empty, hint="nothing was logged?")
    return opened


def _is_table(path: str) -> bool:
    return is_folder(Path(path, DELTA_LOG))


def _open_list(
    source: Sequence[Any], needed: Mapping[str, str], storage_options: Mapping[str, Any] | None
) -> OpenedLog:
    names = [local_path(item) for item in source if isinstance(item, str | os.PathLike)]
    paths = [name for name in names if not (is_url(name) or _is_table(name))]
    # All files are one part, in which duplicates count once.
    files = (
        open_files(find_files(paths), f"a list of {quantity(len(paths), 'path')}", needed) if paths else None
    )
    if files and len(paths) == len(source):
        return _with_rows(files)
    # A table named twice counts once.
    others = {os.path.realpath(name): name for name in names if name not in paths}
    frames = [item for item in source if not isinstance(item, str | os.PathLike)]
    parts = [
        *([files] if files else []),
        *(_open_path(name, needed, storage_options) for name in others.values()),
        *(open_source(frame, needed) for frame in frames),
    ]
    schemas = {f"item {place}, {part.where}": part.schema() for place, part in enumerate(parts)}
    types, problems, warned = common_types(schemas, needed)
    if problems:
        raise SourceError.all_of(problems)
    rows = [part.rows for part in parts]
    brought = [part.frame.select(pl.col(c).cast(dtype) for c, dtype in types.items()) for part in parts]
    return replace(
        files or OpenedLog(pl.LazyFrame(), ""),
        frame=pl.concat(brought),
        where=f"a list of {quantity(len(source), 'source')}",
        rows=sum(r for r in rows if r is not None) if None not in rows else None,
        stored={name: scan for part in parts for name, scan in part.stored.items()},
        has_frames=bool(frames),
        whole=None,
        warnings=(*(told for part in parts for told in part.warnings), *warned),
    )


def _open_url(url: str, storage_options: Mapping[str, Any] | None) -> OpenedLog:
    options = dict(storage_options) if storage_options else None
    try:
        inside = pl.scan_parquet(url, hive_partitioning=False, storage_options=options).collect_schema()
        whole = pl.scan_parquet(url, hive_partitioning=True, storage_options=options).collect_schema()
        keys = [column for column in whole if column not in inside]
        frame = pl.scan_parquet(
            url,
            hive_partitioning=bool(keys),
            # Without a schema Polars would read a folder "seg=01" as the number 1.
            hive_schema=dict.fromkeys(keys, pl.String) if keys else None,
            extra_columns="ignore",
            storage_options=options,
        )
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError, TypeError, ValueError) as error:  # also from storage_options
        msg = "the URL cannot be read as Parquet"
        found, hint = first_line(error), "the URL of a folder ends in /"
        raise SourceError(msg, where=repr(url), found=found, hint=hint) from error
    return OpenedLog(frame, repr(url), stored={url: lambda: frame})


def _open_delta(path: str) -> OpenedLog:
    """Open a Delta table; its transaction log, not its folder, defines the files and rows."""
    deltalake = require("deltalake", extra="delta", what=f"the Delta table {path!r} needs deltalake")
    try:
        table = deltalake.DeltaTable(path)
        frame = pl.scan_delta(table)
        return OpenedLog(frame, f"the Delta table {path!r}", rows=table.count(), stored={path: lambda: frame})
    except deltalake.exceptions.DeltaError as error:
        msg = "the Delta table cannot be read"
        raise SourceError(msg, where=repr(path), found=first_line(error)) from error


def need_columns(source: OpenedLog, needed: Mapping[str, str]) -> OpenedLog:
    """Return the source if it has the needed columns; for another engine, check the columns of its files.

    Raises
    ------
    SchemaError
        If a column is missing.
    """
    schema = source.schema()
    for column, role in needed.items():
        if column not in schema:
            raise SchemaError.missing_column(column, role, source.where, list(schema), needed.values())
    opened = source if source.elsewhere is None else source.elsewhere.only(needed)
    return replace(opened, warnings=opened.warnings + ignored_weights(schema, needed.values(), source.where))
