"""Values with intervals at one prevalence -> a forest plot of the models."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts import canvas, selection, theme
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked
from nci_frames.tables.numbers import format_grid

#: Height of a model's line, in pixels.
_LINE = 26


@checked
@documented
def chart_intervals(
    table: pl.DataFrame | pl.LazyFrame, /, *, metric: str = "f_beta", models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the value of each model with its interval, the highest value first.

    Parameters
    ----------
    table
        A projection or ranking frame with ``lower`` and ``upper``, at one prevalence and one beta.
    metric
        The metric to show.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        A line per model: a point at its value, and a bar from its lower to its upper bound. Values that the
        log does not support are hollow.

    Raises
    ------
    ParameterError
        If the frame has no rows of the metric, several rows for one model, or no value.
    SchemaError
        If a column is missing.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> rates = nf.compute_rates(counts, interval="wilson")
    >>> table = nf.project_rates(rates, metrics="f_beta", prevalence=0.01, band=True)
    >>> nf.chart_intervals(table).to_dict()["title"]["text"]
    'F1 of each model, with its interval'
    """
    frame = schemas.collect(table, schemas.PROJECTION)
    rows = selection.of_metric(frame, metric)
    selection.refuse_doubles(rows, "model", "metric")
    selection.refuse_empty(rows["value"], "value", frame)
    rows = rows.drop_nulls("value").sort("value", "model", descending=[True, False])
    selection.check_rows(rows)
    bounds = [name for name in ("lower", "upper") if name in rows.columns]
    shown = rows.select("model", "value", *bounds, supported=selection.supported(rows))
    style = theme.model_style(shown["model"], among=models)
    order = alt.EncodingSortField(field="value", op="max", order="descending")
    betas, prevalence = (rows[name].drop_nulls().unique() for name in ("beta", "prevalence"))
    name = f"F{betas[0]:g}" if metric == "f_beta" and len(betas) == 1 else title_of(metric)
    base = alt.Chart(selection.finite(shown)).encode(
        y=alt.Y(field="model", type="nominal", title=None, sort=order, axis=alt.Axis(labelLimit=240)),
        color=canvas.colour(style, legend=None),
    )
    layers = []
    if len(bounds) == 2:
        layers.append(
            canvas.layer("bars", base.mark_rule(strokeWidth=3, opacity=0.55), x="lower:Q", x2="upper")
        )
    scale, axis = alt.Scale(zero=False, nice=True), alt.Axis(format="~g")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=alt.X(field="value", type="quantitative", title=name, scale=scale, axis=axis),
        tooltip=canvas.tooltip({"value": name} | {bound: bound for bound in bounds}),
        fillOpacity=alt.FillOpacityValue(0, condition={"test": "datum.supported", "value": 1}),
        stroke=alt.Stroke(field="model", type="nominal", legend=None, scale=canvas.model_scale(style)),
        strokeWidth=alt.StrokeWidthValue(2),
    )
    one = len(prevalence) == 1
    at = f"at prevalence {format_grid(prevalence[0])}" if one else "each at its own prevalence"
    return canvas.compose(
        [*layers, points.properties(name="points")],
        style=style,
        title=f"{name} of each model, with its interval",
        subtitle=at + selection.why_marked("hollow", rows),
        says="A line per model, the highest value first.",
        height=_LINE * shown.height + 10,
    )
