"""The counts of a log and a question -> the answer at any prevalence."""

import math
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property, partial
from typing import Any

import polars as pl

from nci_frames.counts.resolution import every_row_exact, without_claims
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.metrics import asked_metric, called_metric
from nci_frames.evaluation.metrics.predictive import pos_fraction, precision
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.hull import roc_convex_hull
from nci_frames.evaluation.rates.rates import BOUNDS, RateInterval
from nci_frames.evaluation.rates.strata import classes_of_strata
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.evaluation.resampling.replicates import resample_models
from nci_frames.evaluation.resampling.resampling import Asked, OwnThreshold, Resampling
from nci_frames.evaluation.significance.best import best_among
from nci_frames.evaluation.significance.cross_fitting import cross_fit
from nci_frames.evaluation.support.rule import point_flags
from nci_frames.questions.certainty import LEAST_REPEATS, MOST_RESAMPLED, Resampled, leading_models
from nci_frames.questions.chosen_model import for_the_first
from nci_frames.questions.log_counts import LogCounts
from nci_frames.questions.order import Lead
from nci_frames.questions.own_thresholds import OwnPoints, averaged, best_values, widened
from nci_frames.questions.places import crossed
from nci_frames.questions.question import Question
from nci_frames.questions.units import mean_of_all
from nci_frames.schemas import beside, has_strata

_AT = ["model", "prevalence"]
_SIDES = ("lower", "upper")
_IN_NO_HALF = "thresholds are judged on other rows, or units, than chose them: a class has too few for both"
_OF_ONE_UNIT = "all rows of a class are of one unit, or hardly more: of others this log tells nothing"
#: Largest relative difference of equal prevalences, by rounding of sums of weights.
_SAME = 1e-9
#: Computes a table at some prevalences.
_Make = Callable[[list[float]], pl.DataFrame]
#: Interval of the share of alerts in the field, for a budget of alerts.
_BUDGET = ("pos_fraction_lower", "pos_fraction_upper")
_COLUMNS = (
    "model", "threshold", "metric", "prevalence", "value", "lower", "upper", "rank", "distinguishable",
    "recall", "precision", "pos_fraction", "supported", "reason",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a log to a question at one prevalence."""

    question: Question
    prevalence: float
    #: Whether it is the observed prevalence of the log.
    observed: bool
    #: ``Comparison.answer``: a row per model, best first.
    models: pl.DataFrame
    #: Which models lead where, and the lowest and highest prevalence compared.
    leads: Sequence[Lead]
    span: tuple[float, float]
    #: Whether the models were compared with the best.
    tested: bool = True
    #: The class without rows in the log, if any: "positives" or "negatives".
    lacks: str | None = None
    #: Whether values at own best thresholds are those of other rows than the ones that chose them.
    judged: bool = True
    #: Largest error of the areas of the log itself, whose scores lie between thresholds; 0 for other metrics.
    error: float = 0.0
    #: The models whose precision the log does not support, even where it supports the value.
    imprecise: frozenset[str] = frozenset()


@dataclass(eq=False)
class AskedLog:
    """A question about the counts of a log.

    The answer at one prevalence does not depend on the other prevalences of a call.
    """

    question: Question
    log: LogCounts
    #: Rates of all points, or those near the threshold of the question; areas and *own* points need none.
    rates: pl.DataFrame
    #: Prevalences in (0, 1) at which a report answers. Tables that take hardly longer for all of them than
    #: for one are computed for all at once.
    places: Sequence[float]
    repeats: int
    #: For F-beta at own best thresholds: the points that can be best, and values already known.
    own: OwnPoints | None = None
    known: InitVar[pl.DataFrame | None] = None

    def __post_init__(self, known: pl.DataFrame | None) -> None:
        """Set up the metric and the tables known already."""
        self.repeats = max(self.repeats, LEAST_REPEATS)
        self._kept: dict[str, pl.DataFrame] = {} if known is None else {"own": known}
        self._metric, self._area = self.question.asked, self.question.area
        self._label = self._area.name if self._area is not None else called_metric(self._metric).label

    def over(self, prevalence: Sequence[float], *, tested: bool = True) -> pl.DataFrame:
        """Return the models at each prevalence, best first; see ``Comparison.answer``.

        With *tested* false, models are not compared with the best: ``distinguishable`` is null.
        """
        ranked = self._ranked(prevalence)
        told = self._distinguishable(prevalence) if tested else None
        unknown = pl.lit(None, pl.Boolean).alias("distinguishable")
        ranked = ranked.with_columns(unknown) if told is None else beside(ranked, told, _AT)
        # The best model does not differ from itself.
        differs = pl.when(pl.col("rank") == 1).then(statement=False).otherwise("distinguishable")
        columns = _COLUMNS if self.question.alerts is None else (*_COLUMNS[:-2], *_BUDGET, *_COLUMNS[-2:])
        missing = {name: pl.lit(None, pl.Float64) for name in columns if name not in ranked.columns}
        shown = ranked.with_columns(**missing).with_columns(distinguishable=differs).select(columns)
        why = self._reason()
        shown = shown.with_columns(supported=pl.col("supported") & why.is_null(), reason=why)
        return shown.sort("prevalence", "rank", "model", nulls_last=True)

    def _reason(self) -> pl.Expr:
        """Return why a value, or its bounds, are null although rates are precise; else the reason known."""
        log, value = self.log, pl.col("value").is_null()
        judged = self.question.own and log.judged is not None
        bounded = self._area is None and log.drawn.units is not None and log.drawn.enough
        alone = pl.col("reason").is_null() & pl.col("lower").is_null() & bounded
        return (
            pl.when(value & judged)
            .then(pl.lit(_IN_NO_HALF))
            .when(~value & alone)
            .then(pl.lit(_OF_ONE_UNIT))
            .otherwise("reason")
        )

    def imprecise(self, prevalence: Sequence[float]) -> dict[float, frozenset[str]]:
        """Return the models whose precision the log does not support, by prevalence; none for an area."""
        if self._area is not None:
            return {}
        doubted = self._ranked(prevalence).filter(~pl.col("__precise"))
        return {eta: frozenset(models) for eta, models in doubted.group_by("prevalence").agg("model").rows()}

    def _ranked(self, prevalence: Sequence[float]) -> pl.DataFrame:
        return self._kept_at("ranked", prevalence, self._ranks)

    def _ranks(self, prevalence: Sequence[float]) -> pl.DataFrame:
        area = self._area
        table = self._values(prevalence) if area is None else self._areas(prevalence, area)
        ranked = rank_models(table, by=["metric", "prevalence", "beta"])
        return for_the_first(ranked, asked_metric(self._metric))

    def _points(self, prevalence: Sequence[float]) -> pl.DataFrame:
        """Return the operating point of each model at each prevalence."""
        question, rates = self.question, self.rates
        etas = pl.DataFrame({"prevalence": list(prevalence)})
        if self.own is not None:
            return self.own.at(etas.with_columns(beta=question.beta)).drop("beta")
        asked: dict[str, Any] = {"threshold": question.threshold}
        if question.alerts is not None:
            asked = {name: getattr(question, name) for name in ("alerts", "volume", "confidence")}
            asked["prevalence"] = list(prevalence)
            if question.confidence is not None:
                # The log chooses one of the models, so all of them keep the budget together.
                asked["confidence"] = 1 - (1 - question.confidence) / rates["model"].n_unique()
                rates = self.log.by_units(rates)
        elif question.threshold is None:
            asked = {"metric": self._metric, "beta": question.beta}
            if "prevalence" in called_metric(self._metric).meta.root_names():
                asked["prevalence"] = list(prevalence)
        judged = self.log.judged
        if question.own and judged is not None and not every_row_exact(judged):
            # Where it is judged on a grid, a threshold above all scores is none of the candidates.
            rates = without_claims(rates)
        points = select_operating_points(rates, **asked).drop(BOUNDS, strict=False)
        return points if "prevalence" in points.columns else points.join(etas, how="cross")

    def _values(self, prevalence: Sequence[float]) -> pl.DataFrame:
        points = self._points(prevalence)
        if self.own is not None:
            best = partial(best_values, self.own, self.log)
            table = self._kept_at(
                "own", prevalence, lambda etas: best(crossed(etas, [self.question.beta])), self.places
            )
        else:
            points = self._bounded(points)
            table = self._projected(points, prevalence)
        told = point_flags(points.columns, needs_fpr=True)["supported"].alias("__precise")
        shares = {"recall": pl.col("tpr"), "precision": precision(), "pos_fraction": pos_fraction()}
        besides = points.select(*_AT, told, **shares)
        if self.question.alerts is not None:
            table = beside(table, points.select(*_AT, __unattained="reason"), _AT)
            table = table.with_columns(reason=pl.coalesce("__unattained", "reason")).drop("__unattained")
            if self.log.whole:
                besides = besides.join(self._budget(points), on=_AT, nulls_equal=True)
        return beside(table, besides, _AT)

    def _budget(self, points: pl.DataFrame) -> pl.DataFrame:
        """Return the interval of the share of alerts in the field.

        A log that chose the threshold has fewer negatives above it than the field. As their number is the
        largest that the budget allows, the upper Clopper-Pearson bound still holds: it is that of the next
        negative below.
        """
        said = project_checked(points, metrics="pos_fraction", prevalence="selected", band=True)
        return said.select(*_AT, pl.col("lower", "upper").name.prefix("pos_fraction_"))

    def _projected(self, points: pl.DataFrame, prevalence: Sequence[float]) -> pl.DataFrame:
        table = project_checked(
            points, metrics=self._metric, prevalence="selected", beta=self.question.beta, band=self.log.whole
        ).filter(metric=self._label)
        table = self._with_strata(table)
        if not self.question.own or self.log.judged is None:
            return table
        judged = self._kept_at("judged", prevalence, self._cross_fitted, self.places)
        found = beside(table, judged, _AT).with_columns(
            value="__judged", optimistic="value", **widened("__judged")
        )
        return found.drop("__judged")

    def _with_strata(self, table: pl.DataFrame) -> pl.DataFrame:
        """Replace bounds by those of resampled strata, at the observed prevalence.

        A log sampled by score may support a metric there, but neither of its rates.
        """
        threshold, counts, log = self.question.threshold, self.log.rows.total, self.log.drawn
        if not isinstance(threshold, int | float) or not has_strata(counts) or log.units or log.repeat:
            return table
        known = table.drop_nulls("value")
        strata = classes_of_strata(counts).filter("__mixed")
        mixed = strata.join(known, on="model", how="semi", nulls_equal=True)
        # The lowest and highest scores of strata tell which strata are flagged.
        few = near_threshold(counts, threshold, math.inf)
        few = few.join(mixed, on="model", how="semi", nulls_equal=True)
        beta = (self.question.beta,)
        found = bootstrap(few, metric=self._metric, beta=beta, threshold=threshold, repeats=self.repeats)
        told = ("lower", "upper", "supported", "reason")
        own = found.select("model", pl.col("prevalence", *told).name.prefix("__"))
        joined = beside(table, own, "model")
        distance = (pl.col("prevalence") / pl.col("__prevalence") - 1).abs().fill_null(0.0)
        here = pl.col("__lower").is_not_null() & (distance <= _SAME)
        better = (pl.when(here).then(f"__{name}").otherwise(name).alias(name) for name in told)
        return joined.with_columns(better).select(table.columns)

    def _bounded(self, points: pl.DataFrame) -> pl.DataFrame:
        """Add the bounds of TPR and FPR, once for each point.

        The threshold of a budget is the score of a row, which is above it by choice and not by chance. The
        share of a class beyond its n-th row has a beta distribution; its quantiles are the Clopper-Pearson
        bounds.
        """
        own = points.drop("prevalence").unique(["model", "threshold"], maintain_order=True)
        interval: RateInterval = "wilson" if self.question.alerts is None else "clopper_pearson"
        bounds = self.log.bounded(own.sort("model", "threshold"), interval=interval)
        added = [name for name in bounds.columns if name not in points.columns]
        # No row of any log reaches an infinite threshold, unless scores are infinite, too.
        unreached = pl.col("threshold").is_infinite() & (pl.col("tp") == 0) & (pl.col("fp") == 0)
        sides = [name for name in added if name.endswith(("_lower", "_upper"))]
        bounds = bounds.with_columns(pl.when(~unreached).then(name).otherwise(0.0) for name in sides)
        on = ["model", "threshold"]
        return beside(points, bounds.select(*on, *added), on)

    def _kept_at(
        self, name: str, prevalence: Sequence[float], make: _Make, besides: Sequence[float] = ()
    ) -> pl.DataFrame:
        """Return a table at some prevalences, computed once for each; *besides* are computed with them."""
        known = self._kept.get(name)
        there = set() if known is None else {*known["prevalence"]}
        if known is None or not {*prevalence} <= there:
            made = make(sorted({*prevalence, *besides} - there))
            known = self._kept[name] = made if known is None else pl.concat([known, made])
        return known.filter(pl.col("prevalence").is_in(list(prevalence)))

    def _cross_fitted(self, prevalence: list[float]) -> pl.DataFrame:
        """Return the value of each model at its best threshold, on other rows than those that chose it."""
        drawn, beta = self.log.drawn, self.question.beta
        counts = drawn.by_repeat
        fitted = cross_fit(counts, metric=self._metric, prevalence=prevalence, beta=beta, units=drawn.units)
        if drawn.repeat is not None:
            fitted = averaged(fitted, drawn.repeat)
        return self._everywhere(fitted.select(*_AT, pl.col("value").alias("__judged")), prevalence)

    def _areas(self, prevalence: Sequence[float], area: Area) -> pl.DataFrame:
        certified = self._certified(prevalence, area)
        table = certified.drop(_SIDES).with_columns(beta=pl.lit(None, pl.Float64))
        if self.log.resampled:
            counts, units, etas = self._logs.curves(area), self._logs.units, list(prevalence)
            found = bootstrap(counts, metric=self._label, prevalence=etas, repeats=self.repeats, units=units)
            # The mean of the bounds over repeats is at least as wide as the interval of the mean.
            means = found.group_by(_AT).agg(map(mean_of_all, ("value", *_SIDES)))
            bounds = self._everywhere(means, prevalence)
            if not area.of_scores:
                # The area at few steps of recall is another one: its bounds go beside the certified ones.
                both = beside(bounds, certified.select(*_AT, *_SIDES), _AT, suffix="_certified")
                moved = {side: pl.col(f"{side}_certified") - pl.col("value") for side in _SIDES}
                bounds = both.with_columns((pl.col(side) + by).clip(0, 1) for side, by in moved.items())
            table = beside(table, bounds.select(*_AT, *_SIDES), _AT)
        return table

    def _certified(self, prevalence: Sequence[float], area: Area) -> pl.DataFrame:
        """Return the area of each model at each prevalence, with certified bounds."""

        def make(etas: list[float]) -> pl.DataFrame:
            return self._everywhere(self.log.areas((), etas, area), etas)

        return self._kept_at("certified", prevalence, make)

    def errors(self, prevalence: Sequence[float]) -> dict[float, float]:
        """Return the largest error of an area of the log itself that its certified bounds leave open.

        At each prevalence; other metrics have none.
        """
        if self._area is None:
            return {}
        error = ((pl.col("upper") - pl.col("lower")).max() / 2).fill_null(0.0)
        found = self._certified(prevalence, self._area).group_by("prevalence").agg(error)
        return dict(found.rows())

    def _everywhere(self, table: pl.DataFrame, prevalence: Sequence[float]) -> pl.DataFrame:
        """Repeat rows without a prevalence at each prevalence."""
        if not table["prevalence"].null_count():
            return table
        return table.drop("prevalence").join(pl.DataFrame({"prevalence": list(prevalence)}), how="cross")

    @cached_property
    def _logs(self) -> Resampled:
        leading = self.log.rows.total["model"].unique().to_list()
        if len(leading) > MOST_RESAMPLED:
            places, area = list(self.places), self._area
            ranked = self._ranked(places) if area is None else rank_models(self._certified(places, area))
            leading = leading_models(ranked)
        return Resampled(self.log, leading, repeats=self.repeats)

    def _distinguishable(self, prevalence: Sequence[float]) -> pl.DataFrame | None:
        """Return which models differ from the best; None if the log cannot be resampled."""
        if not self.log.resampled:
            return None
        if self._area is not None:
            return self._kept_at("tested", prevalence, partial(self._compared_areas, self._area), self.places)
        if self.question.own:
            counts = self._logs.at(self._best_points)
        elif self.question.alerts is not None:
            counts = self._logs.by_unit
        else:
            points = self._points(prevalence).filter(prevalence=prevalence[0]).drop("prevalence")
            return self._compared(self._logs.at(points), prevalence)
        return self._kept_at("tested", prevalence, lambda etas: self._compared(counts, etas), self.places)

    @cached_property
    def _best_points(self) -> pl.DataFrame:
        """The operating points that can be the best of a model: above all scores, F-beta is 0."""
        if self.own is not None:
            return roc_convex_hull(self.own.points)
        hull = roc_convex_hull(self.rates)
        above = select_operating_points(self.rates, threshold=math.inf).drop_nulls("tp")
        found = pl.concat([hull, above.select(hull.columns)])
        return found.unique(["model", "threshold"], maintain_order=True)

    def _compared(self, counts: pl.DataFrame, prevalence: Sequence[float]) -> pl.DataFrame:
        threshold: OwnThreshold = "own" if self.question.own else None
        shares = self._shares(prevalence)
        asked = Asked(self._metric, list(prevalence), self.question.beta, threshold, shares)
        logs = Resampling(self._logs.units, repeats=self.repeats)
        drawn = resample_models(whole_counts(counts), asked, logs, prior=True)
        found = best_among(drawn, asked_metric(self._metric), pl.DataFrame())
        return self._everywhere(found, prevalence).select(*_AT, "distinguishable")

    def _shares(self, prevalence: Sequence[float]) -> float | list[float] | None:
        """Return the budget of alerts that resampled logs keep, at ascending prevalences.

        With a confidence, models are compared at the share of alerts that they have at sure thresholds.
        """
        if self.question.confidence is None:
            return self.question.share
        shares = self._ranked(prevalence).group_by("prevalence").agg(pl.col("pos_fraction").max())
        return shares.sort("prevalence")["pos_fraction"].fill_null(0.0).to_list()

    def _compared_areas(self, area: Area, prevalence: Sequence[float]) -> pl.DataFrame:
        drawn = self._logs.by_area(area, prevalence, self.repeats, prior=True)
        found = best_among(drawn, area, pl.DataFrame())
        return self._everywhere(found, prevalence).select(*_AT, "distinguishable")
