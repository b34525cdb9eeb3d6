"""Counts, or areas at Chebyshev's points -> which model has the largest area at every prevalence."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.polynomial.chebyshev import chebval

from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.lowest import lowest_supported_prevalence
from nci_frames.evaluation.areas.nodes import TOLERANCE
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.areas.roc import ROC_AUC
from nci_frames.evaluation.crossovers.contest import repeated_keys
from nci_frames.evaluation.crossovers.linear_areas import is_linear, linear_areas
from nci_frames.evaluation.crossovers.pr_auc_curves import AreaCurves, area_curves
from nci_frames.evaluation.crossovers.search import axis_value
from nci_frames.evaluation.crossovers.supported_ranges import (
    area_support,
    borders_within,
    supported_prevalences,
)
from nci_frames.evaluation.metrics import Metric
from nci_frames.evaluation.metrics.rounding import rounding
from nci_frames.schemas import COUNTS, WINNERS, beside

#: Places at which the best is looked up; a model that leads only between two of them is missed.
_PLACES = 4_001


def curve_winners(counts: pl.DataFrame, metric: Metric, start: float, end: float) -> Iterator[pl.DataFrame]:
    """Yield the ranges between two prevalences in which one model has the best area, group by group."""
    support = area_support(lowest_supported_prevalence(counts, metric=metric.name))
    for keys, models, tied, borders in _led(counts, metric):
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
        return WINNERS.finish(pl.DataFrame(schema=WINNERS.dtypes()))
    models, tied, borders = _leaders(curves)
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


#: The keys, the models that lead one after the other, all that are equal to each, and where they change.
_Led = tuple[pl.DataFrame, pl.Series, pl.Series, Floats]


def _led(counts: pl.DataFrame, metric: Metric) -> Iterator[_Led]:
    if metric is ROC_AUC:
        return _constant(counts)
    if is_linear(metric):
        return ((keys, *lines.leaders()) for keys, lines in linear_areas(counts, metric))
    return _changing(counts)


def _constant(counts: pl.DataFrame) -> Iterator[_Led]:
    """Yield the keys and the model with the largest ROC-AUC, which does not depend on the prevalence."""
    areas = areas_of(counts, 0.5, [ROC_AUC]).filter(pl.col("value").is_not_null())
    keys = COUNTS.keys(counts.columns)
    best = areas.sort(*keys, "value", "model", descending=[*(False for _ in keys), True, False])
    for group in best.partition_by(keys, maintain_order=True) if keys else [best]:
        if len(group):
            value = group["value"].to_numpy()
            equal = group["model"].filter(pl.Series(value[0] - value <= rounding(ROC_AUC, value[:1])))
            yield group[:1].select(keys), group["model"][:1], equal.sort().implode(), np.empty(0)


def _changing(counts: pl.DataFrame) -> Iterator[_Led]:
    for keys, curves in area_curves(counts):
        if len(curves.models):
            yield keys, *_leaders(curves)


def _leaders(curves: AreaCurves) -> tuple[pl.Series, pl.Series, Floats]:
    """Return the models that lead one after the other, their equals, and the prevalences of the changes."""
    places = np.linspace(curves.low, curves.high, _PLACES)
    areas = curves.everywhere(places)
    # At the first place models may be equal except for rounding; the next one decides.
    best = np.arange(len(areas))
    for column in areas.T:
        best = best[column[best] >= column[best].max() * (1 - curves.rounding)]
        if len(best) == 1:
            break
    leaders, borders = [int(best[0])], [curves.low]
    for before, place, column in zip(places, places[1:], areas.T[1:], strict=False):
        # More than one model may have led since the place before.
        while len(rivals := np.flatnonzero(column * (1 - curves.rounding) > column[leaders[-1]])):
            since = max(before, borders[-1])
            met = [_overtaking(curves, leaders[-1], rival, since, place) for rival in rivals.tolist()]
            # Of models that draw level at the same point, the one that is farthest ahead.
            first = np.lexsort((-column[rivals], met))[0]
            leaders.append(int(rivals[first]))
            borders.append(met[first])
    tied = []
    for leader, since, until in zip(leaders, borders, [*borders[1:], curves.high], strict=True):
        here = areas[:, (places >= since) & (places <= until)]
        apart = np.abs(here - here[leader]) > curves.rounding * here[leader]
        equal = ~apart.any(axis=1) if here.size else np.arange(len(areas)) == leader
        tied.append(curves.models.filter(pl.Series(equal)).sort())
    names = pl.Series(tied, dtype=pl.List(pl.String))
    return curves.models[leaders], names, axis_value("prevalence", np.array(borders[1:]))


def _overtaking(curves: AreaCurves, leader: int, rival: int, low: float, high: float) -> float:
    """Return where a rival that is ahead at *high* has overtaken the leader."""
    from scipy.optimize import brentq  # noqa: PLC0415  (slow to import, and seldom needed)

    ends = np.array([curves.low, curves.high])
    lead = curves.series[leader] - curves.series[rival]

    def ahead(place: float) -> float:
        return float(chebval((2 * place - ends.sum()) / np.diff(ends)[0], lead))

    return low if ahead(low) <= 0 else float(brentq(ahead, low, high, xtol=1e-14, rtol=1e-15))
