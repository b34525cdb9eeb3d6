"""Counts -> crossovers and winner ranges of areas: the best model over prevalence, by whole curves."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.areas import compute_areas
from nci_frames.evaluation.crossovers.contest import Over, check_pairs, repeated_keys
from nci_frames.evaluation.crossovers.pr_auc_crossovers import area_meetings
from nci_frames.evaluation.crossovers.pr_auc_curves import AreaCurves, area_curves
from nci_frames.evaluation.crossovers.search import axis_value
from nci_frames.evaluation.crossovers.supported_ranges import area_support, supported_prevalences
from nci_frames.evaluation.metrics import PR_AUC, ROC_AUC, Metric
from nci_frames.schemas import COUNTS, collect

__all__ = ["curve_crossovers", "curve_winners"]


def curve_crossovers(
    counts: pl.DataFrame | pl.LazyFrame, metric: Metric, over: Over
) -> Iterator[pl.DataFrame]:
    """Yield the crossovers of every two models, group by group.

    Raises
    ------
    ParameterError
        If the area does not depend on what it is asked over, or has no search; or if there are too many
        models.
    SchemaError
        If *counts* is not a counts frame.
    """
    _check(metric, over)
    frame = collect(counts, COUNTS)
    if metric is ROC_AUC:
        return
    models = frame.select("model", *COUNTS.keys(frame.columns)).unique()
    groups = models.group_by(pl.exclude("model")).len("__models") if models.width > 1 else None
    check_pairs(len(models) if groups is None else max(groups["__models"], default=0))
    for keys, curves in area_curves(frame):
        found = area_meetings(curves, *np.triu_indices(len(curves.models), 1))
        below = np.where(found.first_is_better_below, found.first, found.second)
        above = np.where(found.first_is_better_below, found.second, found.first)
        table = pl.DataFrame(
            {
                "model_a": curves.models[below],
                "model_b": curves.models[above],
                "prevalence": found.prevalence,
                "value": curves.at(found.first, found.place),
            },
            schema_overrides=dict.fromkeys(("prevalence", "value"), pl.Float64),
        ).with_columns(metric=pl.lit(metric.name), beta=pl.lit(None, pl.Float64))
        yield repeated_keys(table, keys)


def curve_winners(
    counts: pl.DataFrame | pl.LazyFrame, metric: Metric, over: Over, start: float, end: float
) -> Iterator[pl.DataFrame]:
    """Yield the ranges of prevalence in which each model has the largest area, group by group.

    Raises
    ------
    ParameterError
        If the area does not depend on what it is asked over, or has no search.
    SchemaError
        If *counts* is not a counts frame.
    """
    _check(metric, over)
    frame = collect(counts, COUNTS)
    groups = _constant(frame) if metric is ROC_AUC else _changing(frame)
    support = area_support(frame, metric)
    for keys, models, borders in groups:
        inside = (borders > start) & (borders < end)
        first = int((borders <= start).sum())
        ends = np.concatenate([[start], borders[inside], [end]])
        table = pl.DataFrame(
            {
                "start": ends[:-1],
                "end": ends[1:],
                "model": models[first : first + len(ends) - 1],
            }
        ).with_columns(metric=pl.lit(metric.name), over=pl.lit(over), threshold=pl.lit(None, pl.Float64))
        ranges = repeated_keys(table, keys).join(
            support, on=["model", *keys.columns], how="left", nulls_equal=True, maintain_order="left"
        )
        yield supported_prevalences(ranges)


def _check(metric: Metric, over: Over) -> None:
    if over == "beta":
        msg = f"the metric {metric.name!r} does not depend on beta"
        raise ParameterError(msg, found="over='beta'", hint="use over='prevalence'")
    if metric not in (PR_AUC, ROC_AUC):
        why = f"it belongs to {metric.needs}" if metric.needs else "there is no search for its crossovers"
        raise ParameterError(
            f"the crossovers of {metric.name!r} cannot be found: {why}",
            hint=f"rank_models({metric.computed_by}) ranks the models at given prevalences",
        )


def _constant(frame: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.Series, Floats]]:
    """Yield the model with the largest ROC-AUC, which is the same at every prevalence."""
    areas = compute_areas(frame, prevalence=0.5).filter(pl.col("value").is_not_null(), metric=ROC_AUC.name)
    keys = COUNTS.keys(frame.columns)
    best = areas.sort(*keys, "value", "model", descending=[*(False for _ in keys), True, False])
    for group in best.partition_by(keys, maintain_order=True) if keys else [best]:
        if len(group):
            yield group[:1].select(keys), group["model"][:1], np.empty(0)


def _changing(frame: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.Series, Floats]]:
    """Yield the models that have the largest PR-AUC in turn, and the prevalences between them."""
    for keys, curves in area_curves(frame):
        if len(curves.models):
            leaders, places = _leaders(curves)
            yield keys, curves.models[leaders], axis_value("prevalence", np.array(places))


def _leaders(curves: AreaCurves) -> tuple[list[int], list[float]]:
    """Return the models that lead in turn, and where each but the first takes the lead."""
    everyone = np.arange(len(curves.models))
    leaders, places = [curves.best_at_first()], [-np.inf]
    while True:
        others = everyone[everyone != leaders[-1]]
        met = area_meetings(curves, np.full(len(others), leaders[-1]), others)
        overtaken = met.first_is_better_below & (met.place > places[-1])
        if not overtaken.any():
            return leaders, places[1:]
        place = met.place[overtaken].min()
        # Of models that draw level at the same point, the one that is ahead afterwards.
        near = overtaken & (met.place <= place + 1e-9)
        rivals = met.second[near]
        ahead = curves.at(rivals, np.full(len(rivals), place + 1e-6))
        leaders.append(int(rivals[ahead.argmax()]))
        places.append(float(met.place[near][ahead.argmax()]))
