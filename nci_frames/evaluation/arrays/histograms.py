"""Counts -> how many rows of each class lie between neighbouring thresholds, group by group."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Frame, Rows
from nci_frames.counts.resolution import in_precision_of, runs_with_every_score
from nci_frames.schemas import CELLS, COUNTS, RATES, collect, in_runs


@dataclass(frozen=True, slots=True)
class Histogram:
    """The rows of one group, by class and by bin, highest scores first.

    The rows of bin i reach ``thresholds[i]`` and no higher one; the last bin has those that reach none.
    """

    #: The model and the keys: one row.
    group: pl.DataFrame
    #: Descending; one fewer than there are bins.
    thresholds: Floats
    positives: Rows
    negatives: Rows
    #: Whether every distinct score is one of the thresholds, so that the counts determine the decisions at
    #: any threshold.
    every_score: bool

    @property
    def histogram(self) -> "Histogram":
        """Itself: counts by buckets, or by strata, have one beside their own rows."""
        return self

    @property
    def heaviest(self) -> tuple[float, float]:
        """What the heaviest positive weighs, and the heaviest negative."""
        return 1, 1

    @property
    def where(self) -> str:
        """The group's name for messages."""
        return ", ".join(f"{key} {value!r}" for key, value in self.group.row(0, named=True).items())

    @property
    def sizes(self) -> tuple[int, int]:
        """The rows of all bins: positives, and negatives."""
        # Of strata they are sums of weights.
        return self.positives.sum().item(), self.negatives.sum().item()

    @property
    def classes(self) -> tuple[Rows, Rows]:
        """The rows of each bin: positives, and negatives."""
        return self.positives, self.negatives

    def labelled(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return *table* with the group's model and keys before its columns."""
        return self.group[np.zeros(len(table), np.int64)].hstack(table)

    @property
    def observed_prevalence(self) -> float:
        """Positives among all rows; NaN where there are none."""
        positives, negatives = self.sizes
        return positives / (positives + negatives) if positives + negatives else float("nan")

    def reached(self, thresholds: Sequence[float] | Floats) -> Rows:
        """Return, for each threshold asked for, how many bins are positive decisions at it.

        Raises
        ------
        ParameterError
            If a threshold was not counted, and other scores may lie beside it.
        """
        unknown = [] if self.every_score else np.setdiff1d(thresholds, self.thresholds).tolist()
        if unknown:
            msg = f"{unknown[0]:g} is not one of the counted thresholds"
            raise ParameterError(msg, where=self.where)
        # Ascending they are as they were counted, which takes no memory.
        asked = np.asarray(thresholds, np.float64)
        at = in_precision_of(self.thresholds, asked) if self.every_score else asked
        lower = np.searchsorted(self.thresholds[::-1], at, side="left")
        return np.asarray(len(self.thresholds) - lower)

    def places_in(self, pooled: "Histogram") -> Rows:
        """Return the bin of *pooled*, which has all thresholds of this one, that each bin belongs to."""
        if len(self.thresholds) == len(pooled.thresholds):
            return np.arange(len(self.thresholds) + 1)
        places = pooled.reached(self.thresholds) - 1
        return np.append(places, len(pooled.thresholds))

    def condensed(self) -> "Histogram":
        """Merge neighbouring bins without positives: no area depends on which of them holds a negative."""
        lone = self.positives == 0
        kept = np.flatnonzero(~(lone[:-1] & lone[1:]))
        return self.coarser(self.thresholds[kept])

    def coarser(self, thresholds: Sequence[float] | Floats, *, every_score: bool = False) -> "Histogram":
        """Return the histogram whose bins lie between *thresholds*.

        It can only be used at the thresholds that were kept; with *every_score* they stand for all scores.
        """
        descending = np.sort(np.asarray(thresholds, np.float64))[::-1]
        ends = np.append(self.reached(descending), len(self.positives))
        positives, negatives = (
            np.diff(np.append(0, np.cumsum(rows))[ends], prepend=0)
            for rows in (self.positives, self.negatives)
        )
        return Histogram(self.group, descending, positives, negatives, every_score)


def whole_counts(counts: Frame) -> pl.DataFrame:
    """Return checked counts of rows, without the columns that rates add to counts.

    Their groups may be strata, with the key ``weight``: the caller multiplies by it.

    Raises
    ------
    ParameterError
        If the counts are sums of weights, or null.
    SchemaError
        If *counts* is not a counts frame.
    """
    frame = collect(counts, COUNTS, strata=True)
    keys = RATES.keys(frame.columns)
    frame = frame.select("model", *keys, "threshold", "tp", "fp", "fn", "tn", pl.col("^resolution$"))
    cells = frame.select(CELLS)
    if not all(dtype.is_integer() for dtype in cells.dtypes):
        msg = "sampling needs whole rows, but these counts are sums of weights"
        raise ParameterError(msg, found=str(dict(cells.schema)), hint="count without the weight column")
    if any(cells.null_count().row(0)):
        raise ParameterError("counts must not be null", hint="remove the operating points that have a reason")
    return frame


def histograms(counts: pl.DataFrame) -> tuple[pl.DataFrame, Callable[[int], Histogram]]:
    """Return the groups of whole counts, sorted by their keys, and what makes the histogram of one of them.

    Each is made when it is asked for: all of them take as much memory as the counts.
    """
    keys = ["model", *COUNTS.keys(counts.columns)]
    frame, first = in_runs(counts, keys)
    # NumPy would copy a column of several chunks whole: it is copied group by group.
    columns = [
        frame[name] if frame.n_chunks() > 1 else frame[name].to_numpy() for name in ("threshold", "tp", "fp")
    ]
    lowest = frame[first]
    groups, ends = lowest.select(keys), np.append(first, len(frame))
    sizes = [(lowest[hit] + lowest[missed]).to_numpy() for hit, missed in (("tp", "fn"), ("fp", "tn"))]
    every_score = runs_with_every_score(frame, first)

    def of_group(place: int) -> Histogram:
        rows = slice(ends[place], ends[place + 1])
        falling, *reached = (np.asarray(column[rows])[::-1] for column in columns)
        positives, negatives = (
            np.diff(hits, prepend=0, append=size[place]) for hits, size in zip(reached, sizes, strict=True)
        )
        return Histogram(groups[place], falling, positives, negatives, bool(every_score[place]))

    return groups, of_group


def each_histogram(counts: pl.DataFrame) -> Iterator[Histogram]:
    """Yield the histograms of all groups of whole counts, sorted by their keys."""
    groups, of_group = histograms(counts)
    return map(of_group, range(len(groups)))
