"""Hatching of what a log cannot tell: lines that are data, so that every form of a chart has them."""

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
    """Return the two ends of each rising line in some regions of a plot.

    Coordinates run from 0 to 1 over the width and the *height* in pixels. A region is where *across* times
    the one and *up* times the other add up to a number between two limits: an upright strip, or one that
    leans.

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
    """Hatch some regions, as ``hatched`` takes them, along an axis.

    *y* is that of the field ``up``; *rise* returns its value at a part of the height.
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
