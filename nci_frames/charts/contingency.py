"""Contingency space -> models as points, surfaces of metrics, and sensitivities to the ratio."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, selection, theme

_SPECIAL = pl.DataFrame({
    "name": ["perfect", "always positive", "always negative", "worst"],
    "tpr": [1.0, 1.0, 0.0, 0.0],
    "tnr": [1.0, 0.0, 1.0, 0.0],
})  # fmt: skip

#: Slightly larger than the unit square, so that marks at the corners are not clipped.
_SCALE = alt.Scale(domain=[-0.02, 1.02])


@schemas.checked
def chart_contingency_space(rates: Frame, /, *, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw the base contingency space: models as points of TPR over TNR, and the no-skill line.

    Parameters
    ----------
    rates
        A rates frame; a point per row.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The points, the special classifiers at the corners, and the line TPR + TNR = 1.

    Raises
    ------
    ParameterError
        If the frame has too many rows.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Fig. 1.

    Examples
    --------
    >>> import nci_frames as nf
    >>> counts = nf.expected_counts(tpr=0.6, fpr=0.1, positives=100, negatives=900)
    >>> nf.chart_contingency_space(nf.compute_rates(counts)).to_dict()["title"]["text"]
    'Base contingency space'
    """
    frame = schemas.collect(rates, schemas.RATES)
    style = theme.model_style(frame["model"], among=models)
    rows = frame.select("model", "threshold", "tpr", tnr=1 - pl.col("fpr")).drop_nulls(["tpr", "tnr"])
    selection.check_rows(rows, f"{selection.EACH_POINT}select operating points, or draw fewer models")
    x = alt.X(field="tnr", type="quantitative", title="TNR (specificity)", scale=_SCALE)
    y = alt.Y(field="tpr", type="quantitative", title="TPR (recall)", scale=_SCALE)
    line = alt.Chart(pl.DataFrame({"tnr": [0.0, 1.0], "tpr": [1.0, 0.0]})).encode(x=x, y=y)
    corners = alt.Chart(_SPECIAL).encode(x=x, y=y)
    named = corners.encode(text=alt.Text("name:N"))
    left, right = (named.transform_filter(f"datum.tnr == {side}") for side in (0, 1))
    points = alt.Chart(selection.finite(rows)).mark_point(filled=True, size=110, opacity=0.9)
    colour = canvas.colour(style, legend=canvas.DOTS)
    numbers = {"threshold": "threshold", "tpr": "TPR", "tnr": "TNR"}
    return canvas.compose(
        [
            line.mark_line(**theme.RULE | {"strokeWidth": 1}).properties(name="no_skill"),
            corners.mark_point(color=theme.SOFT, shape="diamond", size=90).properties(name="special"),
            left.mark_text(align="left", dx=9, **theme.NOTE).properties(name="special_left"),
            right.mark_text(align="right", dx=-9, **theme.NOTE).properties(name="special_right"),
            canvas.layer("points", points, x=x, y=y, color=colour, tooltip=canvas.tooltip(numbers)),
        ],
        style=style,
        title="Base contingency space",
        subtitle="a point per model; dashed: no skill",
        says="TPR over TNR.",
        height=400,
    )


_UNIT: dict[str, Any] = {
    "scale": {"domain": [0, 1], "clamp": True, "nice": False},
    "axis": {"grid": False, "tickCount": 5},
}


@schemas.checked
def chart_metric_surface(
    surface: Frame, /, *, metric: str | None = None, ratio: float | None = None
) -> alt.FacetChart:
    """Draw the surface of a metric over contingency space as a heat map; several share one colour scale.

    Parameters
    ----------
    surface
        The result of ``metric_surface``, or several results concatenated and distinguished by the columns
        ``metric`` and ``ratio``.
    metric
        Name of the metric to draw; if the frame has no column ``metric``, the metric of the surface.
    ratio
        Negatives per positive, > 0, of the surface to draw; if the frame has no column ``ratio``, the ratio
        of the surface.

    Returns
    -------
    altair.FacetChart
        A panel per metric and ratio; equal colours mean equal values in all panels.

    Raises
    ------
    ParameterError
        If the metric or the ratio of a surface is unknown, or if the frame does not have the selected one,
        has several values at one point, or has too many rows: a resolution of 70 fits one panel, 50 fits two.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Measuring class-imbalance sensitivity of deterministic performance
    evaluation metrics.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> surfaces = pl.concat(
    ...     nf.metric_surface("f_beta", ratio=ratio, resolution=41).with_columns(ratio=pl.lit(ratio))
    ...     for ratio in (1.0, 49.0)
    ... )
    >>> chart = nf.chart_metric_surface(surfaces, metric="f_beta")
    >>> chart.to_dict()["title"]["text"]
    'Metric surfaces'
    """
    rows = _named(schemas.collect(surface, schemas.SURFACE), metric, ratio)
    panels = rows["surface"].n_unique()
    selection.check_rows(rows, f"use resolution={math.isqrt(selection.MAX_ROWS // max(panels, 1))} or lower")
    step = 1 / (pl.col("tpr").n_unique().over("surface") - 1).clip(1)
    # Cells overlap, so that no background shows between them.
    edges = {"start": -step / 2, "end": step * 0.8}
    cells = rows.drop("metric", "ratio").with_columns(
        (pl.col(rate) + edge).alias(f"{rate}_{side}")
        for rate in ("tpr", "tnr")
        for side, edge in edges.items()
    )
    heat = (
        alt.Chart()
        .mark_rect()
        .encode(
            x=alt.X(field="tnr_start", type="quantitative", title="TNR (specificity)", **_UNIT),
            x2=alt.X2("tnr_end"),
            y=alt.Y(field="tpr_start", type="quantitative", title="TPR (recall)", **_UNIT),
            y2=alt.Y2("tpr_end"),
            color=alt.Color(
                field="value",
                type="quantitative",
                # Discrete colours draw contours.
                scale=alt.Scale(
                    type="quantize", scheme=alt.SchemeParams(name="viridis", count=10), nice=True
                ),
                legend=alt.Legend(title="value", orient="right", gradientLength=240),
            ),
            tooltip=canvas.tooltip({"tpr": "TPR", "tnr": "TNR", "value": "value"}, names=("surface",)),
        )
    )
    return canvas.facet(
        cells,
        [heat.properties(name="surface")],
        style=theme.model_style(()),
        title="Metric surface" if panels == 1 else "Metric surfaces",
        subtitle="contours over TPR and TNR; ratios are negatives : positives"
        + ("" if panels == 1 else "; shared colour scale"),
        says="A panel per metric and ratio; darker is lower.",
        by="surface",
        order="place",
        square=True,
    )


def _named(rows: pl.DataFrame, metric: str | None, ratio: float | None) -> pl.DataFrame:
    """Return the surfaces to draw, each with the name and the position of its panel."""
    if ratio is not None and not ratio > 0:
        raise ParameterError.out_of_range("ratio", ratio, "negatives per positive, > 0")
    for column, value in (("metric", metric), ("ratio", ratio)):
        if column in rows.columns:
            rows = rows if value is None else selection.pick(rows, column, value)
        elif value is None:
            hint = f"pass {column}=, or add the column {column!r}"
            raise ParameterError(f"the {column} of the surface is unknown", hint=hint)
        else:
            rows = rows.with_columns(pl.lit(value).alias(column))
    selection.refuse_empty(rows["value"], "surface", rows)
    selection.refuse_doubles(rows, "metric", "ratio", "tpr", "tnr")
    negatives = pl.col("ratio").map_elements("{:g}".format, pl.String)
    return (
        rows.select("metric", pl.col("ratio").cast(pl.Float64), "tpr", "tnr", "value")
        .sort("metric", "ratio", "tpr", "tnr")
        .with_columns(
            surface=pl.format("{} at {} : 1", "metric", negatives),
            place=pl.struct("metric", "ratio").rank("dense").cast(pl.Int64),
        )
    )


@schemas.checked
def chart_imbalance_sensitivity(sensitivity: Frame, /) -> alt.LayerChart:
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
            color=canvas.colour(style, field="metric"),
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
