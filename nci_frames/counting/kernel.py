"""Predictions -> counts: one lazy pass, exact."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nci_frames.counting.rows import REASON, count_rows
from nci_frames.counting.scan import Scan, scan_of, scan_predictions
from nci_frames.counting.thresholds import Thresholds, check_thresholds
from nci_frames.errors import InvalidRowsWarning, SchemaError, listed
from nci_frames.pooling import accumulate
from nci_frames.schemas import PREDICTIONS

__all__ = ["Tally", "count_confusion", "tally_predictions"]


def count_confusion(
    predictions: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    thresholds: Thresholds = "auto",
    by: str | Sequence[str] | None = None,
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
    tally = tally_predictions(predictions, thresholds=thresholds, by=by)
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
    schema = scan.raw.collect_schema()
    one = pl.col("weight") if "weight" in schema else pl.lit(1, pl.Int64)
    zero = pl.lit(0, schema.get("weight", pl.Int64))
    at = pl.col("score").cast(pl.Float64) if grid is None else _place(grid, schema["score"])
    steps = (
        scan.raw.filter(pl.col(REASON) == 0)
        .select(
            *group,
            at.alias("__at"),
            pl.when("label").then(one).otherwise(zero).alias("tp"),
            pl.when("label").then(zero).otherwise(one).alias("fp"),
        )
        .group_by(*group, "__at")
        .agg(pl.col("tp", "fp").sum())
    )
    counted, by_reason = pl.collect_all([steps, count_rows(scan.raw, REASON)])
    rows_by_code: dict[int, int] = dict(by_reason.rows())
    dropped = scan.reasons(rows_by_code)
    if dropped and scan.on_invalid == "raise":
        scan.refuse(rows_by_code)
    if grid is None:
        counts = accumulate(counted.rename({"__at": "threshold"}), group)
    else:
        counts = _fill(counted, group, grid)
    resolution = pl.lit("exact" if grid is None else "grid").alias("resolution")
    return Tally(
        counts=counts.select(*group, "threshold", "tp", "fp", "fn", "tn", resolution),
        where=scan.source.where,
        files=len(scan.source.files),
        counted=rows_by_code.get(0, 0),
        dropped=dropped,
    )


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


def _place(grid: np.ndarray, dtype: pl.DataType) -> pl.Expr:
    """Return how many thresholds a score reaches, compared in the precision of the score."""
    edges = grid.astype(np.float32 if dtype == pl.Float32 else np.float64)

    def reached(scores: pl.Series) -> pl.Series:
        return pl.Series(scores.name, np.searchsorted(edges, scores.to_numpy(), side="right"), pl.Int64)

    return pl.col("score").map_batches(reached, is_elementwise=True, return_dtype=pl.Int64)


def _fill(counted: pl.DataFrame, group: list[str], grid: np.ndarray) -> pl.DataFrame:
    """Turn the rows between two thresholds into counts at every threshold of every group."""
    places = pl.DataFrame({"__at": range(len(grid) + 1), "threshold": [float("-inf"), *grid.tolist()]})
    steps = (
        counted.select(group)
        .unique()
        .join(places, how="cross")
        .join(counted, on=[*group, "__at"], how="left", nulls_equal=True)
        .with_columns(pl.col("tp", "fp").fill_null(0))
    )
    # Rows below the lowest threshold are never positive, but they are rows.
    return accumulate(steps, group, order="__at").filter(pl.col("__at") > 0)
