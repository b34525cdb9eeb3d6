"""Counts of the members of a group, such as segments -> the rows of each member in the bins of the group."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Flags, FloatPair, Floats, Rows
from nci_frames.counts.exact_sums import rows_of_thresholds
from nci_frames.evaluation.arrays.buckets import BucketCounts
from nci_frames.evaluation.arrays.histograms import Histogram


class MemberRows(NamedTuple):
    """The rows of one class by member and bin.

    The entries of a member are adjacent, highest scores first. Bins without rows are omitted, as most members
    have rows in few bins.
    """

    members: int
    member: Rows
    bin: Rows
    rows: NDArray[Any]

    @property
    def sizes(self) -> Floats:
        """Number of rows of each member."""
        return np.bincount(self.member, self.rows, self.members).astype(np.float64)

    def by_cell(self, cell: Rows) -> Floats:
        """Return the rows of each member in each cell, given the cell of each bin."""
        cells = int(cell.max(initial=0)) + 1
        place = self.member * cells + cell[self.bin]
        found = np.bincount(place, self.rows, self.members * cells).reshape(self.members, cells)
        return found.astype(np.float64)

    def only(self, members: Rows) -> "MemberRows":
        """Return the rows of some members, renumbered from 0."""
        number = np.full(self.members, -1)
        number[members] = np.arange(len(members))
        kept = number[self.member] >= 0
        return MemberRows(len(members), number[self.member[kept]], self.bin[kept], self.rows[kept])


class Members(NamedTuple):
    """The rows of all members of a group."""

    #: The positives and the negatives.
    classes: Sequence[MemberRows]
    #: Rows of each member by bucket of units, and the group bin of each of its own bins. Both are empty if
    #: rows are independent.
    buckets: Sequence[BucketCounts] = ()
    bins: Sequence[Rows] = ()

    @classmethod
    def of_counts(cls, counts: pl.DataFrame, first: Rows, pooled: Histogram) -> Self:
        """Read counts that are sorted by member and threshold.

        Each member begins at a row of *first*; *pooled* has the rows of all members.
        """
        # The rows below all thresholds of a member come before its lowest threshold.
        size = np.diff(first, append=len(counts)) + 1
        member = np.repeat(np.arange(len(first)), size)[::-1]
        bins = np.insert(pooled.bins_of(counts["threshold"].to_numpy()), first, len(pooled.thresholds))[::-1]
        both = []
        for hit, missed in (("tp", "fn"), ("fp", "tn")):
            here = rows_of_thresholds(counts[hit].to_numpy(), first)
            rows = np.insert(here, first, counts[missed].to_numpy()[first])[::-1]
            some = np.flatnonzero(rows)
            both.append(MemberRows(len(first), member[some], bins[some], rows[some]))
        return cls(both)

    @classmethod
    def of_buckets(cls, counted: Sequence[BucketCounts], pooled: Histogram) -> Self:
        """Read counts by buckets of units; *pooled* has the rows of all members."""
        bins = [each.histogram.places_in(pooled) for each in counted]
        every, both = np.concatenate(bins), []
        member = np.repeat(np.arange(len(counted)), [len(each) for each in bins])
        for of_class in (0, 1):
            rows = np.concatenate([each.histogram.classes[of_class] for each in counted])
            some = np.flatnonzero(rows)
            both.append(MemberRows(len(counted), member[some], every[some], rows[some]))
        return cls(both, counted, bins)

    def sizes(self, of_class: int) -> FloatPair:
        """Return each member's number of rows of a class, and the equivalent number of equal weight."""
        if not self.buckets:
            sizes = self.classes[of_class].sizes
            return sizes, sizes
        drawn = [each.drawn[of_class] for each in self.buckets]
        worth = [each.even[of_class] for each in self.buckets]
        return np.array(drawn, np.float64), np.array(worth, np.float64)

    def by_bucket(self, of_class: int, cell: Rows, members: Rows | None = None) -> list[Any]:
        """Return the rows of a class by bucket and cell, as a sparse array for each member or some of them.

        The list is empty if rows are independent.
        """
        if not self.buckets:
            return []
        from scipy.sparse import coo_array  # noqa: PLC0415  (slow to import, and seldom needed)

        cells, found = int(cell.max(initial=0)) + 1, []
        for place in range(len(self.buckets)) if members is None else members:
            bins = self.bins[place]
            joined = coo_array((np.ones(len(bins)), (np.arange(len(bins)), cell[bins])), (len(bins), cells))
            found.append(self.buckets[place].classes[of_class] @ joined.tocsr())
        return found


def stacked(by_bucket: Sequence[Any]) -> Any:
    """Return sparse arrays of one shape as one array, for ``sum_of_some``."""
    from scipy.sparse import vstack  # noqa: PLC0415  (slow to import, and seldom needed)

    return vstack(by_bucket, format="csr")


def sum_of_some(arrays: Any, some: Flags) -> Floats:
    """Return the sum of some of the stacked arrays; adding them one by one takes ten times as long."""
    from scipy.sparse import eye_array, kron  # noqa: PLC0415  (slow to import, and seldom needed)

    chosen = kron(some[None].astype(np.float64), eye_array(arrays.shape[0] // len(some)))
    return np.asarray((chosen @ arrays).toarray())
