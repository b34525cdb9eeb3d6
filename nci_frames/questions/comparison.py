"""A question to the counts of a log, and every table that answers it, computed when it is asked for."""

import warnings
from collections.abc import Sequence
from typing import cast

import polars as pl

from nci_frames.base.errors import OutsideGridWarning
from nci_frames.base.typing import Field
from nci_frames.evaluation.areas.areas import compute_areas
from nci_frames.evaluation.metrics.predictive import f_beta
from nci_frames.evaluation.projection.decomposition import KeyValue, decompose_difference
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.projection.roll_up import roll_up
from nci_frames.evaluation.significance.segment_ranks import rank_segments
from nci_frames.questions.answer_tables import AnswerTables
from nci_frames.questions.compared import PROBABLE, computed
from nci_frames.questions.log_counts import LogCounts
from nci_frames.questions.log_tables import METRICS
from nci_frames.questions.question import Question
from nci_frames.questions.undefined import segment_sizes, undefined_groups
from nci_frames.questions.units import Drawn
from nci_frames.schemas import checked
from nci_frames.tables.numbers import f_beta_name


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
        If the question asks for the threshold 0.5, and the scores of a model are not probabilities: 1 % of
        its positives or negatives lie outside [0, 1].

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
    if comparison.question.threshold is not None and comparison.off_scale is not None:
        # Of the line that called the checked function.
        warnings.warn(comparison.off_scale, OutsideGridWarning, stacklevel=3)
    return comparison


class Comparison(AnswerTables):
    """The counts of a log, the question, and every table of a report, each an attribute.

    ``compare_models`` makes it. Each table is computed once, when it is asked for; ``tables`` has them all.
    """

    @computed
    def by_key(self) -> "tuple[Comparison, ...]":
        """The same log by each key of the segments alone.

        Only itself with one key, and where segments have prevalences of their own, which belong to all keys.
        """
        if len(self.segments) < 2 or self.field is not None:
            return (self,)
        return tuple(self._of_key(key) for key in self.segments)

    def _of_key(self, key: str) -> "Comparison":
        # What all rows say is computed once.
        _ = self.answer, self.leading, self.best_winners
        apart = {"differences", "undefined", "by_key"}
        other = self._copy(lambda name: "segment" not in name and name not in apart)
        other.segments, other._log = (key,), self._log.by_key(key)  # noqa: SLF001 - a copy of this
        other.__dict__["_by_segment"] = self._by_segment.by_key(key)
        return other

    @computed
    def segment_points(self) -> pl.DataFrame | None:
        """Rates of each model and segment at the threshold that the model has in the answer.

        None without segments.
        """
        rates = self._segment_rates
        if rates is None:
            return None
        points = select_operating_points(rates, threshold=self._answer_thresholds)
        return self._by_segment.bounded(points)

    @computed
    def segment_areas(self) -> pl.DataFrame | None:
        """The same as ``areas`` with a row per model and segment; None without segments."""
        if not self.segments:
            return None
        return rank_models(self._by_segment.areas(self.segments, self.prevalence))

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
            asked = f_beta(beta=beta).alias(f_beta_name(beta))
        return decompose_difference(points, metric=asked, over=key, reference=largest)

    @computed
    def segment_ranks(self) -> pl.DataFrame | None:
        """Segments by how much worse the best model of the answer is there, by the metric of the question, at
        its threshold and prevalence: the columns of ``rank_segments``. An area has no threshold: of it F-beta
        at the model's own best threshold is shown. None for sums of weights, for too few buckets of units,
        for repeats without units, or with fewer than two segments.
        """  # noqa: D205
        drawn, points = self.segment_drawn, self.segment_points
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
            model=self.answer["model"][0],
        )

    @property
    def segment_drawn(self) -> Drawn:
        """What is drawn of the segments: rows, or buckets of units."""
        return self._by_segment.drawn

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
        """The threshold of each model in the answer; for an area that of its own best F-beta.

        That of the points where there is none.
        """
        if self.question.threshold is not None:
            return self.threshold
        at = pl.DataFrame({"prevalence": self.asked_prevalence, "beta": self.main_beta})
        known = self.answer if self.question.area is None else self._own.at(at)
        return dict(known.select("model", pl.col("threshold").fill_null(self.threshold)).iter_rows())

    @computed
    def _segment_rates(self) -> pl.DataFrame | None:
        """The rates by segment near the thresholds of the answer."""
        if not self.segments:
            return None
        return self._by_segment.segment_rates(self._answer_thresholds)

    @computed
    def _by_segment(self) -> LogCounts:
        """The log by segments: counted by units at the thresholds of the answer, where that was put off."""
        if self._segment_units is None or not self.segments:
            return self._log
        known = self._answer_thresholds
        at = known.values() if isinstance(known, dict) else [known]
        return self._log.with_units(self._segment_units([*at]))

    def _repr_html_(self) -> str | None:
        from nci_frames.questions.notebook import notebook_html  # noqa: PLC0415  (only a notebook needs it)

        return notebook_html(self)

    def _rankings(self) -> list[pl.DataFrame]:
        by_default = self.question.own and self.question.f_beta
        return [*super()._rankings(), *([] if by_default else [self.answer])]
