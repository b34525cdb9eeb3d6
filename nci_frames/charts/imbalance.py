"""Sensitivities -> how much metrics change with the ratio of the classes."""

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts import axes, canvas, selection, theme
from nci_frames.schemas.checked import checked


@checked
@documented
def chart_imbalance_sensitivity(sensitivity: pl.DataFrame | pl.LazyFrame, /) -> alt.LayerChart:
    """Draw how sensitive metrics are to the ratio of the classes, a line per metric.

    Parameters
    ----------
    sensitivity
        The result of ``imbalance_sensitivity``, for several ratios.

    Returns
    -------
    altair.LayerChart
        The lines over a logarithmic axis.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has no sensitivity, or too many rows.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Fig. 4.

    Examples
    --------
    >>> import nci_frames as nf
    >>> found = nf.imbalance_sensitivity(["precision", "accuracy"], ratios=[2, 10, 100])
    >>> nf.chart_imbalance_sensitivity(found).to_dict()["title"]["text"]
    'Imbalance sensitivity'
    """
    frame = schemas.collect(sensitivity, schemas.SENSITIVITY)
    rows = frame.drop_nulls("sensitivity").sort("metric", "ratio")
    selection.refuse_empty(rows["sensitivity"], "sensitivity", frame)
    rows, note = selection.fitted(rows, "ratio", "sensitivity", by="metric")
    style = theme.model_style(rows["metric"])
    numbers = {"ratio": "negatives per positive", "sensitivity": "volume between the surfaces"}
    lines = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=axes.LogAxis.through("ratio", rows["ratio"]).x(),
            y=alt.Y(field="sensitivity", type="quantitative", title=numbers["sensitivity"]),
            color=canvas.colour(style, field="metric", title="metric"),
            tooltip=canvas.tooltip(numbers, names=("metric",)),
        )
    )
    return canvas.compose(
        [lines.properties(name="lines")],
        style=style,
        title="Imbalance sensitivity",
        subtitle=f"volume between a metric's surfaces at 1 : 1 and at the ratio{note}",
        says="A line per metric.",
    )
