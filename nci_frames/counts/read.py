"""Increments counted by another engine -> counts."""

import warnings
from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.base.arguments import threshold_grid
from nci_frames.base.errors import InvalidRowsError, InvalidRowsWarning, ParameterError, SchemaError
from nci_frames.base.messages import first_line, quantity
from nci_frames.base.typing import Frame
from nci_frames.counts.increments import counts_of
from nci_frames.schemas import COUNTS, INCREMENTS, checked


@checked
def read_counts(
    frame: Frame,
    /,
    *,
    thresholds: Sequence[float] | None = None,
    on_invalid: Literal["raise", "drop"] = "raise",
) -> pl.DataFrame:
    """Return the counts frame of increments counted by a database or another engine.

    Parameters
    ----------
    frame
        Increments in any order, as a query of ``counting_sql`` returns them: ``model``, keys, ``threshold``
        (the highest that the scores reach; null below all), ``positives``, ``negatives``, and optionally
        ``invalid``, the rows that cannot be counted. All other columns are keys. A group and threshold may
        appear several times, for example after ``pl.concat`` of several results: increments are added.
    thresholds
        Thresholds of the query, strictly ascending. None means those that occur; counts of another night may
        then have other thresholds, and cannot be merged.
    on_invalid
        Treatment of rows that cannot be counted: "raise", or "drop" to leave them out with a warning.

    Returns
    -------
    The counts frame of ``count_confusion`` at these thresholds, sorted by model, keys and threshold:

    %(columns of counts)s

    The keys of the increments are kept; null is a key value of its own. Counts are Float64 if they are sums
    of weights. The resolution is "grid": other scores may lie between the thresholds.

    Raises
    ------
    InvalidRowsError
        If rows cannot be counted, and *on_invalid* is "raise".
    ParameterError
        If *thresholds* are not strictly ascending, too many, or lack a threshold of the increments; or if
        they are None, but no row reaches a threshold.
    SchemaError
        If a column is missing, of the wrong type, null or negative.

    Warns
    -----
    InvalidRowsWarning
        If rows were not counted, and *on_invalid* is "drop".

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> result = pl.DataFrame({
    ...     "model": ["a", "a", "a"], "threshold": [None, 0.3, 0.5], "positives": [0, 1, 1],
    ...     "negatives": [1, 1, 0],
    ... })
    >>> nf.read_counts(result, thresholds=[0.3, 0.5]).drop("model", "resolution").rows()
    [(0.3, 2, 1, 0, 1), (0.5, 1, 0, 1, 2)]
    """
    increments = _own_types(frame.collect() if isinstance(frame, pl.LazyFrame) else frame)
    INCREMENTS.check(increments)
    keys = ["model", *(key for key in INCREMENTS.keys(increments.columns) if key != "invalid")]
    _need_valid(increments, on_invalid)
    grid = _grid(increments, thresholds)
    if "invalid" in increments.columns:
        # Drop groups that have only rows that cannot be counted.
        counted = pl.any_horizontal(pl.col("positives", "negatives") > 0)
        increments = increments.filter((pl.col("invalid") == 0) | counted).drop("invalid")
    return COUNTS.finish(counts_of(increments, keys, grid))


def _own_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Cast numbers and strings to the types of the schema; engines use many types of whole numbers."""
    casts = []
    for name, dtype in frame.schema.items():
        if name == "model" and isinstance(dtype, pl.Categorical | pl.Enum):
            casts.append(pl.col(name).cast(pl.String))
        elif name == "threshold" and (dtype.is_numeric() or dtype == pl.Null):
            casts.append(pl.col(name).cast(pl.Float64))
        elif name in ("positives", "negatives", "invalid") and dtype.is_numeric():
            whole = dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0)
            casts.append(pl.col(name).cast(pl.Int64 if whole else pl.Float64))
    try:
        own = frame.with_columns(casts)
    except pl.exceptions.InvalidOperationError as error:
        msg = "a count of the increments does not fit in 64 bits"
        raise SchemaError(msg, where="the increments", found=first_line(error)) from error
    if {own.schema.get(name) for name in ("positives", "negatives")} == {pl.Int64, pl.Float64}:
        return own.with_columns(pl.col("positives", "negatives").cast(pl.Float64))
    return own


def _need_valid(increments: pl.DataFrame, on_invalid: str) -> None:
    rows = int(increments["invalid"].sum()) if "invalid" in increments.columns else 0
    if not rows:
        return
    reason = "no valid label, score or weight"
    if on_invalid == "raise":
        hint = "correct the rows, exclude them in the query, or skip them with on_invalid='drop'"
        msg, found = "the log has rows that are not valid predictions", f"{quantity(rows, 'row')}: {reason}"
        raise InvalidRowsError(msg, where="the increments", found=found, hint=hint)
    told = f"rows not counted in the increments: {rows:,} ({reason})"
    warnings.warn(InvalidRowsWarning(told), stacklevel=4)  # the caller of the public function


def _grid(increments: pl.DataFrame, thresholds: Sequence[float] | None) -> list[float]:
    seen = increments["threshold"].drop_nulls().unique().sort().to_list()
    if thresholds is None:
        if not seen:
            msg = "thresholds are needed: no row of the increments reaches one"
            raise ParameterError(msg, hint="give the thresholds of the query")
        return seen
    grid: list[float] = threshold_grid(thresholds).tolist()
    missing = set(seen) - set(grid)
    if missing:
        msg = "thresholds lack some that occur in the increments"
        raise ParameterError(msg, found=f"{quantity(len(missing), 'other')}, such as {min(missing)!r}",
                             hint="give the thresholds of the query")  # fmt: skip
    return grid
