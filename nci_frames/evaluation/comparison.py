"""All tables of one comparison of models: what a report shows and a job stores."""

from dataclasses import dataclass

import polars as pl

__all__ = ["Comparison"]


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
    segment: tuple[str, ...]
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
