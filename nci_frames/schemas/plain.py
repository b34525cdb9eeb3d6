"""Whether counts or rates are plainly those of one log: a quick check that most frames pass.

Frames that fail it may still be right, and ``consistency`` says what is wrong where they are not.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.schemas.runs import group_starts, is_distinct

__all__ = ["AT_A_TIME", "CELLS", "CLASSES", "MOST_ROWS", "PLAIN", "plain_groups"]

CELLS = ("tp", "fp", "fn", "tn")

#: Of each class: rows that are reached, rows that are not, both, and the rate.
CLASSES = (("tp", "fn", "positives", "tpr"), ("fp", "tn", "negatives", "fpr"))

#: The columns that ``plain_groups`` checks where they are: their values are in their ranges.
PLAIN = (
    *CELLS,
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
AT_A_TIME = 1 << 14

#: Groups of so many rows on average are checked one by one.
_LONG = 1 << 12


def plain_groups(
    frame: pl.DataFrame, keys: list[str], among: Sequence[str] = PLAIN
) -> NDArray[np.int64] | None:
    """Return where the groups begin, if nothing is wrong with sorted counts of rows; None if it may be.

    Most frames are those of counting, perhaps filtered, and for them this is a small part of the time that
    any evaluation takes. ``check_cells`` and ``check_rates`` look at all others, and say what is wrong.

    Parameters
    ----------
    frame
        Counts or rates with columns of the right types.
    keys
        The columns that make a group.
    among
        The columns to check, as far as the frame has them, of those in ``PLAIN``.
    """
    numbers = [name for name in among if name in frame.columns]
    if frame.is_empty() or any(frame[name].null_count() for name in numbers):
        return None
    if not all(frame.schema[cell].is_integer() for cell in CELLS):
        return None
    first = group_starts(frame, keys)
    starts = np.zeros(len(frame), np.bool_)
    starts[first] = True
    # NumPy would copy a column of several chunks whole: it is copied part by part.
    columns = {name: frame[name] if frame.n_chunks() > 1 else frame[name].to_numpy() for name in numbers}
    if len(frame) >= _LONG * len(first):
        begins = np.unique(np.append(first, np.arange(0, len(frame), AT_A_TIME)))
        work = np.empty(AT_A_TIME + 1, np.int64), np.empty(AT_A_TIME + 1)
        for begin, end in itertools.pairwise([*begins.tolist(), len(frame)]):
            # Parts overlap by one row, unless a group begins.
            part = slice(begin if starts[begin] else begin - 1, end)
            if not _is_plain_group(
                {name: np.asarray(column[part]) for name, column in columns.items()}, work
            ):
                return None
    else:
        for begin in range(0, len(frame), AT_A_TIME):
            part = slice(max(begin - 1, 0), begin + AT_A_TIME)
            if not _is_plain(
                {name: np.asarray(column[part]) for name, column in columns.items()}, starts[part]
            ):
                return None
    # Along a group tp and fp fall, and fn and tn rise by as much: if both ends are in range, all rows are.
    last = np.append(first[1:], len(frame)) - 1
    highest, lowest = (
        [np.asarray(columns[name][rows]) for name in (*CELLS, "threshold")] for rows in (first, last)
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
    for reached, missed, total, rate in CLASSES:
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
    for reached, missed, total, rate in CLASSES:
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
