"""All tables of one comparison of models: what a report shows and a job stores."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.errors import SchemaError
from nci_frames.evaluation.areas import compute_areas
from nci_frames.evaluation.grids import beta_values, prevalence_values
from nci_frames.evaluation.operating_points import select_operating_points
from nci_frames.evaluation.overview import overview_html
from nci_frames.evaluation.projection import project_rates
from nci_frames.evaluation.ranking import rank_models
from nci_frames.evaluation.rates import compute_rates
from nci_frames.evaluation.shift import check_projection
from nci_frames.pooling import pool_counts
from nci_frames.schemas import COUNTS, SHIFTS, collect

__all__ = ["Comparison", "compare_models"]

#: What a comparison projects: the metrics of the papers.
METRICS = ("precision", "recall", "f_beta", "accuracy", "pos_fraction")


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
    #: Whether the scores of each class have one law in all segments, as projection assumes: the columns of
    #: ``check_projection`` with ``segment`` (which key) and ``value`` (of it, as text); None if not tested.
    shifts: pl.DataFrame | None = None

    def _repr_html_(self) -> str:
        """Show in a notebook who is best where, by PR-AUC."""
        return overview_html(self.areas.filter(metric="pr_auc"), observed=self.observed_prevalence)


def compare_models(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: float | Sequence[float],
    beta: float | Sequence[float] = (1.0,),
    threshold: float = 0.5,
    segment: str | Sequence[str] = (),
) -> Comparison:
    """Compute every table of a comparison of models.

    Parameters
    ----------
    counts
        A counts frame; "exact" counts answer every threshold.
    prevalence
        The class balances to compare at, each in [0, 1].
    beta
        The weights of recall in F-beta, each in [0, inf].
    threshold
        The decision threshold of the operating points. Areas do not depend on it.
    segment
        The keys to show apart as well; all other keys (the folds) are pooled.

    Returns
    -------
    A Comparison.

    Raises
    ------
    ParameterError
        If a prevalence, beta or threshold is out of range.
    SchemaError
        If *counts* is not a counts frame, or has no such key.

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
    frame = collect(counts, COUNTS)
    grid, betas = prevalence_values(prevalence), beta_values(beta)
    if grid is None:
        grid = compute_rates(frame)["observed_prevalence"].drop_nulls().unique().sort().to_list()
    keys = COUNTS.keys(frame.columns)
    segments = [segment] if isinstance(segment, str) else list(segment)
    for name in segments:
        if name not in keys:
            raise SchemaError.missing_column(name, "segment", "the keys of the counts frame", keys)

    def tables(kept: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        pooled = pool_counts(frame, over=[key for key in keys if key not in kept])
        points = select_operating_points(compute_rates(pooled), threshold=threshold)
        projection = project_rates(points, metrics=METRICS, prevalence=grid, beta=betas)
        areas = compute_areas(pooled, prevalence=grid)
        return points, rank_models(projection), rank_models(areas)

    points, projection, areas = tables([])
    by_segment = tables(segments) if segments else (None, None, None)
    rows = points.select("positives", "negatives").sum()
    total = rows["positives"][0] + rows["negatives"][0]
    return Comparison(
        prevalence=tuple(grid),
        beta=tuple(betas),
        threshold=float(threshold),
        segment=tuple(segments),
        observed_prevalence=rows["positives"][0] / total if total else None,
        points=points,
        projection=projection,
        areas=areas,
        segment_points=by_segment[0],
        segment_projection=by_segment[1],
        segment_areas=by_segment[2],
        undefined=_undefined(points if by_segment[0] is None else by_segment[0], segments),
        shifts=_shifts(frame, segments),
    )


def _shifts(frame: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame | None:
    """Test what projection assumes, segment by segment; None where there is nothing to test."""
    whole = all(frame.schema[cell].is_integer() for cell in ("tp", "fp", "fn", "tn"))
    keys = COUNTS.keys(frame.columns)
    tables = [
        check_projection(pool_counts(frame, over=[key for key in keys if key != name]), over=name)
        .with_columns(pl.lit(name).alias("segment"), pl.col(name).cast(pl.String).alias("value"))
        .select("model", "segment", "value", *SHIFTS.fixed[1:])
        for name in segments
        if whole and frame[name].n_unique() > 1
    ]
    return pl.concat(tables) if tables else None


def _undefined(points: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Return the groups that have no tpr or no fpr, and why."""
    why = (
        pl.when((pl.col("positives") == 0) & (pl.col("negatives") == 0))
        .then(pl.lit("no rows"))
        .when(pl.col("positives") == 0)
        .then(pl.lit("no positives: tpr, and what depends on it, is undefined"))
        .when(pl.col("negatives") == 0)
        .then(pl.lit("no negatives: fpr, and what depends on it, is undefined"))
        .otherwise("reason")
    )
    return points.select("model", *segments, "positives", "negatives", why.alias("reason")).filter(
        pl.col("reason").is_not_null()
    )
