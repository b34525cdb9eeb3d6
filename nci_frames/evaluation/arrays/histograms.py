"""Counts -> how many rows of each class lie between neighbouring thresholds, group by group."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import named_values
from nci_frames.base.typing import Floats, Frame, Rows
from nci_frames.counts.pooling import without_rates
from nci_frames.counts.resolution import in_precision_of, runs_with_every_score
from nci_frames.schemas import CELLS, COUNTS, RATES, collect, in_runs


class Histogram(NamedTuple):
    """The rows of one group, by class and by bin, highest scores first.

    The rows of bin i reach ``thresholds[i]`` and no higher one; rows of the last bin reach no threshold.
    """

    #: One row: the model and the keys.
    group: pl.DataFrame
    #: Descending; one fewer than bins.
    thresholds: Floats
    positives: Rows
    negatives: Rows
    #: Whether every distinct score is a threshold, so that the counts determine the decisions at any
    #: threshold.
    every_score: bool

    @property
    def histogram(self) -> "Histogram":
        """Itself, as ``BucketCounts`` and ``StrataCounts`` have a histogram."""
        return self

    @property
    def heaviest(self) -> tuple[float, float]:
        """Largest weight of a positive, and of a negative."""
        return 1, 1

    @property
    def where(self) -> str:
        """The group's name for messages."""
        return named_values(self.group.row(0, named=True))

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of positives and negatives; of strata, sums of weights."""
        return self.positives.sum().item(), self.negatives.sum().item()

    @property
    def classes(self) -> tuple[Rows, Rows]:
        """Positives and negatives of each bin."""
        return self.positives, self.negatives

    def labelled(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return *table* with the group's model and keys as first columns."""
        return self.group[np.zeros(len(table), np.int64)].hstack(table)

    @property
    def observed_prevalence(self) -> float:
        """Share of positives; NaN without rows."""
        positives, negatives = self.sizes
        return positives / (positives + negatives) if positives + negatives else float("nan")

    def reached(self, thresholds: Sequence[float] | Floats) -> Rows:
        """Return the number of bins that are decided positive at each threshold.

        Raises
        ------
        ParameterError
            If a threshold was not counted, and the counts do not have every score.
        """
        unknown = [] if self.every_score else np.setdiff1d(thresholds, self.thresholds).tolist()
        if unknown:
            raise ParameterError(f"{unknown[0]:g} is not one of the counted thresholds", where=self.where)
        asked = np.asarray(thresholds, np.float64)
        at = in_precision_of(self.thresholds, asked) if self.every_score else asked
        # Reversed, the thresholds ascend: a view, no copy.
        lower = np.searchsorted(self.thresholds[::-1], at, side="left")
        return np.asarray(len(self.thresholds) - lower)

    def places_in(self, pooled: "Histogram") -> Rows:
        """Return the bin of *pooled* for each bin; *pooled* has all thresholds of this histogram."""
        if len(self.thresholds) == len(pooled.thresholds):
            return np.arange(len(self.thresholds) + 1)
        return np.append(pooled.bins_of(self.thresholds), len(pooled.thresholds))

    def bins_of(self, thresholds: Floats) -> Rows:
        """Return the bin that begins at each of some thresholds, all of which are its own."""
        # Ascending its own are as they were counted, which takes no memory.
        return np.asarray(len(self.thresholds) - 1 - np.searchsorted(self.thresholds[::-1], thresholds))

    def coarser(self, thresholds: Sequence[float] | Floats, *, every_score: bool = False) -> "Histogram":
        """Return the histogram whose bins lie between *thresholds*.

        It is valid only at these thresholds; with *every_score* they stand for all scores.
        """
        descending = np.sort(np.asarray(thresholds, np.float64))[::-1]
        ends = np.append(self.reached(descending), len(self.positives))
        positives, negatives = (
            np.diff(np.append(0, np.cumsum(rows))[ends], prepend=0) for rows in self.classes
        )
        return Histogram(self.group, descending, positives, negatives, every_score)


def whole_counts(counts: Frame) -> pl.DataFrame:
    """Return checked counts of rows, without the columns that rates add.

    Groups may be strata, with the key ``weight``; the caller multiplies by it.

    Raises
    ------
    ParameterError
        If the counts are sums of weights, or null.
    SchemaError
        If *counts* is not a counts frame.
    """
    frame = collect(counts, COUNTS, strata=True)
    named = ("model", *RATES.keys(frame.columns), "threshold", *CELLS)
    frame = without_rates(frame).select(*named, pl.col("^resolution$"))
    cells = frame.select(CELLS)
    if not all(dtype.is_integer() for dtype in cells.dtypes):
        msg = "sampling needs whole rows, but these counts are sums of weights"
        hint = "cast numbers of rows to Int64, or count without the weight column"
        raise ParameterError(msg, found=str(dict(cells.schema)), hint=hint)
    if any(cells.null_count().row(0)):
        raise ParameterError("counts must not be null", hint="remove the operating points that have a reason")
    return frame


def each_histogram(counts: pl.DataFrame) -> Iterator[Histogram]:
    """Yield the histogram of each group of whole counts, sorted by keys.

    Histograms are made one at a time, since all together take as much memory as the counts.
    """
    keys = ["model", *COUNTS.keys(counts.columns)]
    frame, first = in_runs(counts, keys)
    # A column of several chunks stays in Polars and is copied group by group; NumPy would copy it whole.
    columns = [
        frame[name] if frame.n_chunks() > 1 else frame[name].to_numpy() for name in ("threshold", "tp", "fp")
    ]
    lowest, ends = frame[first], np.append(first, len(frame))
    sizes = [(lowest[hit] + lowest[missed]).to_numpy() for hit, missed in (("tp", "fn"), ("fp", "tn"))]
    every_score = runs_with_every_score(frame, first)
    for place, group in enumerate(lowest.select(keys).iter_slices(1)):
        falling, *reached = (np.asarray(column[ends[place] : ends[place + 1]])[::-1] for column in columns)
        positives, negatives = (
            np.diff(hits, prepend=0, append=size[place]) for hits, size in zip(reached, sizes, strict=True)
        )
        yield Histogram(group, falling, positives, negatives, bool(every_score[place]))
