"""Counts -> the ROC steps of all groups, some groups at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from nci_frames.base.threads import map_in_threads
from nci_frames.base.typing import Flags, FloatPair, Floats, Rows
from nci_frames.counts.resolution import every_row_exact, no_score_below, one_score
from nci_frames.schemas import CELLS, LIGHTEST, NEGATIVES, POSITIVES, group_starts, is_sorted, runs_together

_WORTH = ["effective_positives", "effective_negatives"]
_OF_LOWEST = ["__complete", "__positives", "__negatives", "__one"]

#: Rows of a part, unless a group has more. Larger arrays get fresh memory from the system each time, and
#: clearing it may take longer than the computation.
_ROWS_AT_A_TIME = 1 << 15


_Result = TypeVar("_Result")
#: Rows of some groups, the first row of each, the groups in reverse order, and whether each row is one score.
_Part = tuple[pl.DataFrame, Rows, pl.DataFrame, bool]


@dataclass(frozen=True)
class Curves:
    """ROC steps of some groups: from one point to the next as the threshold falls.

    Only steps in which TPR grows; the others add nothing to an area over TPR. A group without positives has
    one step. Curves with scores have all steps.

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
    #: Least recall of a positive of each group; 0 if it is unknown.
    row: Floats
    #: Effective numbers of positives and negatives at the end of each step, if the counts have them.
    worth: FloatPair | None = None
    #: Lowest score of each step, -inf for the last one; empty without scores.
    score: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def observed_prevalence(self) -> Floats:
        """Share of positives of each group; NaN without rows."""
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
    return Curves(groups, places, places, none, none, none, none, none > 0, none, none, none)


def of_all_parts(
    make: Callable[..., _Result], frames: Sequence[pl.DataFrame], keys: list[str], *, of_scores: bool
) -> list[_Result]:
    """Return what *make* returns: first for no group, then for each part of the groups.

    *make* takes the curves of a part from each of several *frames*, which have the same groups. Each group of
    the curves ends at TPR 1. With *of_scores* all steps are kept, up to (1, 1), and each has its score.
    """

    def of_part(*parts: _Part) -> _Result:
        return make(*(_steps(*part, of_scores=of_scores) for part in parts))

    parts = zip(*(_parts(frame, keys) for frame in frames), strict=True)
    return [make(no_curves(frames[0], keys)), *map_in_threads(of_part, *zip(*parts, strict=True))]


def _parts(frame: pl.DataFrame, keys: list[str]) -> Iterator[_Part]:
    first = group_starts(frame, keys)
    if not is_sorted(frame, keys, first):
        frame = frame.sort(*keys, "threshold", maintain_order=True)
        first = group_starts(frame, keys)
    # The last group first, as steps are in reverse order of the rows. Column by column, since a gather on the
    # frame would rechunk every column first.
    one = [LIGHTEST] if LIGHTEST in frame.columns else []
    lowest = pl.DataFrame([frame[name].gather(first[::-1]) for name in (*keys, *CELLS, *one)])
    groups = lowest.select(
        *keys, __complete=no_score_below(), __positives=POSITIVES, __negatives=NEGATIVES,
        __one=pl.col(LIGHTEST) if one else float(frame.schema["tp"].is_integer()),
    )  # fmt: skip
    exact = every_row_exact(frame)
    ends = np.append(first[1:], len(frame))
    for part in runs_together(first, _ROWS_AT_A_TIME):
        begin, end = int(first[part.start]), int(ends[part.stop - 1])
        mine = groups[len(first) - part.stop : len(first) - part.start]
        yield frame[begin:end], first[part] - begin, mine, exact


def _steps(
    ascending: pl.DataFrame, first: Rows, groups: pl.DataFrame, exact: bool, *, of_scores: bool
) -> Curves:
    """Return the curves of *groups*, in reverse order, whose thresholds ascend from each first row on."""
    hits = {name: ascending[name].to_numpy() for name in ("tp", "fp")}
    complete, positives, negatives, one = (groups[name].to_numpy() for name in _OF_LOWEST)
    top = np.append(first[1:], len(ascending)) - 1
    kept = np.ones(len(ascending), np.bool_)
    below = np.ones(len(first), np.bool_)
    if not of_scores:
        # NaN, of a band without bounds, is kept.
        tp = hits["tp"]
        kept[:-1] = ~(tp[:-1] <= tp[1:])
        kept[top] = ~(tp[top] <= 0)
        below = ~(positives <= tp[first][::-1]) | (positives == 0)
    rows = np.flatnonzero(kept)
    size = np.diff(np.searchsorted(rows, first), append=len(rows))[::-1] + below
    start = np.cumsum(size) - size
    # The last step of a group goes from its lowest threshold, whose row is repeated, to "all are positive".
    last = (start + size - 1)[below]
    rows = np.insert(rows[::-1], last - np.arange(len(last)), first[::-1][below])
    before = rows + 1
    before[last] -= 1
    opening = start[(rows[start] == top[::-1]) & ~(below & (size == 1))]
    before[opening] = 0

    def ends(of: NDArray[Any], all_rows: NDArray[Any]) -> FloatPair:
        # Sums of weights are rounded: only all rows themselves are exactly the share 1.
        shares = _with(of[before], opening, 0), _with(of[rows], last, all_rows[below])
        if len(all_rows) == 1:
            return shares[0] / all_rows, shares[1] / all_rows
        each = np.repeat(all_rows, size)
        return shares[0] / each, shares[1] / each

    (tpr0, tpr), (fpr0, fpr) = ends(hits["tp"], positives), ends(hits["fp"], negatives)
    if exact:
        tied = np.ones(len(rows), np.bool_)
    else:
        # With "tp", so that there are all rows even without "resolution".
        known = ascending.select(cs.by_name("tp", "resolution", require_all=False).gather(rows))
        tied = known.with_columns(one_score(known.columns).alias("tp"))["tp"].to_numpy()
    tied = _with(tied, last, complete[below])
    score = _with(ascending["threshold"].to_numpy()[rows], last, -np.inf) if of_scores else np.empty(0)
    worth = None
    if _WORTH[0] in ascending.columns:
        known = ascending.select(pl.col(_WORTH).fill_null(0.0).gather(rows))
        worth = known[_WORTH[0]].to_numpy(), known[_WORTH[1]].to_numpy()
    rows_of = positives.astype(np.float64), negatives.astype(np.float64)
    row = np.divide(one, positives, out=np.zeros(len(one)), where=positives > 0)
    keys = [name for name in groups.columns if name not in _OF_LOWEST]
    return Curves(groups[keys], start, size, tpr0, tpr, fpr0, fpr, tied, *rows_of, row, worth, score)


def _with(steps: NDArray[Any], places: Rows, values: object) -> NDArray[Any]:
    steps[places] = values
    return steps
