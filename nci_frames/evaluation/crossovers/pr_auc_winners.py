"""Counts, or areas at Chebyshev's points -> which model has the largest area at every prevalence."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.lowest import lowest_supported_prevalence
from nci_frames.evaluation.areas.nodes import TOLERANCE
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.crossovers.contest import repeated_keys
from nci_frames.evaluation.crossovers.linear_areas import is_linear, linear_areas
from nci_frames.evaluation.crossovers.pr_auc_curves import AreaCurves, area_curves
from nci_frames.evaluation.crossovers.supported_ranges import (
    area_support,
    borders_within,
    supported_prevalences,
)
from nci_frames.evaluation.metrics import Metric
from nci_frames.schemas import WINNERS, beside


def curve_winners(counts: pl.DataFrame, metric: Metric, start: float, end: float) -> Iterator[pl.DataFrame]:
    """Yield the ranges between two prevalences in which one model has the best area, group by group."""
    support = area_support(lowest_supported_prevalence(counts, metric=metric.name))
    for keys, areas in linear_areas(counts, metric) if is_linear(metric) else area_curves(counts):
        models, tied, borders = areas.leaders()
        ends, kept = borders_within(borders, start, end)
        yield _ranges(keys, metric, models[kept], tied[kept], ends, support)


def area_winners(areas: pl.DataFrame, support: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Return the ranges of prevalence in which each model has the largest PR-AUC: a frame of winner ranges.

    Parameters
    ----------
    areas
        PR-AUC of each model at the prevalences of ``area_nodes(low, high)``.
    support
        The lowest prevalence that each model's area is supported at: ``lowest_supported_prevalence``.
    low, high
        The range, within (0, 1).

    Returns
    -------
    The columns of ``winner_ranges``; the threshold is null. A model leads until another surpasses it by more
    than the error of the areas.
    """
    first, last = (float(np.log(eta) - np.log1p(-eta)) for eta in (low, high))
    curves = AreaCurves.through(areas, first, last, 2 * TOLERANCE)
    if not len(curves.models):
        return WINNERS.joined([], pl.DataFrame())
    models, tied, borders = curves.leaders()
    ranges = np.concatenate([[low], borders, [high]])
    return WINNERS.finish(_ranges(pl.DataFrame(), PR_AUC, models, tied, ranges, area_support(support)))


def _ranges(
    keys: pl.DataFrame,
    metric: Metric,
    models: pl.Series,
    tied: pl.Series,
    ends: Floats,
    support: pl.DataFrame,
) -> pl.DataFrame:
    """Return the ranges between *ends* with the model of each, cut where its area begins to be supported."""
    table = pl.DataFrame({"start": ends[:-1], "end": ends[1:], "model": models, "tied": tied}).with_columns(
        metric=pl.lit(metric.name), over=pl.lit("prevalence"), threshold=pl.lit(None, pl.Float64)
    )
    on = ["model", *keys.columns]
    return supported_prevalences(beside(repeated_keys(table, keys), support, on))
