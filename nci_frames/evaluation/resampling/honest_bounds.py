"""Percentiles of resampled logs -> bounds that hold where resampling shows too little.

A resampled log has no kind of row that the log lacks, so percentiles are too narrow where a count is small.
There they are extended: metrics of rates to their values over the box of the rates' Wilson intervals, ROC-AUC
to the score interval, other areas by the effect of kinds of rows that the log may lack. PR-AUC at an
unsupported prevalence, or with few rows of a class, has the bounds of the band of the whole ROC curve.
"""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.arguments import number_list
from nci_frames.evaluation.areas.area import Area, all_areas
from nci_frames.evaluation.areas.areas import areas_of, compute_areas
from nci_frames.evaluation.areas.roc import unseen_share
from nci_frames.evaluation.arrays.buckets import bucket_counts
from nci_frames.evaluation.metrics import curve_asked
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.rates.clusters import class_worth, effective_rows, known_share
from nci_frames.evaluation.rates.rates import clustered_bounds, compute_rates, with_bounds, with_worth
from nci_frames.evaluation.rates.strata import WORTH, classes_of_strata, known_cells
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from nci_frames.schemas import NEGATIVES, POSITIVES, beside, has_strata

#: Percentiles are extended if one of the four counts, or the buckets with rows of a class, are fewer (than
#: 20; sums of weights are rounded).
_ENOUGH = 20 * (1 - 1e-9)
#: Largest relative standard error of a supported value (``support.rule``).
_SURE = 0.1
_FLAGS = ["supported", "reason"]
#: The bounds, and the function that combines a bound with a wider one.
_SIDES = {"lower": pl.min_horizontal, "upper": pl.max_horizontal}
#: Numbers of independent positives and negatives. ``__rarer`` beside them is the number of rows of the rarer
#: class, or of equal buckets with such rows.
_SIZES = ["__positives", "__negatives"]
#: The same of strata at the lowest and the highest threshold, for rows that may lie beyond all others.
_ENDS = [f"{name}_{end}" for name in _SIZES for end in ("below", "above")]


def with_honest_bounds(
    table: pl.DataFrame, counts: pl.DataFrame, asked: Asked, logs: Resampling
) -> pl.DataFrame:
    """Add ``interval``, ``supported`` and ``reason`` to percentiles, and correct the bounds.

    Parameters
    ----------
    table
        The columns of ``bootstrap`` up to ``repeats``.
    counts
        Counts of whole rows, by the units of *logs*.
    asked, logs
        The options of ``bootstrap``.
    """
    known, parts = _Known(counts, asked, logs), []
    point_metrics = [metric for metric in asked.metrics if curve_asked(metric) is None]
    if len(point_metrics) < len(asked.metrics):
        parts.append(known.areas(table.filter(pl.col("threshold").is_null())))
    if point_metrics:
        parts.append(known.points(table.filter(pl.col("threshold").is_not_null()), point_metrics))
    order = [*known.keys, "threshold", "metric", "method", "prevalence", "beta"]
    return pl.concat(parts).sort(order, maintain_order=True)


class _Known:
    """What a log tells about the uncertainty of its metrics."""

    def __init__(self, counts: pl.DataFrame, asked: Asked, logs: Resampling) -> None:
        self.counts, self.asked, self.logs = counts, asked, logs
        self.keys = ["model", *logs.keys(counts)]
        #: An observed prevalence is not joined on: each group has one, but sums of weights round differently.
        self.given = [] if isinstance(asked.prevalence, str) else ["prevalence"]
        #: The counts summed over units.
        self.pooled = logs.without_units(counts)
        #: The rows of each group by units, if any.
        self.groups = [] if logs.units is None else bucket_counts(counts, logs.units)
        #: ``_SIZES`` and ``__rarer`` of each group; and, with units, the independent rows per row.
        self.sizes, self.worth = self._sizes()

    def _sizes(self) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        counts, logs = self.counts, self.logs
        if logs.units is None and has_strata(counts):
            return self._sizes_of_strata(), None
        if logs.units is None:
            both = zip(_SIZES, (POSITIVES, NEGATIVES), strict=True)
            sizes = self.pooled.group_by(self.keys).agg(
                rows.first().cast(pl.Float64).alias(name) for name, rows in both
            )
            return sizes.with_columns(__rarer=pl.min_horizontal(_SIZES)), None
        worth = class_worth(counts, logs.units, self.groups)
        rows, even = (np.array([getattr(group, name) for group in self.groups]) for name in ("rows", "even"))
        known = even * known_share(rows, logs.level) * worth.select(worth.columns[-2:]).to_numpy()
        columns = dict(zip(_SIZES, map(pl.Series, known.T), strict=True))
        columns["__rarer"] = pl.Series([min(group.sizes) for group in self.groups])
        return worth.select(*self.keys, **columns), worth

    def _sizes_of_strata(self) -> pl.DataFrame:
        """Return ``_SIZES`` and ``_ENDS`` of strata.

        ``__mixed`` tells whether a class has several weights.
        """
        ends = {
            f"{name}_{end}": pl.col(worth).filter(pl.col("threshold") == at).first().fill_null(0.0)
            for name, worth in zip(_SIZES, WORTH, strict=True)
            for end, at in (("below", pl.col("threshold").min()), ("above", pl.col("threshold").max()))
        }
        known = classes_of_strata(self.counts).select(*self.keys, pl.col(_SIZES).fill_null(0.0), "__mixed")
        sizes = beside(known, self.pooled.group_by(self.keys).agg(**ends), self.keys)
        return sizes.with_columns(__rarer=pl.min_horizontal(_SIZES))

    def points(self, table: pl.DataFrame, metrics: list[str | pl.Expr]) -> pl.DataFrame:
        """Extend the bounds of metrics of rates to their values over the box of the rates' intervals."""
        bounded, keys, asked = self._bounded(), self.keys, self.asked
        band = project_checked(
            bounded, metrics=metrics, prevalence=asked.prevalence, beta=asked.beta, band=True
        )
        # Resampled logs of mixed strata already contain rows that the log may lack.
        mixed = pl.col("__mixed") if "__mixed" in self.sizes.columns else pl.lit(value=False)
        few = ~mixed & pl.any_horizontal(cell < _ENOUGH for cell in known_cells(bounded).values())
        if self.worth is not None:
            few |= (pl.col("__rarer") < _ENOUGH).fill_null(value=False)
        lone = pl.any_horizontal(pl.col("tpr_lower", "fpr_lower").is_null())
        doubts = beside(bounded, self.sizes, keys).select(
            *keys, "threshold", few.alias("__few"), lone.alias("__lone"), mixed.alias("__mixed")
        )
        band = band.join(doubts, on=[*keys, "threshold"], nulls_equal=True)
        at = [*keys, "threshold", "metric", *self.given, "beta"]
        found = beside(
            table, band.select(*at, *_SIDES, "__few", "__lone", "__mixed", *_FLAGS), at, suffix="_band"
        )
        extended = pl.col("__few") & pl.col("lower_band").is_not_null()
        # If one bucket has all rows of a class, every resampled log has the same rate.
        told = ~pl.col("__lone") | pl.col("lower_band").is_not_null()
        corrected = found.with_columns(
            pl.when(extended).then(wider(side, f"{side}_band")).when(told).then(side).alias(side)
            for side, wider in _SIDES.items()
        ).with_columns(interval=_interval(extended))
        if isinstance(asked.prevalence, str):
            # A metric of strata may be precise although the rates are not.
            sure = pl.col("__mixed") & (pl.col("std") <= _SURE * pl.col("value").abs()).fill_null(value=False)
            corrected = corrected.with_columns(
                supported=pl.col("supported") | sure, reason=pl.when(~sure).then("reason")
            )
        return corrected.select(*table.columns, "interval", *_FLAGS)

    def _bounded(self) -> pl.DataFrame:
        """Return the rates at the requested thresholds, with bounds that hold jointly for both rates."""
        rates = with_worth(self.pooled if has_strata(self.counts) else compute_rates(self.pooled), self.worth)
        if self.asked.fixed is not None:
            chosen = (select_operating_points(rates, threshold=at) for at in number_list(self.asked.fixed))
            rates = pl.concat(chosen).drop("reason")
        each, level = rates.unique([*self.keys, "threshold"]), math.sqrt(self.logs.level)
        if self.logs.units is None:
            return with_bounds(each, interval="wilson", level=level)
        known = effective_rows(self.counts, self.logs.units, self.groups, level=level)
        return clustered_bounds(each, known, interval="wilson", level=level)

    def areas(self, table: pl.DataFrame) -> pl.DataFrame:
        """Correct the bounds of areas."""
        counts, logs, prevalence = self.counts, self.logs, self.asked.prevalence
        areas = [area for area in all_areas() if area.name in table["metric"]]
        at = [*self.keys, "metric", *self.given]
        certified = areas_of(self.pooled, prevalence, areas, worth=self.worth)
        gaps = ((pl.col(side) - pl.col("value")).alias(f"{side}_gap") for side in _SIDES)
        told = beside(table, certified.select(*at, *_FLAGS, *gaps), at).pipe(beside, self.sizes, self.keys)
        known = pl.col("supported")
        if self.worth is not None:
            # If one bucket has nearly all rows of a class, resampling hardly changes the value.
            known &= ~(pl.col("__rarer") < 2).fill_null(value=False)
        told = told.with_columns(pl.when(known).then(pl.col(*_SIDES)))
        banded = [area.name for area in areas if area.band_if_unsure]
        unsure = pl.col("metric").is_in(banded) & (~pl.col("supported") | (pl.col("__rarer") < _ENOUGH))
        others = [area for area in areas if area.score_bounds is None]
        if len(told.filter(pl.col("metric").is_in([area.name for area in others]) & known & ~unsure)):
            told = self._with_unseen(told, others)
        given = told.select("value", "std", *_SIZES).cast(pl.Float64).to_numpy().T
        for area in areas:
            if area.score_bounds is not None:
                mine = (pl.col("metric") == area.name) & pl.col("lower").is_not_null()
                sides = zip(_SIDES.items(), area.score_bounds(*given, logs.level), strict=True)
                told = told.with_columns(
                    pl.when(mine).then(wider(side, pl.lit(pl.Series(bound)))).otherwise(side).alias(side)
                    for (side, wider), bound in sides
                )
        band = told.clear()
        if len(told.filter(unsure)):
            band = compute_areas(
                counts, prevalence=prevalence, metrics=banded, interval="simultaneous", level=logs.level,
                units=logs.units,
            )  # fmt: skip
        found = beside(told, band.select(*at, *_SIDES), at, suffix="_band")
        wide = unsure & pl.col("lower_band").is_not_null()
        # All bounds of areas are extended.
        columns: dict[str, pl.Expr] = {"interval": _interval(wide | pl.col("lower").is_not_null())}
        for side in _SIDES:
            narrow = pl.col(side)
            if "resolution" in counts.columns:
                # Between two thresholds of a grid, the area of the log itself is not known exactly.
                moved = (narrow + pl.col(f"{side}_gap")).clip(0.0)
                bounded = pl.col("metric").is_in([area.name for area in areas if not area.of_scores])
                narrow = pl.when(bounded).then(moved.clip(upper_bound=1.0)).otherwise(moved)
            columns[side] = pl.when(wide).then(f"{side}_band").otherwise(narrow)
        return found.with_columns(**columns).select(*table.columns, "interval", *_FLAGS)

    def _with_unseen(self, table: pl.DataFrame, areas: Sequence[Area]) -> pl.DataFrame:
        """Widen the bounds of areas by the effect of kinds of rows that the log may lack.

        The unseen share of a class is taken evenly from its rows and put above or below all others; if the
        area depends on the scores themselves, into the bin of the highest or the lowest score.
        """
        keys, at = self.keys, [*self.keys, "metric", *self.given]
        ends = _ENDS if _ENDS[0] in table.columns else _SIZES
        share = pl.col(ends).map_batches(lambda rows: unseen_share(rows.to_numpy(), self.logs.level))
        shares = table.unique(keys).select(*keys, share)
        counts = self.pooled.join(shares, on=keys, nulls_equal=True, maintain_order="left")
        value, lower, upper = table.select("value", "lower", "upper").cast(pl.Float64).to_numpy().T
        down, up = (value - lower) ** 2, (upper - value) ** 2
        # Thresholds that no score reaches, or all do.
        beyond = (pl.col("tp") + pl.col("fp") == 0) | (pl.col("fn") + pl.col("tn") == 0)
        for hit, miss, name in (("tp", "fn", "__positives"), ("fp", "tn", "__negatives")):
            rows, changes = pl.col(hit) + pl.col(miss), []
            for above, end in ((0.0, "below"), (1.0, "above")):
                unseen = pl.col(f"{name}_{end}" if ends is _ENDS else name)
                hits = pl.col(hit) * (1 - unseen) + rows * unseen * above
                parts = []
                for of_scores in {area.of_scores for area in areas}:
                    found = pl.when(beyond).then(hit).otherwise(hits) if of_scores else hits
                    shifted = counts.with_columns(found.alias(hit), (rows - found).alias(miss))
                    some = [area for area in areas if area.of_scores == of_scores]
                    areas_there = areas_of(
                        shifted.drop(*ends, *WORTH, strict=False), self.asked.prevalence, some
                    )
                    parts.append(areas_there.select(*at, __moved="value"))
                moved = beside(table, pl.concat(parts), at)["__moved"].cast(pl.Float64).to_numpy()
                # A loss may become infinite; an undefined value does not move.
                changes.append(np.nan_to_num(moved - value, posinf=np.inf, neginf=-np.inf))
            down += np.minimum(np.minimum(*changes), 0.0) ** 2
            up += np.maximum(np.maximum(*changes), 0.0) ** 2
        # An infinite loss has no bounds: they are NaN.
        wider = {"lower": pl.Series(value - np.sqrt(down)), "upper": pl.Series(value + np.sqrt(up))}
        for area in areas:
            table = table.with_columns(
                pl.when(metric=area.name).then(bound.clip(area.lower, area.upper)).otherwise(name).alias(name)
                for name, bound in wider.items()
            )
        return table.with_columns(pl.col("lower", "upper").fill_nan(None))


def _interval(extended: pl.Expr) -> pl.Expr:
    name = pl.when(extended).then(pl.lit("band")).otherwise(pl.lit("percentile"))
    return pl.when(pl.col("lower").is_not_null() | extended).then(name)
