"""Counts of a repeated cross-validation -> what is computed within each repeat or fold, and averaged."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.lowest import supported_from
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.projection.averaging import average_over
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.significance.folds import compare_folds
from nci_frames.schemas import COUNTS, SUPPORT


def mean_areas(
    counts: pl.DataFrame,
    prevalence: Sequence[float],
    worth: pl.DataFrame | None,
    repeat: str | None,
    areas: Sequence[Area],
) -> pl.DataFrame:
    """Return the areas of counts; those within each value of *repeat*, averaged, if that is not None."""
    found = areas_of(counts, list(prevalence), areas, worth=worth)
    return found if repeat is None else average_over(found, over=repeat)


def area_support(counts: pl.DataFrame, worth: pl.DataFrame | None, repeat: str | None) -> pl.DataFrame:
    """Return the lowest prevalence at which PR-AUC is supported, within every repeat."""
    lowest = supported_from(counts, PR_AUC.name, worth=worth)
    if repeat is None:
        return lowest
    known = pl.col("prevalence").null_count() == 0
    keys = ["model", *(key for key in SUPPORT.keys(lowest.columns) if key != repeat)]
    highest = lowest.group_by(*keys, "metric", maintain_order=True).agg(
        pl.when(known).then(pl.col("prevalence").max()), pl.col("reason").drop_nulls().first()
    )
    return SUPPORT.finish(highest.sort(keys))


def compared_folds(
    counts: pl.DataFrame,
    over: Sequence[str],
    *,
    threshold: float,
    betas: Sequence[float],
    prevalence: float,
) -> pl.DataFrame | None:
    """Compare F-beta over the folds, each at its own operating point; None if there are fewer than two."""
    if not over or counts.select(over).n_unique() < 2:
        return None
    points = select_operating_points(compute_rates(_kept(counts, over)), threshold=threshold)
    return compare_folds(points, beta=list(betas), prevalence=prevalence, over=list(over))


def fold_areas(counts: pl.DataFrame, over: Sequence[str], prevalence: Sequence[float]) -> pl.DataFrame | None:
    """Return the areas within each fold, averaged over the folds; None if there are fewer than two."""
    if not over or counts.select(over).n_unique() < 2:
        return None
    return average_over(areas_of(_kept(counts, over), list(prevalence)), over=list(over))


def _kept(counts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    others = [key for key in COUNTS.keys(counts.columns) if key not in keys]
    return pooled_counts(counts, over=others) if others else counts
