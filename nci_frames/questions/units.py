"""Counts by segments, repeats and buckets of units -> pools of them, and bounds of operating points."""

from collections.abc import Callable, Sequence

import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.counts.pooling import one_repeat, pooled_counts, pooled_to
from nci_frames.evaluation.arrays.buckets import BucketCounts, bucket_counts
from nci_frames.evaluation.rates.clusters import CLASS_WORTH, class_worth, effective_rows
from nci_frames.evaluation.rates.rates import BOUNDS, RateInterval, clustered_bounds, with_bounds, with_worth
from nci_frames.schemas import BUCKET, COUNTS, RATES, WEIGHT

#: Counts a log by segments and buckets of units, at least at the given thresholds.
CountSegments = Callable[[Sequence[float]], pl.DataFrame]


def with_names(counts: pl.DataFrame) -> pl.DataFrame:
    """Give a model whose name is empty another name, so that a reader sees it in sentences and tables.

    >>> with_names(pl.DataFrame({"model": ["", "a"]}))["model"].to_list()
    ['(no name)', 'a']
    """
    models, name = counts["model"], "(no name)"
    if not (models == "").any():
        return counts
    while name in models:
        name = f"({name})"
    return counts.with_columns(pl.col("model").replace("", name)).sort("model", maintain_order=True)


class Pools:
    """Counts by segments, repeats and buckets of units, pooled over some of them once for all tables.

    Intervals and tests resample them: whole buckets, or rows if there are none.
    """

    def __init__(
        self,
        counts: pl.DataFrame,
        segments: Sequence[str],
        repeat: str | None = None,
        *,
        units: str | None = BUCKET,
    ) -> None:
        keys = COUNTS.keys(counts.columns)
        #: Key of the buckets, if the counts have it; None if rows are independent.
        self.units = units = units if units in keys and units not in (*segments, repeat) else None
        #: Number of buckets; None if rows are independent.
        self.buckets: int | None = None if units is None else counts[units].n_unique()
        self.segments = tuple(key for key in segments if key in keys)
        #: Key of the repeats of a cross-validation, also in a list, which is empty without repeats. Each
        #: repeat has the rows of every unit.
        self.repeat, self.repeats = repeat, [] if repeat is None else [repeat]
        #: Keys of resampling: units, which are drawn whole, and strata, which are drawn separately.
        self.apart = tuple(key for key in (units, WEIGHT) if key in keys)
        #: Counts by segments, repeats and buckets of units, if any.
        kept = (*self.segments, *self.repeats, *self.apart)
        self.counts = pooled_to(counts, kept)
        #: Whether there are enough buckets for intervals and tests; always true for independent rows.
        self.enough = self.buckets is None or self.buckets >= LEAST_BUCKETS
        #: Whether logs can be resampled: repeats need units, as the rows of a unit are dependent.
        self.resampled = self.enough and (repeat is None or units is not None)
        #: Share of all rows that are in one repeat.
        self._share = 1.0 if repeat is None else 1 / max(self.counts[repeat].n_unique(), 1)
        #: Caches by keys: effective rows per row, effective rows of each threshold, the rows of each bucket,
        #: and the counts without some keys.
        self._worth: dict[tuple[str, ...], pl.DataFrame] = {}
        self._effective: dict[tuple[bool, float], pl.DataFrame] = {}
        self._groups: dict[tuple[str, ...], list[BucketCounts]] = {}
        self._pools: dict[tuple[str, ...], pl.DataFrame] = {}

    @property
    def by_repeat(self) -> pl.DataFrame:
        """Counts by repeats and buckets, pooled over segments."""
        return self.without(self.segments)

    @property
    def total(self) -> pl.DataFrame:
        """Counts pooled over segments and repeats."""
        return self.without([*self.segments, *self.repeats])

    @property
    def by_segment(self) -> pl.DataFrame:
        """Counts by segments; without units, those of one repeat, as all repeats have the same rows."""
        if self.repeat is None or self.units is not None:
            return self.without(self.repeats)
        return one_repeat(self.counts, self.repeat)

    def by_key(self, key: str) -> pl.DataFrame:
        """Return the counts by one key of the segments, by repeats and buckets of units."""
        return self.without([other for other in self.segments if other != key])

    def worth(self, keys: Sequence[str]) -> pl.DataFrame | None:
        """Return the effective number of rows per row, by model and keys; None if buckets cannot tell.

        All repeats together have at most the effective rows of one repeat.
        """
        known = [*self.segments, *self.repeats]
        if self.units is None or not self.enough or not {*keys} <= {*known}:
            return None
        if tuple(keys) not in self._worth:
            gone = [key for key in known if key not in keys]
            found = class_worth(self.without(gone), self.units, self._read(gone))
            most = 1.0 if self.repeat in keys else self._share
            self._worth[tuple(keys)] = found.with_columns(pl.col(CLASS_WORTH).clip(upper_bound=most))
        return self._worth[tuple(keys)]

    def without(self, keys: Sequence[str]) -> pl.DataFrame:
        """Return the counts pooled over some segments and repeats, once for all tables."""
        gone = tuple(keys)
        if not gone:
            return self.counts
        if gone not in self._pools:
            # Pooling step by step is faster, as each step starts from fewer rows.
            some = self.counts if len(gone) < 2 or gone == self.segments else self.without(gone[:-1])
            left = gone if some is self.counts else gone[-1:]
            self._pools[gone] = pooled_counts(some, over=left)
        return self._pools[gone]

    def _read(self, keys: Sequence[str]) -> list[BucketCounts]:
        """Return the counts by buckets, pooled over some keys, once for all tables."""
        gone = tuple(keys)
        if gone not in self._groups and self.units is not None:
            self._groups[gone] = bucket_counts(self.without(keys), self.units)
        return self._groups[gone]

    def with_worth(self, rates: pl.DataFrame) -> pl.DataFrame:
        """Add the effective number of rows to rates, by segments or pooled."""
        keys = RATES.keys(rates.columns)
        worth = self.worth(keys)
        if worth is None and self.repeat is not None:
            groups = self.counts.select("model", *keys).unique()
            worth = groups.with_columns(pl.lit(self._share).alias(name) for name in CLASS_WORTH)
        return with_worth(rates, worth)

    def bounded(
        self, points: pl.DataFrame, *, interval: RateInterval = "wilson", level: float = 0.95
    ) -> pl.DataFrame:
        """Add bounds to operating points, by segments or pooled; null if buckets cannot tell."""
        if self.units is None:
            return with_bounds(points, interval=interval, level=level)
        by_segment = RATES.keys(points.columns)
        if not self.enough or not set(by_segment) <= set(self.segments):
            return points.with_columns(pl.lit(None, pl.Float64).alias(name) for name in BOUNDS)
        known = self._effective.get((bool(by_segment), level))
        if known is None:
            gone = self.repeats if by_segment else [*self.segments, *self.repeats]
            read = self._read(gone)
            least = 1 / self._share
            known = effective_rows(self.without(gone), self.units, read, level=level, least_effect=least)
            self._effective[bool(by_segment), level] = known
        # The semi join comes first, as joining a row for every score would take much memory.
        met = known.join(points, on=["model", *by_segment, "tp", "fp"], how="semi", nulls_equal=True)
        return clustered_bounds(points, met, interval=interval, level=level)


def mean_of_all(name: str) -> pl.Expr:
    """Return the mean of a column; null if a value is null."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name)
