"""Counting at every distinct score: the rows are gathered compactly, then sorted group by group.

What is kept of a row is its score, its class and the number of its group; one group is sorted at a time.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.batches import Batch, read_batches
from nci_frames.counting.cells import Counts
from nci_frames.counting.groups import GroupNumbers
from nci_frames.counting.scan import Scan

__all__ = ["count_exact"]

Floats = NDArray[np.floating]


def count_exact(
    scan: Scan, groups: GroupNumbers, *, progress: bool = False
) -> tuple[pl.DataFrame, dict[int, int]]:
    """Count every group at each of its distinct scores.

    Parameters
    ----------
    scan
        What to count.
    groups
        Numbers of the groups; it learns them here.
    progress
        Whether to show how far it is.

    Returns
    -------
    The keys, threshold, tp, fp, fn, tn, sorted; and the rows by the code of their validity.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    """
    rows_by_code: dict[int, int] = {}
    batches = list(read_batches(scan, groups, rows_by_code, progress=progress))
    schema = scan.raw.collect_schema()
    score_type = np.float32 if schema["score"] == pl.Float32 else np.float64
    weighted = "weight" in schema
    order = groups.order()
    tables = [_one_group(*rows) for rows in _by_group(batches, order, score_type, weighted)]
    columns = [np.concatenate(parts) for parts in zip(*tables, strict=True)] if tables else [np.empty(0)] * 5
    threshold, *counts = columns
    values = [pl.Series(part).cast(pl.Float64 if weighted else pl.Int64) for part in counts]
    sizes = np.array([len(table[0]) for table in tables], np.int64)
    return groups.frame()[np.repeat(order, sizes)].with_columns(
        threshold=pl.Series(threshold).cast(pl.Float64),
        **dict(zip(("tp", "fp", "fn", "tn"), values, strict=True)),
    ), rows_by_code


def _by_group(
    batches: list[Batch], order: NDArray[np.int64], score_type: type, weighted: bool
) -> Iterator[tuple[Floats, NDArray[np.bool_], NDArray[np.float64] | None]]:
    """Yield the scores, labels and weights of each group, in the order asked for."""
    # The stable sort of 16-bit numbers is a radix sort.
    small = np.uint16 if len(order) <= 1 << 16 else np.int64
    numbers = np.concatenate([np.empty(0, small), *(batch.numbers.astype(small) for batch in batches)])
    scores: Floats = np.concatenate([np.empty(0, score_type), *(batch.scores for batch in batches)])
    labels = np.concatenate([np.empty(0, np.bool_), *(batch.labels for batch in batches)])
    weights = np.concatenate([b.weights for b in batches if b.weights is not None]) if weighted else None
    batches.clear()
    rows = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(order)))
    for number in order:
        mine = rows[(ends[number - 1] if number else 0) : ends[number]]
        yield scores[mine], labels[mine], None if weights is None else weights[mine]


def _first_of_runs(ascending: Floats) -> NDArray[np.intp]:
    """Return where each distinct value begins."""
    # By comparison: the difference of two infinities is NaN.
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))


def _one_group(
    scores: Floats, labels: NDArray[np.bool_], weights: NDArray[np.float64] | None
) -> tuple[Floats, Counts, Counts, Counts, Counts]:
    """Return the distinct scores of a group, ascending, and tp, fp, fn, tn at each."""
    # Adding zero turns -0.0 into 0.0: the two are one score.
    scores = scores + 0
    if weights is None:
        true, false = np.sort(scores[labels]), np.sort(scores[~labels])
        # Two sorted runs: the stable sort merges them.
        both = np.sort(np.concatenate([true, false]), kind="stable")
        below = _first_of_runs(both)
        distinct = both[below]
        # What is below a score is of one class or the other: one search, among the rarer, tells both.
        if len(true) <= len(false):
            fn = np.searchsorted(true, distinct)
            tn = below - fn
        else:
            tn = np.searchsorted(false, distinct)
            fn = below - tn
        return distinct, len(true) - fn, len(false) - tn, fn, tn
    order = np.argsort(scores, kind="stable")
    scores, labels, weights = scores[order], labels[order], weights[order]
    first = _first_of_runs(scores)
    counts = []
    for of_class in (labels, ~labels):
        at_score = np.add.reduceat(np.where(of_class, weights, 0.0), first)
        reached = at_score[::-1].cumsum()[::-1]
        counts.append((reached, reached[0] - reached))
    (tp, fn), (fp, tn) = counts
    return scores[first], tp, fp, fn, tn
