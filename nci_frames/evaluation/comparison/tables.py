"""All tables of one comparison of models: what a report shows and a job stores."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.arguments import nearest
from nci_frames.evaluation.comparison.notebook_view import overview_html

__all__ = ["Comparison", "main_beta", "main_prevalences", "middle_prevalence", "prevalence_range"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of one comparison; every frame is one of those in ``nci_frames.schemas``."""

    #: The prevalences compared, ascending; the observed one is not added.
    prevalence: tuple[float, ...]
    #: The betas compared, ascending.
    beta: tuple[float, ...]
    #: The decision threshold of the operating points.
    threshold: float
    #: The key columns that were kept apart, e.g. ("country",); empty when everything is pooled.
    segments: tuple[str, ...]
    #: Positives among all rows of the log; null where a log has no rows.
    observed_prevalence: float | None
    #: Rates of each model at the threshold, pooled over all keys.
    points: pl.DataFrame
    #: precision, recall, f_beta, accuracy and pos_fraction of the points over prevalence x beta, ranked:
    #: a ranking frame (model, threshold, metric, prevalence, beta, value, rank, gap).
    projection: pl.DataFrame
    #: ROC-AUC and PR-AUC over prevalence, pooled over all keys, ranked:
    #: a ranking frame (model, metric, method, prevalence, value, lower, upper, rank, gap).
    areas: pl.DataFrame
    #: The same as points, projection and areas with a row per model and segment; None without segments.
    segment_points: pl.DataFrame | None
    segment_projection: pl.DataFrame | None
    segment_areas: pl.DataFrame | None
    #: Groups whose rates are undefined: model, segments, positives, negatives, reason.
    undefined: pl.DataFrame
    #: Every operating point of every model, pooled over all keys: a rates frame.
    rates: pl.DataFrame
    #: The operating points that have the model's highest F-beta at some prevalence and beta: a rates frame.
    best_points: pl.DataFrame
    #: F-beta of each model at its own best threshold, over prevalence x beta, ranked: a ranking frame.
    best: pl.DataFrame
    #: Who has the highest F-beta over prevalence at ``main_beta``, exactly: each model at its own best
    #: threshold, and at the threshold of the points. Frames of ``winner_ranges``.
    best_winners: pl.DataFrame
    winners: pl.DataFrame
    #: Who has the highest F-beta over beta at ``middle_prevalence``, exactly, at the threshold of the points.
    beta_winners: pl.DataFrame
    #: F-beta of the models over the folds of a cross-validation, each at the threshold of the points, over
    #: beta at ``middle_prevalence``: the columns of ``compare_folds``; None without a key of folds, or where
    #: there is but one fold.
    folds: pl.DataFrame | None
    #: Who has the highest F-beta at each prevalence and beta, over all thresholds: a decision map.
    decisions: pl.DataFrame
    #: PR-AUC at the prevalences of ``area_nodes``, from which it is known between the lowest and the highest
    #: prevalence compared: an areas frame.
    area_nodes: pl.DataFrame
    #: Who has the largest PR-AUC over ``prevalence_range``, as closely; the columns of ``winner_ranges``.
    area_winners: pl.DataFrame
    #: The probability of being best over prevalence, by PR-AUC and by F-beta of the points at ``main_beta``:
    #: the columns of ``probability_best``; None for sums of weights, which cannot be resampled.
    certainty: pl.DataFrame | None
    #: The same for F-beta of each model at its own best threshold, at the ``main_prevalences``.
    best_certainty: pl.DataFrame | None
    #: Whether the scores of each class have one law in all segments, as projection assumes: the columns of
    #: ``check_projection`` with ``key`` (which one) and ``value`` (of it, as text); None if not tested.
    shifts: pl.DataFrame | None

    @property
    def main_beta(self) -> float:
        """The beta that a summary speaks of: the one compared that is nearest to 1."""
        return main_beta(self.beta)

    @property
    def middle_prevalence(self) -> float:
        """The prevalence compared that is nearest to the log's own; without that, the middle one."""
        return middle_prevalence(self.prevalence, self.observed_prevalence)

    @property
    def main_prevalences(self) -> tuple[float, ...]:
        """The prevalences that a summary speaks of: the lowest, the middle and the highest."""
        return main_prevalences(self.prevalence, self.observed_prevalence)

    @property
    def prevalence_range(self) -> tuple[float, float]:
        """The prevalences between which ``area_nodes`` tells every PR-AUC."""
        return prevalence_range(self.prevalence, self.observed_prevalence)

    @property
    def beta_range(self) -> tuple[float, float]:
        """The lowest and the highest beta of a logarithmic axis, a factor of 16 apart at least."""
        inside = [beta for beta in self.beta if 0 < beta < float("inf")] or [1.0]
        wide = max(1.0, 4 / (max(inside) / min(inside)) ** 0.5)
        return min(inside) / wide, max(inside) * wide

    def _repr_html_(self) -> str:
        """Show in a notebook who is best where, by PR-AUC."""
        return overview_html(self.areas.filter(metric="pr_auc"), observed=self.observed_prevalence)


def main_beta(betas: Sequence[float]) -> float:
    """Return the beta nearest to 1, by ratio."""
    return nearest([beta for beta in betas if 0 < beta < float("inf")] or betas, 1.0)


def middle_prevalence(grid: Sequence[float], observed: float | None) -> float:
    """Return the prevalence of the grid that is nearest to the log's own, or the middle one."""
    return nearest(grid, grid[len(grid) // 2] if observed is None else observed)


def main_prevalences(grid: Sequence[float], observed: float | None) -> tuple[float, ...]:
    """Return the lowest, a middle and the highest prevalence of the grid."""
    return tuple(sorted({grid[0], middle_prevalence(grid, observed), grid[-1]}))


def prevalence_range(grid: Sequence[float], observed: float | None) -> tuple[float, float]:
    """Return a range of prevalences within (0, 1), over a decade at least, that holds all that are."""
    inside = [eta for eta in [*grid, *([] if observed is None else [observed])] if 0 < eta < 1] or [0.1]
    low, high = min(inside), max(inside)
    # A range of one prevalence is no range; its odds are spread by the same factor to both sides.
    wide = max(1.0, (10 / (high * (1 - low) / (low * (1 - high)))) ** 0.5)
    return low / (low + (1 - low) * wide), high * wide / (high * wide + 1 - high)
