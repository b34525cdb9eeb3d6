"""All tables of one comparison of models: what a report shows and a job stores."""

from dataclasses import dataclass, fields

import polars as pl

from nci_frames.questions import places
from nci_frames.questions.notebook_view import overview_html

__all__ = ["MOST_MODELS", "Comparison"]

#: Curves are drawn of at most so many models: more cannot be distinguished by colour and stroke.
MOST_MODELS = 12


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of one comparison, each an attribute; ``tables`` holds them all by name."""

    #: The prevalences compared, ascending; the observed one is not added.
    prevalence: tuple[float, ...]
    #: The betas compared, ascending.
    beta: tuple[float, ...]
    #: The decision threshold of the operating points.
    threshold: float
    #: The key columns that were kept, e.g. ("country",); empty when everything is pooled.
    segments: tuple[str, ...]
    #: Positives among all rows of the log; null if a log has no rows.
    observed_prevalence: float | None
    #: Buckets of units, which every interval and test draws whole; None where rows are taken as independent.
    buckets: int | None
    #: Rows that every unit has under every model, where all have as many, at least two of one label each, as
    #: in a repeated cross-validation; None otherwise, or where that is not known.
    unit_rows: int | None
    #: Repeats of a cross-validation, within each of which areas and own best thresholds are taken before they
    #: are averaged; None without a key of repeats.
    repeats: int | None
    #: Why no model has a point at the threshold, where it was counted for none; None where it was.
    uncounted: str | None
    #: Why the threshold 0.5 says little: the scores are not probabilities; None where they may be.
    off_scale: str | None
    #: The models that have a rank anywhere, the nearest to the top first; all models where none has one.
    leading: tuple[str, ...]
    #: Rates of each model at the threshold, pooled over all keys; the counts are those of all repeats.
    points: pl.DataFrame
    #: precision, recall, f_beta, accuracy and pos_fraction of the points over prevalence x beta, ranked:
    #: a ranking frame (model, threshold, metric, prevalence, beta, value, rank, gap).
    projection: pl.DataFrame
    #: ROC-AUC and PR-AUC over prevalence, pooled over all keys, ranked:
    #: a ranking frame (model, metric, method, prevalence, value, lower, upper, rank, gap). With repeats, the
    #: values are means over them, with their ``std``.
    areas: pl.DataFrame
    #: The same as points, projection and areas with a row per model and segment, the projection of f_beta at
    #: the main beta; None without segments.
    segment_points: pl.DataFrame | None
    segment_projection: pl.DataFrame | None
    segment_areas: pl.DataFrame | None
    #: The prevalence of each segment in the field, and perhaps its share of the traffic; None where all
    #: segments are compared at the same prevalences.
    field: pl.DataFrame | None
    #: The same as projection and areas by segment, with each segment at its own prevalence in the field.
    field_projection: pl.DataFrame | None
    field_areas: pl.DataFrame | None
    #: Their averages over the segments, ranked; "micro" is the metric of the traffic: a ranking frame.
    field_averages: pl.DataFrame | None
    #: Groups whose rates are undefined: model, segments, positives, negatives, reason.
    undefined: pl.DataFrame
    #: Every operating point of every model, pooled over all keys: a rates frame.
    rates: pl.DataFrame
    #: The operating points that have the model's highest F-beta at some prevalence and beta: a rates frame.
    best_points: pl.DataFrame
    #: F-beta of each model at its own best threshold, over prevalence x beta, ranked: a ranking frame. The
    #: value is that of ``cross_fit``, judged on other rows than the threshold was chosen on; ``optimistic``
    #: is that of the log itself. For sums of weights, which cannot be divided, the value is the latter. With
    #: repeats, both are means over them; the threshold is the best one for all repeats.
    best: pl.DataFrame
    #: The model with the highest F-beta over prevalence at ``main_beta``, exactly: each model at its own best
    #: threshold, and at the threshold of the points. Frames of ``winner_ranges`` with ``lower`` and
    #: ``upper``: where a range starts in 95 % of the resampled logs in which its models change places.
    best_winners: pl.DataFrame
    winners: pl.DataFrame
    #: The model with the highest F-beta over beta at ``middle_prevalence``, exactly, at the threshold of the
    #: points.
    beta_winners: pl.DataFrame
    #: F-beta of the models over the folds of a cross-validation, each at the threshold of the points, over
    #: beta at ``middle_prevalence``: the columns of ``compare_folds``; None without a key of folds, or where
    #: there is but one fold.
    folds: pl.DataFrame | None
    #: ROC-AUC and PR-AUC within each fold at the ``main_prevalences``, averaged over the folds: an areas
    #: frame with ``std``, ``repeats`` (folds in which it is defined) and ``skipped``; None as for ``folds``.
    fold_areas: pl.DataFrame | None
    #: The model with the highest F-beta at each prevalence and beta, over all thresholds: a decision map.
    decisions: pl.DataFrame
    #: Where one model is certified to have it, and where several may, as ``certify_decision_map`` says; None
    #: as for ``contenders``.
    certified: pl.DataFrame | None
    #: PR-AUC at the prevalences of ``area_nodes``, from which it is known between the lowest and the highest
    #: prevalence compared: an areas frame.
    area_nodes: pl.DataFrame
    #: The model with the largest PR-AUC over ``prevalence_range``, by the same interpolation; the columns of
    #: ``winners``.
    area_winners: pl.DataFrame
    #: The lowest prevalence at which the log can tell PR-AUC of each model: the columns of
    #: ``lowest_supported_prevalence``.
    support: pl.DataFrame
    #: The probability of being best over prevalence, by PR-AUC and by F-beta of the points at ``main_beta``:
    #: the columns of ``probability_best``; None for sums of weights, which cannot be resampled.
    certainty: pl.DataFrame | None
    #: The same for F-beta of each model at its own best threshold, chosen anew in every resampled log.
    best_certainty: pl.DataFrame | None
    #: Which models may be the best at the prevalences compared, or at 48 of them and the main ones, by each
    #: measure at ``main_beta``: the columns of ``compare_best`` after ``measure``, which is "own" (each
    #: model at its own best threshold), "f_beta" (at the threshold of the points) or "pr_auc"; None for sums
    #: of weights.
    contenders: pl.DataFrame | None
    #: Whether each class has the same score distribution in all segments, as projection assumes: the columns
    #: of ``check_projection`` with ``key``, the key whose values were compared; None if not tested.
    shifts: pl.DataFrame | None
    #: The ROC curves of the first ``MOST_MODELS`` of the leading models: a rates frame, of which long curves
    #: keep only the points that are needed to look the same.
    curves: pl.DataFrame
    #: precision, pos_fraction and recall of the curves at the ``main_prevalences``: a projection frame.
    curve_projection: pl.DataFrame
    #: Precision of the points over prevalence with its band, and the width of that band where it is widest:
    #: the frames of ``precision_band`` and ``max_precision_uncertainty``; None for sums of weights.
    precision_bands: pl.DataFrame | None
    precision_uncertainty: pl.DataFrame | None
    #: The largest error of the PR-AUC of a model at any prevalence compared: model, error.
    area_errors: pl.DataFrame
    #: Rows of each segment, summed over the models, the largest first: segments, rows; None without segments.
    segment_sizes: pl.DataFrame | None
    #: Why F-beta at ``main_beta`` differs between the segments and the largest of them: the columns of
    #: ``decompose_difference``; None unless there is one key of segments.
    differences: pl.DataFrame | None
    #: Segments by how much worse the best model is there, at the threshold of the points, by F-beta at
    #: ``main_beta`` and ``middle_prevalence``: the columns of ``rank_segments``; None for sums of weights,
    #: for too few buckets of units, for repeats without units, or with fewer than two segments.
    segment_ranks: pl.DataFrame | None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table that there is, by the name of its attribute, in their order."""
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in held.items() if isinstance(value, pl.DataFrame)}

    @property
    def weighted(self) -> bool:
        """Whether the counts are sums of weights, which have neither intervals nor tests."""
        return not self.points.schema["tp"].is_integer()

    @property
    def main_beta(self) -> float:
        """The beta of a summary: the one compared that is nearest to 1."""
        return places.main_beta(self.beta)

    @property
    def middle_prevalence(self) -> float:
        """The prevalence compared that is nearest to the log's own; without that, the middle one."""
        return places.middle_prevalence(self.prevalence, self.observed_prevalence)

    @property
    def main_prevalences(self) -> tuple[float, ...]:
        """The prevalences of a summary: the lowest, the middle and the highest."""
        return places.main_prevalences(self.prevalence, self.observed_prevalence)

    @property
    def prevalence_range(self) -> tuple[float, float]:
        """The prevalences between which ``area_nodes`` determines every PR-AUC."""
        return places.prevalence_range(self.prevalence, self.observed_prevalence)

    @property
    def beta_range(self) -> tuple[float, float]:
        """The lowest and the highest beta of a logarithmic axis, a factor of 16 apart at least."""
        return places.beta_range(self.beta)

    @property
    def fold_count(self) -> int | None:
        """The number of folds; None if they are not compared."""
        return (
            None
            if self.folds is None
            else self.folds.select((pl.col("folds") + pl.col("skipped")).max()).item()
        )

    def _repr_html_(self) -> str:
        """Show in a notebook which model is best where, by PR-AUC."""
        return overview_html(self.areas.filter(metric="pr_auc"), observed=self.observed_prevalence)
