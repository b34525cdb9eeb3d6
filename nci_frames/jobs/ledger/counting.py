"""One log file -> its increments and control totals for a ledger."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from nci_frames.base import errors
from nci_frames.base.errors import InvalidRowsError, NciFramesError, ParameterError, SourceError
from nci_frames.base.messages import quantity
from nci_frames.counting.count import tally_scan
from nci_frames.counting.logs.labels import as_label
from nci_frames.counting.logs.local import open_files
from nci_frames.counting.logs.opened import FILE, OpenedLog
from nci_frames.counting.logs.paths import Found, LogFile
from nci_frames.counting.logs.rows import REASON
from nci_frames.counting.logs.scan import scan_behind, scan_predictions
from nci_frames.counting.logs.units import unit_buckets
from nci_frames.counting.thresholds.grids import Thresholds
from nci_frames.counts.increments import check_size, increments_of
from nci_frames.jobs.ledger.files import SourceFile, identify
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.schemas import WEIGHT


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
    log = None if named else _opened(file, settings)
    with contextlib.nullcontext() if named else _told_of(file):
        frame = file.frame if log is None else _read(log)
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
            "bytes": 0 if log is None else log.stamps[file.path][1],
            "rows": tally.counted + sum(tally.dropped.values()),
            "counted": tally.counted,
            "dropped": tally.dropped,
            **increments.select(pl.col("positives", "negatives").sum(), cells=pl.len()).row(0, named=True),
            **_negative_label(scan.source, settings),
        },
        dtypes={name: schema[name] for name in [*settings.keys, "score"]},
        warnings=(*(() if log is None else log.warnings), *others),
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
def _told_of(file: SourceFile) -> Iterator[None]:
    """Add the file to errors of this package."""
    try:
        yield
    except NciFramesError as error:
        raise error.at(repr(file.path)) from error


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
    frame = _opened(file, settings).frame.drop(FILE).clear().collect()
    with _told_of(file):
        schema = scan_predictions(frame, **settings.scan_options()).collect_schema()
    return {name: dtype for name, dtype in schema.items() if name in (*settings.keys, "score")}


def _opened(file: SourceFile, settings: CountingSettings) -> OpenedLog:
    """Open a file with the needed columns, of which its folders may spell some."""
    with _told_of(file):
        return open_files(Found([LogFile(file.path, dict(file.keys))], []), repr(file.path), settings.roles())


def _read(log: OpenedLog) -> pl.DataFrame:
    """Return the rows of a file, after a check of its pages."""
    with log.reading():
        frame = log.frame.drop(FILE).collect()
    if log.rows not in (None, len(frame)):
        # A flipped bit may change the number of rows of a row group.
        msg, read = "the file has other rows than its footer says", f"{len(frame):,} rows"
        raise SourceError(msg, where=log.where, found=read, hint="copy or write it again")
    return frame
