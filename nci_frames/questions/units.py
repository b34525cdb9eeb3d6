"""Counts by buckets of units -> bounds of operating points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.counts.pooling import one_repeat, pooled_counts
from nci_frames.evaluation.arrays.buckets import BucketCounts, bucket_counts
from nci_frames.evaluation.rates.clusters import class_worth, effective_rows
from nci_frames.evaluation.rates.rates import RateInterval, clustered_bounds, with_bounds, with_worth
from nci_frames.schemas import BUCKET, COUNTS, RATES, WEIGHT, has_strata

#: Counts a log by segments and buckets of units, at some thresholds at least.
SegmentUnits = Callable[[Sequence[float]], pl.DataFrame]

_BOUNDS = ("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper")
_SHARES = ("positives_worth", "negatives_worth")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn from another log like this one: whole buckets of units, or rows."""

    #: The counts by segments, repeats and, if there are any, by buckets of units.
    counts: pl.DataFrame
    segments: tuple[str, ...]
    #: The key of the repeats of a cross-validation, in each of which every unit has its rows again.
    repeat: str | None
    #: The key of the buckets; None takes the rows as independent.
    units: str | None
    #: How many buckets there are; None where rows are drawn.
    buckets: int | None
    #: By the keys that are kept, once they are known: what rows are worth, how many independent rows each
    #: threshold has, what is in each bucket, and the counts without some keys.
    _worth: dict[tuple[str, ...], pl.DataFrame] = field(default_factory=dict)
    _effective: dict[tuple[bool, float], pl.DataFrame] = field(default_factory=dict)
    _groups: dict[tuple[str, ...], list[BucketCounts]] = field(default_factory=dict)
    _pools: dict[tuple[str, ...], pl.DataFrame] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: pl.DataFrame, segments: Sequence[str], repeat: str | None = None) -> "Drawn":
        """Return what can be drawn from counts: buckets, where they have the key of ``unit_buckets``."""
        keys = COUNTS.keys(counts.columns)
        units = BUCKET if BUCKET in keys and BUCKET not in (*segments, repeat) else None
        apart = [key for key in segments if key in keys]
        weighed = WEIGHT if WEIGHT in keys else None
        kept = [*apart, *(key for key in (repeat, units, weighed) if key is not None)]
        return cls(
            without_keys(counts, [key for key in keys if key not in kept]),
            tuple(apart),
            repeat,
            units,
            None if units is None else counts[units].n_unique(),
        )

    @property
    def apart(self) -> tuple[str, ...]:
        """The keys of what is drawn by itself or whole: strata, and units."""
        weighed = [WEIGHT] if has_strata(self.counts) else []
        return (*([] if self.units is None else [self.units]), *weighed)

    @property
    def enough(self) -> bool:
        """Whether there are enough buckets, or rows, to see how another log would differ."""
        return self.buckets is None or self.buckets >= LEAST_BUCKETS

    @property
    def resampled(self) -> bool:
        """Whether other logs can be drawn: not of the rows of several repeats, which belong to units."""
        return self.enough and (self.repeat is None or self.units is not None)

    @property
    def by_repeat(self) -> pl.DataFrame:
        """The counts with all segments pooled."""
        return self.without(self.segments)

    @property
    def total(self) -> pl.DataFrame:
        """The counts with all segments and repeats pooled."""
        return self.without([*self.segments, *self.repeats])

    @property
    def by_segment(self) -> pl.DataFrame:
        """The counts by segments; without units those of one repeat, since the others have the same rows."""
        if self.repeat is None or self.units is not None:
            return self.without(self.repeats)
        return one_repeat(self.counts, self.repeat)

    @property
    def repeats(self) -> list[str]:
        """The key of the repeats, if there are some."""
        return [] if self.repeat is None else [self.repeat]

    @property
    def _share(self) -> float:
        """The share of all rows that one repeat has."""
        return 1.0 if self.repeat is None else 1 / max(self.counts[self.repeat].n_unique(), 1)

    def worth(self, keys: Sequence[str]) -> pl.DataFrame | None:
        """Return how many independent rows a row is worth, by model and keys; None without units.

        All repeats together are worth one of them at most.
        """
        known = [*self.segments, *self.repeats]
        if self.units is None or not self.enough or not {*keys} <= {*known}:
            return None
        if tuple(keys) not in self._worth:
            gone = [key for key in known if key not in keys]
            found = class_worth(self.without(gone), self.units, self._read(gone))
            most = 1.0 if self.repeat in keys else self._share
            self._worth[tuple(keys)] = found.with_columns(pl.col(_SHARES).clip(upper_bound=most))
        return self._worth[tuple(keys)]

    def without(self, keys: Sequence[str]) -> pl.DataFrame:
        """Return the counts without some of the segments and the repeats, pooled once for all tables."""
        gone = tuple(keys)
        if gone not in self._pools:
            # Two steps are shorter than one: what has fewer keys is made of what has more.
            some = self.counts if len(gone) < 2 or gone == self.segments else self.without(gone[:-1])
            left = gone if some is self.counts else gone[-1:]
            self._pools[gone] = without_keys(some, left)
        return self._pools[gone]

    def _read(self, keys: Sequence[str]) -> list[BucketCounts]:
        """Return the counts without some keys by buckets, read once for all tables."""
        gone = tuple(keys)
        if gone not in self._groups and self.units is not None:
            self._groups[gone] = bucket_counts(self.without(keys), self.units)
        return self._groups[gone]

    def weighed(self, rates: pl.DataFrame) -> pl.DataFrame:
        """Add to rates, by segments or of all, how many independent rows they are worth."""
        keys = RATES.keys(rates.columns)
        worth = self.worth(keys)
        if worth is None and self.repeat is not None:
            groups = self.counts.select("model", *keys).unique()
            worth = groups.with_columns(pl.lit(self._share).alias(name) for name in _SHARES)
        return rates if worth is None else with_worth(rates, worth)

    def bounded(
        self, points: pl.DataFrame, *, interval: RateInterval = "wilson", level: float = 0.95
    ) -> pl.DataFrame:
        """Add bounds to operating points, by segments or of all; null where buckets cannot tell."""
        if self.units is None:
            return with_bounds(points, interval=interval, level=level)
        by_segment = RATES.keys(points.columns)
        if not self.enough or not set(by_segment) <= set(self.segments):
            return points.with_columns(pl.lit(None, pl.Float64).alias(name) for name in _BOUNDS)
        known = self._effective.get((bool(by_segment), level))
        if known is None:
            gone = self.repeats if by_segment else [*self.segments, *self.repeats]
            read = self._read(gone)
            least = 1 / self._share
            known = effective_rows(self.without(gone), self.units, read, level=level, least_effect=least)
            self._effective[bool(by_segment), level] = known
        # To join few points with a row for every score takes as much memory as these.
        met = known.join(points, on=["model", *by_segment, "tp", "fp"], how="semi", nulls_equal=True)
        return clustered_bounds(points, met, interval=interval, level=level)


def without_keys(counts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return counts with some keys pooled; the same counts if there are none."""
    return pooled_counts(counts, over=keys) if keys else counts
