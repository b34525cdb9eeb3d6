"""Log files, one at a time: found, identified by their content, and counted."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nci_frames.counting.count import Tally, tally_scan
from nci_frames.counting.logs.paths import NULL_KEY, find_files, is_csv
from nci_frames.counting.logs.scan import scan_behind, scan_predictions
from nci_frames.counting.logs.sources import ArrowStream, open_source
from nci_frames.counting.logs.units import unit_buckets
from nci_frames.counting.thresholds.grids import Thresholds
from nci_frames.counts.increments import check_cells, increments_of
from nci_frames.counts.ledger.storage import content_hash, file_hash
from nci_frames.errors import (
    InvalidRowsError,
    InvalidRowsWarning,
    NciFramesError,
    ParameterError,
    SchemaError,
    SourceError,
)
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.messages import first_line

__all__ = [
    "LogFile",
    "NamedFrame",
    "SourceCounts",
    "Window",
    "check_columns",
    "check_window",
    "count_file",
    "find_logs",
    "has_name",
    "identify",
]

PathLike = str | os.PathLike[str]
Window = tuple[datetime, datetime]

#: Stands before a name, where files have a path, which is absolute.
_NAMED = "frame:"

_READ_ERRORS = (
    OSError,
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file, the keys that its folders spell out, and the window of time that it belongs to."""

    path: str
    keys: tuple[tuple[str, str], ...] = ()
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class NamedFrame(LogFile):
    """A frame of Spark: it has no content of its own by which it could be known again, but a name."""

    frame: Any = None

    @classmethod
    def of(cls, frame: Any, name: str | None, window: Window | None) -> "NamedFrame":
        """Give a frame its name.

        Raises
        ------
        ParameterError
            If there is none.
        """
        if not name:
            msg = "a Spark DataFrame needs a name, by which the ledger knows it again"
            raise ParameterError(msg, hint="for example name='predictions/2026-11-22'; it is counted once")
        return cls(f"{_NAMED}{name}", (), window, frame)


def has_name(path: str) -> bool:
    """Return whether a source of a ledger is known by its name and not by the content of a file."""
    return path.startswith(_NAMED)


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """What one file adds to the ledger, with its control totals."""

    identity: str
    file: LogFile
    bytes: int
    #: Predictions in the file, and what became of them.
    rows: int
    counted: int
    dropped: Mapping[str, int]
    #: Columns: the keys, threshold, positives, negatives.
    increments: pl.DataFrame
    #: Types of the keys, and of the score.
    dtypes: Mapping[str, pl.DataType]
    #: What a user should be told of it, besides the rows that were dropped.
    warnings: tuple[UserWarning, ...]


def check_window(window: Window | None) -> Window | None:
    """Return a window in UTC.

    Raises
    ------
    ParameterError
        If it is not a start with a time zone, and an end with one after it.
    """
    if window is None:
        return None
    start, end = window
    if not (isinstance(start, datetime) and isinstance(end, datetime)):
        raise ParameterError.out_of_range("window", window, "two datetimes: start and end (excluded)")
    if start.tzinfo is None or end.tzinfo is None:
        raise ParameterError.out_of_range("window", window, "with a time zone")
    if not start < end:
        found = f"from {start.isoformat()} to {end.isoformat()}"
        raise ParameterError("window must be a start before its end", found=found)
    return start.astimezone(UTC), end.astimezone(UTC)


def find_logs(
    source: PathLike | Sequence[PathLike] | ArrowStream, window: Window | None = None
) -> list[LogFile]:
    """Return the Parquet and CSV files of paths, folders and globs, each real file once.

    Raises
    ------
    SourceError
        If a path, folder or glob has none, or *source* is not made of paths.
    """
    given: Sequence[object] = [source] if isinstance(source, str | os.PathLike | ArrowStream) else source
    paths = []
    for item in given:
        if not isinstance(item, str | os.PathLike):
            msg = "a ledger counts files, which it knows again by their content"
            raise SourceError(msg, found=type(item).__name__, hint="write the frame to a Parquet file first")
        paths.append(os.fspath(item))
    if not paths:
        raise SourceError("the source is an empty list", hint="name a path, folder or glob")
    return [
        LogFile(str(Path(file.path).absolute()), tuple(sorted(file.keys.items())), window)
        for file in find_files(paths).files
    ]


def identify(file: LogFile, settings: CountingSettings) -> str:
    """Return the identity of a file: the hash of its content, and of the keys that its folders spell out.

    Of a frame with a name it is the hash of the name.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    if isinstance(file, NamedFrame):
        return content_hash(repr(file.path).encode())
    try:
        content = file_hash(file.path)
    except OSError as error:
        raise _unreadable(file, error) from error
    keys = _keys_of_path(file, settings)
    if not keys:
        return content
    return content_hash(repr((content, sorted(keys.items()))).encode())


def count_file(file: LogFile, identity: str, settings: CountingSettings) -> SourceCounts:
    """Count one file.

    Raises
    ------
    SourceError
        If it cannot be read, a page fails its checksum, or it changes meanwhile.
    SchemaError, InvalidRowsError
        If its columns or rows are not those of predictions.
    ParameterError
        If it has too many groups.
    """
    if isinstance(file, NamedFrame):
        return _count_frame(file, identity, settings)
    try:
        frame = _read(file, settings)
        size = Path(file.path).stat().st_size
    except _READ_ERRORS as error:
        raise _unreadable(file, error) from error
    try:
        predictions = scan_predictions(frame, **settings.scan_options())
        if settings.unit is not None and settings.buckets is not None:
            _check_units(frame, settings.unit)
            predictions = unit_buckets(predictions, buckets=settings.buckets)
        keys = settings.keys
        if settings.thresholds is not None:
            groups = predictions.select(keys).unique().collect()
            check_cells(groups, len(settings.thresholds), repr(file.path))
        scan = scan_behind(predictions, labelled=settings.label is not None)
        # A frame is counted, but a file is what a warning is about.
        scan = replace(scan, source=replace(scan.source, where=repr(file.path)))
        thresholds: Thresholds = settings.thresholds or "exact"
        tally = tally_scan(scan, thresholds=thresholds, by=None, memory_limit=None, progress=False)
    except NciFramesError as error:
        raise error.at(repr(file.path)) from error
    if identify(file, settings) != identity:
        msg = "a file of the source changed while it was read"
        raise SourceError(
            msg, where=repr(file.path), hint="it is counted by the next run, once it is complete"
        )
    schema = predictions.collect_schema()
    return SourceCounts(
        identity=identity,
        file=file,
        bytes=size,
        rows=len(frame) * max(1, len(settings.scores)),
        counted=tally.counted,
        dropped=tally.dropped,
        increments=increments_of(tally.counts, keys),
        dtypes={name: schema[name] for name in [*keys, "score"]},
        warnings=_warnings(tally),
    )


def _check_units(frame: pl.DataFrame, unit: str) -> None:
    missing = frame[unit].null_count()
    if missing:
        raise InvalidRowsError(
            "rows have no unit, so nothing keeps them together",
            found=f"{missing:,} of {len(frame):,} rows have a null {unit!r}",
            hint="remove the rows that belong to no unit",
        )


def _count_frame(file: NamedFrame, identity: str, settings: CountingSettings) -> SourceCounts:
    if settings.unit is not None:
        msg = "a ledger counts files by units, not frames"
        raise ParameterError(msg, found=f"unit={settings.unit!r}", hint="write the frame to Parquet files")
    predictions = scan_predictions(file.frame, **settings.scan_options())
    scan = scan_behind(predictions, labelled=settings.label is not None)
    thresholds: Thresholds = settings.thresholds or "exact"
    tally = tally_scan(scan, thresholds=thresholds, by=None, memory_limit=None, progress=False)
    schema = predictions.collect_schema()
    return SourceCounts(
        identity=identity,
        file=file,
        bytes=0,
        rows=tally.counted + sum(tally.dropped.values()),
        counted=tally.counted,
        dropped=tally.dropped,
        increments=increments_of(tally.counts, settings.keys),
        dtypes={name: schema[name] for name in [*settings.keys, "score"]},
        warnings=_warnings(tally),
    )


def _warnings(tally: Tally) -> tuple[UserWarning, ...]:
    return tuple(told for told in tally.warnings if not isinstance(told, InvalidRowsWarning))


def check_columns(file: LogFile, settings: CountingSettings) -> None:
    """Look at the columns of a file, and at none of its rows.

    Raises
    ------
    SourceError
        If it cannot be read.
    SchemaError
        If a column is missing, or has another type than its part needs.
    """
    keys = _keys_of_path(file, settings)
    needed = {column: role for column, role in settings.roles().items() if column not in keys}
    try:
        if is_csv(file.path):
            frame = _read_csv(file, needed, rows=0)
        else:
            with Path(file.path).open("rb") as opened:
                schema = _schema(file, pq.ParquetFile(opened), needed, keys)
            empty = schema.empty_table()
            frame = pl.DataFrame(pa.Table.from_arrays(empty.columns, names=empty.column_names))
    except _READ_ERRORS as error:
        raise _unreadable(file, error) from error
    try:
        scan_predictions(
            frame.with_columns(pl.lit(value, pl.String).alias(key) for key, value in keys.items()),
            **settings.scan_options(),
        )
    except NciFramesError as error:
        raise error.at(repr(file.path)) from error


def _read(file: LogFile, settings: CountingSettings) -> pl.DataFrame:
    """Read the columns that are needed."""
    keys = _keys_of_path(file, settings)
    needed = {column: role for column, role in settings.roles().items() if column not in keys}
    frame = _read_csv(file, needed) if is_csv(file.path) else _read_parquet(file, needed, keys)
    return frame.with_columns(
        pl.lit(None if value == NULL_KEY else value, pl.String).alias(key) for key, value in keys.items()
    )


def _read_csv(file: LogFile, needed: Mapping[str, str], rows: int | None = None) -> pl.DataFrame:
    found = open_source(file.path, needed).frame.select(list(needed))
    return (found if rows is None else found.head(rows)).collect()


def _read_parquet(file: LogFile, needed: Mapping[str, str], keys: Mapping[str, str]) -> pl.DataFrame:
    """Read columns of a Parquet file; pages with checksums are checked against them."""
    # Opened here: pyarrow takes no path that is not UTF-8, and others for URLs.
    with Path(file.path).open("rb") as opened:
        parquet = pq.ParquetFile(opened, page_checksum_verification=True)
        _schema(file, parquet, needed, keys)
        table = parquet.read(columns=list(needed))
    # A changed bit may leave a text that is no UTF-8.
    table.validate(full=True)
    # Without the metadata of the file, which may be no UTF-8 either: Polars reads it and panics.
    return pl.DataFrame(pa.Table.from_arrays(table.columns, names=table.column_names))


def _schema(
    file: LogFile, parquet: pq.ParquetFile, needed: Mapping[str, str], keys: Mapping[str, str]
) -> pa.Schema:
    """Return the columns of a Parquet file that are needed."""
    schema = parquet.schema_arrow
    for column, role in needed.items():
        if column not in schema.names:
            raise SchemaError.missing_column(column, role, repr(file.path), [*schema.names, *sorted(keys)])
    return pa.schema([schema.field(column) for column in needed])


def _keys_of_path(file: LogFile, settings: CountingSettings) -> dict[str, str]:
    """Return the needed columns that the folders of the path spell out, as ``country=de``."""
    found = dict(file.keys)
    return {column: found[column] for column in settings.roles() if column in found}


def _unreadable(file: LogFile, error: Exception) -> SourceError:
    reason = getattr(error, "strerror", None) or first_line(error)
    if isinstance(error, FileNotFoundError):
        reason = "it vanished"
    return SourceError.unreadable({file.path: reason})
