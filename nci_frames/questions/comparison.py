"""Counts of a log and a question -> every table of the answer, computed on first access."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import polars as pl

from nci_frames.base.errors import OutsideGridWarning
from nci_frames.base.typing import Field, Frame
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
from nci_frames.questions.units import Pools, with_names
from nci_frames.schemas import checked
from nci_frames.tables.numbers import f_beta_name

#: Largest number of segments whose areas are computed at every prevalence: with more they take gigabytes.
_MOST_OVER_PREVALENCE = 1_000


@checked
def compare_models(
    counts: Frame,
    /,
    *,
    prevalence: float | Sequence[float] | Field | None = None,
    question: Question | None = None,
    beta: float | Sequence[float] = (1.0,),
    threshold: float = PROBABLE,
    segments: str | Sequence[str] = (),
    fold: str | None = None,
    repeat: str | None = None,
    repeats: int = 400,
    unit_counts: Frame | None = None,
) -> "Comparison":
    """Compare the models of a log, and answer a question about them.

    Parameters
    ----------
    counts
        A counts frame; "exact" counts answer every threshold. Each value of a key ``weight`` is a separate
        stratum in every interval and test. With the key ``bucket`` of ``unit_buckets``, intervals and tests
        keep the rows of a unit together; otherwise rows are independent.
    prevalence
        Prevalences to compare at, each 0 or in [1e-300, 1]; at most 10,000. Or a prevalence per segment, as
        in ``project_rates``, with keys among *segments*: then each segment is also judged at its own
        prevalence (``field_projection``, ``field_areas``) and averaged (``field_averages``), and the other
        tables use log steps from the lowest prevalence to the highest. The prevalence of the question is
        added. Default: round numbers from 0.0001 to 0.5, as in ``nci-frames report``.
    question
        The question that ``Comparison.answer`` answers. By default: which model has the highest F-beta, each
        at its own best threshold, at the prevalence of the log.
    beta
        Weights of recall in F-beta, each in [0, inf]. The beta of a question about F-beta is added.
    threshold
        Decision threshold of the operating points, unless the question has one. Areas do not depend on it.
    segments
        Key or keys to show separately as well; all other keys (such as folds) are pooled.
    fold
        Key of the folds of a cross-validation, to compare models over folds as well.
    repeat
        Key of the repeats of a cross-validation; each repeat scores every row once. Areas and F-beta at own
        best thresholds are computed within each repeat, over all its folds, and averaged. Rates at one
        threshold are means over repeats. Intervals and tests need the key ``bucket``, since the repeated rows
        of a unit are dependent; without it, bounds of rates are those of one repeat, and there are no tests.
    repeats
        Number of resampled logs for the certainty of the ranking, 2 to 1,000,000.
    unit_counts
        The same rows counted by ``bucket``, *segments* and *repeat*, at the same thresholds. Use it for large
        logs, whose counts by folds, segments and buckets together would be too many.

    Returns
    -------
    A Comparison. Each of its tables is computed on first access.

    Raises
    ------
    ParameterError
        If a prevalence, beta, threshold or *repeats* is out of range, or a segment has no prevalence or
        several.
    SchemaError
        If *counts* is not a counts frame, or lacks a key.

    Warns
    -----
    OutsideGridWarning
        If the threshold of the question is 0.5, and the scores of a model are not probabilities: at least 1 %
        of its positives or negatives lie outside [0, 1].

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
        # The warning points to the caller of the checked function.
        warnings.warn(comparison.off_scale, OutsideGridWarning, stacklevel=3)
    return comparison


class Comparison(AnswerTables):
    """Result of ``compare_models``: the question, and every table of a report as an attribute.

    ``Compared`` has what was asked, ``LogTables`` the tables of all rows, ``AnswerTables`` those of the
    answer; those of segments are here.

    Each table is computed once, on first access; ``tables`` has them all.
    """

    @computed
    def by_key(self) -> "tuple[Comparison, ...]":
        """Comparisons of the same log by each key of the segments alone.

        Only this one if there are fewer than two keys, or if segments have their own prevalences, which
        belong to all keys.
        """
        if len(self.segments) < 2 or self.field is not None:
            return (self,)
        return tuple(self._of_key(key) for key in self.segments)

    def _of_key(self, key: str) -> "Comparison":
        # Tables of all rows are computed once, and copied.
        _ = self.answer, self.leading, self.best_winners
        apart = {"differences", "undefined", "by_key"}
        other = self._copy(lambda name: "segment" not in name and name not in apart)
        log, mine = self._log.by_key(key), self._by_segment
        other.segments, other._log = (key,), log  # noqa: SLF001 - a copy of this
        other.__dict__["_by_segment"] = log if mine is self._log else mine.by_key(key)
        return other

    @computed
    def segment_points(self) -> pl.DataFrame | None:
        """Rates by model and segment at the threshold of the model in the answer; None without segments."""
        rates = self._segment_rates
        if rates is None:
            return None
        points = select_operating_points(rates, threshold=self._answer_thresholds)
        return self._by_segment.bounded(points)

    @computed
    def segment_areas(self) -> pl.DataFrame | None:
        """Areas as in ``areas``, per model and segment; None without segments.

        With more than 1,000 segments only at ``middle_prevalence``.
        """
        sizes = self.segment_sizes
        if sizes is None:
            return None
        etas = self.prevalence if len(sizes) <= _MOST_OVER_PREVALENCE else [self.middle_prevalence]
        return rank_models(self._by_segment.areas(self.segments, etas))

    @computed
    def field_projection(self) -> pl.DataFrame | None:
        """Metrics of ``segment_points`` with each segment at its prevalence in ``field``, ranked.

        None if all segments are compared at the same prevalences.
        """
        return self._in_field(project_rates)

    @computed
    def field_areas(self) -> pl.DataFrame | None:
        """Areas of each segment at its prevalence in ``field``, ranked; None as for ``field_projection``."""
        if self.field is None:
            return None
        return rank_models(compute_areas(self._log.by_segment, prevalence=self.field))

    @computed
    def field_averages(self) -> pl.DataFrame | None:
        """Averages of ``field_projection`` over segments, ranked; "micro" is the metric of the traffic."""
        return self._in_field(roll_up, over=self.segments)

    def _in_field(self, project: Callable[..., pl.DataFrame], **more: Any) -> pl.DataFrame | None:
        points, field = self.segment_points, self.field
        if points is None or field is None:
            return None
        return rank_models(project(points, metrics=METRICS, prevalence=field, beta=self.beta, **more))

    @computed
    def undefined(self) -> pl.DataFrame:
        """Groups with undefined rates: model, segments, positives, negatives, reason."""
        if self.segment_points is None or self._segment_rates is None:
            return undefined_groups(self.points, self._near, ())
        return undefined_groups(self.segment_points, self._segment_rates, self.segments)

    @computed
    def segment_sizes(self) -> pl.DataFrame | None:
        """Number of rows of each segment over all models, largest first; None without segments."""
        return None if self._segment_rates is None else segment_sizes(self._segment_rates, self.segments)

    @computed
    def differences(self) -> pl.DataFrame | None:
        """Why the metric of the question differs between each segment and the largest segment.

        For an area, the metric is F-beta. Columns of ``decompose_difference``; None unless segments have one
        key.
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
        """Segments ranked by how much worse the best model of the answer is there: see ``rank_segments``.

        By the metric of the question, at its threshold and prevalence; for an area, by F-beta at the model's
        own best threshold. None for sums of weights, too few buckets of units, repeats without units, or
        fewer than two segments.
        """
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
    def segment_drawn(self) -> Pools:
        """Counts by segments that intervals and tests resample: rows, or buckets of units."""
        return self._by_segment.drawn

    @property
    def segment_metric(self) -> str | pl.Expr:
        """Metric of the segments: that of the question, or F-beta for an area."""
        return "f_beta" if self.question.area is not None else self.question.asked

    @property
    def segment_threshold(self) -> float:
        """Threshold of the segments: that of the best model of the answer."""
        known = self._answer_thresholds
        return known[self.answer["model"][0]] if isinstance(known, dict) else known

    @computed
    def _answer_thresholds(self) -> float | dict[str, float]:
        """Threshold of each model in the answer; for an area, that of its best F-beta.

        Models without one have the threshold of the points.
        """
        if self.question.threshold is not None:
            return self.threshold
        at = pl.DataFrame({"prevalence": self.asked_prevalence, "beta": self.main_beta})
        known = self.answer if self.question.area is None else self._own.at(at)
        return dict(known.select("model", pl.col("threshold").fill_null(self.threshold)).iter_rows())

    @computed
    def _segment_rates(self) -> pl.DataFrame | None:
        """Rates by segment near the thresholds of the answer; None without segments."""
        if not self.segments:
            return None
        return self._by_segment.segment_rates(self._answer_thresholds)

    @computed
    def _by_segment(self) -> LogCounts:
        """The log by segments, counted by units at the thresholds of the answer if this was deferred."""
        if self._count_segments is None or not self.segments:
            return self._log
        known = self._answer_thresholds
        at = known.values() if isinstance(known, dict) else [known]
        return self._log.with_units(with_names(self._count_segments([*at])), self.segments)

    def _repr_html_(self) -> str | None:
        from nci_frames.questions.notebook import notebook_html  # noqa: PLC0415  (only a notebook needs it)

        return notebook_html(self)

    def _rankings(self) -> list[pl.DataFrame]:
        by_default = self.question.own and self.question.f_beta
        return [*super()._rankings(), *([] if by_default else [self.answer])]
