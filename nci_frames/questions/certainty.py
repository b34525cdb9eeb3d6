"""Counts -> certainty of a ranking, and the models that may be best, among the leading models."""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal

import polars as pl

from nci_frames.counts.resolution import every_row_exact
from nci_frames.counts.strata import weighted_sums
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.arrays.few_thresholds import at_thresholds
from nci_frames.evaluation.arrays.histograms import each_histogram
from nci_frames.evaluation.resampling.few_rows import steps_of_areas
from nci_frames.evaluation.resampling.probability_best import shares_among, shares_of_best, with_support
from nci_frames.evaluation.resampling.replicates import Replicates, resample_models
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from nci_frames.evaluation.significance.best import best_among, compare_best
from nci_frames.evaluation.significance.crossover_intervals import area_curves_of, border_of, own_curves_of
from nci_frames.questions.log_counts import LogCounts
from nci_frames.schemas import rows_where

#: Largest number of models resampled, those nearest to the top; others are never counted as best.
MOST_RESAMPLED = 20

#: Least number of resampled logs for tests: with fewer, a p-value near 0.05 is too uncertain.
LEAST_REPEATS = 200

#: First and last positives of a model that are steps of recall of their own.
_SINGLE = 192

_CELLS = ("model", "threshold", "tp", "fp", "fn", "tn")


def leading_models(*rankings: pl.DataFrame) -> list[str]:
    """Return the models with a rank, sorted by best and by mean rank; all models if none has one."""
    table = pl.concat(ranking.select("model", "rank") for ranking in rankings)
    nearest = table.group_by("model").agg(pl.col("rank").min(), mean=pl.col("rank").mean())
    ranked = nearest.drop_nulls()
    return (ranked if ranked.height else nearest).sort("rank", "mean", "model")["model"].to_list()


class Resampled:
    """The counts of the first ``MOST_RESAMPLED`` leading models of a log, to resample."""

    def __init__(
        self, log: LogCounts, leading: Sequence[str], *, repeats: int, etas: Sequence[float] = ()
    ) -> None:
        self._log = log
        #: Number of resampled logs, and prevalences at which areas are computed.
        self.repeats, self._etas = repeats, etas
        self.models = models = tuple(leading[:MOST_RESAMPLED])
        self.drawn = drawn = log.drawn
        #: The key whose values are drawn whole; None draws rows.
        self.units: str | None = drawn.units

        def of_models(frame: pl.DataFrame) -> pl.DataFrame:
            # Filtering by ``rows_where`` avoids a copy of all counts.
            return rows_where(frame, pl.col("model").is_in(models, nulls_equal=True))

        #: The counts of the models: pooled over all keys, and by units.
        self.counts, self.by_unit = of_models(log.rows.total), of_models(drawn.total)
        by_repeat = self.by_unit if drawn.repeat is None else of_models(drawn.by_repeat)
        #: The counts by units and repeats at all thresholds.
        self.every = self.counts if drawn.units is None else by_repeat
        #: The areas by number of resampled logs, and operating points with the counts at their thresholds.
        self._areas: dict[int, list[list[Replicates]]] = {}
        self._at: list[tuple[pl.DataFrame, pl.DataFrame]] = []

    @cached_property
    def steps(self) -> pl.DataFrame:
        """The counts by units, repeats and weights, at few steps of recall."""
        steps, apart = _few_steps(weighted_sums(self.counts)), self.drawn.apart
        if apart:
            found = at_thresholds(self.every, steps, *apart)
        else:
            on = ["model", "threshold"]
            found = self.every.join(steps, on=on, how="semi", nulls_equal=True).select(_CELLS)
        return found.with_columns(resolution=pl.lit("exact")) if every_row_exact(self.every) else found

    def curves(self, area: Area) -> pl.DataFrame:
        """Return the counts to resample for an area."""
        return self.every if area.of_scores else self.steps

    def by_area(
        self, area: Area, prevalence: Sequence[float], repeats: int, *, prior: bool = False
    ) -> list[list[Replicates]]:
        """Return an area of the models in resampled logs, with what a grid leaves unknown."""
        logs = Resampling(self.units, self.drawn.repeat, repeats=repeats)
        asked, certified = Asked(area.name, list(prevalence)), partial(self._log.areas, (), prevalence, area)
        return resample_models(self.curves(area), asked, logs, prior=prior, certified=certified)

    def at(self, points: pl.DataFrame) -> pl.DataFrame:
        """Return the counts at the thresholds of operating points."""
        for known, counts in self._at:
            if known is points:
                return counts
        # Thresholds that were not counted have no rows to resample.
        cells = points.filter(pl.col("model").is_in(self.models)).select(_CELLS).drop_nulls("tp")
        apart = self.drawn.apart
        found = at_thresholds(self.by_unit, cells, *apart) if apart else cells
        self._at.append((points, found))
        return found

    def areas(self, prevalence: Sequence[float], *, least: int = 2) -> list[list[Replicates]]:
        """Return PR-AUC of the models in at least *least* resampled logs, drawn once for all tables."""
        repeats = max(self.repeats, least)
        drawn = self._areas.get(repeats)
        if drawn is None:
            drawn = self.by_area(PR_AUC, sorted({*self._etas, *prevalence}), repeats)
            self._areas[repeats] = drawn
        return [[one.at(prevalence) for one in models] for models in drawn]

    def best_by_area(self, values: pl.DataFrame, prevalence: Sequence[float]) -> pl.DataFrame:
        """Return the probability of being best by PR-AUC, supported as in the table of *values*."""
        return _supported(shares_among(self.areas(prevalence), PR_AUC, by_rows=self.units is None), values)

    def best_by_point(
        self,
        points: pl.DataFrame,
        values: pl.DataFrame,
        prevalence: Sequence[float],
        beta: float,
        threshold: Literal["own"] | None = None,
    ) -> pl.DataFrame:
        """Return the probability of being best by F-beta at one operating point, or at the best of several.

        The best point is chosen anew in each resampled log. Support is that of the table of *values*.
        """
        draws = Resampling(self.units, repeats=self.repeats)
        asked = Asked("f_beta", prevalence, beta, threshold)
        return _supported(shares_of_best(self.at(points), asked, draws), values)

    def contenders(
        self, points: pl.DataFrame, best_points: pl.DataFrame, prevalence: Sequence[float], beta: float
    ) -> pl.DataFrame:
        """Compare all models with the best: at own best thresholds, at one of *points*, and by PR-AUC.

        Columns are ``measure`` ("own", "f_beta" or "pr_auc") and those of ``compare_best``. Own thresholds
        are chosen from those of *best_points*, anew in each resampled log.
        """

        def compared(frame: pl.DataFrame, own: Literal["own"] | None = None) -> pl.DataFrame:
            return compare_best(
                frame, metric="f_beta", prevalence=prevalence, beta=beta, threshold=own, units=self.units,
                repeats=max(self.repeats, LEAST_REPEATS),
            )  # fmt: skip

        tables = {
            "own": compared(self.at(best_points), "own"),
            "f_beta": compared(self.at(points)),
            "pr_auc": best_among(self.areas(prevalence, least=LEAST_REPEATS), PR_AUC, pl.DataFrame()),
        }
        return pl.concat(one.select(pl.lit(name).alias("measure"), pl.all()) for name, one in tables.items())


def _supported(table: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """Add whether the log supports the values, from the table of values."""
    told = values.select("model", "supported", "reason", __own="prevalence")
    return with_support(table, told, ["model"])


def with_borders(
    winners: pl.DataFrame, logs: Resampled | None, points: pl.DataFrame | None = None, fixed: float = 1.0
) -> pl.DataFrame:
    """Add ``lower`` and ``upper``, the 95 % interval of the start over resampled logs that have the border.

    They are null if no range of another model ends there, or logs are not resampled.

    Parameters
    ----------
    winners
        Ranges of ``winner_ranges`` or ``area_winners``.
    logs
        Counts to resample; None for sums of weights.
    points
        Operating points of the ranges; None for areas.
    fixed
        Beta or prevalence of ranges of points.
    """
    models = winners["model"].to_list()
    rows: list[tuple[float | None, float | None]] = [(None, None)] * len(models)
    if logs is not None and len({*models}) > 1 and 0 < fixed < math.inf:
        axis = winners["over"][0]
        draws = Resampling(logs.units, logs.drawn.repeat if points is None else None, repeats=logs.repeats)
        frame = logs.steps if points is None else logs.at(points)
        kept = frame.filter(pl.col("model").is_in(models))
        if points is None:
            found = area_curves_of(kept, draws).get(())
        else:
            found = own_curves_of(kept, draws, axis, fixed).get(())
        changes = zip(pairwise(models), winners["start"][1:], strict=True)
        for place, ((before, after), at) in enumerate(changes, 1):
            inside = before != after and 0 < at < (1 if axis == "prevalence" else math.inf)
            if inside and found is not None and {before, after} <= found.keys():
                border = border_of(found, {"model_a": before, "model_b": after, axis: at}, axis, draws)
                rows[place] = (border["lower"], border["upper"])
    bounds = pl.DataFrame(rows, schema={"lower": pl.Float64, "upper": pl.Float64}, orient="row")
    return winners.with_columns(bounds.get_columns())


def _few_steps(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the thresholds of each model that change areas most, and its lowest one.

    Without them, exact counts of units would take many times as long as those at a thousand thresholds.
    """
    steps = []
    for one in each_histogram(counts):
        few = {*steps_of_areas(one, single=_SINGLE)[0], *one.thresholds[-1:].tolist()}
        steps.append(one.labelled(pl.DataFrame({"threshold": sorted(few)})))
    return pl.concat(steps)
