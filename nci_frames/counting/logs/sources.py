"""What a user calls a log -> one LazyFrame of its needed columns, with every footer read beforehand.

Files are checked all at once and before anything is counted: a log of ten thousand files with one odd file
fails in a second, and the message names the file.
"""

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nci_frames.errors import SHOWN_FILES, NciFramesError, ParameterError, SchemaError, SourceError, listed
from nci_frames.extras import require

__all__ = ["FILE", "ArrowStream", "Source", "SourceLike", "frame_source", "need_columns", "open_source"]

#: Name of the column that says which file a row is from.
FILE = "__file"

_SUFFIXES = (".parquet", ".pq", ".parq")
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
_HIVE = re.compile(r"^([^=]+)=(.*)$")


@runtime_checkable
class ArrowStream(Protocol):
    """Any table that speaks the Arrow PyCapsule interface: pandas, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream as a capsule."""


PathLike = str | os.PathLike[str]
SourceLike = (
    PathLike | pl.LazyFrame | pl.DataFrame | ArrowStream | Sequence[PathLike | pl.LazyFrame | pl.DataFrame]
)


@dataclass(frozen=True, slots=True)
class Source:
    """An opened log."""

    frame: pl.LazyFrame
    #: For messages: what the user called it.
    where: str
    #: The files behind it; empty for frames and remote stores.
    files: tuple[str, ...] = ()
    #: Rows according to the footers, or of the DataFrame; None where only reading tells.
    rows: int | None = None
    #: The frame with one more column, ``FILE``: the file that a row is from. None where there are no files.
    frame_with_files: pl.LazyFrame | None = None

    def schema(self) -> pl.Schema:
        """Return the columns and their types."""
        return self.frame.collect_schema()


def open_source(
    source: SourceLike, needed: Mapping[str, str], storage_options: Mapping[str, Any] | None = None
) -> Source:
    """Open a log and make sure that it has the needed columns, with one type each.

    Parameters
    ----------
    source
        A path, glob, folder, Delta table, URL, LazyFrame, DataFrame or Arrow table, or a list of them.
    needed
        The columns that will be read, each with its role for messages.
    storage_options
        Passed to Polars for URLs.

    Raises
    ------
    SourceError
        If nothing matches, or files cannot be read.
    SchemaError
        If a column is missing or has different types in different files.
    ParameterError
        If *source* is none of these.
    """
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fspath(source), needed, storage_options)
    frame = frame_source(source)
    if frame is not None:
        return need_columns(frame, needed)
    if isinstance(source, Sequence) and source:
        return _open_list(source, needed, storage_options)
    raise ParameterError.out_of_range(
        "source", source, "a path, glob, folder, LazyFrame, DataFrame, Arrow table, or a list of them"
    )


def frame_source(source: object) -> Source | None:
    """Open a frame or an Arrow table; None if the source is neither."""
    if isinstance(source, pl.LazyFrame):
        return Source(source, "the LazyFrame")
    if isinstance(source, pl.DataFrame):
        return Source(source.lazy(), "the DataFrame", rows=len(source))
    if isinstance(source, ArrowStream):
        frame = pl.DataFrame(source)
        return Source(frame.lazy(), f"the {type(source).__name__}", rows=len(frame))
    return None


def _open_path(path: str, needed: Mapping[str, str], storage_options: Mapping[str, Any] | None) -> Source:
    if _URL.match(path):
        return need_columns(_open_url(path, storage_options), needed)
    if _is_delta(path):
        return need_columns(_open_delta(path), needed)
    return _open_files(_find_files(path), repr(path), needed)


def _is_delta(path: str) -> bool:
    return Path(path, "_delta_log").is_dir()


def _open_list(
    source: Sequence[Any], needed: Mapping[str, str], storage_options: Mapping[str, Any] | None
) -> Source:
    paths = [os.fspath(item) for item in source if isinstance(item, str | os.PathLike)]
    if len(paths) == len(source) and not any(_URL.match(path) or _is_delta(path) for path in paths):
        files = [file for path in paths for file in _find_files(path)]
        return _open_files(files, f"a list of {len(paths)} paths", needed)
    opened = [open_source(item, needed, storage_options) for item in source]
    types: dict[str, dict[str, list[str]]] = {column: {} for column in needed}
    for part in opened:
        for column, dtype in part.schema().items():
            if column in needed:
                types[column].setdefault(_type_name(dtype), []).append(part.where)
    _need_one_type(types)
    rows = [part.rows for part in opened]
    return Source(
        pl.concat([part.frame.select(list(needed)) for part in opened]),
        f"a list of {len(opened)} sources",
        rows=sum(r for r in rows if r is not None) if None not in rows else None,
    )


def _find_files(path: str) -> list[str]:
    """Return the Parquet files of a path, folder or glob, in the order of their names."""
    if Path(path).is_dir():
        found = [
            str(file)
            for file in sorted(Path(path).rglob("*"))
            if file.is_file() and not any(part[0] in "._" for part in file.relative_to(path).parts)
        ]
        files = [file for file in found if file.lower().endswith(_SUFFIXES)]
        if not files:
            others = sorted({Path(file).suffix or "no ending" for file in found})
            raise SourceError.no_match(
                path,
                f"a folder with {len(found)} other files ({', '.join(others)})"
                if found
                else "an empty folder",
                f"Parquet files end in {', '.join(_SUFFIXES)}",
            )
        return files
    if Path(path).exists():
        return [path]
    files = sorted(file for file in glob.glob(path, recursive=True) if Path(file).is_file())
    if not files:
        folder = next((parent for parent in Path(path).parents if parent.exists()), Path())
        what = "a glob that matches nothing" if glob.has_magic(path) else "no such file or folder"
        raise SourceError.no_match(path, what, f"the nearest folder that exists is {str(folder)!r}")
    return files


def _hive_keys(file: str) -> dict[str, str]:
    """Return the keys that the folders of a path spell out, as ``country=de``."""
    matches = (_HIVE.match(part) for part in Path(file).parent.parts)
    return {unquote(match[1]): match[2] for match in matches if match}


def _open_files(files: list[str], where: str, needed: Mapping[str, str]) -> Source:
    footers, unreadable = _read_footers(files)
    problems: list[NciFramesError] = [SourceError.unreadable(unreadable)] if unreadable else []
    hive = {file: _hive_keys(file) for file in files}
    keys = hive[files[0]]
    odd = next((file for file in files if set(hive[file]) != set(keys)), None)
    if odd is not None:
        msg = "the folders of the source do not all spell the same keys"
        found = f"{sorted(hive[odd])} there, {sorted(keys)} in {files[0]!r}"
        hint = "name a folder or glob below which all paths have the same key=value parts"
        problems.append(SchemaError(msg, where=repr(odd), found=found, hint=hint))
    for column in needed:
        if column not in keys:
            problems += _column_problems(column, needed[column], footers, hive)
    if problems:
        raise SourceError.all_of(problems)
    rows = sum(footers[file][0] for file in files)
    if rows == 0:
        raise SourceError.no_match(where, f"{len(files)} Parquet files without a row", "nothing was logged?")
    schema = pl.Schema({column: _first_type(column, footers) for column in needed if column not in keys})

    def scan(file_column: str | None) -> pl.LazyFrame:
        return pl.scan_parquet(
            files,
            schema=schema,
            extra_columns="ignore",
            hive_partitioning=bool(keys),
            # Without a schema a folder "seg=01" would be read as the number 1.
            hive_schema=dict.fromkeys(keys, pl.String) if keys else None,
            include_file_paths=file_column,
        )

    return Source(scan(None), where, tuple(files), rows, scan(FILE))


Footers = dict[str, tuple[int, pl.Schema]]


def _column_problems(
    column: str, role: str, footers: Footers, hive: Mapping[str, Mapping[str, str]]
) -> list[NciFramesError]:
    """Return what is wrong with a column: files that lack it, and types that differ between files."""
    lacking = [file for file, (_, schema) in footers.items() if column not in schema]
    problems: list[NciFramesError] = []
    if lacking:
        available = [*footers[lacking[0]][1], *sorted(hive[lacking[0]])]
        where = f"{len(lacking)} of {len(footers)} files: {listed(map(repr, lacking), SHOWN_FILES)}"
        problems.append(SchemaError.missing_column(column, role, where, available))
    types: dict[str, list[str]] = {}
    for file, (_, schema) in footers.items():
        if schema.get(column, pl.Null()) != pl.Null:
            types.setdefault(_type_name(schema[column]), []).append(file)
    if len(types) > 1:
        problems.append(SchemaError.type_drift(column, types))
    return problems


def _read_footers(files: Iterable[str]) -> tuple[Footers, dict[str, str]]:
    """Return the rows and the schema of every file; and of those that cannot be read, why."""
    footers: Footers = {}
    bad: dict[str, str] = {}
    known: list[tuple[pq.ParquetSchema, bytes | None, pl.Schema]] = []
    for file in dict.fromkeys(files):
        try:
            if Path(file).stat().st_size == 0:
                bad[file] = "an empty file (0 bytes)"
                continue
            footer = pq.read_metadata(file)
            arrow = (footer.metadata or {}).get(b"ARROW:schema")
            schema = next((s for p, a, s in known if a == arrow and footer.schema.equals(p)), None)
            if schema is None:
                schema = pl.Schema(pl.read_parquet_schema(file))
                known.append((footer.schema, arrow, schema))
        except (pa.ArrowInvalid, pl.exceptions.ComputeError):
            bad[file] = _what_instead(file)
        except OSError as error:
            bad[file] = error.strerror or "it cannot be opened"
        else:
            footers[file] = footer.num_rows, schema
    return footers, bad


def _what_instead(file: str) -> str:
    with Path(file).open("rb") as opened:
        return "a truncated Parquet file" if opened.read(4) == b"PAR1" else "not a Parquet file"


def _open_url(url: str, storage_options: Mapping[str, Any] | None) -> Source:
    options = dict(storage_options) if storage_options else None
    try:
        inside = pl.scan_parquet(url, hive_partitioning=False, storage_options=options).collect_schema()
        whole = pl.scan_parquet(url, hive_partitioning=True, storage_options=options).collect_schema()
        keys = [column for column in whole if column not in inside]
        frame = pl.scan_parquet(
            url,
            hive_partitioning=bool(keys),
            # Without it a folder "seg=01" would be read as the number 1.
            hive_schema=dict.fromkeys(keys, pl.String) if keys else None,
            extra_columns="ignore",
            storage_options=options,
        )
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        msg = "the URL cannot be read as Parquet"
        found, hint = str(error).splitlines()[0], "the URL of a folder ends in /"
        raise SourceError(msg, where=repr(url), found=found, hint=hint) from error
    return Source(frame, repr(url))


def _open_delta(path: str) -> Source:
    """Open a Delta table: its log, not its folder, says which files and rows it has."""
    deltalake = require("deltalake", extra="delta", what=f"the Delta table {path!r} needs deltalake")
    try:
        table = deltalake.DeltaTable(path)
        return Source(pl.scan_delta(table), f"the Delta table {path!r}", rows=table.count())
    except deltalake.exceptions.DeltaError as error:
        msg = "the Delta table cannot be read"
        raise SourceError(msg, where=repr(path), found=str(error).splitlines()[0]) from error


def need_columns(source: Source, needed: Mapping[str, str]) -> Source:
    """Return the source, or raise SchemaError if it lacks a column."""
    schema = source.schema()
    for column, role in needed.items():
        if column not in schema:
            raise SchemaError.missing_column(column, role, source.where, list(schema))
    return source


def _need_one_type(types: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    for column, by_type in types.items():
        if len(by_type) > 1:
            raise SchemaError.type_drift(column, by_type)


def _type_name(dtype: pl.DataType) -> str:
    """Name a type; how a String is encoded makes no difference."""
    return "String" if dtype in (pl.Categorical, pl.Enum) else str(dtype)


def _first_type(column: str, footers: Footers) -> pl.DataType:
    dtypes = [schema[column] for _, schema in footers.values()]
    return next((dtype for dtype in dtypes if dtype != pl.Null), dtypes[0])
