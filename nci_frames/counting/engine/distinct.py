"""Rows of some groups -> counts at every distinct score of each, all in memory."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.cells import Counts

Floats = NDArray[np.floating]
#: threshold, tp, fp, fn, tn: group after group, the thresholds of each ascending.
Distinct = tuple[Floats, Counts, Counts, Counts, Counts]


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows, and to which of so many groups each belongs."""

    groups: int
    #: 16 bits, because their stable sort is a radix sort; one group alone needs none.
    numbers: NDArray[np.uint16]
    scores: Floats
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class Part:
    """The counts of some groups."""

    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]  # distinct scores of each
    columns: Distinct

    def table(self, columns: Mapping[str, pl.DataType], rows: slice = slice(None)) -> pl.DataFrame:
        """Return the counts as a frame without keys, all or some rows, with such columns."""
        series = zip(columns.items(), self.columns, strict=True)
        return pl.DataFrame([pl.Series(name, column[rows]).cast(dtype) for (name, dtype), column in series])


def columns_of_counts(*, weighted: bool) -> dict[str, pl.DataType]:
    """Return the columns of counts besides keys: rows are counted, or weights summed."""
    number = pl.Float64() if weighted else pl.Int64()
    return {"threshold": pl.Float64(), **dict.fromkeys(("tp", "fp", "fn", "tn"), number)}


def count_distinct(rows: Rows) -> tuple[NDArray[np.int64], Distinct]:
    """Return how many distinct scores each group has, and the counts at each of them.

    The memory of the scores is used up. Sums of weights are those of the rows in their order, to the bit.
    """
    # Adding zero turns -0.0 into 0.0: the two are one score.
    np.add(rows.scores, 0, out=rows.scores)
    if rows.weights is not None:
        return _weighted(rows, rows.weights)
    if rows.groups > 1:
        return _of_groups(rows)
    counted = count_one(rows.scores, rows.labels)
    return np.array([len(counted[0])]), counted


def count_one(scores: Floats, labels: NDArray[np.bool_]) -> Distinct:
    """Count the rows of one group, whose scores have no -0.0 and are sorted in place."""
    rare_is_true = 2 * np.count_nonzero(labels) <= len(labels)
    rare = np.sort(scores[labels if rare_is_true else ~labels])
    # The labels need not follow: the rows below a score are of one class or the other.
    scores.sort()
    below = np.flatnonzero(_begins(scores))
    distinct = scores if len(below) == len(scores) else scores[below]
    first = np.flatnonzero(_begins(rare))
    at = np.searchsorted(distinct, rare[first])
    # Up to the first score of the rare class none of it are below, up to the second so many, and so on.
    rare_below = np.repeat(np.append(first, len(rare)), np.diff(at, prepend=-1, append=len(distinct) - 1))
    common_below = np.subtract(below, rare_below, out=below)
    rare_from, common_from = len(rare) - rare_below, len(labels) - len(rare) - common_below
    if rare_is_true:
        return distinct, rare_from, common_from, rare_below, common_below
    return distinct, common_from, rare_from, common_below, rare_below


def _of_groups(rows: Rows) -> tuple[NDArray[np.int64], Distinct]:
    """Count the rows of several groups at once."""
    order = np.argsort(rows.scores)
    order = order[np.argsort(rows.numbers[order], kind="stable")]
    scores, labels, numbers = rows.scores[order], rows.labels[order], rows.numbers[order]
    first = np.flatnonzero(_begins(scores) | _begins(numbers))
    group = numbers[first]
    size = np.bincount(numbers, minlength=rows.groups)
    begin = np.cumsum(size) - size
    true_before = np.append(0, np.cumsum(labels))
    true = true_before[begin + size] - true_before[begin]
    fn = true_before[first] - true_before[begin][group]
    tn = first - begin[group] - fn
    counts = true[group] - fn, (size - true)[group] - tn, fn, tn
    return np.bincount(group, minlength=rows.groups), (scores[first], *counts)


def _weighted(rows: Rows, weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], Distinct]:
    """Sum the weights of each group at its distinct scores."""
    numbers = rows.numbers if rows.groups > 1 else np.zeros(len(weights), np.uint16)
    in_groups = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=rows.groups))[:-1]
    parts = [
        _weighted_one(rows.scores[mine], rows.labels[mine], weights[mine])
        for mine in np.split(in_groups, ends)
    ]
    threshold, tp, fp, fn, tn = map(np.concatenate, zip(*parts, strict=True))
    return np.array([len(part[0]) for part in parts]), (threshold, tp, fp, fn, tn)


def _weighted_one(scores: Floats, labels: NDArray[np.bool_], weights: NDArray[np.float64]) -> Distinct:
    """Sum the weights of one group: from the highest score down, those of one score in their order."""
    order = np.argsort(scores, kind="stable")
    scores, labels, weights = scores[order], labels[order], weights[order]
    first = np.flatnonzero(_begins(scores))
    tp, fp = (
        np.add.reduceat(np.where(of_class, weights, 0.0), first)[::-1].cumsum()[::-1]
        for of_class in (labels, ~labels)
    )
    return scores[first], tp, fp, tp[0] - tp, fp[0] - fp


def _begins(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return of each value whether it differs from the one before it."""
    # By comparison: the difference of two infinities is NaN.
    begins = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins
