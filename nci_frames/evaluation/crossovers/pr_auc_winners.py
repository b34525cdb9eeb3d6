"""Areas at Chebyshev's points -> which model has the largest PR-AUC at every prevalence between."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.nodes import TOLERANCE
from nci_frames.evaluation.crossovers.supported_ranges import LOWEST, WHY, supported_prevalences
from nci_frames.schemas import WINNERS

__all__ = ["area_winners"]

#: Grid points at which the best is looked up; a model that leads only between two of them is missed.
_PLACES = 2_001

#: So often the distance of two of them can be halved before it is below the precision of a number.
_HALVINGS = 50

Flags = NDArray[np.bool_]


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
    ordered = areas.sort("model", "prevalence")
    defined = ordered.filter(pl.col("value").is_not_null().all().over("model"))
    models = defined["model"].unique(maintain_order=True).to_list()
    if not models:
        return WINNERS.finish(pl.DataFrame(schema=WINNERS.dtypes()))
    values = defined["value"].to_numpy().reshape(len(models), -1)
    places = np.linspace(-1, 1, _PLACES)
    at = _interpolated(values, places)
    leader = int(at[:, 0].argmax())
    starts, leaders = [-1.0], [leader]
    for before, (place, column) in enumerate(zip(places[1:], at.T[1:], strict=True)):
        # More than one model may have led since the grid point before.
        while column[leader] < column.max() - 2 * TOLERANCE:
            start, leader = _overtaken(values, leader, max(places[before], starts[-1]), place)
            starts.append(start)
            leaders.append(leader)
    borders = _prevalences(np.array([*starts, 1.0]), low, high)
    table = pl.DataFrame(
        {
            "metric": "pr_auc",
            "over": "prevalence",
            "start": borders[:-1],
            "end": borders[1:],
            "model": [models[place] for place in leaders],
            "threshold": pl.Series([None] * len(leaders), dtype=pl.Float64),
        },
        schema_overrides={"model": areas.schema["model"]},
    )
    lowest = support.select("model", pl.col("prevalence").alias(LOWEST), pl.col("reason").alias(WHY))
    ranges = table.join(lowest, on="model", how="left", nulls_equal=True, maintain_order="left")
    return WINNERS.finish(supported_prevalences(ranges))


def _overtaken(values: Floats, leader: int, start: float, end: float) -> tuple[float, int]:
    """Return where, and by whom, a leader is first overtaken before *end*, where it is behind."""
    ahead = _interpolated(values, np.array([end]))[:, 0]
    rivals = np.flatnonzero(ahead > ahead[leader] + 2 * TOLERANCE)

    def leads(places: Floats) -> Flags:
        """Return whether the leader is ahead of each rival, at a place of its own."""
        at = _interpolated(values[[leader, *rivals]], places)
        return np.asarray(at[0] > np.diagonal(at[1:]))

    low, high = np.full(len(rivals), start), np.full(len(rivals), end)
    high = np.where(leads(low), high, low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        before = leads(middle)
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    # Of models that draw level at the same point, the one that is farthest ahead.
    first = np.lexsort((-ahead[rivals], high))[0]
    return float(high[first]), int(rivals[first])


def _interpolated(values: Floats, places: Floats) -> Floats:
    """Evaluate the polynomials through values at Chebyshev's points, a row each, at places within [-1, 1]."""
    count = values.shape[1]
    angle = (2 * np.arange(count) + 1) * np.pi / (2 * count)
    weights = np.sin(angle) * (-1.0) ** np.arange(count)
    distance = places[:, None] + np.cos(angle)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = weights / distance
        found = (shares @ values.T) / shares.sum(axis=1)[:, None]
    place, node = np.nonzero(distance == 0)
    found[place] = values.T[node]
    return np.ascontiguousarray(found.T)


def _prevalences(places: Floats, low: float, high: float) -> Floats:
    start, end = (np.log(eta) - np.log1p(-eta) for eta in (low, high))
    found = 1 / (1 + np.exp(-(start + end) / 2 - places * (end - start) / 2))
    found[0], found[-1] = low, high
    return np.asarray(found)
