"""Predictions -> counts: one lazy pass, exact."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.counting.grid import count_grid
from nci_frames.counting.rows import REASON, count_rows
from nci_frames.counting.scan import Scan, scan_of, scan_predictions
from nci_frames.counting.thresholds import Thresholds, check_thresholds
from nci_frames.errors import InvalidRowsWarning, SchemaError, SourceError, listed
from nci_frames.pooling import accumulate
from nci_frames.schemas import PREDICTIONS

__all__ = ["Tally", "count_confusion", "tally_predictions"]


def count_confusion(
    predictions: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    thresholds: Thresholds = "auto",
    by: str | Sequence[str] | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """Count true and false positives and negatives of every group at every threshold.

    A row is a positive decision if ``score >= threshold``, compared in the precision of the score. All rows
    with equal scores move together.

    Parameters
    ----------
    predictions
        What ``scan_predictions`` returned, or a frame with the columns of predictions; of such a frame all
        other columns are keys.
    thresholds
        Strictly ascending numbers (infinities are allowed), such as ``uniform_thresholds(101)`` makes;
        "exact" for every distinct score of each group; "auto" is "exact".
    by
        The keys to keep besides the model; the others are summed away. None keeps every key there is.
    progress
        Whether to show how far it is, if standard error is a terminal.

    Returns
    -------
    A row per group and threshold, sorted by model, keys and threshold:

    ============== ======= ===================================== ======================
    column         dtype   meaning                               null means
    ============== ======= ===================================== ======================
    model          String  name of the model                     a model of its own
    keys                    as in the predictions                a key of its own
    threshold      Float64 as given, or the score                never
    tp, fp, fn, tn Int64   rows; Float64 sums if there is weight never
    resolution     String  "exact" or "grid"                     never
    ============== ======= ===================================== ======================

    Raises
    ------
    InvalidRowsError
        If a row has no label or no score, and the scan was not told to drop such rows.
    ParameterError
        If the thresholds are empty, not ascending, or NaN.
    SchemaError
        If *predictions* lacks a column, or has no such key.
    SourceError
        If the rows counted and dropped are not the rows of the footers.

    Warns
    -----
    InvalidRowsWarning
        If rows were dropped: how many, by reason.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> nf.count_confusion(log, thresholds=[0.3, 0.5]).drop("model", "resolution").rows()
    [(0.3, 2, 1, 0, 1), (0.5, 1, 0, 1, 2)]
    """
    tally = tally_predictions(predictions, thresholds=thresholds, by=by, progress=progress)
    if tally.dropped:
        dropped = listed(f"{rows:,} ({reason})" for reason, rows in tally.dropped.items())
        warnings.warn(f"rows left out of {tally.where}: {dropped}", InvalidRowsWarning, stacklevel=2)
    return tally.counts


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts, and what became of every row."""

    counts: pl.DataFrame
    #: What the user called the log, and how many files it has.
    where: str
    files: int
    #: Rows that were counted.
    counted: int
    #: Rows that were left out, by reason.
    dropped: dict[str, int]


def tally_predictions(
    predictions: pl.DataFrame | pl.LazyFrame,
    *,
    thresholds: Thresholds = "auto",
    by: str | Sequence[str] | None = None,
    progress: bool = False,
) -> Tally:
    """Count as ``count_confusion`` does, and say what became of every row.

    Raises
    ------
    InvalidRowsError, ParameterError, SchemaError
        As ``count_confusion`` does.
    """
    exact = isinstance(thresholds, str) and thresholds in ("auto", "exact")
    grid = None if exact else check_thresholds(thresholds)
    scan = _scan(predictions)
    group = ["model", *_kept(scan.keys, by)]
    counts, rows_by_code = (
        _count_exact(scan, group) if grid is None else count_grid(scan, group, grid, progress=progress)
    )
    seen = sum(rows_by_code.values())
    if scan.rows not in (None, seen):
        msg = "the rows that were read are not the rows that the log has"
        raise SourceError(msg, where=scan.source.where, found=f"{seen:,} of {scan.rows:,} rows")
    dropped = scan.reasons(rows_by_code)
    if dropped and scan.on_invalid == "raise":
        scan.refuse()
    resolution = pl.lit("exact" if grid is None else "grid").alias("resolution")
    return Tally(
        counts=counts.select(*group, "threshold", "tp", "fp", "fn", "tn", resolution),
        where=scan.source.where,
        files=len(scan.source.files),
        counted=rows_by_code.get(0, 0),
        dropped=dropped,
    )


def _count_exact(scan: Scan, group: list[str]) -> tuple[pl.DataFrame, dict[int, int]]:
    """Count at every distinct score, and the rows by validity."""
    schema = scan.raw.collect_schema()
    one = pl.col("weight") if "weight" in schema else pl.lit(1, pl.Int64)
    zero = pl.lit(0, schema.get("weight", pl.Int64))
    steps = (
        scan.raw.filter(pl.col(REASON) == 0)
        .select(
            *group,
            pl.col("score").cast(pl.Float64).alias("threshold"),
            pl.when("label").then(one).otherwise(zero).alias("tp"),
            pl.when("label").then(zero).otherwise(one).alias("fp"),
        )
        # Floats are added in the order of the rows, so that a run can be repeated to the bit.
        .group_by(*group, "threshold", maintain_order="weight" in schema)
        .agg(pl.col("tp", "fp").sum())
    )
    counted, by_reason = pl.collect_all([steps, count_rows(scan.raw, REASON)])
    return accumulate(counted, group), dict(by_reason.rows())


def _scan(predictions: pl.DataFrame | pl.LazyFrame) -> Scan:
    """Return the scan behind *predictions*; a frame of somebody's own gets the same checks."""
    scan = scan_of(predictions) if isinstance(predictions, pl.LazyFrame) else None
    if scan is not None:
        return scan
    columns = predictions.lazy().collect_schema().names()
    keys = PREDICTIONS.keys(columns)
    checked = scan_predictions(
        predictions,
        fold="fold" if "fold" in keys else None,
        segments=[key for key in keys if key != "fold"],
        weight="weight" if "weight" in columns else None,
        unit="unit" if "unit" in columns else None,
    )
    scan = scan_of(checked)
    assert scan is not None  # noqa: S101  (the scan was registered a line ago)
    return scan


def _kept(keys: Sequence[str], by: str | Sequence[str] | None) -> list[str]:
    if by is None:
        return list(keys)
    kept = [by] if isinstance(by, str) else list(by)
    for key in kept:
        if key not in keys:
            raise SchemaError.missing_column(key, "by", "the keys of the predictions", keys)
    return list(dict.fromkeys(kept))
