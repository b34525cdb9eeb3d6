"""Counts -> all tables of a comparison of models."""

import warnings
from collections.abc import Sequence
from typing import Any, cast

import polars as pl

from nci_frames.base.arguments import beta_values, check_repeats, prevalence_values
from nci_frames.base.errors import OutsideGridWarning, ParameterError
from nci_frames.counts.resolution import without_claims
from nci_frames.counts.score_scale import HIGHEST, LOWEST, no_probabilities, share_off_scale
from nci_frames.evaluation.areas.nodes import area_nodes
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.evaluation.crossovers.decision_map import decision_map, own_maps
from nci_frames.evaluation.crossovers.pr_auc_winners import area_winners
from nci_frames.evaluation.crossovers.winners import winner_ranges
from nci_frames.evaluation.field.prevalences import Field, field_of, is_field
from nci_frames.evaluation.projection.bands import max_precision_uncertainty, precision_band
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.rates.hull import highest_of_each_tpr
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.significance.certified_map import certified_ranges
from nci_frames.questions.border_intervals import with_intervals
from nci_frames.questions.certainty import (
    Resampled,
    contenders,
    own_threshold_certainty,
    ranking_certainty,
)
from nci_frames.questions.curves import project_curves, report_curves
from nci_frames.questions.field_tables import field_grid, field_tables
from nci_frames.questions.log_counts import LogCounts
from nci_frames.questions.own_thresholds import best_values
from nci_frames.questions.places import (
    main_beta,
    main_prevalences,
    middle_prevalence,
    prevalence_range,
    tested_prevalences,
)
from nci_frames.questions.possible_best import LEAST_REPEATS, possible_best
from nci_frames.questions.repeats import compared_folds, fold_areas
from nci_frames.questions.segment_tables import (
    segment_differences,
    segment_order,
    segment_shifts,
    segment_sizes,
)
from nci_frames.questions.tables import MOST_MODELS, Comparison
from nci_frames.questions.undefined import observed_prevalence, uncounted, undefined_groups
from nci_frames.schemas import COUNTS, collect
from nci_frames.schemas.checked import checked

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
    repeat: str | None = None,
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
        repeat=repeat,
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
    repeat: str | None = None,
    repeats: int = 400,
    unit_counts: pl.DataFrame | pl.LazyFrame | None = None,
    unit_rows: int | None = None,
) -> Comparison:
    """Compare as ``compare_models`` does, whose caller shows ``Comparison.off_scale`` instead of a warning.

    *unit_rows* is what a caller who has seen the rows says of them in ``Comparison.unit_rows``.

    Raises
    ------
    ParameterError, SchemaError
        As ``compare_models`` does.
    """
    frame = collect(counts, COUNTS)
    segments = [segments] if isinstance(segments, str) else list(segments)
    log = LogCounts.of(frame, unit_counts, segments=segments, fold=fold, repeat=repeat)
    (grid, field), betas = _grid(frame, prevalence, segments), beta_values(beta)
    check_repeats(repeats, 2)

    def tables(rates: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        points = log.bounded(select_operating_points(rates, threshold=threshold))
        # There may be thousands of segments: of theirs, only what is read is computed, and without bounds.
        what: dict[str, Any] = {"metrics": METRICS, "beta": betas, "band": log.whole}
        if keys:
            what = {"metrics": "f_beta", "beta": main_beta(betas), "band": False}
        projection = project_rates(points, prevalence=grid, **what)
        return points, rank_models(projection), rank_models(log.areas(keys, grid))

    rates = log.rates()
    points, projection, areas = tables(rates, ())
    by_segment: tuple[pl.DataFrame | None, ...] = (None, None, None)
    near = near_threshold(rates, threshold)
    undefined = undefined_groups(points, near, ())
    sizes = differences = None
    if segments:
        by_rates = log.segment_rates(threshold)
        by_segment = tables(by_rates, segments)
        undefined = undefined_groups(by_segment[0], by_rates, segments)
        sizes = segment_sizes(by_rates, segments)
        differences = segment_differences(by_segment[0], sizes, segments, beta=main_beta(betas))
    candidates = highest_of_each_tpr(rates)
    maps, decisions = own_maps(candidates), decision_map(candidates)
    own = candidates.join(maps.select("model", "threshold").unique(), on=["model", "threshold"], how="semi")
    best_points = log.bounded(without_claims(own).sort("model", "threshold"))
    # Models that share thresholds still compete at different ones.
    within = ("metric", "prevalence", "beta")
    own_values = best_values(best_points, maps, log.judged, grid, betas, units=log.drawn.units, over=repeat)
    best = rank_models(own_values, by=within)
    observed = observed_prevalence(near)
    main, middle = main_beta(betas), middle_prevalence(grid, observed)
    mains = main_prevalences(grid, observed)
    at_beta = (pl.col("metric") == "f_beta") & (pl.col("beta") == main)
    by_area = areas.filter(metric="pr_auc")
    leading = contenders(best.filter(at_beta), by_area, projection.filter(at_beta))
    certainty = best_certainty = possible = certified = logs = None
    if log.resampled and best.height:
        logs = Resampled.of(log.total, log.drawn, leading, repeats=repeats)
        certainty = ranking_certainty(logs, points, areas, projection, prevalence=grid, beta=main)
        best_certainty = own_threshold_certainty(logs, best_points, best, prevalence=grid, beta=main)
        tested = tested_prevalences(grid, observed)
        possible = possible_best(logs, points, best_points, prevalence=tested, beta=main)
        certified = certified_ranges(
            logs.at(best_points), logs.counts, decisions, units=logs.units, level=0.95,
            repeats=max(repeats, LEAST_REPEATS),
        )  # fmt: skip
    curves, span = report_curves(rates, leading[:MOST_MODELS]), prevalence_range(grid, observed)
    nodes = log.areas((), area_nodes(*span)).filter(metric="pr_auc")
    support = log.support()
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
        **field_tables(by_segment[0], log.by_segment, field, segments, metrics=METRICS, beta=betas),
        undefined=undefined,
        uncounted=uncounted(points, near),
        off_scale=_off_scale(log.total, threshold),
        buckets=log.drawn.buckets,
        unit_rows=unit_rows,
        repeats=None if repeat is None else frame[repeat].n_unique(),
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
        folds=compared_folds(frame, log.folds, threshold=threshold, betas=betas, prevalence=middle),
        fold_areas=fold_areas(frame, log.folds, mains),
        decisions=decisions,
        certified=certified,
        area_nodes=nodes,
        area_winners=with_intervals(area_winners(nodes, support, *span), logs, None, fixed=None),
        support=support,
        certainty=certainty,
        best_certainty=best_certainty,
        contenders=possible,
        shifts=segment_shifts(
            log.drawn.by_segment,
            log.drawn.segments,
            units=log.drawn.units,
            together=log.total if repeat is None and log.drawn.units is None else None,
        )
        if log.judged is not None
        else None,
        curves=curves,
        curve_projection=project_curves(curves, mains),
        precision_bands=precision_band(points, prevalence=grid) if log.whole else None,
        precision_uncertainty=max_precision_uncertainty(points) if log.whole else None,
        area_errors=_area_errors(by_area),
        segment_sizes=sizes,
        differences=differences,
        segment_ranks=segment_order(
            log.by_segment,
            by_segment[0],
            segments,
            together=log.total,
            units=log.drawn.units,
            by_unit=log.drawn.by_segment,
            threshold=threshold,
            prevalence=middle,
            beta=main,
        )
        if log.whole and log.drawn.resampled and {*segments} == {*log.drawn.segments}
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


def _off_scale(counts: pl.DataFrame, threshold: float) -> str | None:
    """Say that the threshold for probabilities meets scores that are none; None where it does not."""
    if threshold != PROBABLE:
        return None
    ends = near_threshold(counts, LOWEST, HIGHEST)
    told = no_probabilities(share_off_scale(ends, COUNTS.keys(counts.columns)))
    if told is None:
        return None
    advice = "compare at the threshold that is in use"
    return f"{told}, so decisions at {threshold:g} may not be those that are made: {advice}"


def _area_errors(areas: pl.DataFrame) -> pl.DataFrame:
    """Return the largest error of each model's area over all prevalences compared."""
    error = ((pl.col("upper") - pl.col("lower")) / 2).max().alias("error")
    return areas.group_by("model").agg(error).sort("model")
