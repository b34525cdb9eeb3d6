"""Curves of many points -> fewer points that look the same, to half a pixel."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import name_list
from nci_frames.base.typing import Flags, Floats, Names, Rows

#: Largest distance of a removed point from the drawn line, in pixels.
TOLERANCE = 0.5

#: A sawtooth curve gains only one point per pass. After this many passes lines are also halved.
_PATIENCE = 40


def thin_curves(
    rows: pl.DataFrame, x: str, y: Names, *, by: Names, width: int, height: int, log_x: bool, tolerance: float
) -> pl.DataFrame:
    """Remove rows whose points are within *tolerance* pixels of the straight lines between the others.

    The rows of a curve are consecutive, in drawing order. Axes cover at least the range of the rows. This is
    the Ramer-Douglas-Peucker algorithm, on all curves at once: keep the ends, then the farthest point of each
    line beyond the tolerance, until there is none. Several *y*, such as a value and its bounds, are kept
    together; a null in one of them splits its curve and is kept.
    """
    if rows.is_empty():
        return rows
    names = name_list(y)
    nulls = [pl.col(name).is_null().alias(f"{name} is null") for name in names]
    curve = rows.select(pl.struct(by, *nulls).rle_id()).to_series().to_numpy()
    across = _pixels(rows[x].log() if log_x else rows[x], width)
    # Nulls lie on one line, whose ends are kept.
    up = np.stack([_pixels(rows[name].fill_null(strategy="min").fill_null(0), height) for name in names])
    return rows.filter(pl.Series(_corners(across, up, curve, tolerance)))


def _pixels(values: pl.Series, size: int) -> Floats:
    places = values.to_numpy().astype(np.float64)
    low, high = places.min(), places.max()
    return np.asarray((places - low) / (high - low if high > low else 1.0) * size)


def _corners(x: Floats, y: Floats, curve: NDArray[np.uint32], tolerance: float) -> Flags:
    change = curve[1:] != curve[:-1]
    kept: Flags = np.r_[True, change] | np.r_[change, True]
    # The points, with both ends, of the lines that may still have a point beyond the tolerance.
    points = np.arange(len(x))
    turns = 0
    while True:
        ends = kept[points]
        anchors = np.flatnonzero(ends)
        line = np.cumsum(ends) - 1
        start, end = anchors[line], anchors[np.minimum(line + 1, len(anchors) - 1)]
        distance = np.where(ends, 0.0, _distance(x[points], y[:, points], start, end).max(axis=0))
        farthest = np.maximum.reduceat(distance, anchors)
        far = np.flatnonzero((distance > tolerance) & (distance == farthest[line]))
        if not len(far):
            return kept
        split = far[np.unique(line[far], return_index=True)[1]]
        kept[points[split]] = True
        turns += 1
        if turns > _PATIENCE:
            kept[points[(start[split] + end[split]) // 2]] = True
        open_lines = np.zeros(len(anchors), bool)
        open_lines[line[split]] = True
        still = open_lines[line]
        still[end[split]] = True
        points = points[still]


def _distance(x: Floats, y: Floats, start: Rows, end: Rows) -> Floats:
    """Return how far each point is, in each y, from the line segment between two others."""
    dx, dy = x[end] - x[start], y[:, end] - y[:, start]
    length = dx * dx + dy * dy
    along = (x - x[start]) * dx + (y - y[:, start]) * dy
    share = np.clip(np.divide(along, length, out=np.zeros_like(y), where=length > 0), 0, 1)
    return np.hypot(x - x[start] - share * dx, y - y[:, start] - share * dy)
