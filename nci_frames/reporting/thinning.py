"""Curves of many points -> fewer points that draw the same picture, to half a pixel."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["TOLERANCE", "thin_curves"]

#: No point that is left out lies farther than this from the line that is drawn, in pixels.
TOLERANCE = 0.5

_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]


def thin_curves(
    rows: pl.DataFrame,
    x: str,
    y: str,
    *,
    within: str | list[str],
    width: int,
    height: int,
    log_x: bool = False,
) -> pl.DataFrame:
    """Leave out the rows whose points the straight lines between the others pass within half a pixel.

    The rows of a curve follow one another, in the order in which they are drawn. Axes run over the range of
    the rows or wider. The rule is that of Ramer, Douglas and Peucker, for all curves at once: the ends are
    kept, then from every line the farthest point beyond the tolerance, until there is none.
    """
    if rows.is_empty():
        return rows
    curve = rows.select(pl.struct(within).rle_id()).to_series().to_numpy()
    across = _pixels(rows[x].log() if log_x else rows[x], width)
    return rows.filter(pl.Series(_corners(across, _pixels(rows[y], height), curve)))


def _pixels(values: pl.Series, size: int) -> _Floats:
    places = values.to_numpy().astype(np.float64)
    low, high = places.min(), places.max()
    return np.asarray((places - low) * (size / (high - low) if high > low else 0.0))


def _corners(x: _Floats, y: _Floats, curve: NDArray[np.uint32]) -> _Flags:
    change = curve[1:] != curve[:-1]
    kept: _Flags = np.r_[True, change] | np.r_[change, True]
    while True:
        anchors = np.flatnonzero(kept)
        line = np.cumsum(kept) - 1
        start, end = anchors[line], anchors[np.minimum(line + 1, len(anchors) - 1)]
        distance = np.where(kept, 0.0, _distance(x, y, start, end))
        farthest = np.maximum.reduceat(distance, anchors)
        far = np.flatnonzero((distance > TOLERANCE) & (distance == farthest[line]))
        if not len(far):
            return kept
        kept[far[np.unique(line[far], return_index=True)[1]]] = True


def _distance(x: _Floats, y: _Floats, start: NDArray[np.int64], end: NDArray[np.int64]) -> _Floats:
    """Return how far each point is from the line between two others, not from beyond its ends."""
    dx, dy = x[end] - x[start], y[end] - y[start]
    length = dx * dx + dy * dy
    along = (x - x[start]) * dx + (y - y[start]) * dy
    share = np.clip(np.divide(along, length, out=np.zeros_like(x), where=length > 0), 0, 1)
    return np.hypot(x - x[start] - share * dx, y - y[start] - share * dy)
