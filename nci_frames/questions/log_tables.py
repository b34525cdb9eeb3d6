"""The tables of all rows of a log, each computed on first access."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.resolution import without_claims
from nci_frames.counts.score_scale import are_probabilities
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.evaluation.crossovers.areas import area_nodes
from nci_frames.evaluation.crossovers.winners import area_winners, decision_map, own_maps, winner_ranges
from nci_frames.evaluation.projection.averaging import average_over
from nci_frames.evaluation.projection.bands import max_precision_uncertainty
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.hull import highest_of_each_tpr
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.rates.strata import summed_counts
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.significance.certified_map import certified_ranges
from nci_frames.evaluation.significance.folds import compare_folds
from nci_frames.evaluation.support.rule import point_support
from nci_frames.questions import places
from nci_frames.questions.certainty import LEAST_REPEATS, Resampled, leading_models, with_borders
from nci_frames.questions.compared import PROBABLE, Compared, computed
from nci_frames.questions.drawn_curves import report_curves
from nci_frames.questions.log_counts import LogCounts
from nci_frames.questions.own_thresholds import OwnPoints, best_values
from nci_frames.questions.undefined import off_scale, uncounted
from nci_frames.schemas import beside, rows_where
from nci_frames.tables.cells import pick_evenly

#: Largest number of models with curves: more cannot be distinguished by colour and stroke.
MOST_MODELS = 12

#: Largest number of prevalences at which all models are compared with the best, besides the main ones.
_MOST_TESTED = 48

#: Projected metrics: those of the papers.
METRICS = ("precision", "recall", "f_beta", "accuracy", "pos_fraction")


class LogTables(Compared):
    """The tables of all rows of a log."""

    #: The log by segments, with its buckets of units.
    _by_segment: LogCounts

    @computed
    def points(self) -> pl.DataFrame:
        """Rates of each model at the threshold, pooled over all keys; counts are sums over repeats."""
        return self._log.bounded(select_operating_points(self._near, threshold=self.threshold))

    @computed
    def projection(self) -> pl.DataFrame:
        """The ``METRICS`` of the points by prevalence and beta, ranked."""
        grid, betas, band = list(self.prevalence), list(self.beta), self._log.whole
        table = project_rates(self.points, metrics=METRICS, prevalence=grid, beta=betas, band=band)
        return rank_models(table)

    @computed
    def areas(self) -> pl.DataFrame:
        """ROC-AUC and PR-AUC by prevalence, pooled over all keys, ranked.

        With repeats, values are means over them, with their ``std``.
        """
        return rank_models(self._log.areas((), self.prevalence))

    @computed
    def best_points(self) -> pl.DataFrame:
        """Rates at the operating points with the model's highest F-beta at some prevalence and beta."""
        return self._own.points

    @computed
    def best(self) -> pl.DataFrame:
        """F-beta of each model at its own best threshold, by prevalence and beta, ranked.

        ``value`` is that of ``cross_fit``, on other rows than those that chose the threshold; ``optimistic``
        is that on the same rows. Sums of weights cannot be split, so ``value`` is the optimistic one. With
        repeats, both are means over them, and the threshold is the best for all repeats together.
        """
        grid = places.crossed(self.prevalence, self.beta)
        known = self._own_values.drop_nulls("threshold")
        values = known.join(grid, on=["prevalence", "beta"], how="semi")
        # Models that share thresholds still compete at different ones.
        return rank_models(values, by=("metric", "prevalence", "beta"))

    @computed
    def best_winners(self) -> pl.DataFrame:
        """Exact ranges of the model with the highest F-beta over prevalence, each at its own best threshold.

        At ``main_beta``: columns of ``winner_ranges``, with ``lower`` and ``upper``, the 95 % interval of the
        start of a range over the resampled logs in which its models change places.
        """
        return self._prevalence_winners(self.best_points)

    @computed
    def winners(self) -> pl.DataFrame:
        """Ranges as in ``best_winners``, at the threshold of ``points``."""
        return self._prevalence_winners(self.points)

    @computed
    def beta_winners(self) -> pl.DataFrame:
        """Ranges as in ``winners``, over beta at ``middle_prevalence``."""
        middle = self.middle_prevalence
        ranges = winner_ranges(self.points, metric="f_beta", over="beta", prevalence=middle)
        return with_borders(ranges, self._logs, self.points, middle)

    @computed
    def folds(self) -> pl.DataFrame | None:
        """F-beta of the models over folds by beta, at ``middle_prevalence`` and the threshold of ``points``.

        Columns of ``compare_folds``; None with fewer than two folds.
        """
        if self._by_fold is None:
            return None
        points = select_operating_points(compute_rates(self._by_fold), threshold=self.threshold)
        over, betas = list(self._log.folds), list(self.beta)
        return compare_folds(points, beta=betas, prevalence=self.middle_prevalence, over=over)

    @computed
    def fold_areas(self) -> pl.DataFrame | None:
        """ROC-AUC and PR-AUC within folds at the ``main_prevalences``, averaged over the folds.

        With ``std``, ``repeats`` (folds in which it is defined) and ``skipped``; None as for ``folds``.
        """
        if self._by_fold is None:
            return None
        return average_over(areas_of(self._by_fold, list(self.main_prevalences)), over=list(self._log.folds))

    @computed
    def _by_fold(self) -> pl.DataFrame | None:
        return self._log.by_fold()

    @computed
    def decisions(self) -> pl.DataFrame:
        """Decision map: the model with the highest F-beta at each prevalence and beta."""
        return decision_map(self._candidates)

    @computed
    def certified(self) -> pl.DataFrame | None:
        """Certified decision map: models that may have the highest F-beta, as in ``certify_decision_map``.

        None if the log cannot be resampled, as with sums of weights.
        """
        if self._logs is None:
            return None
        return certified_ranges(
            self._logs.at(self.best_points), summed_counts(self._logs.counts), self.decisions,
            Resampling(self._logs.units, repeats=max(self._draws, LEAST_REPEATS)), self._logs.drawn.worth(()),
        )  # fmt: skip

    @computed
    def area_nodes(self) -> pl.DataFrame:
        """PR-AUC at the nodes of ``area_nodes``, which determine it over ``prevalence_range``."""
        return self._log.areas((), area_nodes(*self.prevalence_range), PR_AUC)

    @computed
    def area_winners(self) -> pl.DataFrame:
        """Ranges of the model with the largest PR-AUC over ``prevalence_range``: columns of ``winners``."""
        ranges = area_winners(self.area_nodes, self.support, *self.prevalence_range)
        return with_borders(ranges, self._logs)

    @computed
    def support(self) -> pl.DataFrame:
        """Lowest prevalence at which the log supports the PR-AUC of each model."""
        return self._log.support()

    @computed
    def certainty(self) -> pl.DataFrame | None:
        """Probability of being best by prevalence, by PR-AUC and by F-beta of ``points`` at ``main_beta``.

        Columns of ``probability_best``; None if the log cannot be resampled.
        """
        if self._logs is None:
            return None
        etas, beta = self.prevalence, self.main_beta
        by_area = self._logs.best_by_area(self.areas.filter(metric="pr_auc"), etas)
        values = self.projection.filter(metric="f_beta", beta=beta)
        return pl.concat([by_area, self._logs.best_by_point(self.points, values, etas, beta)])

    @computed
    def best_certainty(self) -> pl.DataFrame | None:
        """Certainty as in ``certainty``, by F-beta at own best thresholds, chosen anew in every resample."""
        if self._logs is None:
            return None
        beta = self.main_beta
        values = self.best.filter(beta=beta)
        return self._logs.best_by_point(self.best_points, values, self.prevalence, beta, "own")

    @computed
    def contenders(self) -> pl.DataFrame | None:
        """Models that may be the best, by each measure at ``main_beta``; None as for ``certainty``.

        At the prevalences compared; if they are more than 48, at 48 of them and the main ones. ``measure`` is
        "own" (F-beta, each model at its own best threshold), "f_beta" (at the threshold of ``points``) or
        "pr_auc"; then come the columns of ``compare_best``.
        """
        if self._logs is None:
            return None
        return self._logs.contenders(self.points, self.best_points, self._tested, self.main_beta)

    @computed
    def shifts(self) -> pl.DataFrame | None:
        """Tests of whether each class has the same scores in all segments, as projection assumes.

        Columns of ``check_projection`` with ``key``, the key whose values are compared; None if not tested.
        """
        return self._by_segment.shifts()

    @computed
    def curves(self) -> pl.DataFrame:
        """Rates frame of the ROC curves of the 12 leading models, to be drawn.

        Long curves keep only the points needed to look the same.
        """
        return self._log.rates_of(report_curves(self._summed, self.leading[:MOST_MODELS]))

    @computed
    def curve_projection(self) -> pl.DataFrame:
        """Precision, pos_fraction and recall of ``curves`` at the ``asked_prevalence``.

        With ``supported_from``, the lowest prevalence at which the log supports the operating point.
        """
        metrics, at = ["precision", "pos_fraction", "recall"], ["model", "threshold"]
        table = project_rates(self.curves, metrics=metrics, prevalence=self.asked_prevalence)
        lowest = self.curves.select(*at, supported_from=point_support(self.curves.columns))
        return beside(table, lowest.unique(at), at)

    @computed
    def precision_uncertainty(self) -> pl.DataFrame | None:
        """Largest width of the precision band of each model; None for sums of weights."""
        return max_precision_uncertainty(self.points) if self._log.whole else None

    @computed
    def area_errors(self) -> pl.DataFrame:
        """Largest error of the PR-AUC of each model at any prevalence compared: model, error."""
        error = ((pl.col("upper") - pl.col("lower")) / 2).max().alias("error")
        return self.areas.filter(metric="pr_auc").group_by("model").agg(error).sort("model")

    @computed
    def leading(self) -> tuple[str, ...]:
        """The models with a rank in any table, those nearest to the top first; all models if none has one."""
        return tuple(leading_models(*self._rankings()))

    @computed
    def uncounted(self) -> str | None:
        """Reason why no model has a point at the threshold; None if it was counted for some model."""
        return uncounted(self.points, self._near)

    @computed
    def off_scale(self) -> str | None:
        """Reason why the threshold 0.5 says little: scores are not probabilities. None if they may be."""
        return off_scale(self._summed) if self.threshold == PROBABLE else None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables that are not None, by attribute name; computes the missing ones."""
        classes = reversed(type(self).__mro__)
        members = [pair for each in classes for pair in vars(each).items()]
        lazy = [name for name, value in members if isinstance(value, computed)]
        held = {name: getattr(self, name) for name in [*lazy, "field"] if not name.startswith("_")}
        return {name: value for name, value in held.items() if isinstance(value, pl.DataFrame)}

    @property
    def fold_count(self) -> int | None:
        """Number of folds; None if they are not compared."""
        folds = self.folds
        return None if folds is None else folds.select((pl.col("folds") + pl.col("skipped")).max()).item()

    def _rankings(self) -> list[pl.DataFrame]:
        at_beta = (pl.col("metric") == "f_beta") & (pl.col("beta") == self.main_beta)
        areas = self.areas.filter(metric="pr_auc")
        return [self.best.filter(at_beta), areas, self.projection.filter(at_beta)]

    @computed
    def of_probabilities(self) -> bool:
        """Whether all scores lie in [0, 1], according to the counts."""
        ends = near_threshold(self._summed, 0.0, 1.0, float("inf"))
        rows = self._log.rates_of(ends).drop_nulls(["tpr", "fpr"])
        return not rows.is_empty() and are_probabilities(rows)

    def counts_of(self, models: Sequence[str | None]) -> pl.DataFrame:
        """Return the counts of those of these models that have rows of both classes."""
        known = {*self._near.drop_nulls(["tpr", "fpr"])["model"]}.intersection(models)
        return rows_where(self._summed, pl.col("model").is_in([*known], nulls_equal=True))

    @computed
    def _candidates(self) -> pl.DataFrame:
        return self._log.rates_of(highest_of_each_tpr(self._summed))

    @computed
    def _own(self) -> OwnPoints:
        maps = own_maps(self._candidates)
        at = ["model", "threshold"]
        points = self._candidates.join(maps.select(at).unique(), on=at, how="semi")
        models = self._near["model"].unique()
        return OwnPoints(models, maps, self._log.bounded(without_claims(points).sort(at)))

    @property
    def _own_places(self) -> pl.DataFrame:
        """Prevalences and betas at which models are judged at their own best thresholds."""
        return places.crossed(self.prevalence, self.beta)

    @computed
    def _own_values(self) -> pl.DataFrame:
        return best_values(self._own, self._log, self._own_places)

    @computed
    def _logs(self) -> Resampled | None:
        """Resampled logs; None if the log cannot be resampled."""
        if not (self._log.resampled and self.best.height):
            return None
        etas = {*self.prevalence, *self._tested}
        return Resampled(self._log, self.leading, repeats=self._draws, etas=sorted(etas))

    @property
    def _tested(self) -> tuple[float, ...]:
        """The main prevalences, with evenly chosen others up to ``_MOST_TESTED``."""
        picked = pick_evenly(self.prevalence, _MOST_TESTED)
        return tuple(sorted({*picked, *self.main_prevalences}))

    def _prevalence_winners(self, points: pl.DataFrame) -> pl.DataFrame:
        main = self.main_beta
        ranges = winner_ranges(points, metric="f_beta", over="prevalence", beta=main)
        return with_borders(ranges, self._logs, points, main)
