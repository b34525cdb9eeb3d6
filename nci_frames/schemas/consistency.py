"""What is wrong with counts or rates that cannot be those of one log: in a row, or along the thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import SchemaError
from nci_frames.base.messages import quantity
from nci_frames.schemas.plain import AT_A_TIME, CELLS, CLASSES
from nci_frames.schemas.runs import group_starts, is_sorted

__all__ = ["check_cells", "check_rates", "place_of"]

#: Sums of weights, and quotients, are rounded: they may differ by this share.
_ROUNDING = 1e-9

_MERGE = "add counts of different rows with merge_counts, not pl.concat; what makes a group must be a column"


def check_cells(frame: pl.DataFrame, name: str, keys: list[str]) -> pl.DataFrame:
    """Raise SchemaError unless the counts of every group can be those of one log.

    Parameters
    ----------
    frame
        Counts or rates whose columns have been checked one by one.
    name
        What kind of frame it is, for messages.
    keys
        The columns that make a group: model and keys.

    Returns
    -------
    The rows that have counts.
    """
    counted = _counted(frame, name, keys)
    if counted.is_empty():
        return counted
    first = group_starts(counted, keys)
    ordered = counted
    if not is_sorted(counted, keys, first):
        ordered = counted.sort(*keys, "threshold", maintain_order=True)
        first = group_starts(ordered, keys)
    starts = np.zeros(len(ordered), np.bool_)
    starts[first] = True
    columns = [ordered[name].to_numpy() for name in (*CELLS, "threshold")]
    # Several selections may have chosen one point.
    selected = "reason" in frame.columns or "prevalence" in frame.columns
    for begin in range(0, len(ordered), AT_A_TIME):
        # Parts overlap by one row, so that each row is compared with the one before.
        part = slice(max(begin - 1, 0), begin + AT_A_TIME)
        same, some = ~starts[part][1:], [column[part] for column in columns]
        _check_neighbours(ordered, part.start, same, some, _Told(name, keys), selected)
    return counted


def _check_neighbours(
    frame: pl.DataFrame,
    begin: int,
    same: NDArray[np.bool_],
    columns: list[NDArray[Any]],
    told: "_Told",
    selected: bool,
) -> None:
    """Raise SchemaError unless neighbouring rows of the same group can be those of one log.

    Parameters
    ----------
    frame
        Sorted by group and threshold.
    begin
        The first of its rows that is checked.
    same
        Of each checked row but the first, whether it belongs to the group of the row before.
    columns
        tp, fp, fn, tn and the thresholds of the checked rows.
    told
        For messages.
    selected
        Whether several selections may have chosen one point.
    """
    tp, fp, fn, tn, threshold = columns
    again = threshold[1:] == threshold[:-1]
    again &= same
    if again.any():
        # If so it is the same point.
        changed = np.any([cell[1:] != cell[:-1] for cell in (tp, fp, fn, tn)], axis=0)
        again &= changed | (not selected)
        _refuse(frame, again, told, "two rows of one group have the same threshold", begin=begin)
    for reached, missed, kind, cell in ((tp, fn, "positives", "tp"), (fp, tn, "negatives", "fp")):
        total = reached + missed
        slack = _slack(total)
        if slack:
            differ, rises = np.abs(total[1:] - total[:-1]) > slack, reached[1:] > reached[:-1] + slack
        else:
            differ, rises = total[1:] != total[:-1], reached[1:] > reached[:-1]
        if ((differ | rises) & same).any():
            what = f"a group has different numbers of {kind} at two thresholds"
            _refuse(frame, differ & same, told, what, begin=begin)
            what = f"{cell} of a group is higher at a higher threshold"
            _refuse(frame, rises & same, told, what, begin=begin)


def check_rates(counted: pl.DataFrame, name: str, keys: Sequence[str]) -> None:
    """Raise SchemaError unless the rates of rows that have counts are those of the counts.

    *name* and *keys* are those of ``check_cells``.
    """
    told = _Told(name, keys)
    numbers = [*CELLS, "positives", "negatives", "tpr", "fpr", "observed_prevalence"]
    columns = {column: _floats(counted[column]) for column in numbers}
    for begin in range(0, len(counted), AT_A_TIME):
        part = {column: values[begin : begin + AT_A_TIME] for column, values in columns.items()}
        _check_quotients(counted, begin, part, told)
    for rate in ("tpr", "fpr"):
        lower, upper = f"{rate}_lower", f"{rate}_upper"
        if lower in counted.columns and upper in counted.columns:
            crossed = counted.select((pl.col(lower) > pl.col(upper)).fill_null(value=False))
            what = f"{lower} is above {upper}"
            _refuse(counted, crossed.to_series().to_numpy(), told, what, place=0)


def _check_quotients(
    frame: pl.DataFrame, begin: int, columns: dict[str, NDArray[Any]], told: "_Told"
) -> None:
    """Raise SchemaError unless some rows of rates, *begin* the first, have the quotients of their counts."""
    for reached, missed, total, rate in CLASSES:
        hits, given = columns[reached], columns[total]
        rows = hits + columns[missed]
        wrong = ~(np.abs(given - rows) <= np.maximum(rows, 1) * _ROUNDING)
        _refuse(frame, wrong, told, f"{total} is not {reached} + {missed}", place=0, begin=begin)
        wrong = _off(columns[rate], hits, rows)
        _refuse(frame, wrong, told, f"{rate} is not {reached} / {total}", place=0, begin=begin)
    positives, negatives = columns["positives"], columns["negatives"]
    wrong = _off(columns["observed_prevalence"], positives, positives + negatives)
    what = "observed_prevalence is not positives / (positives + negatives)"
    _refuse(frame, wrong, told, what, place=0, begin=begin)


def _floats(column: pl.Series) -> NDArray[Any]:
    """Return numbers; null is NaN."""
    if not column.null_count():
        return np.asarray(column.to_numpy())
    return np.asarray(column.cast(pl.Float64).fill_null(np.nan).to_numpy())


def _off(
    shares: NDArray[np.float64], parts: NDArray[np.float64], wholes: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which shares are not those parts of those wholes; a share of nothing is undefined."""
    fitting = np.abs(shares * wholes - parts) <= np.maximum(wholes, 1) * _ROUNDING
    if fitting.all():
        return ~fitting
    return np.asarray(~fitting & ((wholes > 0) | ~np.isnan(shares)), np.bool_)


def _slack(total: NDArray[np.float64] | NDArray[np.int64]) -> float:
    """Return by how much sums of weights may differ: nothing, where rows were counted."""
    if np.issubdtype(total.dtype, np.integer):
        return 0
    return float(total.max()) * _ROUNDING


def _counted(frame: pl.DataFrame, name: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows that have counts; interpolated operating points and those not attained have none."""
    missing = sum(frame[cell].null_count() for cell in CELLS)
    if not missing and not frame["threshold"].null_count():
        return frame
    if "reason" not in frame.columns:
        thresholds = quantity(frame["threshold"].null_count(), "threshold")
        raise SchemaError(
            f"a {name} frame has nulls among threshold, tp, fp, fn and tn",
            found=f"null: {quantity(missing, 'count')}, {thresholds}",
            hint="only operating points, which have a column 'reason', may lack them",
        )
    nulls = frame.select(pl.sum_horizontal(pl.col(*CELLS, "threshold").is_null())).to_series()
    some = (nulls > 0) & frame.select(pl.any_horizontal(pl.col(CELLS).is_not_null())).to_series()
    if some.any():
        where = place_of(frame, int(some.arg_max() or 0), keys)
        what = "an operating point has some of threshold, tp, fp, fn and tn, but not all"
        raise SchemaError(what, where=where, found=quantity(int(some.sum()), "such row"))
    return frame.filter(nulls == 0)


def place_of(frame: pl.DataFrame, row: int, keys: Sequence[str]) -> str:
    """Write which row it is: the model, the keys and the threshold, as far as the frame has them."""
    values = frame.row(row, named=True)
    named = dict.fromkeys(name for name in ("model", *keys, "threshold") if name in values)
    return ", ".join(f"{name} {values[name]!r}" for name in named)


@dataclass(frozen=True, slots=True)
class _Told:
    """What messages say of a frame: its kind, and the columns that make a group."""

    name: str
    keys: Sequence[str]


def _refuse(
    frame: pl.DataFrame, wrong: NDArray[np.bool_], told: _Told, what: str, place: int = 1, begin: int = 0
) -> None:
    """Raise SchemaError at the first row that is wrong.

    *place* is how far it lies behind its mark, *begin* the row of the first mark.
    """
    if not wrong.any():
        return
    row = begin + int(wrong.argmax()) + place
    values = frame.row(row, named=True)
    columns = [column for column in (*CELLS, "tpr", "fpr") if column in values]
    found = ", ".join(f"{column} {values[column]!r}" for column in columns)
    if place:
        before = frame.row(row - 1, named=True)
        found += "; before it " + ", ".join(f"{cell} {before[cell]!r}" for cell in ("threshold", *CELLS))
    hint = _MERGE if place else "compute_rates(counts) recomputes the rates"
    if place and "prevalence" in values:
        hint += ", with another name than 'prevalence', which is no key"
    where = place_of(frame, row, told.keys)
    raise SchemaError(f"{what} in a {told.name} frame", where=where, found=found, hint=hint)
