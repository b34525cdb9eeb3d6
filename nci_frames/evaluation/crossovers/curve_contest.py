"""Counts -> where the areas of models change places."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.crossovers.contest import Over, check_pairs, repeated_keys
from nci_frames.evaluation.crossovers.meetings import Meetings, curve_meetings
from nci_frames.evaluation.crossovers.pr_auc_curves import AreaCurves, Indices, area_curves
from nci_frames.evaluation.crossovers.search import places_along
from nci_frames.evaluation.metrics import PR_AUC, ROC_AUC, Metric
from nci_frames.schemas import COUNTS

__all__ = ["check_curve", "curve_crossovers"]

#: Pairs whose curves are compared at a time: each takes as many numbers as its series has terms.
_PAIRS_AT_A_TIME = 1 << 14


def check_curve(metric: Metric, over: Over) -> None:
    """Raise ParameterError unless the crossovers of an area over an axis can be found."""
    if over == "beta":
        msg = f"the metric {metric.name!r} does not depend on beta"
        raise ParameterError(msg, found="over='beta'", hint="use over='prevalence'")
    if metric not in (PR_AUC, ROC_AUC):
        why = f"it belongs to {metric.needs}" if metric.needs else "there is no search for its crossovers"
        raise ParameterError(
            f"the crossovers of {metric.name!r} cannot be found: {why}",
            hint=f"rank_models({metric.computed_by}) ranks the models at given prevalences",
        )


def curve_crossovers(counts: pl.DataFrame, metric: Metric) -> Iterator[pl.DataFrame]:
    """Yield the columns of ``find_crossovers``, group by group."""
    if metric is ROC_AUC:
        return
    models = counts.select("model", *COUNTS.keys(counts.columns)).unique()
    groups = models.group_by(pl.exclude("model")).len("__models") if models.width > 1 else None
    check_pairs(len(models) if groups is None else max(groups["__models"], default=0))
    for keys, curves in area_curves(counts):
        if len(curves.models) > 1:
            yield repeated_keys(_crossovers(curves, metric), keys)


def _crossovers(curves: AreaCurves, metric: Metric) -> pl.DataFrame:
    def at(model: Indices, place: Floats) -> tuple[Floats, Indices]:
        return curves.at(model, place), model

    best = curves.everywhere(places_along("prevalence"))
    found = Meetings.together(curve_meetings(best, at, "prevalence", curves.rounding, _PAIRS_AT_A_TIME))
    return pl.DataFrame(
        {
            "model_a": curves.models[found.better_below],
            "model_b": curves.models[found.better_above],
            "prevalence": found.x,
            "value": curves.at(found.row, np.log(found.x) - np.log1p(-found.x)),
        },
        schema_overrides=dict.fromkeys(("prevalence", "value"), pl.Float64),
    ).with_columns(metric=pl.lit(metric.name), beta=pl.lit(None, pl.Float64))
