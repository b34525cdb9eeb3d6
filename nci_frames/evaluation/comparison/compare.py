"""Counts -> all tables of a comparison of models."""

import warnings
from collections.abc import Sequence
from typing import cast

import polars as pl

from nci_frames.arguments import beta_values, check_repeats, prevalence_values
from nci_frames.checked import checked
from nci_frames.counts.pooling import pool_counts
from nci_frames.counts.score_scale import no_probabilities, share_off_scale
from nci_frames.errors import OutsideGridWarning, ParameterError, SchemaError
from nci_frames.evaluation.areas.areas import compute_areas
from nci_frames.evaluation.areas.nodes import area_nodes
from nci_frames.evaluation.comparison.border_intervals import with_intervals
from nci_frames.evaluation.comparison.certainty import (
    Resampled,
    contenders,
    own_threshold_certainty,
    ranking_certainty,
)
from nci_frames.evaluation.comparison.curves import project_curves, report_curves
from nci_frames.evaluation.comparison.field_tables import field_grid, field_tables
from nci_frames.evaluation.comparison.own_thresholds import best_values
from nci_frames.evaluation.comparison.places import (
    main_beta,
    main_prevalences,
    middle_prevalence,
    prevalence_range,
    tested_prevalences,
)
from nci_frames.evaluation.comparison.possible_best import LEAST_REPEATS, possible_best
from nci_frames.evaluation.comparison.segment_tables import (
    segment_differences,
    segment_order,
    segment_shifts,
    segment_sizes,
)
from nci_frames.evaluation.comparison.tables import MOST_MODELS, Comparison
from nci_frames.evaluation.comparison.undefined import observed_prevalence, uncounted, undefined_groups
from nci_frames.evaluation.comparison.units import Drawn
from nci_frames.evaluation.crossovers.decision_map import decision_map, own_maps
from nci_frames.evaluation.crossovers.pr_auc_winners import area_winners
from nci_frames.evaluation.crossovers.winners import winner_ranges
from nci_frames.evaluation.field.prevalences import Field, field_of, is_field
from nci_frames.evaluation.projection.bands import max_precision_uncertainty, precision_band
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.significance.certified_map import certified_ranges
from nci_frames.evaluation.significance.folds import compare_folds
from nci_frames.evaluation.support.lowest import lowest_supported_prevalence
from nci_frames.schemas import COUNTS, collect

__all__ = ["compare_models", "comparison_of"]

#: The threshold that suits probabilities, and that nobody chose who left it to the default.
PROBABLE = 0.5

#: More prevalences would take minutes, and no table or chart shows them.
_MOST_PREVALENCES = 10_000

#: What a comparison projects: the metrics of the papers.
METRICS = ("precision", "recall", "f_beta", "accuracy", "pos_fraction")


@checked
def compare_models(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: float | Sequence[float] | Field,
    beta: float | Sequence[float] = (1.0,),
    threshold: float = PROBABLE,
    segments: str | Sequence[str] = (),
    fold: str | None = None,
    repeats: int = 400,
    unit_counts: pl.DataFrame | pl.LazyFrame | None = None,
) -> Comparison:
    """Compute every table of a comparison of models.

    Parameters
    ----------
    counts
        A counts frame; "exact" counts answer every threshold. If it has the key ``bucket`` of
        ``unit_buckets``, the rows of a unit are kept together in every interval and test; otherwise rows are
        taken as independent.
    prevalence
        The class balances to compare at, each in [0, 1]; at most 10,000. Or the prevalence of each segment,
        as in ``project_rates``, whose keys are among *segments*: each is then also judged at its own
        (``field_projection``, ``field_areas``), and rolled up (``field_averages``). The other tables are then
        at log steps from the lowest of them to the highest.
    beta
        The weights of recall in F-beta, each in [0, inf].
    threshold
        The decision threshold of the operating points. Areas do not depend on it.
    segments
        The keys to show separately as well; all other keys (the folds) are pooled.
    fold
        The key of the folds of a cross-validation, over which models are compared as well.
    repeats
        Number of resampled logs for the certainty of the ranking, 2 to 1,000,000.
    unit_counts
        The same rows counted by ``bucket`` and by *segments*, at the same thresholds, for a log so large that
        the counts by folds, segments and buckets together would be too many.

    Returns
    -------
    A Comparison.

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
    comparison = comparison_of(
        counts,
        prevalence=prevalence,
        beta=beta,
        threshold=threshold,
        segments=segments,
        fold=fold,
        repeats=repeats,
        unit_counts=unit_counts,
    )
    if comparison.off_scale is not None:
        # Of the line that called the checked function.
        warnings.warn(comparison.off_scale, OutsideGridWarning, stacklevel=3)
    return comparison


def comparison_of(
    counts: pl.DataFrame | pl.LazyFrame,
    *,
    prevalence: float | Sequence[float] | Field,
    beta: float | Sequence[float] = (1.0,),
    threshold: float = PROBABLE,
    segments: str | Sequence[str] = (),
    fold: str | None = None,
    repeats: int = 400,
    unit_counts: pl.DataFrame | pl.LazyFrame | None = None,
) -> Comparison:
    """Compare as ``compare_models`` does, whose caller shows ``Comparison.off_scale`` instead of a warning.

    Raises
    ------
    ParameterError, SchemaError
        As ``compare_models`` does.
    """
    frame = collect(counts, COUNTS)
    keys = COUNTS.keys(frame.columns)
    segments = [segments] if isinstance(segments, str) else list(segments)
    _check_keys(keys, segments, fold)
    (grid, field), betas = _grid(frame, prevalence, segments), beta_values(beta)
    check_repeats(repeats, 2)
    # Sums of weights have no binomial bounds and cannot be resampled.
    whole = all(frame.schema[cell].is_integer() for cell in ("tp", "fp", "fn", "tn"))

    drawn = Drawn.of(frame if unit_counts is None else collect(unit_counts, COUNTS), segments)

    def bounded(points: pl.DataFrame) -> pl.DataFrame:
        return drawn.bounded(points) if whole else points

    def tables(counts: pl.DataFrame, rates: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        points = bounded(select_operating_points(rates, threshold=threshold))
        # The tables of segments have thousands of rows; their bounds would not be read.
        band = whole and not COUNTS.keys(counts.columns)
        projection = project_rates(points, metrics=METRICS, prevalence=grid, beta=betas, band=band)
        return points, rank_models(projection), rank_models(compute_areas(counts, prevalence=grid))

    apart = pool_counts(frame, over=[key for key in keys if key not in segments])
    total = pool_counts(apart, over=segments)
    rates = compute_rates(total)
    points, projection, areas = tables(total, rates)
    by_segment: tuple[pl.DataFrame | None, ...] = (None, None, None)
    undefined = undefined_groups(points, rates, ())
    sizes = differences = None
    if segments:
        by_rates = compute_rates(apart)
        by_segment = tables(apart, by_rates)
        undefined = undefined_groups(by_segment[0], by_rates, segments)
        sizes = segment_sizes(by_rates, segments)
        differences = segment_differences(by_segment[0], sizes, segments, beta=main_beta(betas))
    maps, decisions = own_maps(rates), decision_map(rates)
    own = rates.join(maps.select("model", "threshold").unique(), on=["model", "threshold"], how="semi")
    best_points = bounded(own.sort("model", "threshold"))
    # Models that share thresholds still compete at different ones.
    within = ("metric", "prevalence", "beta")
    judged = drawn.total if whole and drawn.enough else None
    best = rank_models(best_values(best_points, maps, judged, grid, betas, units=drawn.units), by=within)
    observed = observed_prevalence(rates)
    main, middle = main_beta(betas), middle_prevalence(grid, observed)
    mains = main_prevalences(grid, observed)
    at_beta = (pl.col("metric") == "f_beta") & (pl.col("beta") == main)
    by_area = areas.filter(metric="pr_auc")
    leading = contenders(best.filter(at_beta), by_area, projection.filter(at_beta))
    certainty = best_certainty = possible = certified = logs = None
    if judged is not None and best.height:
        logs = Resampled.of(total, judged, leading, units=drawn.units, repeats=repeats)
        certainty = ranking_certainty(logs, points, prevalence=grid, beta=main)
        best_certainty = own_threshold_certainty(logs, best_points, prevalence=grid, beta=main)
        tested = tested_prevalences(grid, observed)
        possible = possible_best(logs, best_points, threshold=threshold, prevalence=tested, beta=main)
        certified = certified_ranges(
            logs.at(best_points), logs.counts, decisions, units=logs.units, level=0.95,
            repeats=max(repeats, LEAST_REPEATS),
        )  # fmt: skip
    curves, span = report_curves(rates, leading[:MOST_MODELS]), prevalence_range(grid, observed)
    nodes = _nodes(total, span)
    support = lowest_supported_prevalence(total, metric="pr_auc")
    return Comparison(
        prevalence=tuple(grid),
        beta=tuple(betas),
        threshold=float(threshold),
        segments=tuple(segments),
        observed_prevalence=observed,
        leading=tuple(leading),
        points=points,
        projection=projection,
        areas=areas,
        segment_points=by_segment[0],
        segment_projection=by_segment[1],
        segment_areas=by_segment[2],
        **field_tables(by_segment[0], apart, field, segments, metrics=METRICS, beta=betas),
        undefined=undefined,
        uncounted=uncounted(points, rates),
        off_scale=_off_scale(total, threshold),
        buckets=drawn.buckets,
        rates=rates,
        best_points=best_points,
        best=best,
        best_winners=with_intervals(
            winner_ranges(best_points, metric="f_beta", over="prevalence", beta=main),
            logs,
            best_points,
            fixed=main,
        ),
        winners=with_intervals(
            winner_ranges(points, metric="f_beta", over="prevalence", beta=main), logs, points, fixed=main
        ),
        beta_winners=with_intervals(
            winner_ranges(points, metric="f_beta", over="beta", prevalence=middle),
            logs,
            points,
            fixed=middle,
        ),
        folds=_folds(frame, fold, threshold=threshold, betas=betas, prevalence=middle),
        decisions=decisions,
        certified=certified,
        area_nodes=nodes,
        area_winners=with_intervals(area_winners(nodes, support, *span), logs, None, fixed=None),
        support=support,
        certainty=certainty,
        best_certainty=best_certainty,
        contenders=possible,
        shifts=segment_shifts(drawn.counts, drawn.segments, units=drawn.units)
        if judged is not None
        else None,
        curves=curves,
        curve_projection=project_curves(curves, mains),
        precision_bands=precision_band(points, prevalence=grid) if whole else None,
        precision_uncertainty=max_precision_uncertainty(points) if whole else None,
        area_errors=_area_errors(by_area),
        segment_sizes=sizes,
        differences=differences,
        segment_ranks=segment_order(
            apart, by_segment[0], segments, threshold=threshold, prevalence=middle, beta=main
        )
        if whole and drawn.units is None
        else None,
    )


def _grid(
    frame: pl.DataFrame, prevalence: float | Sequence[float] | Field, segments: Sequence[str]
) -> tuple[list[float], pl.DataFrame | None]:
    """Return the prevalences of the tables over prevalence, and those of the segments, if they have some."""
    if is_field(prevalence):
        field = field_of(cast("Field", prevalence), frame, segments)
        return field_grid(field), field
    asked = prevalence_values(cast("float", prevalence)) or []
    if len(asked) > _MOST_PREVALENCES:
        msg = f"a comparison takes at most {_MOST_PREVALENCES:,} prevalences"
        hint = "its borders are exact whatever the grid is; project_rates takes longer grids"
        raise ParameterError(msg, found=f"{len(asked):,}", hint=hint)
    return asked, None


def _check_keys(keys: Sequence[str], segments: Sequence[str], fold: str | None) -> None:
    for option, names in (("segments", segments), ("fold", [] if fold is None else [fold])):
        for name in names:
            if name not in keys:
                raise SchemaError.missing_column(name, option, "the keys of the counts frame", keys)


def _off_scale(counts: pl.DataFrame, threshold: float) -> str | None:
    """Say that the threshold for probabilities meets scores that are none; None where it does not."""
    if threshold != PROBABLE:
        return None
    told = no_probabilities(share_off_scale(counts, COUNTS.keys(counts.columns)))
    if told is None:
        return None
    advice = "compare at the threshold that is in use"
    return f"{told}, so decisions at {threshold:g} may not be those that are made: {advice}"


def _nodes(total: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    return compute_areas(total, prevalence=area_nodes(*span)).filter(metric="pr_auc")


def _folds(
    frame: pl.DataFrame, fold: str | None, *, threshold: float, betas: list[float], prevalence: float
) -> pl.DataFrame | None:
    """Compare F-beta over the folds, each at its own operating point; None if there are fewer than two."""
    if fold is None or frame[fold].n_unique() < 2:
        return None
    others = [key for key in COUNTS.keys(frame.columns) if key != fold]
    points = select_operating_points(compute_rates(pool_counts(frame, over=others)), threshold=threshold)
    return compare_folds(points, beta=betas, prevalence=prevalence, over=fold)


def _area_errors(areas: pl.DataFrame) -> pl.DataFrame:
    """Return the largest error of each model's area over all prevalences compared."""
    error = ((pl.col("upper") - pl.col("lower")) / 2).max().alias("error")
    return areas.group_by("model").agg(error).sort("model")
