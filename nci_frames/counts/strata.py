"""Counts of strata -> sums of weights. The key ``weight`` is the weight of each row of a group.

A log of rare events is often down-sampled, for example to all positives and one in a hundred negatives with
weight 100. Rows with the same weight are a stratum. Its counts are whole rows, whose sums do not depend on
the order; multiplying by the weight comes last.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import named_values
from nci_frames.base.typing import Floats, Rows
from nci_frames.counts.exact_sums import Merged, merged
from nci_frames.counts.resolution import runs_with_every_score
from nci_frames.counts.sums import check_sums
from nci_frames.schemas import CELLS, COUNTS, WEIGHT, group_starts, has_strata, in_runs

#: Extended precision, so that sums of weights are correct up to their final rounding.
Wide = NDArray[np.longdouble]


#: Relative resolution of Float64.
_NOTHING = 1e-16


def weighted_sums(counts: pl.DataFrame) -> pl.DataFrame:
    """Return counts without the key ``weight``, as sums of weights if they have it.

    Each sum is rounded once.

    Raises
    ------
    ParameterError
        If the strata of a group have different grids of thresholds.
    """
    return Strata.of(counts).sums() if has_strata(counts) else counts


@dataclass(frozen=True, slots=True)
class Strata:
    """Sorted counts of strata, and the merged thresholds of each group."""

    #: Counts by group, weight and threshold, without columns of rates.
    counts: pl.DataFrame
    #: First row of each stratum; first stratum of each group.
    first: Rows
    begins: Rows
    #: Model and keys of each group.
    groups: pl.DataFrame
    #: Merged thresholds of each group.
    together: Merged

    @classmethod
    def of(cls, counts: pl.DataFrame) -> "Strata":
        """Sort checked counts with the key ``weight``.

        Raises
        ------
        ParameterError
            If the strata of a group have different grids of thresholds.
        """
        keys = ["model", *(key for key in COUNTS.keys(counts.columns) if key != WEIGHT)]
        frame, first = in_runs(counts.drop(COUNTS.derived, strict=False).rechunk(), [*keys, WEIGHT])
        heads = frame[first].select(keys)
        begins = group_starts(heads, keys)
        together = merged(frame["threshold"].to_numpy(), first, begins)
        return cls(frame, first, begins, heads[begins], together)

    def __post_init__(self) -> None:
        """Raise ParameterError if the strata of a group on a grid have different thresholds."""
        exact = np.logical_and.reduceat(runs_with_every_score(self.counts, self.first), self.begins)
        thresholds = np.bincount(self.together.group, minlength=len(self.begins))
        each = np.diff(self.first, append=len(self.counts)) == np.repeat(thresholds, self.sizes)
        wrong = np.flatnonzero(~exact & ~np.logical_and.reduceat(each, self.begins))
        if len(wrong):
            msg, where = "the weights of a group have different thresholds", self.groups[wrong[:1]]
            hint = 'count with the same thresholds, or with thresholds="exact"'
            raise ParameterError(msg, where=named_values(where.row(0, named=True)), hint=hint)

    @property
    def sizes(self) -> Rows:
        """Number of strata of each group."""
        return np.diff(self.begins, append=len(self.first))

    @property
    def weight(self) -> Floats:
        """Weight of each stratum."""
        return self.counts[WEIGHT].gather(self.first).to_numpy()

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """Numbers of positives and negatives of each stratum."""
        cells = {cell: self.counts[cell].gather(self.first).to_numpy() for cell in CELLS}
        return cells["tp"] + cells["fn"], cells["fp"] + cells["tn"]

    def each_row(self, of_stratum: NDArray[Any]) -> NDArray[Any]:
        """Repeat the value of each stratum for each of its rows."""
        return np.repeat(of_stratum, np.diff(self.first, append=len(self.counts)))

    def added(self, reached: NDArray[Any]) -> Wide:
        """Return the sum over the strata at each threshold of each group.

        Parameters
        ----------
        reached
            Cumulative values: for each row of the counts, the sum over the scores >= its threshold.
        """
        return self.together.sums(reached.astype(np.longdouble))

    def total(self, of_stratum: NDArray[Any]) -> Wide:
        """Return the sum over the strata of values that do not depend on the threshold, at each threshold."""
        wide = of_stratum.astype(np.longdouble)
        return np.asarray(np.add.reduceat(wide, self.begins))[self.together.group]

    def rest(self, reached: Wide, total: Wide) -> Wide:
        """Return *total* - *reached*; differences below the resolution of Float64 become 0."""
        rest = total - reached
        return np.asarray(np.where(rest > total * _NOTHING, rest, 0))

    def hits(self, cell: str) -> Wide:
        """Return tp or fp of each row of the counts, in the precision of the sums."""
        return self.counts[cell].to_numpy().astype(np.longdouble)

    def sums(self) -> pl.DataFrame:
        """Return the counts without ``weight``, as sums of weights."""
        weight, columns = self.weight.astype(np.longdouble), {}
        for hit, missed, rows in zip(("tp", "fp"), ("fn", "tn"), self.rows, strict=True):
            reached, total = self.added(self.each_row(weight) * self.hits(hit)), self.total(weight * rows)
            columns[hit] = reached.astype(np.float64)
            columns[missed] = self.rest(reached, total).astype(np.float64)
        columns["threshold"] = self.together.threshold
        table = self.groups[self.together.group].with_columns(**columns)
        if "resolution" in self.counts.columns:
            table = table.with_columns(resolution=self._resolution())
        names = [name for name in self.counts.columns if name != WEIGHT]
        summed = COUNTS.finish(table.select(names))
        check_sums(summed, CELLS, ["model", *COUNTS.keys(summed.columns), "threshold"])
        return summed

    def _resolution(self) -> pl.Series:
        steps = self.together.steps
        words = self.counts["resolution"].gather(self.together.order).rename("word")
        number = np.repeat(np.arange(len(steps)), np.diff(steps, append=len(words)))
        by_threshold = pl.DataFrame({"number": number, "word": words}).group_by("number")
        return by_threshold.agg(pl.col("word").max()).sort("number")["word"]  # "grid" > "exact"
