"""The counts of one comparison: by segments, by repeats, pooled, and to resample."""

import copy
from collections.abc import Mapping, Sequence

import polars as pl

from nci_frames.base.typing import Frame
from nci_frames.counts.pooling import alike_counts, pooled_to
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.lowest import supported_from
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.areas.roc import ROC_AUC
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.evaluation.projection.averaging import average_over
from nci_frames.evaluation.rates.rates import RateInterval, compute_rates
from nci_frames.evaluation.rates.strata import WORTH, of_strata, summed_counts
from nci_frames.evaluation.significance.shift import corrected_shifts, shift_tests
from nci_frames.questions.units import Pools, with_names
from nci_frames.schemas import BUCKET, CELLS, COUNTS, RATES, SHIFTS, SUPPORT, WEIGHT, collect


class LogCounts:
    """The counts of a log, which were checked, pooled once for all tables.

    Raises
    ------
    SchemaError
        If the counts lack a key, or *unit_counts* is not a counts frame or lacks *repeat*.
    """

    def __init__(
        self,
        counts: pl.DataFrame,
        unit_counts: Frame | None,
        *,
        segments: Sequence[str],
        fold: str | None,
        repeat: str | None,
    ) -> None:
        for option, wanted in (("segments", segments), ("fold", [fold]), ("repeat", [repeat])):
            COUNTS.need_keys(counts, wanted, option)
        #: Counts by all keys. Columns derived by rates cannot be summed.
        self.every = counts = counts.drop(COUNTS.derived, strict=False)
        #: Counts by segments and repeats, pooled over units; and to resample, by units if there are any.
        self.rows = self.drawn = Pools(counts, segments, repeat, units=None)
        if unit_counts is not None:
            by_unit = with_names(collect(unit_counts, COUNTS, strata=True))
            COUNTS.need_keys(by_unit, [repeat], "repeat")
            self.drawn = Pools(by_unit, segments, repeat)
        elif BUCKET in {*counts.columns} - {*segments}:
            self.drawn = Pools(counts, segments, repeat)
        #: Key of the repeats; and the keys of repeats and folds, in this order.
        self.repeat, self.folds = repeat, [key for key in (repeat, fold) if key is not None]
        #: Whether rows were counted. Sums of more than 1,000 weights have no bounds and cannot be resampled.
        self.whole = all(counts.schema[cell].is_integer() for cell in CELLS)
        #: Cache of ``summed_counts``, which takes long: counts by weight, with their result.
        self._summed: list[tuple[pl.DataFrame, pl.DataFrame]] = []

    def by_key(self, key: str) -> "LogCounts":
        """Return the counts of the same log by one of the keys of the segments."""
        rows, drawn = self.rows.by_key(key), self.drawn.by_key(key)
        other = self.with_units(drawn, [key])
        other.rows = other.drawn if drawn is rows else Pools(rows, [key], self.repeat, units=None)
        return other

    def with_units(self, counts: pl.DataFrame, segments: Sequence[str]) -> "LogCounts":
        """Return the counts of the same log with other counts by segments and buckets of units."""
        other = copy.copy(self)
        other.drawn = Pools(counts, segments, self.repeat)
        return other

    @property
    def judged(self) -> pl.DataFrame | None:
        """Counts on which own best thresholds are chosen and judged; None if they cannot be split."""
        return self.drawn.by_repeat if self.whole and self.drawn.enough else None

    @property
    def resampled(self) -> bool:
        """Whether logs can be resampled."""
        return self.whole and self.drawn.resampled

    @property
    def by_segment(self) -> pl.DataFrame:
        """Counts by segments, pooled over repeats."""
        return self.rows.without(self.rows.repeats)

    def summed(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Return ``summed_counts`` of some of these counts, computed once for all tables."""
        for known, rates in self._summed:
            if known is counts:
                return rates
        self._summed.append((counts, summed_counts(counts)))
        return self._summed[-1][1]

    def rates_of(self, summed: pl.DataFrame) -> pl.DataFrame:
        """Return the rates of some rows of ``summed_counts``, averaged over repeats."""
        # Strata have rates already.
        rates = RATES.finish(summed) if of_strata(summed) else compute_rates(summed)
        return self.drawn.with_worth(rates) if self.whole else rates

    def segment_rates(self, threshold: float | Mapping[str, float]) -> pl.DataFrame:
        """Return the rates by segments at a threshold, next to it, and at the lowest."""
        # All rates would take as much memory as the counts, and longer than all tables of these.
        return self.rates_of(near_threshold(self.summed(self.by_segment), threshold))

    def bounded(self, points: pl.DataFrame, *, interval: RateInterval = "wilson") -> pl.DataFrame:
        """Add bounds of rates to operating points if rows were counted."""
        return self.drawn.bounded(points, interval=interval) if self.whole else points

    def by_units(self, rates: pl.DataFrame) -> pl.DataFrame:
        """Return rates with the bounds of units at each threshold; with too few units nothing is known."""
        if self.drawn.units is None:
            return rates
        bounded = self.bounded(rates)
        unknown = () if self.drawn.enough else WORTH
        return bounded.with_columns(pl.lit(None, pl.Float64).alias(name) for name in unknown)

    def areas(self, keys: Sequence[str], prevalence: Sequence[float], *areas: Area) -> pl.DataFrame:
        """Return areas, by default PR-AUC and ROC-AUC, by segments or pooled.

        They are computed within each repeat and averaged.
        """
        counts = self.rows.counts if keys else self.rows.by_repeat
        wanted, worth = areas or (PR_AUC, ROC_AUC), self._worth(keys)
        found = areas_of(self.summed(counts), list(prevalence), wanted, worth=worth)
        return found if self.repeat is None else average_over(found, over=self.repeat)

    def support(self) -> pl.DataFrame:
        """Return the lowest prevalence at which PR-AUC is supported within every repeat."""
        lowest = supported_from(self.summed(self.rows.by_repeat), PR_AUC.name, worth=self._worth(()))
        if self.repeat is None:
            return lowest
        known = pl.col("prevalence").null_count() == 0
        highest = lowest.group_by("model", "metric", maintain_order=True).agg(
            pl.when(known).then(pl.col("prevalence").max()), pl.col("reason").drop_nulls().first()
        )
        return SUPPORT.finish(highest.sort("model"))

    def shifts(self) -> pl.DataFrame | None:
        """Test the assumption of projection for each key, with one correction; None if it cannot be tested.

        Columns are those of ``check_projection`` and ``key``, the key whose values are compared.
        """
        if not self.whole:
            return None
        units = self.drawn.units
        together = alike_counts(self.rows.total)[0] if self.repeat is None and units is None else None
        tables = [
            shift_tests(counts, over=key, units=units, together=together).with_columns(key=pl.lit(key))
            for key in (() if self.judged is None else self.drawn.segments)
            if (counts := self.by_key(key).drawn.by_segment)[key].n_unique() > 1
        ]
        if not tables:
            return None
        return corrected_shifts(pl.concat(tables), level=0.95).select("model", "key", *SHIFTS.fixed[1:])

    def by_fold(self) -> pl.DataFrame | None:
        """Return the counts by folds and repeats; None with fewer than two of them."""
        if not self.folds or self.every.select(self.folds).n_unique() < 2:
            return None
        return summed_counts(pooled_to(self.every, (*self.folds, WEIGHT)))

    def _worth(self, keys: Sequence[str]) -> pl.DataFrame | None:
        return self.drawn.worth([*keys, *self.rows.repeats]) if self.whole else None
