"""Counts by bucket of units, or by weight -> rows per bucket (or weight) and bin, as sparse arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.base.errors import InvalidRowsError, ParameterError
from nci_frames.base.messages import Call
from nci_frames.base.typing import FloatPair, Floats, Rows
from nci_frames.counts.exact_sums import rows_of_thresholds
from nci_frames.counts.pooling import pooled_counts
from nci_frames.counts.resolution import runs_with_every_score
from nci_frames.evaluation.arrays.histograms import Histogram, each_histogram
from nci_frames.schemas import COUNTS, WEIGHT, beside, group_starts, has_strata, in_runs


class BucketCounts(NamedTuple):
    """The rows of one group, by class, bucket and bin, highest scores first."""

    #: All buckets together.
    histogram: Histogram
    #: Rows, or sums of weights, of positives and negatives: sparse, of shape (buckets, bins). All groups have
    #: the same buckets.
    classes: Sequence[Any]
    #: Largest weight of a positive, and of a negative.
    heaviest: Sequence[float]
    #: Effective numbers of positives and negatives by weight: (Σw)²/Σw² (Kish).
    even: Sequence[float]
    #: Numbers of positives and negatives, unweighted.
    drawn: Sequence[int]
    #: Weight of the heaviest row if weights differ within a class, else 0.
    mixed: float = 0.0

    @property
    def buckets(self) -> int:
        """Number of buckets, including those without rows of the group."""
        return int(self.classes[0].shape[0])

    @property
    def rows(self) -> FloatPair:
        """The positives and the negatives of each bucket."""
        return self.classes[0].sum(axis=1), self.classes[1].sum(axis=1)

    @property
    def sizes(self) -> Sequence[float]:
        """Effective numbers of buckets with positives and with negatives; see ``even_buckets``."""
        return [float(even_buckets(of_class)) for of_class in self.rows]

    def taken(self, times: Floats) -> Sequence[Rows]:
        """Return positives and negatives by bin of logs that have each bucket the given number of *times*."""
        # Sums of whole numbers below 2^53 are exact in Float64.
        kind = self.histogram.positives.dtype
        return [(of_class.T @ times.T).T.astype(kind) for of_class in self.classes]

    def coarser(self, thresholds: Sequence[float] | Floats, *, every_score: bool = False) -> "BucketCounts":
        """Return the counts with bins between *thresholds*; see ``Histogram.coarser``."""
        histogram = self.histogram.coarser(thresholds, every_score=every_score)
        bins = self.classes[0].shape[1]
        ends = np.append(self.histogram.reached(histogram.thresholds), bins)
        place = np.searchsorted(ends, np.arange(bins), side="right")
        moved = []
        for of_class in self.classes:
            # Renumber the bins; ``sparse_rows`` adds rows of merged bins.
            cells, shape = of_class.tocoo(), (self.buckets, len(ends))
            moved.append(sparse_rows(cells.data, (cells.row, place[cells.col]), shape))
        return self._replace(histogram=histogram, classes=moved)


def even_buckets(rows: Floats) -> Floats:
    """Return sum(n)²/sum(n²) of rows per bucket, along the last axis: their number if all are equal.

    It is rounded, so that ten equal sums of weights are not fewer than ten buckets.
    """
    squares = np.asarray((rows**2).sum(axis=-1), np.float64)
    even: Floats = np.divide(rows.sum(axis=-1) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    return np.round(even, 9)


def bucket_counts(counts: pl.DataFrame, units: str, *, least: int = LEAST_BUCKETS) -> list[BucketCounts]:
    """Return the rows of each group of whole counts by bucket, in the order of the keys.

    The key *units* names the buckets, at least *least* of them. Rows of strata are weighted.

    Raises
    ------
    ParameterError
        If there are too few buckets, or buckets with different threshold grids.
    SchemaError
        If the counts lack the key.
    InvalidRowsError
        If there are rows without a bucket.
    """
    COUNTS.need_keys(counts, [units], "units")
    need_every_unit(counts[units])
    buckets = counts[units].unique().sort()
    if len(counts):
        need_buckets(units, len(buckets), least)
    apart = [units, *([WEIGHT] if units != WEIGHT and has_strata(counts) else [])]
    group = ["model", *(key for key in COUNTS.keys(counts.columns) if key not in apart)]
    counts, first = in_runs(counts, [*group, *apart])
    heads = counts[first].select(*group, *apart)
    weighing = heads[WEIGHT].to_numpy() if len(apart) > 1 else None
    size = np.diff(first, append=len(counts))
    places = pl.DataFrame({units: buckets}).with_row_index("__place")
    bucket = beside(heads, places, units)["__place"].to_numpy()
    every, groups = runs_with_every_score(counts, first), heads.select(group)
    found = []
    borders = group_starts(heads, group)
    for begin, end in zip(borders, np.append(borders, len(heads))[1:], strict=True):
        start, stop = first[begin], first[end] if end < len(first) else len(counts)
        threshold = counts["threshold"][start:stop].to_numpy()
        bins = np.unique(threshold)[::-1]
        every_score = bool(every[begin:end].all())
        if not every_score and (size[begin:end] != len(bins)).any():
            # Different grids cannot be added: raise the error of ``pooled_counts``.
            pooled_counts(counts, over=apart)
        place = np.searchsorted(-bins, -threshold)
        lowest = first[begin:end] - start
        weights = None if weighing is None else weighing[begin:end]
        classes, totals, heaviest, even, drawn, mixed = [], [], [], [], [], 0.0
        for hit, missed in (("tp", "fn"), ("fp", "tn")):
            reached, rest = (counts[name][start:stop].to_numpy() for name in (hit, missed))
            rows = np.append(rows_of_thresholds(reached, lowest), rest[lowest])
            cells = (
                np.append(np.repeat(bucket[begin:end], size[begin:end]), bucket[begin:end]),
                np.append(place, np.full(end - begin, len(bins))),
            )
            of_class = reached[lowest] + rest[lowest]
            if weights is not None:
                rows = rows * np.append(np.repeat(weights, size[begin:end]), weights)
            heaviest.append(1.0 if weights is None else float(weights[of_class > 0].max(initial=0.0)))
            even.append(_even(of_class, weights))
            if weights is not None and len(np.unique(weights[(of_class > 0) & (weights > 0)])) > 1:
                mixed = float(weights.max())
            drawn.append(int(of_class.sum()))
            classes.append(sparse_rows(rows, cells, (len(buckets), len(bins) + 1)))
            total = np.bincount(cells[1], rows, len(bins) + 1)
            totals.append(total.astype(np.int64) if weights is None else total)
        histogram = Histogram(groups[int(begin)], bins, totals[0], totals[1], every_score)
        found.append(BucketCounts(histogram, classes, heaviest, even, drawn, mixed))
    return found


def _even(rows: Floats | Rows, weights: Floats | None) -> float:
    if weights is None:
        return float(rows.sum())
    squares = float(weights**2 @ rows)
    return round(float(weights @ rows) ** 2 / squares, 9) if squares > 0 else 0.0


def need_every_unit(buckets: pl.Series) -> None:
    """Raise InvalidRowsError if rows belong to no unit."""
    if buckets.null_count():
        msg = f"rows without a {buckets.name} cannot be resampled by it"
        hint = "before counting, name the unit of each row, or remove the rows that belong to none"
        raise InvalidRowsError(msg, hint=hint)


def need_buckets(units: str, buckets: int, least: int = LEAST_BUCKETS) -> None:
    """Raise ParameterError if *units* has too few buckets."""
    if buckets < least:
        msg = f"there are too few values of {units!r} to see how they differ"
        in_python = "count by more, e.g. by unit_buckets(predictions, buckets=256)"
        hint = Call(in_python, "give logs with more units")
        raise ParameterError(msg, found=f"{buckets}; {least} are needed", hint=str(hint))


def sparse_rows(rows: NDArray[Any], cells: tuple[NDArray[Any], NDArray[Any]], shape: tuple[int, int]) -> Any:
    """Return a sparse array of shape (buckets, bins): the sums of *rows* at each (bucket, bin) of *cells*."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (slow to import, and seldom needed)

    some = np.flatnonzero(rows)
    bucket, place = (axis[some].astype(np.int64) for axis in cells)
    # Cells come in sorted runs, which a stable sort exploits; SciPy's own ordering is slower.
    order = np.argsort(bucket * shape[1] + place, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(bucket, minlength=shape[0])))
    found = csr_array((rows[some[order]].astype(np.float64), place[order], ends), shape)
    found.sum_duplicates()
    return found


@dataclass(frozen=True)
class StrataCounts:
    """The rows of one group, by class, weight and bin, highest scores first."""

    #: Unweighted rows, with one bucket for each weight.
    rows: BucketCounts
    #: Weight of each bucket.
    weights: Floats
    #: Rows of each weight in other groups of the model. The group of a sampled row is random.
    elsewhere: Rows

    @cached_property
    def histogram(self) -> Histogram:
        """Sums of weights."""
        positives, negatives = (np.asarray(of_class.T @ self.weights) for of_class in self.classes)
        return self.rows.histogram._replace(positives=positives, negatives=negatives)

    @property
    def classes(self) -> Sequence[Any]:
        """The positives and the negatives, of shape (strata, bins)."""
        return self.rows.classes

    @property
    def same_within_classes(self) -> bool:
        """Whether all positives have one weight, and all negatives have one weight."""
        return all(np.count_nonzero(rows * (self.weights > 0)) <= 1 for rows in self.rows.rows)

    @property
    def sizes(self) -> Sequence[float]:
        """Effective numbers of positives and negatives by weight: (Σw)²/Σw² (Kish)."""
        return [_even(rows, self.weights) for rows in self.rows.rows]

    @property
    def heaviest(self) -> Sequence[float]:
        """Largest weight of a positive, and of a negative; 0 without such rows."""
        return [float(np.max(self.weights[rows > 0], initial=0.0)) for rows in self.rows.rows]

    @property
    def mixed(self) -> float:
        """Weight of the heaviest row in any group of the model if weights differ within a class, else 0."""
        return 0.0 if self.same_within_classes else float(self._drawn.max())

    @property
    def lightest(self) -> float:
        """Least weight of a row in any group of the model, of rows that weigh something; or 0."""
        return float(min(self._drawn, default=0.0))

    @property
    def _drawn(self) -> Floats:
        """The weights of the rows of all groups of the model, of those that weigh something."""
        rows = np.sum(self.rows.rows, axis=0) + self.elsewhere
        return np.asarray(self.weights[(rows > 0) & (self.weights > 0)])

    def coarser(self, thresholds: Sequence[float] | Floats, *, every_score: bool = False) -> "StrataCounts":
        """Return the counts with bins between *thresholds*; see ``Histogram.coarser``."""
        return replace(self, rows=self.rows.coarser(thresholds, every_score=every_score))

    def strata(self) -> Iterator[tuple[float, Rows, Rows, int]]:
        """Yield weight, positives and negatives by bin, and rows elsewhere, of strata of positive weight."""
        for place, weight in enumerate(self.weights.tolist()):
            if weight > 0:
                positives, negatives = (
                    np.asarray(of_class[[place]].toarray()[0], np.int64) for of_class in self.classes
                )
                yield weight, positives, negatives, int(self.elsewhere[place])


def strata_counts(counts: pl.DataFrame) -> Iterator[StrataCounts]:
    """Yield the rows of each group of counts by weight, in the order of the keys.

    Without the key ``weight`` all rows have weight 1.

    Raises
    ------
    ParameterError
        If the strata of a group have different threshold grids.
    """
    if not has_strata(counts):
        counts = counts.with_columns(pl.lit(1.0).alias(WEIGHT))
    weights = counts[WEIGHT].unique().sort().to_numpy()
    found = bucket_counts(counts, WEIGHT, least=1)
    drawn: dict[object, Rows] = {}
    for group in found:
        model = group.histogram.group["model"][0]
        drawn[model] = drawn.get(model, 0) + np.sum(group.rows, axis=0)
    for group in found:
        of_model = drawn[group.histogram.group["model"][0]]
        yield StrataCounts(group, weights, (of_model - np.sum(group.rows, axis=0)).astype(np.int64))


def sums_of_weights(counts: pl.DataFrame) -> Iterator[Histogram]:
    """Yield the histogram of each group of counts, in the order of the keys; of strata, sums of weights."""
    if has_strata(counts):
        return (of_group.histogram for of_group in strata_counts(counts))
    return each_histogram(counts)


#: The rows of a group, in any of the three forms.
Counted = Histogram | BucketCounts | StrataCounts
