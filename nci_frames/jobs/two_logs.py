"""Two logs, or two runs of a job -> changes of metrics, split into prevalence and model."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.folders import MANIFEST
from nci_frames.counting.count import count_confusion
from nci_frames.counting.logs.scan import scan_predictions
from nci_frames.counting.logs.units import unit_buckets
from nci_frames.counting.thresholds.grids import Thresholds
from nci_frames.counts.pooling import pooled_to, together
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.projection.decomposition import decompose_difference
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.significance.shift import check_projection
from nci_frames.jobs.field_file import read_table
from nci_frames.jobs.publishing import POINTER, Shelf
from nci_frames.schemas import (
    BUCKET,
    CELLS,
    COUNTS,
    DECOMPOSITION,
    WEIGHT,
    beside,
    collect,
    with_key_texts,
)
from nci_frames.tables.numbers import UNDEFINED, format_value

#: Key that separates the two logs, and its values.
SIDE, BEFORE, AFTER = "log", "before", "after"
#: Reason of a model that only the log after the change has.
_NEW = "the reference has no such operating point"
#: Least p-value that is written as a number.
_LEAST_P = 1e-300


class Changes(NamedTuple):
    """Changes from one log to another, in all rows or by segments."""

    #: Result of ``decompose_difference``.
    parts: pl.DataFrame
    #: Result of ``check_projection``.
    shifts: pl.DataFrame


def compare_logs(
    before: str,
    after: str,
    *,
    metrics: Sequence[str],
    threshold: float,
    thresholds: Thresholds,
    segments: Sequence[str] = (),
    **columns: Any,
) -> list[Changes]:
    """Split the changes between two logs into prevalence and model: in all rows, then by segments.

    Parameters
    ----------
    before, after
        A log; a published run or report, or the folder of a job, which means its latest run; or a Parquet
        file of counts, as written by ``nci-frames ledger read``.
    metrics
        Metrics to compare, each log at its own prevalence.
    threshold
        Decision threshold.
    thresholds
        Thresholds to count logs at.
    segments
        Keys whose values are also compared separately.
    columns
        Further arguments of ``scan_predictions``.

    Raises
    ------
    ParameterError
        If the two were counted at different thresholds, or one as sums of weights.
    SchemaError
        If a segment has different types in the two.
    NciFramesError
        As reading, counting and evaluating do.
    """
    # Check the names of the metrics before counting.
    for name in metrics:
        called_metric(name)
    sides = [whole_counts(_counts(place, thresholds, segments, columns)) for place in (before, after)]
    units = [BUCKET] if all(BUCKET in side.columns for side in sides) else []
    if any(WEIGHT in side.columns for side in sides):
        one = pl.lit(1.0).alias(WEIGHT)
        sides = [side if WEIGHT in side.columns else side.with_columns(one) for side in sides]
    sides = [pooled_to(side, [*segments, *units, WEIGHT]) for side in _alike(sides)]
    if not all("resolution" in side.columns for side in sides):
        sides = [side.drop("resolution", strict=False) for side in sides]
    named = zip((BEFORE, AFTER), sides, strict=True)
    hint = "count both with the same keys"
    both = together([side.with_columns(pl.lit(name).alias(SIDE)) for name, side in named], CELLS, hint)
    found = []
    for keys in ([], segments) if segments else ([],):
        rates = compute_rates(pooled_to(both, [SIDE, *keys, WEIGHT]))
        points = select_operating_points(rates, threshold=threshold)
        if points["threshold"].is_null().any():
            raise ParameterError.out_of_range("threshold", threshold, "one at which both logs were counted")
        split = [decompose_difference(points, metric=name, over=SIDE, reference=BEFORE) for name in metrics]
        parts = pl.concat(split).filter(pl.col(SIDE) == AFTER).drop(SIDE)
        counts = pooled_to(both, [SIDE, *keys, *units, WEIGHT])
        found.append(Changes(parts, check_projection(counts, over=SIDE, units=BUCKET if units else None)))
    return found


def change_lines(changes: Changes) -> Iterator[str]:
    """Yield the changes in all rows: prevalence, metrics and scores of each model."""
    classes = changes.shifts.partition_by("model", as_dict=True)
    for (model,), rows in changes.parts.partition_by("model", as_dict=True, maintain_order=True).items():
        first = rows.row(0, named=True)
        yield f"{model}: prevalence {_moved(first, 'reference_prevalence', 'prevalence')}"
        for row in rows.to_dicts():
            balance, rates = row["due_to_prevalence"], row["due_to_rates"]
            why = (
                _of_logs(row["reason"])
                or f"{_signed(balance)} by the class balance, {_signed(rates)} by the model"
            )
            yield f"  {row['metric']} {_moved(row, 'reference_value', 'value')}: {why}"
        if rows["reason"].eq_missing(_NEW).all():
            continue
        for row in classes[(model,)].sort("class", descending=True).to_dicts():
            yield f"  scores of {row['class']}s {_shift(row)}"
    gone = {model for (model,) in classes} - {*changes.parts["model"]}
    yield from (f"{model}: only in the log {BEFORE} the change" for model in sorted(gone, key=str))


def change_table(changes: Changes) -> pl.DataFrame:
    """Return the changes in each segment, as a table for people."""
    parts, keys = changes.parts, DECOMPOSITION.keys(changes.parts.columns)
    changed = changes.shifts.group_by("model", *keys).agg(
        pl.col("class").filter("distinguishable").sort(descending=True).str.join(", ")
    )
    found = beside(parts, changed, ["model", *keys])
    named = {BEFORE: "reference_value", AFTER: "value", "the balance": "due_to_prevalence"}
    named |= {"the model": "due_to_rates", "changed": "class"}
    return with_key_texts(found.select("model", *keys, "metric", **named), keys)


def _of_logs(reason: str | None) -> str | None:
    """Rephrase a reason on the values of a key for two logs."""
    names = {
        _NEW: f"the model is only in the log {AFTER} the change",
        "in the segment": f"{AFTER} the change", "in the reference": f"{BEFORE} the change",
        f"fewer than two values of {SIDE!r} have": "one of the logs has fewer than",
    }  # fmt: skip
    for of_key, of_log in names.items():
        reason = reason and reason.replace(of_key, of_log)
    return reason


def _shift(row: Mapping[str, Any]) -> str:
    if row["p_value"] is None:
        return f"cannot be compared: {_of_logs(row['reason'])}"
    rate = "recall" if row["class"] == "positive" else "FPR"
    # A smaller p-value may have become 0.
    p = f"p = {row['adjusted']:.2g}" if row["adjusted"] >= _LEAST_P else f"p < {_LEAST_P:g}"
    far = f"{rate} differs by {format_value(row['effect'])} at most, {p}"
    return f"{'changed' if row['distinguishable'] else 'show no change'} ({far})"


def _moved(row: Mapping[str, Any], before: str, after: str) -> str:
    return f"{format_value(row[before])} → {format_value(row[after])}"


def _signed(value: float | None) -> str:
    return UNDEFINED if value is None else f"{'+' if value >= 0 else ''}{format_value(value)}"


def _counts(
    place: str, thresholds: Thresholds, segments: Sequence[str], columns: Mapping[str, Any]
) -> pl.DataFrame:
    saved = _saved(Path(place))
    if saved is None:
        predictions = scan_predictions(place, segments=segments, **columns)
        by = list(segments)
        if columns.get("unit") is not None:
            predictions, by = unit_buckets(predictions), [*by, BUCKET]
        return count_confusion(predictions, thresholds=thresholds, by=by)
    hint = "a run or report has it if its tables are written as Parquet"
    table = read_table(str(saved), "the file of counts", where=repr(str(saved)), hint=hint)
    frame = collect(table, COUNTS, strata=True)
    for key in segments:
        if key not in frame.columns:
            raise SchemaError.missing_column(key, "segments", repr(str(saved)), frame.columns)
    return frame


def _saved(path: Path) -> Path | None:
    """Return the file of counts at a path; None if the path is a log."""
    if path.is_file() and path.suffix == ".parquet":
        # An unreadable file is treated as a log, whose reader reports the problem.
        with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return path if {"tp", "fp"} <= {*pl.scan_parquet(path, glob=False).collect_schema()} else None
    pointer = Shelf(path).pointer() if (path / POINTER).is_file() else None
    folder = path if pointer is None else path / pointer["path"]
    return folder / "tables" / "counts.parquet" if (folder / MANIFEST).is_file() else None


def _alike(sides: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Return counts at the common thresholds; exact counts are unchanged."""
    grids = [set(side["threshold"]) for side in sides]
    every = [(side.get_column("resolution", default=pl.Series([""])) == "exact").all() for side in sides]
    if grids[0] == grids[1] or all(every):
        return list(sides)
    shared = grids[0] & grids[1]
    if any(every) or not shared:
        msg = "the two were counted at different thresholds"
        raise ParameterError(msg, hint="compare the logs, or count both at the same, e.g. --thresholds exact")
    # After the filter, other scores may lie between thresholds, so the resolution is dropped.
    return [side.filter(pl.col("threshold").is_in(shared)).drop("resolution", strict=False) for side in sides]
