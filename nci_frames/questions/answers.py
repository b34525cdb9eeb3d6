"""A comparison and its counts -> the answer to one question."""

from collections.abc import Sequence
from functools import cached_property

import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.evaluation.crossovers.winners import winner_ranges
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.projection.averaging import average_over
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.hull import highest_of_each_tpr, roc_convex_hull
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.resampling.bootstrap import bootstrap
from nci_frames.evaluation.significance.best import compare_best
from nci_frames.evaluation.significance.cross_fitting import cross_fit
from nci_frames.evaluation.support.flags import point_flags
from nci_frames.questions.certainty import Resampled
from nci_frames.questions.log_counts import LogCounts
from nci_frames.questions.possible_best import LEAST_REPEATS
from nci_frames.questions.questions import Answer, Question
from nci_frames.questions.tables import Comparison
from nci_frames.questions.units import BUCKET
from nci_frames.schemas import COUNTS, collect

__all__ = ["answer_question"]

_BESIDES = ("recall", "precision", "pos_fraction")
_COLUMNS = (
    "model", "threshold", "metric", "prevalence", "beta", "value", "lower", "upper", "rank",
    "distinguishable", *_BESIDES, "supported", "reason",
)  # fmt: skip


def answer_question(
    question: Question,
    comparison: Comparison,
    counts: pl.DataFrame,
    *,
    unit_counts: pl.DataFrame | None = None,
    repeat: str | None = None,
    repeats: int = 400,
) -> Answer:
    """Return which model is best at the prevalence of a question, how sure that is, and where it changes.

    Parameters
    ----------
    question
        What is asked.
    comparison
        The comparison of the same counts; its prevalences are those over which a change of order is searched.
    counts, unit_counts, repeat
        What ``compare_models`` was given. Areas and own best thresholds are taken within each repeat and
        averaged.
    repeats
        Number of resampled logs.

    Raises
    ------
    ParameterError
        If the metric cannot be ranked.
    SchemaError
        If a model has no name.
    """
    frame = collect(counts, COUNTS)
    if frame["model"].null_count():
        raise SchemaError.unnamed_model()
    observed = comparison.observed_prevalence
    # A log of one class has no prevalence of the field.
    etas = (question.prevalence, observed, comparison.middle_prevalence, 0.5)
    eta = next(eta for eta in etas if eta is not None and 0 < eta < 1)
    if repeat is None and (unit_counts is not None or BUCKET not in frame.columns):
        # The comparison has already added all keys up.
        rates = comparison.rates
        frame = rates.select(name for name in COUNTS.fixed if name in rates.columns)
    log = LogCounts.of(frame, unit_counts, segments=(), fold=None, repeat=repeat)
    asker = _Asker(question, comparison, eta, log, repeats)
    models = asker.models()
    label = models["metric"][0]
    return Answer(question, eta, eta == observed, label, models, asker.winners(models), asker.span)


class _Asker:
    """The counts of a log, and what is asked of them."""

    def __init__(
        self,
        question: Question,
        comparison: Comparison,
        eta: float,
        log: LogCounts,
        repeats: int,
    ) -> None:
        self._question, self._comparison, self._eta = question, comparison, eta
        self._log, self._repeats = log, max(repeats, LEAST_REPEATS)
        self._asked = question.asked
        self._curve = question.area
        self._label = question.area.name if question.area is not None else called_metric(self._asked).label
        # The best of a metric that rises with TPR and falls with FPR is one of few.
        few = question.own and question.f_beta
        self._rates = highest_of_each_tpr(comparison.rates) if few else comparison.rates
        self._grid = sorted({value for value in (*comparison.prevalence, eta) if 0 < value < 1})
        self.span = self._grid[0], self._grid[-1]

    def models(self) -> pl.DataFrame:
        """Return the models, the best first."""
        table = self._areas() if self._curve is not None else self._values()
        ranked = rank_models(table, by=["metric", "prevalence", "beta"])
        best = ranked.filter(pl.col("rank") == 1)["model"].to_list()
        told = self._distinguishable(ranked["model"].to_list())
        ranked = ranked.join(told, on="model", how="left", nulls_equal=True)
        # The best cannot be told from itself.
        differs = pl.when(pl.col("model").is_in(best)).then(statement=False).otherwise("distinguishable")
        missing = {name: pl.lit(None, pl.Float64) for name in _COLUMNS if name not in ranked.columns}
        shown = ranked.with_columns(**missing).with_columns(
            distinguishable=differs, prevalence=pl.lit(self._eta)
        )
        return shown.select(_COLUMNS).sort("rank", "model", nulls_last=True)

    def _points(self, prevalence: float | Sequence[float]) -> pl.DataFrame:
        """Return the operating point of each model."""
        question = self._question
        if question.alerts is not None:
            return select_operating_points(
                self._rates, alerts=question.alerts, volume=question.volume, prevalence=prevalence
            )
        if question.threshold is not None:
            return select_operating_points(self._rates, threshold=question.threshold)
        needed = "prevalence" in called_metric(self._asked).meta.root_names()
        at = prevalence if needed else None
        return select_operating_points(self._rates, metric=self._asked, beta=question.beta, prevalence=at)

    def _values(self) -> pl.DataFrame:
        points = self._points(self._eta)
        weighted = self._comparison.weighted
        bounded = self._log.bounded(points)
        table = self._projected(bounded, self._label, self._asked, band=not weighted)
        for name in _BESIDES:
            one = self._projected(points, name, name, band=False).select("model", pl.col("value").alias(name))
            table = table.join(one, on="model", how="left", nulls_equal=True)
        if not self._question.own or self._log.judged is None:
            return table
        here = pl.col("prevalence").is_null() | (pl.col("prevalence") == self._eta)
        fitted = self._judged_apart.filter(here).select("model", pl.col("value").alias("__judged"))
        judged = table.join(fitted, on="model", how="left", nulls_equal=True)
        value = pl.col("__judged")
        known = pl.col("lower").is_not_null() & value.is_not_null()
        # The bounds are those of the threshold of the log, widened to hold the value on other rows.
        return judged.with_columns(
            value=value,
            lower=pl.when(known).then(pl.min_horizontal("lower", value)),
            upper=pl.when(known).then(pl.max_horizontal("upper", value)),
        ).drop("__judged")

    def _projected(
        self, points: pl.DataFrame, label: str, metric: str | pl.Expr, *, band: bool
    ) -> pl.DataFrame:
        frame = points.drop("prevalence", strict=False)
        table = project_rates(
            frame, metrics=metric, prevalence=self._eta, beta=self._question.beta, band=band
        )
        return table.filter(metric=label)

    def _areas(self) -> pl.DataFrame:
        name = self._label
        areas = self._log.areas((), [self._eta]).filter(metric=name)
        table = areas.with_columns(beta=pl.lit(None, pl.Float64)).drop("lower", "upper")
        none = pl.lit(None, pl.Float64)
        if not self._log.resampled:
            return table.with_columns(lower=none, upper=none)
        logs = self._logs(table["model"].to_list())
        found = bootstrap(
            logs.steps, metric=name, prevalence=self._eta, repeats=self._repeats, units=logs.units
        )
        # The mean of the bounds of repeats is no narrower than the interval of the mean.
        bounds = found.group_by("model").agg(
            pl.when(pl.col(side).null_count() == 0).then(pl.col(side).mean()).alias(side)
            for side in ("lower", "upper")
        )
        return table.join(bounds, on="model", how="left", nulls_equal=True)

    def _logs(self, leading: Sequence[str]) -> Resampled:
        return Resampled.of(self._log.total, self._log.drawn, leading, repeats=self._repeats)

    def _distinguishable(self, leading: Sequence[str]) -> pl.DataFrame:
        """Return which models differ from the best; null where that cannot be said."""
        if not self._log.resampled:
            return pl.DataFrame(schema={"model": pl.String, "distinguishable": pl.Boolean})
        logs = self._logs(leading)
        if self._curve is not None:
            frame = logs.steps
        else:
            frame = logs.at(roc_convex_hull(self._rates) if self._question.own else self._points(self._eta))
        found = compare_best(
            frame,
            metric=self._asked,
            prevalence=self._eta,
            beta=self._question.beta,
            threshold="own" if self._question.own else None,
            units=logs.units,
            over=None if self._curve is None else logs.over,
            repeats=self._repeats,
        )
        return found.select("model", "distinguishable")

    def winners(self, models: pl.DataFrame) -> pl.DataFrame:
        """Return the best model over prevalence; *models* are ranked at that of the question."""
        columns = ["start", "end", "model", "supported"]
        bounds = {name: pl.lit(None, pl.Float64) for name in ("lower", "upper")}
        question, comparison = self._question, self._comparison
        start, end = self.span
        if self._curve is not None:
            if self._curve.depends_on_prevalence:
                return comparison.area_winners.select(*columns, *bounds)
            # The best at one prevalence is the best at all.
            best = models.filter(pl.col("value").is_not_null()).head(1)
            everywhere = best.with_columns(start=pl.lit(start), end=pl.lit(end))
            return everywhere.select(*columns, **bounds)
        if question.threshold is None:
            return self._leaders().with_columns(**bounds)
        if question.f_beta and (question.beta, question.threshold) == (
            comparison.main_beta,
            comparison.threshold,
        ):
            return comparison.winners.select(*columns, *bounds)
        found = winner_ranges(
            self._points(self._eta),
            metric=self._asked,
            over="prevalence",
            beta=question.beta,
            start=start,
            end=end,
        )
        return found.select(columns).with_columns(**bounds)

    def _leaders(self) -> pl.DataFrame:
        """Return the best model at each prevalence of the comparison, each with its threshold chosen anew.

        A range ends at the next prevalence. Thresholds that are chosen for the metric are judged on other
        rows, as they are at the prevalence of the question.
        """
        grid = self._grid
        called, beta = called_metric(self._asked), pl.lit(self._question.beta)
        points = self._points(grid)
        if "prevalence" not in points.columns:
            points = points.join(pl.DataFrame({"prevalence": grid}), how="cross")
        table = points.drop("reason").with_columns(
            beta=beta, **point_flags(points.columns, needs_fpr=called.needs_fpr is not False)
        )
        table = table.with_columns(called.cast(pl.Float64).alias("value"), metric=pl.lit(self._label))
        table = table.select(
            "model", "threshold", "metric", "prevalence", "beta", "value", "supported", "reason"
        )
        if self._question.own and self._log.judged is not None:
            judged = self._judged_apart
            at = ["model"] if judged["prevalence"].null_count() else ["model", "prevalence"]
            judged = judged.drop("prevalence") if len(at) == 1 else judged
            table = table.drop("value").join(judged, on=at, how="left", nulls_equal=True)
        ranked = rank_models(table, by=["metric", "prevalence", "beta"]).filter(rank=1)
        leaders: list[tuple[float, str | None, bool]] = []
        for (eta,), tied in ranked.partition_by("prevalence", as_dict=True, maintain_order=True).items():
            models = tied["model"].to_list()
            # Of equally good models, the one that led before.
            before = leaders[-1][1] if leaders else None
            model = before if leaders and before in models else models[0]
            leaders.append((float(eta), model, bool(tied["supported"].any())))
        schema = {"start": pl.Float64, "model": pl.String, "supported": pl.Boolean}
        first = pl.DataFrame(leaders, schema=schema, orient="row")
        ends = [*first["start"].to_list()[1:], self.span[1]] if leaders else []
        whole = first.with_columns(end=pl.Series(ends, dtype=pl.Float64))
        return whole.select("start", "end", "model", "supported")

    @cached_property
    def _judged_apart(self) -> pl.DataFrame:
        """The value of each model at its best threshold over prevalence, on rows it was not chosen on."""
        counts = self._log.total if self._log.judged is None else self._log.judged
        fitted = cross_fit(
            counts,
            metric=self._asked,
            prevalence=self._grid,
            beta=self._question.beta,
            units=self._log.drawn.units,
        )
        if self._log.repeat is not None:
            columns = ("model", self._log.repeat, "threshold", "metric", "prevalence", "beta", "value")
            fitted = average_over(fitted.select(columns), over=self._log.repeat)
        return fitted.select("model", "prevalence", "value")
