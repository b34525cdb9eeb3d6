"""Rows in Spark: columns, numbers, errors, and the files behind them.

Spark silently fills a column that a Parquet file lacks with nulls. So the columns that the plan of a frame
reads from each file are compared with the footers of the files. Tables of Delta and Iceberg have their own
schema, where a column may be newer than a file; they are accepted as Spark reads them.

PySpark is only imported when there is a Spark frame.
"""

import functools
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import polars as pl
import pyarrow as pa

from nci_frames.base import errors
from nci_frames.base.errors import NciFramesError, ParameterError, SchemaError, SourceError
from nci_frames.base.messages import files_among, listed
from nci_frames.counting.logs.local import read_footers
from nci_frames.counting.logs.opened import Stamp

_PYTHON_ERROR = re.compile(r"^(?!org\.|java\.|py4j\.)[\w.]+(?:Error|Exception): .*$", re.MULTILINE)
#: An error of this package, with its lines, as printed by Python in an executor.
_OUR_ERROR = re.compile(
    r"^nci_frames\.base\.errors\.(\w+Error): (.*(?:\n  (?:where|found|hint):.*)*)", re.MULTILINE
)
_NO_PACKAGE = re.compile(r"No module named '(\w+)")

_THREADS = 16
#: Bytes to read at the end of a file; few footers are longer.
_TAIL = 1 << 16
_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class SparkRows:
    """A Spark frame."""

    #: The frame with column names that need no quotes, in the order of ``names``.
    frame: Any
    names: tuple[str, ...]
    where: str = "the Spark DataFrame"

    @classmethod
    def of(cls, frame: Any) -> Self:
        """Wrap a Spark frame.

        Raises
        ------
        ParameterError
            If it is a frame of Spark Connect, whose files cannot be checked.
        """
        if not hasattr(frame, "_jdf"):
            msg = "a frame of Spark Connect cannot be counted: the footers of its files cannot be read"
            raise ParameterError(msg, hint="use a session without Connect: SparkSession.builder.master(...)")
        names = tuple(frame.columns)
        # Rename by position: names may have dots or quotes, and Spark ignores their case.
        return cls(frame.toDF(*(f"c{place}" for place in range(len(names)))), names)

    def selected(self, columns: Iterable[str]) -> Self:
        """Return the rows with a subset of the columns.

        Raises
        ------
        SchemaError
            If a name belongs to several columns.
        """
        wanted = list(columns)
        twice = next((name for name in wanted if self.names.count(name) > 1), None)
        if twice is not None:
            msg = f"there are several columns {twice!r}"
            raise SchemaError(msg, where=self.where, hint="rename one of them, or drop it")
        places = [f"c{self.names.index(name)}" for name in wanted]
        frame = self.frame.select(*places).toDF(*(f"c{place}" for place in range(len(places))))
        return replace(self, frame=frame, names=tuple(wanted))

    def schema(self) -> pl.Schema:
        """Return the columns with their types in Polars; Object if there is none."""
        return schema_of(self.frame.schema, self.names)

    def number(self) -> int:
        """Return the number of rows, counted by Spark; for Parquet it reads only the footers."""
        with self.errors():
            return int(self.frame.count())

    def distinct(self, column: str, most: int | None) -> pl.Series:
        """Return the distinct values of a column, without null and NaN."""
        name = f"c{self.names.index(column)}"
        with self.errors():
            values = self.frame.select(name).dropna().distinct()
            table = (values if most is None else values.limit(most)).toArrow()
        return pl.DataFrame(table)[name].rename(column)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert exceptions of Spark into an error with problem and place.

        Raises
        ------
        SourceError
            If Spark cannot read or count the rows.
        """
        from py4j.protocol import Py4JError  # noqa: PLC0415
        from pyspark.errors import PySparkException  # noqa: PLC0415

        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise _told(error, self.where) from error


def schema_of(struct: Any, names: Iterable[str]) -> pl.Schema:
    """Return the columns of a Spark type with their types in Polars; Object if there is none."""
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql.pandas.types import to_arrow_type  # noqa: PLC0415

    def dtype(field: Any) -> pl.DataType:
        try:
            # Absolute times, not the wall clock of the session.
            arrow = to_arrow_type(field.dataType, timezone="UTC")
            return pl.DataFrame(pa.schema([("c", arrow)]).empty_table()).schema["c"]
        except (PySparkException, pl.exceptions.PolarsError):
            return pl.Object()

    return pl.Schema(dict(zip(names, map(dtype, struct.fields), strict=True)))


def _told(error: Exception, where: str) -> NciFramesError:
    text = str(error)
    ours = _OUR_ERROR.search(text)
    if ours is not None:
        kind: type[NciFramesError] = getattr(errors, ours[1])
        return kind(ours[2])
    in_python = _PYTHON_ERROR.findall(text)
    found = in_python[-1] if in_python else next(iter(text.splitlines()), type(error).__name__)
    package = _NO_PACKAGE.search(found)
    hint = None
    if package is not None:
        hint = f"install {package[1]} for the Python of the executors, or ship it with the session"
    return SourceError("Spark could not count the rows", where=where, found=found[:500], hint=hint)


def need_columns_in_files(rows: SparkRows, roles: Mapping[str, str]) -> dict[str, Stamp]:
    """Return the stamps of the local files to read; raise if a file lacks a column.

    Parameters
    ----------
    rows
        Rows to read.
    roles
        Role of each column, for messages.

    Raises
    ------
    SchemaError
        If a file lacks a column that the plan reads from it.
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
    """Yield the Parquet files of every scan in a plan, and the columns read from them."""
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
    """Yield the columns of a file, including those inside structs."""
    for name, dtype in schema.items():
        yield (*above, name)
        if isinstance(dtype, pl.Struct):
            yield from _paths({field.name: field.dtype for field in dtype.fields}, (*above, name))


def remote_schema(session: Any, file: str) -> pl.Schema | None:
    """Return the columns of a Parquet file in a store that Spark can read; None for other files."""
    jvm = session._jvm  # noqa: SLF001
    # Spark lists URLs, where a space is "%20".
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
    # A file cut down to its footer has the same columns.
    return pl.Schema(pl.read_parquet_schema(io.BytesIO(_MAGIC + tail[-needed:])))


def _lacks(name: str, roles: Mapping[str, str], where: str, available: list[str]) -> SchemaError:
    if name in roles:
        return SchemaError.missing_column(name, roles[name], where, available)
    found = f"columns {listed(map(repr, available), 20)}"
    hint = "Spark would read nulls: write the files again, or read them apart"
    return SchemaError(f"missing column {name!r}", where=where, found=found, hint=hint)
