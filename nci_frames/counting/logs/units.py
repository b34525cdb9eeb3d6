"""Units -> buckets, by a hash that is the same on every machine and in every version.

The hashes of Python and Polars do not guarantee that, so this file implements one: FNV-1a over the UTF-8
bytes of a string, or a whole number itself, followed by the finaliser of SplitMix64.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import check_whole
from nci_frames.base.errors import ParameterError
from nci_frames.counting.kernels.mixing import mixed
from nci_frames.counting.logs.opening import Predictions, engine_of, frame_source
from nci_frames.counting.logs.reading import predictions_of
from nci_frames.counting.logs.rows import REASON, is_of_classes
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.logs.scan_classes import class_scan_behind
from nci_frames.schemas import BUCKET, checked

#: In logs with more rows than the first number, only a sample of one in 64 units is counted.
_MANY_ROWS, _SAMPLED = 1 << 24, 64

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)


@checked
def unit_buckets(predictions: Predictions, /, *, buckets: int = 256) -> pl.LazyFrame:
    """Add the key ``bucket``, which puts all rows of a unit, for every model, into the same bucket.

    Counts by bucket allow resampling that keeps the rows of a user, host or patient together:
    ``bootstrap(counts, units="bucket")``.

    Parameters
    ----------
    predictions
        The result of ``scan_predictions`` or ``scan_classes`` with a unit, or a frame or Arrow table with the
        columns of predictions.
    buckets
        Number of buckets, 2 to 1,000,000. The number of count rows grows with it.

    Returns
    -------
    A LazyFrame of the predictions with the additional column:

    ====== ===== ============================= ====================
    column dtype meaning                       null where
    ====== ===== ============================= ====================
    bucket Int64 0 to *buckets* - 1            the row has no unit
    ====== ===== ============================= ====================

    Raises
    ------
    ParameterError
        If *buckets* is out of range, or ``bucket`` is already a key.
    SchemaError
        If *predictions* has no unit.

    Notes
    -----
    The bucket is a hash modulo *buckets*: the finaliser of SplitMix64 applied to FNV-1a over the UTF-8 bytes
    of a string, or to a whole number as 64 bits. A unit may have rows of both classes.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "model": "a", "label": [0, 1, 1], "score": [0.1, 0.4, 0.8], "unit": ["ann", "ann", "bob"]
    ... })
    >>> nf.unit_buckets(log, buckets=100).collect()["bucket"].to_list()
    [56, 56, 64]
    """
    check_whole("buckets", buckets, 2, 1_000_000)
    classes = engine_of(predictions) is None and is_of_classes(frame_source(predictions).schema())
    scan = class_scan_behind(predictions) if classes else scan_behind(predictions)
    scan.need_unit()
    if BUCKET in scan.keys:
        raise ParameterError("the predictions already have a key 'bucket'", hint="rename it in the log")
    prepare = functools.partial(_with_bucket, prepare=scan.prepare, buckets=buckets)
    return predictions_of(replace(scan, keys=(*scan.keys, BUCKET), prepare=prepare))


def _with_bucket(
    frame: pl.LazyFrame, *, prepare: Callable[..., pl.LazyFrame], buckets: int, **options: Any
) -> pl.LazyFrame:
    bucket = pl.col("unit").map_batches(
        functools.partial(bucket_of_units, buckets=buckets), return_dtype=pl.Int64, is_elementwise=True
    )
    return prepare(frame, **options).with_columns(bucket=bucket)


@dataclass(frozen=True, slots=True)
class UnitSizes:
    """The number of units in a log, and their numbers of rows."""

    units: int
    #: Mean number of rows of a unit per model.
    rows: float
    #: Whether a sample of the units was counted.
    estimated: bool
    #: Rows of each unit per model; None unless it is the same for all, at least 2, and units have one label.
    repeated: int | None = None


def unit_sizes(predictions: Predictions) -> UnitSizes:
    """Count the units of predictions; in a large log, count a sample of one in 64."""
    scan = scan_behind(predictions)
    rows = scan.raw.filter(pl.col(REASON) == 0).select("model", "unit", "label")
    estimated = scan.rows is None or scan.rows > _MANY_ROWS
    if estimated:
        sampled = pl.col("unit").map_batches(
            lambda units: bucket_of_units(units, _SAMPLED) == 0, return_dtype=pl.Boolean, is_elementwise=True
        )
        rows = rows.filter(sampled)
    size = pl.len().cast(pl.Int64).alias("rows")
    both = (pl.col("label").min() != pl.col("label").max()).alias("both")
    with scan.source.reading():
        found = rows.group_by("model", "unit").agg(size, both).collect(engine="streaming")
    units = found["unit"].n_unique() * (_SAMPLED if estimated else 1)
    each = found["rows"].unique().to_list()
    repeated = each[0] if len(each) == 1 and each[0] > 1 and not found["both"].any() else None
    return UnitSizes(units, float(found["rows"].mean() or 0.0), estimated, repeated)  # type: ignore[arg-type]


def bucket_of_units(units: pl.Series, buckets: int) -> pl.Series:
    """Return the bucket of each unit; null stays null."""
    hashed = mixed(_fnv1a(units) if units.dtype == pl.String else _as_64_bits(units))
    numbers = pl.Series((hashed % np.uint64(buckets)).astype(np.int64))
    return pl.select(pl.when(units.is_not_null()).then(numbers)).to_series().rename(units.name)


def _as_64_bits(units: pl.Series) -> NDArray[np.uint64]:
    whole = units.fill_null(0)
    signed = whole.dtype.is_signed_integer()
    return whole.cast(pl.Int64 if signed else pl.UInt64).to_numpy().astype(np.uint64)


def _fnv1a(texts: pl.Series) -> NDArray[np.uint64]:
    """Hash all strings in parallel, byte by byte; the hash of a string is final at its end."""
    _, ends, data = texts.fill_null("").rechunk().to_arrow().buffers()
    bounds = np.frombuffer(ends, np.int64, len(texts) + 1)
    letters = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    hashes = np.full(len(texts), _FNV_OFFSET)
    going, place = np.arange(len(texts)), bounds[:-1]
    while True:
        inside = place < bounds[going + 1]
        going, place = going[inside], place[inside]
        if not len(going):
            return hashes
        hashes[going] = (hashes[going] ^ letters[place]) * _FNV_PRIME
        place = place + 1
