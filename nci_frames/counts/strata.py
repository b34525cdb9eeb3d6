"""Counts of strata -> sums of weights: the key ``weight`` says what each row of a group stands for.

A log of rare events is often down-sampled: every positive, and one in a hundred negatives with weight 100.
Rows of one weight are one stratum. Its counts are whole rows, which are added in any order; sums of weights
are made of them last.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counts.exact_sums import Merged, merged
from nci_frames.counts.resolution import runs_with_every_score
from nci_frames.counts.sums import check_sums
from nci_frames.schemas import CELLS, COUNTS, WEIGHT, group_starts, has_strata, in_runs

Rows = NDArray[np.int64]
#: In extended precision, in which sums of weights miss by no more than their rounding.
Wide = NDArray[np.longdouble]


#: The share of a sum that Float64 does not resolve.
_NOTHING = 1e-16


def weighted_sums(counts: pl.DataFrame) -> pl.DataFrame:
    """Return counts without the key ``weight``: sums of weights, if they have it.

    Each sum is rounded once.

    Raises
    ------
    ParameterError
        If the strata of a group have different thresholds of a grid.
    """
    return Strata.of(counts).sums() if has_strata(counts) else counts


@dataclass(frozen=True, slots=True)
class Strata:
    """Counts of strata, sorted, and the thresholds of each group of them together."""

    #: By group, weight and threshold, without what rates add.
    counts: pl.DataFrame
    #: The first row of each stratum; the first stratum of each group.
    first: Rows
    begins: Rows
    #: The model and keys of each group.
    groups: pl.DataFrame
    #: The thresholds of each group.
    together: Merged

    @classmethod
    def of(cls, counts: pl.DataFrame) -> "Strata":
        """Sort checked counts that have the key ``weight``.

        Raises
        ------
        ParameterError
            If the strata of a group have different thresholds of a grid.
        """
        keys = ["model", *(key for key in COUNTS.keys(counts.columns) if key != WEIGHT)]
        frame, first = in_runs(counts.drop(COUNTS.derived, strict=False).rechunk(), [*keys, WEIGHT])
        heads = frame[first].select(keys)
        begins = group_starts(heads, keys)
        together = merged(frame["threshold"].to_numpy(), first, begins)
        found = cls(frame, first, begins, heads[begins], together)
        found._need_same_thresholds()
        return found

    def _need_same_thresholds(self) -> None:
        if not len(self.begins):
            return
        exact = np.logical_and.reduceat(runs_with_every_score(self.counts, self.first), self.begins)
        thresholds = np.bincount(self.together.group, minlength=len(self.begins))
        each = np.diff(self.first, append=len(self.counts)) == np.repeat(thresholds, self.sizes)
        wrong = np.flatnonzero(~exact & ~np.logical_and.reduceat(each, self.begins))
        if len(wrong):
            named = self.groups.row(int(wrong[0]), named=True)
            raise ParameterError(
                "the weights of a group have different thresholds",
                where=", ".join(f"{key} {value!r}" for key, value in named.items()),
                hint='count with the same thresholds, or with thresholds="exact"',
            )

    @property
    def sizes(self) -> Rows:
        """How many strata each group has."""
        return np.diff(self.begins, append=len(self.first))

    @property
    def weight(self) -> Floats:
        """The weight of each stratum."""
        return self.counts[WEIGHT].gather(self.first).to_numpy()

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """The positives and the negatives of each stratum."""
        cells = {cell: self.counts[cell].gather(self.first).to_numpy() for cell in CELLS}
        return cells["tp"] + cells["fn"], cells["fp"] + cells["tn"]

    def each_row(self, of_stratum: NDArray[Any]) -> NDArray[Any]:
        """Return a value of every stratum for each row of the counts."""
        return np.repeat(of_stratum, np.diff(self.first, append=len(self.counts)))

    def added(self, reached: NDArray[Any]) -> Wide:
        """Return the sums over the strata of a group, at each of its thresholds.

        Parameters
        ----------
        reached
            For each row of the counts, what the scores from its threshold up add to: 0 above all of them.
        """
        return self.together.sums(reached.astype(np.longdouble))

    def total(self, of_stratum: NDArray[Any]) -> Wide:
        """Return the sums over the strata of a group, at each of its thresholds, of what does not vary."""
        wide = of_stratum.astype(np.longdouble)
        return np.asarray(np.add.reduceat(wide, self.begins))[self.together.group]

    def rest(self, reached: Wide, total: Wide) -> Wide:
        """Return what is left of sums; less than Float64 resolves of a sum is rounding."""
        rest = total - reached
        return np.asarray(np.where(rest > total * _NOTHING, rest, 0))

    def hits(self, cell: str) -> Wide:
        """Return tp or fp of each row of the counts, in the precision of sums."""
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
        steps, words = (
            self.together.steps,
            self.counts["resolution"].gather(self.together.order).rename("word"),
        )
        number = np.repeat(np.arange(len(steps)), np.diff(steps, append=len(words)))
        by_threshold = pl.DataFrame({"number": number, "word": words}).group_by("number")
        return by_threshold.agg(pl.col("word").max()).sort("number")["word"]  # "grid" > "exact"
