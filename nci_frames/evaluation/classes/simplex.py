"""Class counts of three classes -> the best model in each part of the triangle of all mixes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.classes.class_log import class_logs, collected
from nci_frames.evaluation.classes.class_winners import best_of, heights
from nci_frames.evaluation.classes.mixes import cost_table
from nci_frames.evaluation.classes.values import Setting
from nci_frames.evaluation.metrics.classes import metric_of_all

#: Linear in the shares, or the same at all of them.
_LINEAR = ("accuracy", "expected_cost", "balanced_accuracy", "macro_recall")
#: Triangles along a side where regions have no closed form; and areas below which there is no region.
_STEPS, _LEAST = 40, 1e-12


def best_in_simplex(
    class_counts: pl.DataFrame | pl.LazyFrame, *, metric: str, beta: float, cost: Mapping[Any, Any] | None
) -> tuple[pl.DataFrame, list[Any]]:
    """Return the corners of the regions in which each model is best, and the three classes.

    ``region``, ``corner``, ``model``, ``tied``, and ``first``, ``second`` and ``third``: the shares of the
    classes. Regions of metrics that are linear in the shares are exact polygons; those of others are small
    triangles, each judged at its middle.

    Raises
    ------
    ParameterError
        If there are not three classes with rows, if there are keys, or the metric is one of each class.
    """
    known = metric_of_all(metric)
    logs = class_logs(collected(class_counts))
    logs.need_no_keys("the triangle")
    if logs.seen.sum() != 3:
        msg, hint = "the triangle is that of the mixes of three classes", "draw winners along lines"
        raise ParameterError(msg, found=f"{logs.seen.sum()} classes with rows", hint=hint)
    costs = cost_table(cost, logs, needed=known.name == "expected_cost")

    def values(shares: Floats) -> Floats:
        priors = np.zeros((len(shares), len(logs.names)))
        priors[:, logs.seen] = shares
        return heights(known, 0, logs.logs, Setting(priors, logs.seen, beta_value(beta), costs))

    polygons = _polygons(values(np.eye(3))) if known.name in _LINEAR else _small_triangles()
    if not polygons:
        raise ParameterError("no model has a value", hint="check that each model has rows of all classes")
    rows = []
    at = values(np.array([corners.mean(axis=0) for corners in polygons]))
    best = best_of(known, at) & np.isfinite(at)
    names = [log.group["model"] for log in logs.logs]
    for region, corners in enumerate(polygons):
        tied = [name for name, holds in zip(names, best[:, region], strict=True) if holds]
        rows += [
            (region, corner, tied[0] if tied else None, tied, *shares)
            for corner, shares in enumerate(corners.tolist())
        ]
    schema: dict[str, Any] = {
        "region": pl.Int64, "corner": pl.Int64, "model": pl.String, "tied": pl.List(pl.String),
        "first": pl.Float64, "second": pl.Float64, "third": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row"), logs.names.filter(pl.Series(logs.seen)).to_list()


def _polygons(heights: Floats) -> list[Floats]:
    """Return the corners of each region in which a model is best.

    A model with the values h at the three corners is above another where the difference of theirs times the
    shares is above 0: a half of the triangle. *heights* are those of each model.
    """
    found = []
    heights = heights[np.isfinite(heights).all(axis=1)]
    for one in np.unique(heights, axis=0):
        corners = np.eye(3)
        for other in heights:
            corners = _cut(corners, one - other)
        if len(corners) and _area(corners) > _LEAST:
            found.append(corners)
    return found


def _cut(corners: Floats, difference: Floats) -> Floats:
    """Return the part of a polygon where the difference is not below 0 (Sutherland and Hodgman)."""
    above = corners @ difference
    kept = []
    for place in range(len(corners)):
        after = (place + 1) % len(corners)
        if above[place] >= 0:
            kept.append(corners[place])
        if above[place] * above[after] < 0:
            part = above[place] / (above[place] - above[after])
            kept.append(corners[place] + part * (corners[after] - corners[place]))
    return np.array(kept).reshape(-1, 3)


def _area(corners: Floats) -> float:
    """Return the area, as a part of the triangle."""
    x, y = corners[:, 1], corners[:, 2]
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def _small_triangles() -> list[Floats]:
    """Return equal triangles that fill the whole one."""
    found = []
    for a in range(_STEPS):
        for b in range(_STEPS - a):
            c = _STEPS - a - b
            found.append([(a, b, c), (a + 1, b, c - 1), (a, b + 1, c - 1)])
            if c > 1:
                found.append([(a + 1, b, c - 1), (a + 1, b + 1, c - 2), (a, b + 1, c - 1)])
    return [np.array(triangle) / _STEPS for triangle in found]
