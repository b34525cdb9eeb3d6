"""Counts of the members of a group, such as segments -> the rows of each member in the bins of the group."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.counts.exact_sums import rows_of_thresholds
from nci_frames.evaluation.arrays.buckets import BucketCounts, sparse_rows
from nci_frames.evaluation.arrays.histograms import Histogram


class Members(NamedTuple):
    """The rows of all members of a group, by class: positives, then negatives."""

    #: Rows, or sums of weights: sparse, of shape (members, bins), highest scores first.
    classes: Sequence[Any]
    #: Number of rows of each member, and the equivalent number of equal weight.
    drawn: Sequence[Floats]
    even: Sequence[Floats]
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
        member = np.repeat(np.arange(len(first)), np.diff(first, append=len(counts)) + 1)
        bins = np.insert(pooled.bins_of(counts["threshold"].to_numpy()), first, len(pooled.thresholds))
        classes = []
        for hit, missed in (("tp", "fn"), ("fp", "tn")):
            here = rows_of_thresholds(counts[hit].to_numpy(), first)
            rows = np.insert(here, first, counts[missed].to_numpy()[first])
            classes.append(sparse_rows(rows, (member, bins), (len(first), len(pooled.positives))))
        sizes = [rows.sum(axis=1) for rows in classes]
        return cls(classes, sizes, sizes)

    @classmethod
    def of_buckets(cls, counted: Sequence[BucketCounts], pooled: Histogram) -> Self:
        """Read counts by buckets of units; *pooled* has the rows of all members."""
        bins = [each.histogram.places_in(pooled) for each in counted]
        cells = np.repeat(np.arange(len(counted)), [len(each) for each in bins]), np.concatenate(bins)
        both = zip(*(each.histogram.classes for each in counted), strict=True)
        shape = len(counted), len(pooled.positives)
        classes = [sparse_rows(np.concatenate(rows), cells, shape) for rows in both]
        drawn, even = (np.array([getattr(each, name) for each in counted]).T for name in ("drawn", "even"))
        return cls(classes, [*drawn.astype(np.float64)], [*even], counted, bins)

    def by_bucket(self, of_class: int, cell: Rows, members: Rows) -> list[Any]:
        """Return the rows of a class by bucket and cell, as a sparse array for each of some members.

        The list is empty if rows are independent.
        """
        cells, some = int(cell.max(initial=0)) + 1, members if self.buckets else ()
        return [by_cell(self.buckets[one].classes[of_class], cell[self.bins[one]], cells) for one in some]


def by_cell(rows: Any, cell: Rows, cells: int) -> Any:
    """Return sparse rows by cell, given the cell of each bin."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (slow to import, and seldom needed)

    return rows @ csr_array((np.ones(len(cell)), cell, np.arange(len(cell) + 1)), (len(cell), cells))


def stacked(by_bucket: Sequence[Any]) -> Any:
    """Return sparse arrays of one shape as one array, for ``sum_of_some``."""
    from scipy.sparse import vstack  # noqa: PLC0415  (slow to import, and seldom needed)

    return vstack(by_bucket, format="csr")


def sum_of_some(arrays: Any, some: Flags) -> Floats:
    """Return the sum of some of the stacked arrays; adding them one by one takes ten times as long."""
    from scipy.sparse import eye_array, kron  # noqa: PLC0415  (slow to import, and seldom needed)

    chosen = kron(some[None].astype(np.float64), eye_array(arrays.shape[0] // len(some)))
    return np.asarray((chosen @ arrays).toarray())
