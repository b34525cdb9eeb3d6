"""Whether counts or rates can be those of one log: row by row, and along the thresholds of a group."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.errors import SchemaError
from nci_frames.schemas.runs import group_starts, is_sorted

__all__ = ["check_cells", "check_rates"]

_CELLS = ("tp", "fp", "fn", "tn")

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
    same = np.ones(len(ordered), np.bool_)
    same[first] = False
    same = same[1:]
    tp, fp, fn, tn = (ordered[cell].to_numpy() for cell in _CELLS)
    threshold = ordered["threshold"].to_numpy()
    again = same & (threshold[1:] == threshold[:-1])
    if again.any():
        # Several selections may choose one point; if so it is the same point.
        changed = np.any([cell[1:] != cell[:-1] for cell in (tp, fp, fn, tn)], axis=0)
        again &= changed | ("reason" not in frame.columns)
        _refuse(ordered, again, name, "two rows of one group have the same threshold")
    for reached, missed, kind in ((tp, fn, "positives"), (fp, tn, "negatives")):
        total = reached + missed
        slack = _slack(total)
        differ = same & (np.abs(total[1:] - total[:-1]) > slack if slack else total[1:] != total[:-1])
        _refuse(ordered, differ, name, f"a group has different numbers of {kind} at two thresholds")
        rises = same & (reached[1:] > reached[:-1] + slack)
        what = "tp" if reached is tp else "fp"
        _refuse(ordered, rises, name, f"{what} of a group is higher at a higher threshold")
    return counted


def check_rates(counted: pl.DataFrame, name: str) -> None:
    """Raise SchemaError unless the rates of rows that have counts are those of the counts."""
    for rate, reached, missed, total in (
        ("tpr", "tp", "fn", "positives"),
        ("fpr", "fp", "tn", "negatives"),
    ):
        hits = counted[reached].to_numpy()
        rows = hits + counted[missed].to_numpy()
        given = counted[total].cast(pl.Float64).fill_null(np.nan).to_numpy()
        slack = np.maximum(rows, 1) * _ROUNDING
        _refuse(
            counted, ~(np.abs(given - rows) <= slack), name, f"{total} is not {reached} + {missed}", place=0
        )
        values = counted[rate].cast(pl.Float64).fill_null(np.nan).to_numpy()
        _refuse(counted, _off(values, hits, rows), name, f"{rate} is not {reached} / {total}", place=0)
        bounds = [f"{rate}_{side}" for side in ("lower", "upper")]
        if all(bound in counted.columns for bound in bounds):
            crossed = counted.select((pl.col(bounds[0]) > pl.col(bounds[1])).fill_null(value=False))
            what = f"{bounds[0]} is above {bounds[1]}"
            _refuse(counted, crossed.to_series().to_numpy(), name, what, place=0)
    positives, negatives = (counted[total].to_numpy() for total in ("positives", "negatives"))
    observed = counted["observed_prevalence"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    wrong = _off(observed, positives, positives + negatives)
    what = "observed_prevalence is not positives / (positives + negatives)"
    _refuse(counted, wrong, name, what, place=0)


def _off(
    shares: NDArray[np.float64], parts: NDArray[np.float64], wholes: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which shares are not those parts of those wholes; a share of nothing is undefined."""
    slack = np.maximum(wholes, 1) * _ROUNDING
    off = ~(np.abs(shares * wholes - parts) <= slack) & ((wholes > 0) | ~np.isnan(shares))
    return np.asarray(off, np.bool_)


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


def _refuse(frame: pl.DataFrame, wrong: NDArray[np.bool_], name: str, what: str, place: int = 1) -> None:
    """Raise SchemaError at the first row that is wrong; *place* is how far it lies behind its mark."""
    if not wrong.any():
        return
    row = int(wrong.argmax()) + place
    told = frame.row(row, named=True)
    columns = [column for column in (*_CELLS, "tpr", "fpr") if column in told]
    found = ", ".join(f"{column} {told[column]!r}" for column in columns)
    before = frame.row(row - 1, named=True) if place else None
    if before is not None:
        found += "; before it " + ", ".join(f"{cell} {before[cell]!r}" for cell in ("threshold", *_CELLS))
    hint = _MERGE if place else "compute_rates(counts) recomputes the rates"
    raise SchemaError.inconsistent(f"{what} in a {name} frame", _where(frame, row), found, hint)
