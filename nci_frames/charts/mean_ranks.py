"""Mean ranks over data sets -> the critical-difference diagram."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import canvas, selection, theme
from nci_frames.schemas import checked
from nci_frames.tables.numbers import format_value

#: Height of a row of the diagram, and of the gap below the axis, in pixels.
_ROW, _TOP = 22, 14

#: Maximum length of a name beside the diagram.
_LETTERS = 30


@checked
def chart_critical_difference(mean_ranks: Frame, /, *, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw the critical-difference diagram: mean ranks over data sets, and which models do not differ.

    Parameters
    ----------
    mean_ranks
        The result of ``compare_data_sets``.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The mean rank of each model on an axis, with the best at the left. A thick line joins models whose
        mean ranks differ by less than Nemenyi's critical difference, which the thin line above them shows.

    Raises
    ------
    ParameterError
        If the frame has fewer than two models, or several rows for one model.

    References
    ----------
    Demsar (2006), Fig. 1, https://www.jmlr.org/papers/v7/demsar06a.html.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"] * 3, "data": ["x", "x", "y", "y", "z", "z"], "threshold": 0.5,
    ...     "tp": [8, 7, 5, 4, 9, 3], "fp": [10] * 6, "fn": [2, 3, 5, 6, 1, 7], "tn": [90] * 6,
    ... })
    >>> recall = nf.project_rates(nf.compute_rates(counts), metrics="recall", prevalence=0.1)
    >>> found = nf.compare_data_sets(nf.rank_models(recall), over="data")
    >>> nf.chart_critical_difference(found).to_dict()["title"]["text"]
    'Mean ranks over 3 data sets'
    """
    frame = schemas.collect(mean_ranks, schemas.MEAN_RANKS).sort("mean_rank", "model")
    selection.refuse_doubles(frame, "model", "data_sets")
    if len(frame) < 2:
        raise ParameterError("there are no models to compare", hint="compare at least two models")
    selection.check_rows(frame)
    distance, sets = frame["critical_difference"][0], frame["data_sets"][0]
    spans = [(1.0, 1 + distance), *joined(frame["mean_rank"].to_list(), distance)]
    last = max(float(len(frame)), 1 + distance)
    rows = _places(frame, first=len(spans), last=last)
    height = _height(max(rows["row"]) + 1)
    axis = {"orient": "top", "title": "mean rank (1 is best)", "grid": False, "tickCount": 8}
    along: dict[str, Any] = {"scale": {"domain": [1.0, last], "nice": False}, "axis": axis}
    x = partial(alt.X, type="quantitative", **along)
    y = partial(alt.Y, type="quantitative", scale={"domain": [height, 0]}, axis=None)
    style = theme.ModelStyle(frame["model"], among=models)
    colour, line = canvas.colour(style, legend=None), alt.Chart(rows).mark_rule(strokeWidth=1.5)
    bars = pl.DataFrame(
        [(*span, _height(row)) for row, span in enumerate(spans)], schema=["start", "end", "y"], orient="row"
    )
    thin = alt.Chart(bars.head(1)).mark_rule(strokeWidth=1.5, color=theme.SOFT)
    thick = alt.Chart(bars.tail(-1)).mark_rule(strokeWidth=5, color=theme.INK)
    rank, down, top = x(field="mean_rank"), y(field="y"), y(field="top")
    span: dict[str, Any] = {"x": x(field="start"), "x2": alt.X2("end"), "y": down}
    layers = [
        canvas.layer("difference", thin, **span),
        canvas.layer("joined", thick, **span),
        canvas.layer("stems", line, x=rank, y=top, y2=alt.Y2("y"), color=colour),
        canvas.layer("arms", line, x=rank, x2=alt.X2("side"), y=down, color=colour),
    ]
    text: dict[str, Any] = {"baseline": "middle", "limit": _LETTERS * theme.LETTER, "fontSize": 12}
    shown = canvas.tooltip({"mean_rank": "mean rank"})
    sides: tuple[tuple[bool, Any, int], ...] = ((True, "right", -6), (False, "left", 6))
    for left, align, dx in sides:
        names = alt.Chart(rows.filter(left=left)).mark_text(align=align, dx=dx, color=theme.INK, **text)
        named = {"x": x(field="side"), "y": down, "text": alt.Text("model:N"), "tooltip": shown}
        layers.append(canvas.layer(f"names_{align}", names, **named))
    return canvas.compose(
        layers,
        style=style,
        title=f"Mean ranks over {sets} data sets",
        subtitle=f"{_tested(frame)}; thin: the critical difference {distance:.3g}; thick: nearer than that",
        says="A line from each model to its mean rank; thick lines join models that do not differ.",
        height=height,
    )


def joined(ranks: Sequence[float], distance: float) -> list[tuple[float, float]]:
    """Return the ends of each maximal group of ascending ranks that differ by less than *distance*.

    >>> joined([1.5, 2.0, 2.4, 4.0], 1.0)
    [(1.5, 2.4)]
    """
    found: list[tuple[float, float]] = []
    reached = 0
    for place, rank in enumerate(ranks):
        last = max(other for other in range(place, len(ranks)) if ranks[other] - rank < distance)
        if last > max(place, reached):
            found.append((rank, ranks[last]))
            reached = last
    return found


def _places(frame: pl.DataFrame, *, first: int, last: float) -> pl.DataFrame:
    """Return the places of the names: the better half at the left, the other half at the right."""
    place = pl.int_range(pl.len())
    left = place < (pl.len() + 1) // 2
    return frame.select(
        "model",
        "mean_rank",
        row=first + pl.min_horizontal(place, pl.len() - 1 - place).cast(pl.Int64),
        left=left,
        side=pl.when(left).then(1.0).otherwise(last),
        top=pl.lit(0.0),
    ).with_columns(y=_TOP + _ROW * pl.col("row").cast(pl.Float64))


def _height(row: int) -> int:
    return _TOP + _ROW * row


def _tested(frame: pl.DataFrame) -> str:
    statistic, p_value = frame["statistic"][0], frame["p_value"][0]
    if p_value is None:
        return "all values are equal"
    return f"Friedman's chi-squared {statistic:.3g}, p = {format_value(p_value)}"
