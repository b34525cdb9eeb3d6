"""Segments and their prevalence in the field -> their tables, each segment at its own prevalence."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.evaluation.areas.areas import compute_areas
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.evaluation.projection.roll_up import roll_up

#: The steps of the grid over prevalence that stands for a field.
_STEPS = 31


def field_grid(field: pl.DataFrame) -> list[float]:
    """Return the prevalences at which all segments together are compared.

    They are even steps of the logarithm from the lowest prevalence of a segment to the highest, and that of
    the traffic, if the shares are known.

    >>> field_grid(pl.DataFrame({"prevalence": [0.1, 0.3], "share": [3.0, 1.0]}))[:2]
    [0.1, 0.1037...]
    >>> field_grid(pl.DataFrame({"prevalence": [0.1]}))
    [0.1]
    """
    etas = np.unique(field["prevalence"].to_numpy())
    inside = etas[etas > 0]
    # Rounding must not move the ends.
    steps = np.geomspace(inside[0], inside[-1], _STEPS)[1:-1] if len(inside) > 1 else inside
    traffic = []
    if "share" in field.columns:
        traffic = [np.average(field["prevalence"].to_numpy(), weights=field["share"].to_numpy())]
    return [float(eta) for eta in np.unique([etas[0], etas[-1], *steps, *traffic])]


def field_tables(
    points: pl.DataFrame | None,
    counts: pl.DataFrame,
    field: pl.DataFrame | None,
    segments: Sequence[str],
    *,
    metrics: Sequence[str],
    beta: Sequence[float],
) -> dict[str, pl.DataFrame | None]:
    """Return the tables of a comparison in which segments are at their own prevalence; None without a field.

    Parameters
    ----------
    points
        Rates of each model and segment at the threshold.
    counts
        Counts by segment.
    field
        The prevalence of each segment, and its share of the traffic if that is known.
    segments
        The keys of the segments.
    metrics, beta
        What is evaluated of the points.
    """
    names = ("field", "field_projection", "field_areas", "field_averages")
    if field is None or points is None:
        return dict.fromkeys(names)
    averages = roll_up(points, over=segments, metrics=metrics, prevalence=field, beta=beta)
    projection = project_rates(points, metrics=metrics, prevalence=field, beta=beta)
    areas = compute_areas(counts, prevalence=field)
    tables = (field, *map(rank_models, (projection, areas, averages)))
    return dict(zip(names, tables, strict=True))
