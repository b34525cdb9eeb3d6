"""Counts -> the ROC steps of all groups, some groups at a time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.counts.resolution import no_score_below, one_score
from nci_frames.schemas import group_starts, is_sorted, runs_together

_WORTH = ["effective_positives", "effective_negatives"]

#: Rows of a part, unless a group has more. Larger arrays get fresh memory from the system each time, and
#: clearing it may take longer than the computation.
_ROWS_AT_A_TIME = 1 << 15


@dataclass(frozen=True, slots=True)
class Curves:
    """The ROC steps of some groups, end to end: from one point to the next as the threshold falls.

    Consecutive steps with the same TPR are merged; this changes neither the curve nor any area under it.

    TPR is NaN in a group without positives, FPR in one without negatives; both become null in results.
    """

    groups: pl.DataFrame  # model and keys
    start: Rows  # first step of each group
    size: Rows  # number of steps of each group
    tpr0: Floats
    tpr1: Floats
    fpr0: Floats
    fpr1: Floats
    tied: Flags  # of each step: whether all its rows have one score
    positives: Floats  # of each group
    negatives: Floats  # of each group
    #: Effective numbers of positives and negatives at the end of each step, if the counts have them.
    worth: tuple[Floats, Floats] | None = None
    #: Lowest score of each step, -inf for the last one; empty if steps were merged.
    score: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def observed_prevalence(self) -> Floats:
        """Share of positives of each group; NaN without rows."""
        with np.errstate(invalid="ignore"):
            return self.positives / (self.positives + self.negatives)

    def reduce(self, by: np.ufunc, steps: Floats) -> Floats:
        """Return the sum, the minimum or the maximum of the steps of each group, along the last axis."""
        return np.asarray(by.reduceat(steps, self.start, axis=-1)) if len(self.start) else steps

    def sum(self, steps: Floats) -> Floats:
        """Sum the steps of each group, along the last axis."""
        return self.reduce(np.add, steps)

    def pieces(self) -> list[slice]:
        """Split the steps of a single group into slices, to limit the memory of intermediate arrays."""
        if len(self.start) != 1:
            return [slice(None)]
        steps = range(0, len(self.tpr1), _ROWS_AT_A_TIME)
        return [slice(begin, begin + _ROWS_AT_A_TIME) for begin in steps]

    def sum_pieces(self, of_steps: Callable[[slice], Floats]) -> Floats:
        """Sum a function of the steps over each group, along the last axis, piece by piece."""
        if len(self.pieces()) == 1:
            return self.sum(of_steps(slice(None)))
        return np.asarray(sum(of_steps(piece).sum(axis=-1, keepdims=True) for piece in self.pieces()))

    def each_step(self, of_groups: float | Floats) -> Floats:
        """Return the value of each step's group, along the last axis; one value if all groups share it."""
        if isinstance(of_groups, np.ndarray) and len(self.size) == 1:
            # A view, which takes no memory per step.
            return np.broadcast_to(of_groups, (*of_groups.shape[:-1], int(self.size[0])))
        return np.repeat(of_groups, self.size if isinstance(of_groups, np.ndarray) else 1, axis=-1)

    def rising(self) -> "Curves":
        """Return the steps in which TPR grows; the others add nothing to an area over recall.

        Groups without positives, where TPR is NaN, keep every step.
        """
        return self.only(~(self.tpr1 <= self.tpr0))

    def only(self, which: Flags) -> "Curves":
        """Return the selected steps; every group must keep at least one."""
        kept = np.flatnonzero(which)
        start = np.searchsorted(kept, self.start)
        size = np.diff(start, append=len(kept))
        steps = {name: getattr(self, name)[kept] for name in ("tpr0", "tpr1", "fpr0", "fpr1", "tied")}
        worth = None if self.worth is None else (self.worth[0][kept], self.worth[1][kept])
        return replace(self, start=start, size=size, worth=worth, **steps)


def no_curves(frame: pl.DataFrame, keys: list[str]) -> Curves:
    """Return empty curves, without any group."""
    none, places = np.empty(0), np.empty(0, np.int64)
    groups = frame.clear().select(keys)
    return Curves(groups, places, places, none, none, none, none, none > 0, none, none)


def curve_parts(
    frame: pl.DataFrame, keys: list[str], *, of_scores: bool = False
) -> Iterator[Callable[[], Curves]]:
    """Yield thread-safe functions, each of which returns the ROC steps of some groups.

    Each group ends at (1, 1). With *of_scores* no steps are merged, and each has its score.
    """
    first = group_starts(frame, keys)
    if not is_sorted(frame, keys, first):
        frame = frame.sort(*keys, "threshold", maintain_order=True)
        first = group_starts(frame, keys)
    if frame.is_empty():
        return
    for part in runs_together(first, _ROWS_AT_A_TIME):
        mine = first[part]
        last = first[part.stop] if part.stop < len(first) else len(frame)
        yield partial(_steps, frame[int(mine[0]) : int(last)], mine - mine[0], keys, of_scores=of_scores)


def of_all_parts(
    make: Callable[..., pl.DataFrame], frames: Sequence[pl.DataFrame], keys: list[str], *, of_scores: bool
) -> list[pl.DataFrame]:
    """Return the tables that *make* returns: first an empty one, then one for each part of the groups.

    *make* takes the curves of a part from each of several *frames*, which have the same groups.
    """
    parts = zip(*(curve_parts(frame, keys, of_scores=of_scores) for frame in frames), strict=True)
    # NumPy releases the GIL while it computes, and the parts are independent.
    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        found = threads.map(lambda part: make(*(curves() for curves in part)), parts)
        return [make(no_curves(frames[0], keys)), *found]


def _steps(ascending: pl.DataFrame, first: Rows, keys: list[str], *, of_scores: bool) -> Curves:
    """Return the curves of groups whose thresholds ascend from each first row on."""
    lowest = ascending[first[::-1]]
    hits = {name: ascending[name].to_numpy() for name in ("tp", "fp")}
    kept: slice | Rows = slice(None)
    if not of_scores:
        kept, first = _corners(hits["tp"], first)
    # "tp" is always there, so the selection has all rows even without "resolution".
    known = ascending.select(cs.by_name("tp", "resolution", require_all=False))[kept]
    tied = known.with_columns(one_score(known.columns).alias("tp"))["tp"].to_numpy()[::-1]
    complete = lowest.select(no_score_below()).to_series().to_numpy()
    # The steps are in reverse order of the rows, so the last group comes first.
    last = np.append(first[1:], len(known))[::-1]
    begin = len(known) - last
    end = np.append(begin[1:], len(known))
    size = end - begin + 1
    start = begin + np.arange(len(begin))
    # Sums of weights are rounded: where no row lies below the lowest threshold, it alone misses exactly none.
    positives, negatives = (
        (lowest[hit] + lowest[missed]).to_numpy() for hit, missed in (("tp", "fn"), ("fp", "tn"))
    )
    # One more step per group: from the lowest threshold to "everything is positive".
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr, fpr = (
            np.insert(hits[hit][kept][::-1], end, rows) / np.repeat(rows, size)
            for hit, rows in (("tp", positives), ("fp", negatives))
        )
    tpr0, fpr0 = (np.concatenate([[0.0], rate[:-1]]) for rate in (tpr, fpr))
    tpr0[start] = fpr0[start] = 0.0
    tied = np.insert(tied, end, complete)
    score = np.insert(ascending["threshold"].to_numpy()[::-1], end, -np.inf) if of_scores else np.empty(0)
    worth = _worth(ascending, kept, end) if _WORTH[0] in ascending.columns else None
    rows_of = positives.astype(np.float64), negatives.astype(np.float64)
    return Curves(lowest.select(keys), start, size, tpr0, tpr, fpr0, fpr, tied, *rows_of, worth, score)


def _worth(ascending: pl.DataFrame, kept: slice | Rows, end: Rows) -> tuple[Floats, Floats]:
    """Return the effective rows of each class at each step; the last step of a group repeats the previous."""
    known = ascending.select(_WORTH).fill_null(0.0)[kept].to_numpy()[::-1]
    positives, negatives = (np.insert(rows, end, rows[end - 1]) for rows in known.T)
    return positives, negatives


def _corners(tp: NDArray[np.generic], first: Rows) -> tuple[Rows, Rows]:
    """Return the rows at which TP changes or a group ends, and the first of them in each group.

    Where positives are rare this drops most rows, which only add false positives.
    """
    kept = np.ones(len(tp), np.bool_)
    changes = tp[1:] != tp[:-1]
    np.logical_or(changes[1:], changes[:-1], out=kept[1:-1])
    kept[first] = kept[first - 1] = True
    rows = np.flatnonzero(kept)
    return rows, np.searchsorted(rows, first)
