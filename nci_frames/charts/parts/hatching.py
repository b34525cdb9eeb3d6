"""Hatching of parts that the log does not support, as lines in the data, so that all formats have it."""

from collections.abc import Callable, Iterable

import altair as alt
import polars as pl

from nci_frames.charts.parts.axes import LogAxis
from nci_frames.charts.parts.theme import SOFT, WIDTH

#: Distance of the lines along the horizontal axis, in pixels.
_APART = 9

_ENDS = ("across", "up", "across_end", "up_end")


def hatched(
    regions: Iterable[tuple[float, float]], *, height: int, across: float = 1.0, up: float = 0.0
) -> pl.DataFrame:
    """Return both ends of each rising line in *regions* of a plot.

    Coordinates x and y run from 0 to 1 over the width and the *height* in pixels. A region is the strip,
    upright or leaning, where *across*·x + *up*·y is between two limits.

    >>> hatched([(0.0, 1.0)], height=520).row(-1, named=True)
    {'across': 0.986..., 'up': 0.0, 'across_end': 1.0, 'up_end': 0.013...}
    """
    slope, lines = WIDTH / height, []
    leaning = across + up * slope
    for low, high in regions:
        for step in range(-int(height / _APART), int(WIDTH / _APART) + 1):
            foot = step * _APART / WIDTH
            start, end = ((limit + up * slope * foot) / leaning for limit in (low, high))
            left, right = max(0.0, foot, start), min(1.0, foot + 1 / slope, end)
            if left < right:
                lines.append((left, (left - foot) * slope, right, (right - foot) * slope))
    return pl.DataFrame(lines, schema=dict.fromkeys(_ENDS, pl.Float64), orient="row")


def hatching(
    regions: Iterable[tuple[float, float]],
    axis: LogAxis,
    y: alt.Y,
    *,
    height: int,
    rise: Callable[[float], float] = float,
    leaning: tuple[float, float] = (1, 0),
) -> list[alt.Chart]:
    """Hatch *regions* (see ``hatched``) along an axis.

    *y* encodes the field ``up``; *rise* returns its value at a fraction of the height.
    """
    lines = hatched(regions, height=height, across=leaning[0], up=leaning[1])
    if lines.is_empty():
        return []
    places = (axis.place, rise, axis.place, rise)
    drawn = [[at(part) for at, part in zip(places, line, strict=True)] for line in lines.iter_rows()]
    marks = alt.Chart(pl.DataFrame(drawn, schema=lines.schema, orient="row"))
    marks = marks.mark_rule(color=SOFT, strokeWidth=0.8, clip=True)
    ends = {"x": axis.at("across"), "x2": alt.X2("across_end"), "y": y, "y2": alt.Y2("up_end")}
    return [marks.encode(**ends).properties(name="hatching")]
