"""Local Parquet and CSV files -> one LazyFrame of the needed columns, after a check of all files.

The metadata of each file (rows, columns, time of writing) is read before any row, so that a log of ten
thousand files with one bad file fails within a second, and the message names the file. Polars reads CSV files
as strings, which this file converts: the type of a label depends on all files.
"""

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nci_frames.base.errors import NciFramesError, SchemaError, SourceError
from nci_frames.base.messages import files_among, first_line, listed
from nci_frames.counting.logs.checksums import PageChecksums
from nci_frames.counting.logs.opened import FILE, READ_ERRORS, OpenedLog, Stamp, ignored_weights, stamp_of
from nci_frames.counting.logs.paths import Found, LogFile, is_csv, spelled_keys
from nci_frames.counting.logs.texts import why_unreadable
from nci_frames.counting.logs.types import CLASSES, common_types

#: Roles of columns with numbers.
_NUMBERS = ("score", "weight")
_OTHER_SEPARATORS = (";", "\t", "|")

#: Files of one kind are scanned together: columns of a CSV file in order, types of the needed columns, keys.
_Kind = tuple[tuple[str, ...] | None, tuple[tuple[str, pl.DataType], ...], tuple[tuple[str, str], ...]]
#: Maximum number of scans for different keys in folders.
_SCANS = 64


class _UnusableHeaderError(Exception):
    """A file does not name each of its columns once."""


def _read_header(path: str) -> tuple[list[str], bool]:
    """Return the columns of a file, and whether anything follows them.

    Raises
    ------
    _UnusableHeaderError
        If the separators are not commas and line feeds, a quote is not closed, or two columns have the same
        name.
    """
    with Path(path).open(encoding="utf-8-sig", newline="") as opened:
        try:
            columns = next(filter(None, csv.reader(opened)), [])
        except csv.Error as error:
            raise _UnusableHeaderError(f"its header cannot be read: {error}") from error
        some = any(line.strip() for line in opened)
    separator = next((mark for mark in _OTHER_SEPARATORS if mark in "".join(columns)), None)
    if len(columns) == 1 and separator is not None:
        raise _UnusableHeaderError(f"its cells are separated by {separator!r}, where a comma is expected")
    _need_distinct(columns)
    if some and _scan_csv(path).collect_schema().names() != columns:
        raise _UnusableHeaderError("its header is ambiguous: a quote in a name, or lines that end in '\\r'")
    return columns, some


def _need_distinct(columns: Sequence[str]) -> None:
    """Raise _UnusableHeaderError if two columns have the same name."""
    twice = next((column for place, column in enumerate(columns) if column in columns[:place]), None)
    if twice is not None:
        raise _UnusableHeaderError(f"it has two columns {twice!r}")


def _scan_csv(paths: str | list[str], file_column: str | None = None) -> pl.LazyFrame:
    """Scan files with the same columns as strings; empty cells are null."""
    return pl.scan_csv(paths, glob=False, infer_schema=False, include_file_paths=file_column)


def _label_type(paths: Sequence[str], column: str) -> pl.DataType:
    """Return the type that fits the labels of all files.

    Raises
    ------
    SourceError
        If a file cannot be read.
    """
    unread: dict[str, str] = {}
    seen = [pl.Series(column, [], pl.String)]
    for path in paths:
        try:
            seen.append(_scan_csv(path).select(pl.col(column).drop_nulls().unique()).collect()[column])
        except READ_ERRORS as error:
            unread[path] = why_unreadable(path, error)
    if unread:
        raise SourceError.unreadable(unread)
    texts = pl.concat(seen).unique()
    if texts.is_empty():
        return pl.Null()
    if texts.str.to_lowercase().is_in(["true", "false"]).all():
        return pl.Boolean()
    numbers = (pl.Int64(), pl.Float64())
    return next((kind for kind in numbers if not texts.cast(kind, strict=False).has_nulls()), pl.String())


def _parsed(types: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Convert strings to *types*; a string that cannot be converted is null, which makes its row invalid."""
    return [
        pl.col(column).str.to_lowercase() == "true"
        if dtype == pl.Boolean
        else pl.col(column).cast(dtype, strict=False)
        for column, dtype in types.items()
        if dtype != pl.String
    ]


@dataclass(frozen=True, slots=True)
class Footer:
    """Metadata of a file, known before its rows are read."""

    #: None if unknown, as for CSV.
    rows: int | None
    schema: pl.Schema
    stamp: Stamp


def read_footers(files: Iterable[str]) -> tuple[dict[str, Footer], dict[str, str]]:
    """Return the metadata of every readable file, and the problem of every unreadable one."""
    footers: dict[str, Footer] = {}
    bad: dict[str, str] = {}
    known: list[tuple[pq.ParquetSchema, bytes | None, pl.Schema]] = []
    for file in files:
        try:
            file.encode()
            stamp = stamp_of(file)
            if stamp[1] == 0:
                bad[file] = "an empty file (0 bytes)" if Path(file).is_file() else "a device or a pipe"
                continue
            if is_csv(file):
                columns, some = _read_header(file)
                texts = pl.Schema(dict.fromkeys(columns, pl.String()))
                footers[file] = Footer(None if some else 0, texts, stamp)
                continue
            footer = pq.read_metadata(file)
            _need_distinct([footer.schema.column(i).path for i in range(footer.num_columns)])
            arrow = (footer.metadata or {}).get(b"ARROW:schema")
            schema = next((s for p, a, s in known if a == arrow and footer.schema.equals(p)), None)
            if schema is None:
                # With a glob, the name x[1].parquet would match another file.
                schema = pl.scan_parquet(file, glob=False, hive_partitioning=False).collect_schema()
                known.append((footer.schema, arrow, schema))
            footers[file] = Footer(footer.num_rows, schema, stamp)
        except UnicodeError:
            bad[file] = _COMPRESSED.get(_begins(file)[:2], "its name, or what is in it, is not UTF-8")
        except pl.exceptions.PanicException as error:
            odd = [c.name for c in map(footer.schema.column, range(footer.num_columns)) if _is_interval(c)]
            told = f"it has a column that Polars cannot read: {listed(map(repr, odd))}, of intervals"
            bad[file] = told if odd else first_line(error)
        except _UnusableHeaderError as error:
            bad[file] = str(error)
        except pa.ArrowNotImplementedError as error:
            bad[file] = f"it has a column that pyarrow cannot read: {error}"
        except (pa.ArrowException, pl.exceptions.PolarsError):
            bad[file] = _what_instead(file)
        except OSError as error:
            bad[file] = os.strerror(error.errno) if error.errno else _what_instead(file)
    return footers, bad


_PARQUET = {b"PAR1": "a truncated or damaged Parquet file", b"PARE": "an encrypted Parquet file"}
_COMPRESSED = {
    b"\x1f\x8b": "a file that gzip has compressed, not Parquet or CSV: decompress it",
    b"PK": "a zip archive, not Parquet or CSV: unpack it",
    b"\x28\xb5": "a file that Zstandard has compressed, not Parquet or CSV: decompress it",
}


def _begins(file: str) -> bytes:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(4)
    except (OSError, ValueError):
        return b""


def _what_instead(file: str) -> str:
    first = _begins(file)
    return _PARQUET.get(first) or _COMPRESSED.get(first[:2], "not a Parquet file")


def _is_interval(column: pq.ColumnSchema) -> bool:
    return str(column.converted_type) == "INTERVAL" or str(column.logical_type) == "Interval"


Footers = Mapping[str, Footer]


def open_files(found: Found, where: str, needed: Mapping[str, str]) -> OpenedLog:
    """Open files as one source.

    Raises
    ------
    SchemaError
        If a column is missing, or has incompatible types.
    SourceError
        If a file cannot be read, or no file has a row.
    """
    footers, unreadable = read_footers(file.path for file in found.files)
    problems: list[NciFramesError] = [SourceError.unreadable(unreadable)] if unreadable else []
    files = [file for file in found.files if file.path in footers]
    problems += _key_problems(found.files)
    inside = {column: role for column, role in needed.items() if column not in found.files[0].keys}
    for column in inside:
        problems += _missing(column, inside, files, footers)
    schemas = {file.path: _typed(footers[file.path].schema, file.path, needed) for file in files}
    texts = [file.path for file in files if is_csv(file.path)]
    classes = [column for column, role in inside.items() if role in CLASSES]
    if texts and not problems:
        found_types = {column: _label_type(texts, column) for column in classes}
        # If some labels or decisions are not numbers, all are strings.
        mixed = pl.String() in found_types.values()
        for path in texts:
            for column, dtype in found_types.items():
                schemas[path][column] = pl.String() if mixed and dtype != pl.Null else dtype
    types, drifted, warned = common_types(schemas, inside)
    problems += drifted
    if not problems:
        problems += _clashes(files, footers, needed)
    if problems:
        raise SourceError.all_of(problems)
    rows = [footers[file.path].rows for file in files]
    if found.skipped:
        warned.append(found.warning(where))
    try:
        frame = _scan(files, schemas, types, needed)
    except pl.exceptions.PolarsError as error:  # a decimal with more digits than Polars supports
        raise SourceError.unreadable(dict.fromkeys(footers, first_line(error))) from error
    of_all = set.intersection(*(set(footers[file.path].schema) for file in files))
    shared = [column for column in footers[files[0].path].schema if column in of_all]
    every = {**needed, **{column: "column" for column in (*shared, *files[0].keys) if column not in needed}}
    warned += ignored_weights(every, needed.values(), where)
    return OpenedLog(
        frame,
        where,
        tuple(file.path for file in files),
        None if None in rows else sum(row for row in rows if row is not None),
        stamps={file.path: footers[file.path].stamp for file in files},
        stored={file.path: partial(_scan, [file], schemas, types, needed) for file in files},
        numbers=tuple(column for column, role in inside.items() if texts and role in _NUMBERS),
        folder=None if all(Path(file.path).is_absolute() for file in files) else str(Path.cwd()),
        warnings=tuple(warned),
        checksums=PageChecksums([file.path for file in files if not is_csv(file.path)], list(inside)),
        whole=None if len(every) == len(needed) else partial(open_files, found, where, every),
    )


def _key_problems(files: Sequence[LogFile]) -> list[SchemaError]:
    keys = files[0].keys
    odd = next((file for file in files if set(file.keys) != set(keys)), None)
    if odd is None:
        return []
    msg = "the folders of the source do not all spell the same keys"
    found = f"{sorted(odd.keys)} there, {sorted(keys)} in {files[0].path!r}"
    hint = "name a folder or glob below which all paths have the same key=value parts"
    return [SchemaError(msg, where=repr(odd.path), found=found, hint=hint)]


def _missing(
    column: str, roles: Mapping[str, str], files: Sequence[LogFile], footers: Footers
) -> list[SchemaError]:
    lacking = [file for file in files if column not in footers[file.path].schema]
    if not lacking:
        return []
    available = [*footers[lacking[0].path].schema, *sorted(lacking[0].keys)]
    where = files_among([file.path for file in lacking], len(files))
    if column in dict(spelled_keys(lacking[0].path)):
        msg = f"missing column {column!r} (the {roles[column]})"
        hint = f"the folder {column}=... lies above the source: name the folder above it as the source"
        return [SchemaError(msg, where=where, found=f"columns {listed(map(repr, available), 20)}", hint=hint)]
    return [SchemaError.missing_column(column, roles[column], where, available, roles.values())]


def _clashes(files: Sequence[LogFile], footers: Footers, needed: Mapping[str, str]) -> list[SchemaError]:
    """Return errors for files whose folder and column disagree about a key."""
    problems = []
    for file in files:
        for key in file.keys.keys() & footers[file.path].schema.keys() & needed.keys():
            told, values = file.values[key], _values(file.path, key)
            if values not in ([told], []):
                msg = f"the folder and the column of a file disagree about {key!r}"
                found = f"{told!r} in the path, {listed(map(repr, values))} in the file"
                hint = "name a folder below it as the source, or correct the file"
                problems.append(SchemaError(msg, where=repr(file.path), found=found, hint=hint))
    return problems


def _values(path: str, column: str) -> list[str | None]:
    """Return some values of a column of one file, as strings.

    Raises
    ------
    SourceError
        If the file cannot be read, or the values cannot be strings.
    """
    frame = _scan_csv(path) if is_csv(path) else pl.scan_parquet(path, glob=False, hive_partitioning=False)
    try:
        return frame.select(pl.col(column).unique().cast(pl.String)).head(5).collect()[column].to_list()
    except READ_ERRORS as error:
        raise SourceError.unreadable({path: first_line(error)}) from error


def _typed(schema: pl.Schema, path: str, needed: Mapping[str, str]) -> pl.Schema:
    """Return the types of a file; in CSV, roles define the types, and keys stay strings."""
    if not is_csv(path):
        return schema
    return pl.Schema({c: pl.Float64() if needed.get(c) in _NUMBERS else pl.String() for c in schema})


def _scan(
    files: Sequence[LogFile],
    schemas: Mapping[str, pl.Schema],
    types: Mapping[str, pl.DataType],
    needed: Mapping[str, str],
) -> pl.LazyFrame:
    """Scan files of one kind together, and cast all kinds to the same types."""
    # Polars reads keys from the whole path, and some differently; then keys are added as literals.
    written_out = not all(file.is_plain for file in files)
    # Literals are fast, but need a scan per key, and Polars hangs if scans use up its threads.
    few = len({tuple(file.keys.items()) for file in files}) <= _SCANS
    groups: dict[_Kind, list[LogFile]] = {}
    for file in files:
        schema = {column: schemas[file.path].get(column, pl.Null()) for column in types}
        kind = tuple((c, types[c] if dtype == pl.Null else dtype) for c, dtype in schema.items())
        # CSV files are scanned together if their columns have the same order.
        header = tuple(schemas[file.path]) if is_csv(file.path) else None
        keys = tuple(file.keys.items()) if few and (written_out or header) else ()
        groups.setdefault((header, kind, keys), []).append(file)
    scans = []
    for (header, kind, _), members in groups.items():
        paths = [file.path for file in members]
        if header is None:
            hive = {} if written_out else dict.fromkeys(members[0].keys, pl.String)
            frame = pl.scan_parquet(
                paths,
                # Names are not globs: "x[1].parquet" must not match "x1.parquet".
                glob=False,
                schema=pl.Schema(kind),
                extra_columns="ignore",
                hive_partitioning=bool(hive),
                # Without a schema Polars would read a folder "seg=01" as the number 1.
                hive_schema=hive or None,
                include_file_paths=FILE,
            )
        else:
            frame = _scan_csv(paths, FILE).with_columns(_parsed(types))
        if header is not None or written_out:
            frame = frame.with_columns(_spelled(members, needed))
        names = (*needed, FILE)
        scans.append(
            frame.select(pl.col(name).cast(types[name]) if name in types else name for name in names)
        )
    return scans[0] if len(scans) == 1 else pl.concat(scans)


def _spelled(files: Sequence[LogFile], needed: Mapping[str, str]) -> list[pl.Expr]:
    """Return the needed keys of files as literals, as their folders spell them."""
    columns = []
    for key in files[0].keys.keys() & needed.keys():
        values = {file.path: file.values[key] for file in files}
        told = set(values.values())
        column = (
            pl.lit(told.pop(), pl.String)
            if len(told) == 1
            else pl.col(FILE).replace_strict(values, return_dtype=pl.String)
        )
        columns.append(column.alias(key))
    return columns
