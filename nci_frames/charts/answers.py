"""The value of what was asked over the share of a class -> a line per model."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames.charts.parts import axes, canvas, lines, selection, theme


def chart_share_answer(rows: pl.DataFrame, /, *, what: str, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw the value of each model over the share of a class, as ``ClassComparison.curves`` gives it.

    Parameters
    ----------
    rows
        Those of one class.
    what
        What the metric is called.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves with their bounds.

    Raises
    ------
    ParameterError
        If no model has a value.
    """
    shown = rows.sort("model", "share")
    selection.refuse_empty(shown["value"], "value", rows)
    style = theme.model_style(rows["model"].unique(), among=models)
    numbers = canvas.value_titles(shown, "share", what) | {"share": "share of the class"}
    axis = alt.Axis(format=".0%", tickCount=5)
    x = alt.X(
        field="share", type="quantitative", title="share of the class", axis=axis, scale={"domain": [0, 1]}
    )
    told = shown.select("model", *numbers)
    name = rows["class"][0]
    return canvas.compose(
        lines.curves(
            told, x, alt.Y(**axes.value_axis("value", what)), style=style, numbers=numbers, reach=220
        ),
        style=style,
        title=f"{what} over the share of {name}",
        subtitle="the other classes in proportion; shaded: the 95 % bounds"
        + selection.why_marked("in doubt", shown),
        says=f"{what} on the vertical axis; a line per model.",
    )
