"""One log file -> its increments and control totals for a ledger."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nci_frames.base import errors
from nci_frames.base.errors import InvalidRowsError, NciFramesError, ParameterError, SchemaError, SourceError
from nci_frames.base.messages import quantity
from nci_frames.counting.count import tally_scan
from nci_frames.counting.logs.labels import as_label
from nci_frames.counting.logs.opened import READ_ERRORS, OpenedLog, ignored_weights
from nci_frames.counting.logs.opening import open_source
from nci_frames.counting.logs.paths import NULL_KEY, is_csv
from nci_frames.counting.logs.rows import REASON
from nci_frames.counting.logs.scan import scan_behind, scan_predictions
from nci_frames.counting.logs.units import unit_buckets
from nci_frames.counting.thresholds.grids import Thresholds
from nci_frames.counts.increments import check_size, increments_of
from nci_frames.jobs.ledger.files import SourceFile, identify, keys_of_path, unreadable
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.schemas import WEIGHT

_READ_ERRORS = (*READ_ERRORS, pa.ArrowException, ValueError)


class SourceCounts(NamedTuple):
    """The increments and control totals of one file."""

    #: Columns: keys, threshold, positives, negatives.
    increments: pl.DataFrame
    #: Control totals by name: bytes, rows, counted, dropped (by reason), positives, negatives, cells; and the
    #: label of negatives, unless labels are 0/1 or the file has none.
    totals: Mapping[str, Any]
    #: Types of the keys and of the score.
    dtypes: Mapping[str, pl.DataType]
    #: Warnings, except those on dropped rows.
    warnings: tuple[UserWarning, ...]


def count_file(file: SourceFile, identity: str, settings: CountingSettings) -> SourceCounts:
    """Count one file.

    Raises
    ------
    SourceError
        If it cannot be read, a page fails its checksum, or it changes meanwhile.
    SchemaError, InvalidRowsError
        If its columns or rows are not predictions.
    ParameterError
        If it has too many groups, or too many weights.
    """
    named = file.frame is not None
    if named and settings.unit is not None:
        msg = "a ledger counts files by units, not frames"
        raise ParameterError(msg, found=f"unit={settings.unit!r}", hint="write the frame to Parquet files")
    with _told_of(file, _READ_ERRORS):
        frame, warned = (file.frame, ()) if named else _read(file, settings)
        size = 0 if named else Path(file.path).stat().st_size
    with contextlib.nullcontext() if named else _told_of(file):
        predictions = scan_predictions(frame, **settings.scan_options())
        if settings.unit is not None and settings.buckets is not None:
            _check_units(frame, settings.unit)
            predictions = unit_buckets(predictions, buckets=settings.buckets)
        scan = scan_behind(predictions, labelled=settings.label is not None)
        if not named:
            # The counted source is a frame, but warnings should name the file.
            scan = replace(scan, source=replace(scan.source, where=repr(file.path)))
            if settings.thresholds is not None:
                # Not from the predictions, which would report their invalid rows.
                groups = scan.raw.filter(pl.col(REASON) == 0).select(settings.keys).unique().collect()
                check_size(groups, len(settings.thresholds), scan.source.where)
        thresholds: Thresholds = settings.thresholds or "exact"
        tally = tally_scan(scan, thresholds=thresholds, by=None, whole=False)
        if settings.weight is not None and WEIGHT not in tally.counts.columns:
            why = "sums of floats depend on the order of the files"
            msg, hint = f"a ledger keeps rows of up to 1,000 weights: {why}", "round the weights"
            found = f"{settings.weight!r} has more, or the rows are in Spark"
            raise ParameterError(msg, found=found, hint=f"{hint}, or count all files at once")
    if not named and identify(file, settings) != identity:
        msg = "a file of the source changed while it was read"
        hint = "the next run counts it, once it is complete"
        raise SourceError(msg, where=repr(file.path), hint=hint)
    # Dropped rows are reported by their number.
    others = [told for told in tally.warnings if not isinstance(told, errors.InvalidRowsWarning)]
    schema, increments = predictions.collect_schema(), increments_of(tally.counts, settings.keys)
    return SourceCounts(
        increments,
        {
            "bytes": size,
            "rows": tally.counted + sum(tally.dropped.values()),
            "counted": tally.counted,
            "dropped": tally.dropped,
            **increments.select(pl.col("positives", "negatives").sum(), cells=pl.len()).row(0, named=True),
            **_negative_label(scan.source, settings),
        },
        dtypes={name: schema[name] for name in [*settings.keys, "score"]},
        warnings=(*warned, *others),
    )


def _negative_label(source: OpenedLog, settings: CountingSettings) -> dict[str, str]:
    """Return the other label than the positive one, by the name ``negative_label``, if there is one."""
    if settings.label is None or settings.positive is None:
        return {}
    labels = source.some(settings.label, 2)
    positive = as_label(settings.positive, labels.dtype, settings.label)
    other = next((label for label in labels.to_list() if label != positive), None)
    if other is None:
        return {}
    # Whole numbers are written alike in all types.
    return {"negative_label": str(int(other) if isinstance(other, float) and other.is_integer() else other)}


@contextlib.contextmanager
def _told_of(file: SourceFile, reading: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
    """Add the file to errors of this package, and convert exceptions of *reading* to SourceError."""
    try:
        yield
    except NciFramesError as error:
        raise error.at(repr(file.path)) from error
    except reading as error:
        raise unreadable(file, error) from error


def _check_units(frame: pl.DataFrame, unit: str) -> None:
    missing = frame[unit].null_count()
    if missing:
        msg = "rows have no unit, so nothing keeps them together"
        found = f"{unit!r} is null in {missing:,} of {quantity(len(frame), 'row')}"
        raise InvalidRowsError(msg, found=found, hint="remove the rows that belong to no unit")


def check_columns(file: SourceFile, settings: CountingSettings) -> dict[str, pl.DataType]:
    """Check the columns of a file without reading rows, and return the types of the keys and of the score.

    Raises
    ------
    SourceError
        If it cannot be read.
    SchemaError
        If a column is missing, or has the wrong type for its role.
    """
    with _told_of(file, _READ_ERRORS):
        frame, _ = _read(file, settings, rows=0)
    with _told_of(file):
        schema = scan_predictions(frame, **settings.scan_options()).collect_schema()
    return {name: dtype for name, dtype in schema.items() if name in (*settings.keys, "score")}


def _read(
    file: SourceFile, settings: CountingSettings, *, rows: int | None = None
) -> tuple[pl.DataFrame, tuple[UserWarning, ...]]:
    """Return the needed columns, and warnings, after a check of page checksums in Parquet files.

    If *rows* is 0, only the types are read.
    """
    keys = keys_of_path(file, settings)
    needed = {column: role for column, role in settings.roles().items() if column not in keys}
    if is_csv(file.path):
        log = open_source(file.path, needed)
        found, warned = log.frame.select(list(needed)), log.warnings
        frame = (found if rows is None else found.head(rows)).collect()
    else:
        # Opened here, since pyarrow refuses paths that are not UTF-8, and reads some paths as URLs.
        with Path(file.path).open("rb") as opened:
            parquet = pq.ParquetFile(opened, page_checksum_verification=True)
            schema = parquet.schema_arrow
            warned = ignored_weights(schema.names, needed.values(), repr(file.path))
            for column, role in needed.items():
                if column not in schema.names:
                    there = [*schema.names, *sorted(keys)]
                    raise SchemaError.missing_column(column, role, repr(file.path), there)
            kept = pa.schema([schema.field(column) for column in needed])
            table = parquet.read(columns=kept.names) if rows is None else kept.empty_table()
            if rows is None and len(table) != parquet.metadata.num_rows:
                # A flipped bit may change the number of rows of a row group.
                msg, read = "the file has other rows than its footer says", f"{len(table):,} rows"
                raise SourceError(msg, where=repr(file.path), found=read, hint="copy or write it again")
        # A flipped bit may produce a string that is not UTF-8.
        table.validate(full=True)
        # Drop the metadata of the file: Polars panics if it is not UTF-8.
        frame = pl.DataFrame(pa.Table.from_arrays(table.columns, names=table.column_names))
    spelled = {key: None if value == NULL_KEY else value for key, value in keys.items()}
    return frame.with_columns(pl.lit(value, pl.String).alias(key) for key, value in spelled.items()), warned
