"""Find counts or rates that no log can have: within a row, or along the thresholds of a group."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from nci_frames.base.errors import NciFramesError, ParameterError, SchemaError
from nci_frames.base.messages import a_frame, named_values, quantity
from nci_frames.base.typing import Flags
from nci_frames.schemas.keys import CELLS
from nci_frames.schemas.runs import group_starts, is_sorted

#: For each class: rows at or above the threshold, rows below it, their sum, and the rate.
_CLASSES = (("tp", "fn", "positives", "tpr"), ("fp", "tn", "negatives", "fpr"))

#: Relative tolerance for the rounding of sums of weights and quotients.
_ROUNDING = 1e-9

#: Rows checked at a time, which limits the memory for intermediate results.
_AT_A_TIME = 1 << 16

_MERGE = "add counts of different rows with merge_counts, not pl.concat; what makes a group must be a column"


def check_cells(frame: pl.DataFrame, name: str, keys: list[str], *, rates: bool) -> None:
    """Raise SchemaError unless a log can have the counts of every group.

    Parameters
    ----------
    frame
        Counts or rates; each column has been checked.
    name
        Kind of frame, for messages.
    keys
        Columns that define a group: model and keys.
    rates
        Whether to compare the rates with the counts.
    """
    counted = _counted(frame, name, keys)
    first = group_starts(counted, keys)
    if not is_sorted(counted, keys, first):
        counted = counted.sort(*keys, "threshold", maintain_order=True)
        first = group_starts(counted, keys)
    starts = np.zeros(len(counted), np.bool_)
    starts[first] = True
    problems = _of_rates(counted) if rates else {}
    for begin in range(0, len(counted), _AT_A_TIME):
        # Parts overlap by one row, so that each row is compared with the previous one.
        rows = slice(max(begin - 1, 0), begin + _AT_A_TIME)
        part = counted[rows]
        for what, wrong in _along_thresholds(part, ~starts[rows][1:]):
            if wrong.any():
                row = int(wrong.argmax()) + 1
                raise _refusal(part, row, f"{what} in {a_frame(name)}", keys, beside=True)
        wrong_rates = part.select(
            holds.fill_null(value=False).alias(what) for what, holds in problems.items()
        )
        for what in problems:
            if wrong_rates[what].any():
                row = int(wrong_rates[what].arg_max() or 0)
                raise _refusal(part, row, f"{what} in {a_frame(name)}", keys, beside=False)


def _along_thresholds(part: pl.DataFrame, same: Flags) -> Iterator[tuple[str, Flags]]:
    """Yield each problem of a row compared with the previous row, and a flag per row but the first.

    *same* flags the rows that belong to the group of the previous row.
    """
    threshold, *cells = (part[column].to_numpy() for column in ("threshold", *CELLS))
    again = same & (threshold[1:] == threshold[:-1])
    # Several selections may have chosen the same operating point; its counts are then equal.
    if "reason" in part.columns or "prevalence" in part.columns:
        again &= np.any([cell[1:] != cell[:-1] for cell in cells], axis=0)
    yield "two rows of one group have the same threshold", again
    columns = dict(zip(CELLS, cells, strict=True))
    for reached, missed, kind, _ in _CLASSES:
        hits, total = columns[reached], columns[reached] + columns[missed]
        slack = 0 if total.dtype.kind in "iu" else total.max(initial=0) * _ROUNDING
        differ = np.abs(np.diff(total)) > slack
        yield f"a group has different numbers of {kind} at two thresholds", same & differ
        yield f"{reached} of a group is higher at a higher threshold", same & (np.diff(hits) > slack)


def _of_rates(frame: pl.DataFrame) -> dict[str, pl.Expr]:
    """Return the possible problems of the rates of a row."""
    problems = {}
    for reached, missed, total, rate in _CLASSES:
        rows = pl.col(reached) + pl.col(missed)
        near = (pl.col(total) - rows).abs() <= pl.max_horizontal(rows, 1) * _ROUNDING
        problems[f"{total} is not {reached} + {missed}"] = ~near.fill_null(value=False)
        problems[f"{rate} is not {reached} / {total}"] = _off(pl.col(rate), pl.col(reached), rows)
    positives, rows = pl.col("positives"), pl.col("positives") + pl.col("negatives")
    prevalence = _off(pl.col("observed_prevalence"), positives, rows)
    problems["observed_prevalence is not positives / (positives + negatives)"] = prevalence
    for rate in ("tpr", "fpr"):
        lower, upper = f"{rate}_lower", f"{rate}_upper"
        if lower in frame.columns and upper in frame.columns:
            problems[f"{lower} is above {upper}"] = pl.col(lower) > pl.col(upper)
    return problems


def _off(share: pl.Expr, part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return where *share* is not *part* / *whole*; a share of an empty whole must be null."""
    fitting = (share * whole - part).abs() <= pl.max_horizontal(whole, 1) * _ROUNDING
    return ~fitting.fill_null(value=False) & ((whole > 0) | share.is_not_null())


def _counted(frame: pl.DataFrame, name: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows with counts: interpolated operating points and those not attained have none."""
    missing = sum(frame[cell].null_count() for cell in CELLS)
    if not missing and not frame["threshold"].null_count():
        return frame
    if "reason" not in frame.columns:
        thresholds = quantity(frame["threshold"].null_count(), "threshold")
        msg = f"{a_frame(name)} has nulls among threshold, tp, fp, fn and tn"
        hint = "only operating points, which have a column 'reason', may lack them"
        raise SchemaError(msg, found=f"null: {quantity(missing, 'count')}, {thresholds}", hint=hint)
    nulls = frame.select(pl.sum_horizontal(pl.col(*CELLS, "threshold").is_null())).to_series()
    some = (nulls > 0) & frame.select(pl.any_horizontal(pl.col(CELLS).is_not_null())).to_series()
    if some.any():
        where = place_of(frame, int(some.arg_max() or 0), keys)
        what = "an operating point has some of threshold, tp, fp, fn and tn, but not all"
        raise SchemaError(what, where=where, found=quantity(int(some.sum()), "such row"))
    return frame.filter(nulls == 0)


def need_each_once(
    frame: pl.DataFrame, by: Sequence[str], what: str, hint: str, error: type[NciFramesError] = ParameterError
) -> None:
    """Raise an error if two rows of a frame agree in the columns *by*."""
    twice = frame.filter(frame.select(by).is_duplicated())
    if len(twice):
        row = twice.row(0, named=True)
        known = {name: row[name] for name in by if row[name] is not None}
        raise error(what, where=named_values(known), hint=hint)


def need_in_bounds(frame: pl.DataFrame, value: str, what: str, keys: Sequence[str] = ()) -> None:
    """Raise SchemaError if a value of a frame lies outside its bounds; *keys* name its row."""
    outside = frame.filter((pl.col(value) < pl.col("lower")) | (pl.col(value) > pl.col("upper")))
    if len(outside):
        row = outside.select(*keys, value, "lower", "upper").row(0, named=True)
        raise SchemaError(f"{what} lies outside its bounds", found=named_values(row))


def place_of(frame: pl.DataFrame, row: int, keys: Sequence[str]) -> str:
    """Describe a row by its model, keys and threshold; columns that the frame lacks are left out."""
    values = frame.row(row, named=True)
    return named_values({name: values[name] for name in ("model", *keys, "threshold") if name in values})


def _refusal(frame: pl.DataFrame, row: int, what: str, keys: Sequence[str], *, beside: bool) -> SchemaError:
    """Return the error for a row that is wrong by itself, or *beside* (compared with) the previous row."""
    values = frame.row(row, named=True)
    found = named_values({name: values[name] for name in (*CELLS, "tpr", "fpr") if name in values})
    hint = "compute_rates(counts) recomputes the rates"
    if beside:
        earlier = frame.row(row - 1, named=True)
        found += "; before it " + named_values({name: earlier[name] for name in ("threshold", *CELLS)})
        more = ", with another name than 'prevalence', which is no key" if "prevalence" in values else ""
        hint = f"{_MERGE}{more}"
    return SchemaError(what, where=place_of(frame, row, keys), found=found, hint=hint)
