"""The Parquet files behind a frame of Spark: each must have the columns that are read from it.

Spark fills a column that a file lacks with nulls, without a word. The plan of the frame says which columns it
reads from which files; their footers say which columns they have. Tables of Delta and Iceberg have a schema
of their own, in which a column may be younger than a file; they are as Spark reads them.
"""

import functools
import io
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from nci_frames.base.errors import SchemaError, SourceError
from nci_frames.base.messages import files_among, listed
from nci_frames.counting.logs.local import read_footers
from nci_frames.counting.logs.opened import Stamp
from nci_frames.counting.spark.rows import SparkRows, schema_of

_THREADS = 16
#: Bytes at the end of a file that are read at once; few footers are longer.
_TAIL = 1 << 16
_MAGIC = b"PAR1"


def need_columns_in_files(rows: SparkRows, roles: Mapping[str, str]) -> dict[str, Stamp]:
    """Return the state of the local files that are read, or raise what is wrong with any file.

    Parameters
    ----------
    rows
        What is read.
    roles
        The role of each column, for messages.

    Raises
    ------
    SchemaError
        If a file lacks a column that is read from it.
    SourceError
        If a footer cannot be read.
    """
    with rows.errors():
        scans = list(_scans(rows.frame._jdf.queryExecution().sparkPlan()))  # noqa: SLF001
        session = rows.frame.sparkSession
        exact = session.conf.get("spark.sql.caseSensitive") == "true"
    stamps: dict[str, Stamp] = {}
    problems: list[SchemaError | SourceError] = []
    for files, read in scans:
        local = {unquote(urlsplit(file).path) for file in files if urlsplit(file).scheme == "file"}
        footers, unreadable = read_footers(local)
        stamps |= {path: footer.stamp for path, footer in footers.items()}
        schemas = {path: footer.schema for path, footer in footers.items()}
        remote = [file for file in files if urlsplit(file).scheme != "file"]
        with rows.errors(), ThreadPoolExecutor(_THREADS) as threads:
            found = threads.map(functools.partial(remote_schema, session), remote)
            for file, schema in zip(remote, found, strict=True):
                if schema is None:
                    unreadable[file] = "not a Parquet file"
                else:
                    schemas[file] = schema
        if unreadable:
            problems.append(SourceError.unreadable(unreadable))
        fold = str if exact else str.lower
        have = {file: {tuple(map(fold, path)) for path in _paths(schema)} for file, schema in schemas.items()}
        for path in sorted(_paths(read)):
            lacking = [file for file, paths in have.items() if tuple(map(fold, path)) not in paths]
            if lacking:
                where = files_among(lacking, len(have))
                problems.append(_lacks(".".join(path), roles, where, sorted(schemas[lacking[0]])))
    if problems:
        raise SourceError.all_of(problems)
    return stamps


def _scans(plan: Any) -> Iterator[tuple[list[str], pl.Schema]]:
    """Yield the Parquet files of every scan in a plan, and the columns that are read from them."""
    from pyspark.sql.types import _parse_datatype_json_string  # noqa: PLC0415

    leaves = plan.collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        kind = leaf.getClass().getSimpleName()
        if kind == "InMemoryTableScanExec":
            yield from _scans(leaf.relation().cachedPlan())
        elif kind == "AdaptiveSparkPlanExec":
            yield from _scans(leaf.inputPlan())
        elif kind == "FileSourceScanExec" and leaf.relation().fileFormat().toString() == "Parquet":
            read = _parse_datatype_json_string(leaf.requiredSchema().json())
            yield list(leaf.relation().location().inputFiles()), schema_of(read, read.names)


def _paths(schema: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the columns of a file, those inside of a struct as well."""
    for name, dtype in schema.items():
        yield (*above, name)
        if isinstance(dtype, pl.Struct):
            yield from _paths({field.name: field.dtype for field in dtype.fields}, (*above, name))


def remote_schema(session: Any, file: str) -> pl.Schema | None:
    """Return the columns of a Parquet file in a store that Spark can read; None if it is no such file."""
    jvm = session._jvm  # noqa: SLF001
    # As Spark lists it: a space is "%20".
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    store = path.getFileSystem(session._jsc.hadoopConfiguration())  # noqa: SLF001
    size = int(store.getFileStatus(path).getLen())
    stream = store.open(path)

    def last(number: int) -> bytes:
        stream.seek(max(size - number, 0))
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))

    try:
        tail = last(_TAIL)
        if tail[-4:] != _MAGIC:
            return None
        needed = int.from_bytes(tail[-8:-4], "little") + 8
        if needed > len(tail):
            tail = last(needed)
    finally:
        stream.close()
    # A file of which only the footer is left has the same columns.
    return pl.Schema(pl.read_parquet_schema(io.BytesIO(_MAGIC + tail[-needed:])))


def _lacks(name: str, roles: Mapping[str, str], where: str, available: list[str]) -> SchemaError:
    if name in roles:
        return SchemaError.missing_column(name, roles[name], where, available)
    found = f"columns {listed(map(repr, available), 20)}"
    hint = "Spark would read nulls: write the files again, or read them apart"
    return SchemaError(f"missing column {name!r}", where=where, found=found, hint=hint)
