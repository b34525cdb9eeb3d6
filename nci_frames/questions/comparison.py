"""A question to the counts of a log, and every table that answers it, computed when it is asked for."""

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import polars as pl

from nci_frames.base.errors import OutsideGridWarning, SchemaError
from nci_frames.evaluation.areas.areas import compute_areas
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.crossovers.winners import winner_ranges
from nci_frames.evaluation.field.prevalences import Field
from nci_frames.evaluation.metrics.predictive import f_beta
from nci_frames.evaluation.projection.decomposition import KeyValue, decompose_difference
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.projection.roll_up import roll_up
from nci_frames.evaluation.significance.segment_ranks import rank_segments
from nci_frames.questions import places
from nci_frames.questions.answer import Answer, Asked
from nci_frames.questions.compared import PROBABLE, computed
from nci_frames.questions.log_tables import METRICS, LogTables
from nci_frames.questions.question import Question
from nci_frames.questions.undefined import segment_sizes, undefined_groups
from nci_frames.schemas import checked, within


@checked
def compare_models(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: float | Sequence[float] | Field,
    question: Question | None = None,
    beta: float | Sequence[float] = (1.0,),
    threshold: float = PROBABLE,
    segments: str | Sequence[str] = (),
    fold: str | None = None,
    repeat: str | None = None,
    repeats: int = 400,
    unit_counts: pl.DataFrame | pl.LazyFrame | None = None,
) -> "Comparison":
    """Compare the models of a log, and answer a question about them.

    Parameters
    ----------
    counts
        A counts frame; "exact" counts answer every threshold. The rows of each value of a key ``weight`` are
        a sample by themselves, in every interval and test. If it has the key ``bucket`` of
        ``unit_buckets``, the rows of a unit are kept together in every interval and test; otherwise rows are
        taken as independent.
    prevalence
        The class balances to compare at, each in [0, 1]; at most 10,000. Or the prevalence of each segment,
        as in ``project_rates``, whose keys are among *segments*: each is then also judged at its own
        (``field_projection``, ``field_areas``), and rolled up (``field_averages``). The other tables are then
        at log steps from the lowest of them to the highest. The prevalence of the question is added.
    question
        What is asked, which ``Comparison.answer`` answers. By default: which model has the highest F-beta,
        each at its own best threshold, at the prevalence of the log.
    beta
        The weights of recall in F-beta, each in [0, inf]. That of a question of F-beta is added.
    threshold
        The decision threshold of the operating points; that of the question, if it has one. Areas do not
        depend on it.
    segments
        The keys to show separately as well; all other keys (the folds) are pooled.
    fold
        The key of the folds of a cross-validation, over which models are compared as well.
    repeat
        The key of the repeats of a cross-validation, in each of which every row is scored once. Areas, and
        F-beta at own best thresholds, are taken within each repeat, with the rows of its folds together, and
        averaged; rates at one threshold are the means over the repeats. Intervals and tests need the key
        ``bucket``, since the rows of a unit in all repeats depend on each other: otherwise bounds of rates
        are those of one repeat, and there are no tests.
    repeats
        Number of resampled logs for the certainty of the ranking, 2 to 1,000,000.
    unit_counts
        The same rows counted by ``bucket``, *segments* and *repeat*, at the same thresholds, for a log so
        large that the counts by folds, segments and buckets together would be too many.

    Returns
    -------
    A Comparison. Each of its tables is computed when it is first asked for.

    Raises
    ------
    ParameterError
        If a prevalence, beta, threshold or *repeats* is out of range, or a segment has no prevalence or
        several.
    SchemaError
        If *counts* is not a counts frame, or has no such key.

    Warns
    -----
    OutsideGridWarning
        If the threshold is 0.5 and the scores of a model are not probabilities: 1 % of its positives or
        negatives lie outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> counts = nf.count_confusion(log, thresholds="exact")
    >>> comparison = nf.compare_models(counts, prevalence=[0.01, 0.5])
    >>> comparison.areas.filter(metric="pr_auc").select("prevalence", "value", "rank").rows()
    [(0.01, 0.5099009900990099, 1), (0.5, 0.8333333333333333, 1)]
    """
    comparison = Comparison(
        counts,
        prevalence=prevalence,
        question=question,
        beta=beta,
        threshold=threshold,
        segments=segments,
        fold=fold,
        repeat=repeat,
        repeats=repeats,
        unit_counts=unit_counts,
    )
    if comparison.off_scale is not None:
        # Of the line that called the checked function.
        warnings.warn(comparison.off_scale, OutsideGridWarning, stacklevel=3)
    return comparison


class Comparison(LogTables):
    """The counts of a log, the question, and every table of a report, each an attribute.

    ``compare_models`` makes it. Each table is computed once, when it is asked for; ``tables`` has them all.
    """

    #: F-beta at own best thresholds as far as it was computed for an earlier question to the same log.
    _earlier: pl.DataFrame | None = None

    @computed
    def answer(self) -> pl.DataFrame:
        """The models at the prevalence of the question, the best first.

        ``model``, ``threshold``, ``metric``, ``prevalence``, ``value``, ``lower``, ``upper``, ``rank``,
        ``distinguishable`` (from the best; null where the log cannot tell), ``recall``, ``precision``,
        ``pos_fraction``, ``supported``, ``reason``.
        """
        return self._asked.over([self.asked_prevalence])

    @computed
    def answer_over_prevalence(self) -> pl.DataFrame:
        """The answer at each prevalence compared, without the tests: ``distinguishable`` is null."""
        return self._asked.over(self._inside, tested=False)

    def answers(self, prevalence: Sequence[float], *, tested: bool = True) -> Iterator[Answer]:
        """Yield the answer at several prevalences in (0, 1), ascending, for example ``answer_prevalences``.

        With *tested* false, models are not compared with the best.
        """
        with within():
            found = self._asked.over(prevalence, tested=tested)
        rows = found.partition_by("prevalence", maintain_order=True)
        winners = self.answer_winners if tested else pl.DataFrame()
        for eta, models in zip(prevalence, rows, strict=True):
            yield self._said(models, eta, winners, tested=tested)

    @computed
    def answer_winners(self) -> pl.DataFrame:
        """The best model over prevalence for the question.

        ``start``, ``end``, ``model``, ``supported``; and where the start is in 95 % of the resampled logs,
        ``lower`` and ``upper``, where known.
        """
        columns = ["start", "end", "model", "supported"]
        none = {name: pl.lit(None, pl.Float64) for name in ("lower", "upper")}
        question, (start, end) = self.question, self.answer_span
        if question.area is PR_AUC:
            return self.area_winners.select(*columns, *none)
        if question.area is not None and not question.area.depends_on_prevalence:
            # The best at one prevalence is the best at all.
            best = self.answer.filter(pl.col("value").is_not_null()).head(1)
            return best.with_columns(start=pl.lit(start), end=pl.lit(end)).select(*columns, **none)
        if question.threshold is None or question.area is not None or start == end:
            return self._asked.leaders(self.answer_over_prevalence).with_columns(**none)
        if question.f_beta and question.beta == self.main_beta:
            return self.winners.select(*columns, *none)
        points = select_operating_points(self._near, threshold=question.threshold)
        fixed = winner_ranges(
            points, metric=question.asked, over="prevalence", beta=question.beta, start=start, end=end
        )
        return fixed.select(columns).with_columns(**none)

    @property
    def answer_curve(self) -> pl.DataFrame:
        """The answer at each of ``answer_prevalences``, without tests: what is drawn."""
        with within():
            return self._asked.over(self.answer_prevalences, tested=False)

    @property
    def answer_span(self) -> tuple[float, float]:
        """The lowest and the highest prevalence over which ``answer_winners`` are searched."""
        return self._inside[0], self._inside[-1]

    @property
    def answer_prevalences(self) -> list[float]:
        """The prevalences at which a page can be asked.

        Those compared, the asked one, and steps between them.
        """
        return places.answer_prevalences(self._inside, self.prevalence_range, self.observed_prevalence)

    @property
    def said(self) -> Answer:
        """The answer, with what a sentence about it needs."""
        return self._said(self.answer, self.asked_prevalence, self.answer_winners)

    def _said(
        self, models: pl.DataFrame, prevalence: float, winners: pl.DataFrame, *, tested: bool = True
    ) -> Answer:
        if self._near["model"].has_nulls():
            raise SchemaError.unnamed_model()
        observed = prevalence == self.observed_prevalence
        return Answer(self.question, prevalence, observed, models, winners, self.answer_span, tested)

    def asking(self, **changes: Any) -> Self:
        """Return the same log with a question that differs, for example ``asking(alerts=100)``."""
        other = copy.copy(self)
        # The tables of the other question are computed anew but for those that do not depend on it.
        other.__dict__ = {
            name: value
            for name, value in self.__dict__.items()
            if name in {"rates", "_summed", "_candidates", "_own"}
            or not isinstance(getattr(type(self), name, None), computed)
        }
        other.question = replace(self.question, **changes)
        other._earlier = self.__dict__.get("_own_values", self._earlier)  # noqa: SLF001 - a copy of this
        return other

    @computed
    def _asked(self) -> Asked:
        question, own, known = self.question, None, None
        if question.own and question.f_beta:
            values = self._own_values if self._earlier is None else self._earlier
            own, known = self._own, values.filter(beta=question.beta)
        at, draws = self.answer_prevalences, self._draws
        few = own is not None or question.area is not None or question.threshold is not None
        return Asked(question, self._log, self._near if few else self.rates, at, draws, own=own, known=known)

    @property
    def _own_places(self) -> pl.DataFrame:
        if not (self.question.own and self.question.f_beta):
            return super()._own_places
        # Those of the second slider of a page take hardly longer at the same time.
        betas = [self.question.beta * factor for factor in places.SLIDER]
        answered = places.crossed(self.answer_prevalences, betas)
        return pl.concat([super()._own_places, answered]).unique(maintain_order=True)

    @property
    def _inside(self) -> list[float]:
        return sorted({eta for eta in (*self.prevalence, self.asked_prevalence) if 0 < eta < 1})

    @computed
    def by_key(self) -> "tuple[Comparison, ...]":
        """The same log by each key of the segments alone.

        Only itself with one key, and where segments have prevalences of their own, which belong to all keys.
        """
        if len(self.segments) < 2 or self.field is not None:
            return (self,)
        return tuple(self._of_key(key) for key in self.segments)

    def _of_key(self, key: str) -> "Comparison":
        other = copy.copy(self)
        # What all rows say is computed once.
        shared = {name: getattr(self, name) for name in ("answer", "leading", "best_winners")}
        other.__dict__ = {
            name: value
            for name, value in (self.__dict__ | shared).items()
            if "segment" not in name and name not in {"differences", "undefined", "by_key"}
        }
        other.segments, other._log = (key,), self._log.by_key(key)  # noqa: SLF001 - a copy of this
        return other

    @computed
    def segment_points(self) -> pl.DataFrame | None:
        """Rates of each model and segment at the threshold that the model has in the answer.

        None without segments.
        """
        rates = self._segment_rates
        if rates is None:
            return None
        return self._log.bounded(select_operating_points(rates, threshold=self._answer_thresholds))

    @computed
    def segment_areas(self) -> pl.DataFrame | None:
        """The same as ``areas`` with a row per model and segment; None without segments."""
        return rank_models(self._log.areas(self.segments, self.prevalence)) if self.segments else None

    @computed
    def field_projection(self) -> pl.DataFrame | None:
        """The metrics of ``segment_points`` with each segment at its own prevalence in the field, which is in
        ``field``, ranked; None where all segments are compared at the same prevalences.
        """  # noqa: D205
        if self.segment_points is None or self.field is None:
            return None
        points, field = self.segment_points, self.field
        return rank_models(project_rates(points, metrics=METRICS, prevalence=field, beta=self.beta))

    @computed
    def field_areas(self) -> pl.DataFrame | None:
        """The same of the areas by segment."""
        if self.field is None:
            return None
        return rank_models(compute_areas(self._log.by_segment, prevalence=self.field))

    @computed
    def field_averages(self) -> pl.DataFrame | None:
        """Their averages over the segments, ranked; "micro" is the metric of the traffic."""
        if self.segment_points is None or self.field is None:
            return None
        points, field = self.segment_points, self.field
        return rank_models(
            roll_up(points, over=self.segments, metrics=METRICS, prevalence=field, beta=self.beta)
        )

    @computed
    def undefined(self) -> pl.DataFrame:
        """Groups whose rates are undefined: model, segments, positives, negatives, reason."""
        if self.segment_points is None or self._segment_rates is None:
            return undefined_groups(self.points, self._near, ())
        return undefined_groups(self.segment_points, self._segment_rates, self.segments)

    @computed
    def segment_sizes(self) -> pl.DataFrame | None:
        """Rows of each segment, summed over the models, the largest first; None without segments."""
        return None if self._segment_rates is None else segment_sizes(self._segment_rates, self.segments)

    @computed
    def differences(self) -> pl.DataFrame | None:
        """Why the metric of the question differs between the segments and the largest of them.

        Of an area it is F-beta. The columns of ``decompose_difference``; None unless segments have one key.
        """
        points, sizes, beta = self.segment_points, self.segment_sizes, self.main_beta
        if len(self.segments) != 1 or points is None or sizes is None:
            return None
        (key,) = self.segments
        largest = cast("KeyValue | None", sizes[key].drop_nulls().first())
        asked: str | pl.Expr = self.segment_metric
        if self.question.area is not None or self.question.f_beta:
            asked = f_beta(beta=beta).alias(f"F{beta:g}")
        return decompose_difference(points, metric=asked, over=key, reference=largest)

    @computed
    def segment_ranks(self) -> pl.DataFrame | None:
        """Segments by how much worse the best model of the answer is there, by the metric of the question, at
        its threshold and prevalence: the columns of ``rank_segments``. An area has no threshold: of it F-beta
        at the threshold of the points is shown. None for sums of weights, for too few
        buckets of units, for repeats without units, or with fewer than two segments.
        """  # noqa: D205
        drawn, points, asked = self._log.drawn, self.segment_points, self.question
        if not (self._log.whole and drawn.resampled and {*self.segments} == {*drawn.segments}):
            return None
        if points is None or points["tp"].null_count() or points.select(self.segments).n_unique() < 2:
            return None
        return rank_segments(
            self._log.by_segment if drawn.units is None else drawn.by_segment,
            segments=self.segments,
            units=drawn.units,
            threshold=self._answer_thresholds,
            metric=self.segment_metric,
            prevalence=self.asked_prevalence,
            beta=self.main_beta,
            model=None if asked.area is not None else self.answer["model"][0],
        )

    @property
    def segment_metric(self) -> str | pl.Expr:
        """The metric by which segments are judged: that of the question; F-beta for an area."""
        return "f_beta" if self.question.area is not None else self.question.asked

    @property
    def segment_threshold(self) -> float:
        """The threshold of the best model of the answer, at which segments are judged."""
        known = self._answer_thresholds
        return known[self.answer["model"][0]] if isinstance(known, dict) else known

    @computed
    def _answer_thresholds(self) -> float | dict[str, float]:
        """The threshold of each model in the answer.

        That of the points for an area, or where there is none.
        """
        if self.question.area is not None or self.question.threshold is not None:
            return self.threshold
        known = self.answer.select("model", pl.col("threshold").fill_null(self.threshold))
        return dict(known.iter_rows())

    @computed
    def _segment_rates(self) -> pl.DataFrame | None:
        """The rates by segment near the thresholds of the answer."""
        if not self.segments:
            return None
        return self._log.segment_rates(self._answer_thresholds)

    def _repr_html_(self) -> str | None:
        from nci_frames.questions.notebook import notebook_html  # noqa: PLC0415  (only a notebook needs it)

        return notebook_html(self)

    def _rankings(self) -> list[pl.DataFrame]:
        by_default = self.question.own and self.question.f_beta
        return [*super()._rankings(), *([] if by_default else [self.answer])]
