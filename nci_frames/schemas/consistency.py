"""Whether counts or rates can be those of one log: row by row, and along the thresholds of a group."""

import itertools
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.errors import SchemaError
from nci_frames.schemas.runs import group_starts, is_distinct, is_sorted

__all__ = ["MOST_ROWS", "PLAIN", "check_cells", "check_rates", "plain_groups"]

_CELLS = ("tp", "fp", "fn", "tn")

#: Of each class: rows that are reached, rows that are not, both, and the rate.
_CLASSES = (("tp", "fn", "positives", "tpr"), ("fp", "tn", "negatives", "fpr"))

#: The columns that ``plain_groups`` checks where they are: their values are in their ranges.
PLAIN = (
    *_CELLS,
    "threshold",
    "positives",
    "negatives",
    "tpr",
    "fpr",
    "observed_prevalence",
    *(f"{rate}_{side}" for rate in ("tpr", "fpr") for side in ("lower", "upper")),
)

#: The most rows that a count may stand for: Float64 has all whole numbers up to it, and no sum of some
#: hundreds of counts wraps around in Int64.
MOST_ROWS = 2**53

#: Rows that are checked at a time: few enough for the fast memory of a processor.
_AT_A_TIME = 1 << 14

#: Groups of so many rows on average are checked one by one.
_LONG = 1 << 12

#: Sums of weights, and quotients, are rounded: they may differ by this share.
_ROUNDING = 1e-9

_MERGE = "add counts of different rows with merge_counts, not pl.concat; what makes a group must be a column"


def plain_groups(frame: pl.DataFrame, keys: list[str]) -> NDArray[np.int64] | None:
    """Return where the groups begin, if nothing is wrong with sorted counts of rows; None if it may be.

    Most frames are those of counting, perhaps filtered, and for them this is a small part of the time that
    any evaluation takes. ``check_cells`` and ``check_rates`` look at all others, and say what is wrong.

    Parameters
    ----------
    frame
        Counts or rates with columns of the right types.
    keys
        The columns that make a group.
    """
    checked = [name for name in PLAIN if name in frame.columns]
    if frame.is_empty() or any(frame[name].null_count() for name in checked):
        return None
    if not all(frame.schema[cell].is_integer() for cell in _CELLS):
        return None
    first = group_starts(frame, keys)
    starts = np.zeros(len(frame), np.bool_)
    starts[first] = True
    # NumPy would copy a column of several chunks whole: it is copied part by part.
    columns = {name: frame[name] if frame.n_chunks() > 1 else frame[name].to_numpy() for name in checked}
    if len(frame) >= _LONG * len(first):
        begins = np.unique(np.append(first, np.arange(0, len(frame), _AT_A_TIME)))
        work = np.empty(_AT_A_TIME + 1, np.int64), np.empty(_AT_A_TIME + 1)
        for begin, end in itertools.pairwise([*begins.tolist(), len(frame)]):
            # Parts overlap by one row, unless a group begins.
            part = slice(begin if starts[begin] else begin - 1, end)
            if not _is_plain_group(
                {name: np.asarray(column[part]) for name, column in columns.items()}, work
            ):
                return None
    else:
        for begin in range(0, len(frame), _AT_A_TIME):
            part = slice(max(begin - 1, 0), begin + _AT_A_TIME)
            if not _is_plain(
                {name: np.asarray(column[part]) for name, column in columns.items()}, starts[part]
            ):
                return None
    # Along a group tp and fp fall, and fn and tn rise by as much: if both ends are in range, all rows are.
    last = np.append(first[1:], len(frame)) - 1
    highest, lowest = (
        [np.asarray(columns[name][rows]) for name in (*_CELLS, "threshold")] for rows in (first, last)
    )
    smallest = np.concatenate([*lowest[:2], *highest[2:4]]).min()
    largest = np.concatenate([*highest[:2], *lowest[2:4]]).max()
    ends = np.concatenate([lowest[4], highest[4]])
    if smallest < 0 or largest > MOST_ROWS or np.isnan(ends).any():
        return None
    return first if is_distinct(frame, keys, first) else None


def _is_plain_group(
    columns: dict[str, NDArray[Any]], work: tuple[NDArray[np.int64], NDArray[np.float64]]
) -> bool:
    """Return whether rows of one group agree, and rates are exact quotients, as ``_is_plain`` does.

    What is the same in all rows is compared with one number, which takes half the time; *work* is memory for
    what is computed on the way.
    """
    threshold, observed = columns["threshold"], columns.get("observed_prevalence")
    fine = bool((threshold[1:] > threshold[:-1]).all())
    rows, share = (memory[: len(threshold)] for memory in work)
    sizes = []
    for reached, missed, total, rate in _CLASSES:
        hits = columns[reached]
        size = int(hits[0]) + int(columns[missed][0])
        sizes.append(size)
        # More do not fit into Int64, perhaps.
        fine = fine and size <= MOST_ROWS
        if not fine:
            return False
        np.add(hits, columns[missed], out=rows)
        fine = bool((rows == size).all() and (hits[1:] <= hits[:-1]).all())
        if fine and rate in columns:
            np.copyto(share, hits)
            with np.errstate(invalid="ignore", divide="ignore"):
                share /= size
            fine = bool((columns[rate] == share).all() and (columns[total] == size).all())
        lower, upper = columns.get(f"{rate}_lower"), columns.get(f"{rate}_upper")
        if lower is not None and upper is not None:
            fine = fine and bool((lower <= upper).all() and (lower >= 0).all() and (upper <= 1).all())
    if fine and observed is not None:
        both = sum(sizes)
        fine = both > 0 and bool((observed == sizes[0] / both).all())
    return fine


def _is_plain(columns: dict[str, NDArray[Any]], starts: NDArray[np.bool_]) -> bool:
    """Return whether neighbouring rows, where none starts a group, agree, and rates are exact quotients."""
    threshold = columns["threshold"]
    fine = threshold[1:] > threshold[:-1]
    for reached, missed, total, rate in _CLASSES:
        hits = columns[reached]
        rows = hits + columns[missed]
        fine &= rows[1:] == rows[:-1]
        fine &= hits[1:] <= hits[:-1]
        if rate not in columns:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            share = hits / rows
        if not ((columns[rate] == share) & (columns[total] == rows)).all():
            return False
        lower, upper = columns.get(f"{rate}_lower"), columns.get(f"{rate}_upper")
        if lower is not None and upper is not None:
            inside = lower <= upper
            inside &= lower >= 0
            inside &= upper <= 1
            if not inside.all():
                return False
    observed = columns.get("observed_prevalence")
    if observed is not None:
        # It can change only where a group starts.
        fine &= observed[1:] == observed[:-1]
        some = starts.copy()
        some[0] = True
        positives, negatives = columns["positives"][some], columns["negatives"][some]
        with np.errstate(invalid="ignore", divide="ignore"):
            if not (observed[some] == positives / (positives + negatives)).all():
                return False
    fine |= starts[1:]
    return bool(fine.all())


def check_cells(frame: pl.DataFrame, name: str, keys: list[str]) -> pl.DataFrame:
    """Raise SchemaError unless the counts of every group can be those of one log.

    Parameters
    ----------
    frame
        Counts or rates whose columns have been checked one by one.
    name
        What kind of frame it is, for messages.
    keys
        The columns that make a group: model, keys, and the prevalence for which points were selected.

    Returns
    -------
    The rows that have counts.
    """
    counted = _counted(frame, name)
    if counted.is_empty():
        return counted
    first = group_starts(counted, keys)
    ordered = counted
    if not is_sorted(counted, keys, first):
        ordered = counted.sort(*keys, "threshold", maintain_order=True)
        first = group_starts(ordered, keys)
    starts = np.zeros(len(ordered), np.bool_)
    starts[first] = True
    columns = [ordered[name].to_numpy() for name in (*_CELLS, "threshold")]
    selected = "reason" in frame.columns
    for begin in range(0, len(ordered), _AT_A_TIME):
        # Parts overlap by one row, so that each row is compared with the one before.
        part = slice(max(begin - 1, 0), begin + _AT_A_TIME)
        _check_neighbours(ordered, part.start, ~starts[part][1:], [c[part] for c in columns], name, selected)
    return counted


def _check_neighbours(
    frame: pl.DataFrame,
    begin: int,
    same: NDArray[np.bool_],
    columns: list[NDArray[Any]],
    name: str,
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
    name
        What kind of frame it is, for messages.
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
        _refuse(frame, again, name, "two rows of one group have the same threshold", begin=begin)
    for reached, missed, kind, cell in ((tp, fn, "positives", "tp"), (fp, tn, "negatives", "fp")):
        total = reached + missed
        slack = _slack(total)
        if slack:
            differ, rises = np.abs(total[1:] - total[:-1]) > slack, reached[1:] > reached[:-1] + slack
        else:
            differ, rises = total[1:] != total[:-1], reached[1:] > reached[:-1]
        if ((differ | rises) & same).any():
            what = f"a group has different numbers of {kind} at two thresholds"
            _refuse(frame, differ & same, name, what, begin=begin)
            what = f"{cell} of a group is higher at a higher threshold"
            _refuse(frame, rises & same, name, what, begin=begin)


def check_rates(counted: pl.DataFrame, name: str) -> None:
    """Raise SchemaError unless the rates of rows that have counts are those of the counts."""
    numbers = [*_CELLS, "positives", "negatives", "tpr", "fpr", "observed_prevalence"]
    columns = {column: _floats(counted[column]) for column in numbers}
    for begin in range(0, len(counted), _AT_A_TIME):
        part = {column: values[begin : begin + _AT_A_TIME] for column, values in columns.items()}
        _check_quotients(counted, begin, part, name)
    for rate in ("tpr", "fpr"):
        lower, upper = f"{rate}_lower", f"{rate}_upper"
        if lower in counted.columns and upper in counted.columns:
            crossed = counted.select((pl.col(lower) > pl.col(upper)).fill_null(value=False))
            what = f"{lower} is above {upper}"
            _refuse(counted, crossed.to_series().to_numpy(), name, what, place=0)


def _check_quotients(frame: pl.DataFrame, begin: int, columns: dict[str, NDArray[Any]], name: str) -> None:
    """Raise SchemaError unless some rows of rates, *begin* the first, have the quotients of their counts."""
    for reached, missed, total, rate in _CLASSES:
        hits, given = columns[reached], columns[total]
        rows = hits + columns[missed]
        wrong = ~(np.abs(given - rows) <= np.maximum(rows, 1) * _ROUNDING)
        _refuse(frame, wrong, name, f"{total} is not {reached} + {missed}", place=0, begin=begin)
        wrong = _off(columns[rate], hits, rows)
        _refuse(frame, wrong, name, f"{rate} is not {reached} / {total}", place=0, begin=begin)
    positives, negatives = columns["positives"], columns["negatives"]
    wrong = _off(columns["observed_prevalence"], positives, positives + negatives)
    what = "observed_prevalence is not positives / (positives + negatives)"
    _refuse(frame, wrong, name, what, place=0, begin=begin)


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


def _counted(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows that have counts; interpolated operating points and those not attained have none."""
    missing = sum(frame[cell].null_count() for cell in _CELLS)
    if not missing and not frame["threshold"].null_count():
        return frame
    if "reason" not in frame.columns:
        raise SchemaError.inconsistent(
            f"a {name} frame has nulls among threshold, tp, fp, fn and tn",
            "",
            f"{missing:,} counts and {frame['threshold'].null_count():,} thresholds are null",
            "only operating points, which have a column 'reason', may lack them",
        )
    nulls = frame.select(pl.sum_horizontal(pl.col(*_CELLS, "threshold").is_null())).to_series()
    some = (nulls > 0) & frame.select(pl.any_horizontal(pl.col(_CELLS).is_not_null())).to_series()
    if some.any():
        where = _where(frame, int(some.arg_max() or 0))
        what = "an operating point has some of threshold, tp, fp, fn and tn, but not all"
        raise SchemaError.inconsistent(what, where, f"{some.sum():,} such rows", None)
    return frame.filter(nulls == 0)


def _where(frame: pl.DataFrame, row: int) -> str:
    names = [column for column in frame.columns if column not in _CELLS]
    told = frame.row(row, named=True)
    shown = [name for name in ("model", "threshold") if name in names]
    return ", ".join(f"{name} {told[name]!r}" for name in shown)


def _refuse(
    frame: pl.DataFrame, wrong: NDArray[np.bool_], name: str, what: str, place: int = 1, begin: int = 0
) -> None:
    """Raise SchemaError at the first row that is wrong.

    *place* is how far it lies behind its mark, *begin* the row of the first mark.
    """
    if not wrong.any():
        return
    row = begin + int(wrong.argmax()) + place
    told = frame.row(row, named=True)
    columns = [column for column in (*_CELLS, "tpr", "fpr") if column in told]
    found = ", ".join(f"{column} {told[column]!r}" for column in columns)
    before = frame.row(row - 1, named=True) if place else None
    if before is not None:
        found += "; before it " + ", ".join(f"{cell} {before[cell]!r}" for cell in ("threshold", *_CELLS))
    hint = _MERGE if place else "compute_rates(counts) recomputes the rates"
    raise SchemaError.inconsistent(f"{what} in a {name} frame", _where(frame, row), found, hint)
