"""Rates and surfaces -> charts of contingency space."""

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.reporting.charts import check_rows, finite
from nci_frames.reporting.theme import log_axis, log_scale, model_colour, model_style, titled

__all__ = ["chart_contingency_space", "chart_imbalance_sensitivity", "chart_metric_surface"]

_SPECIAL = pl.DataFrame({
    "name": ["perfect", "always positive", "always negative", "worst"],
    "tpr": [1.0, 1.0, 0.0, 0.0],
    "tnr": [1.0, 0.0, 1.0, 0.0],
})  # fmt: skip

_UNIT = alt.Scale(domain=[0, 1], clamp=True, nice=False)
_NO_GRID = alt.Axis(grid=False, tickCount=5)


def chart_contingency_space(rates: pl.DataFrame | pl.LazyFrame, /) -> alt.LayerChart:
    """Draw the base contingency space: models as points of TPR over TNR, and the line of no skill.

    Parameters
    ----------
    rates
        A rates frame; a point per row.

    Returns
    -------
    altair.LayerChart
        The points, the special classifiers at the corners, and the line TPR + TNR = 1.

    Raises
    ------
    ParameterError
        The frame has too many rows.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Fig. 1.

    Examples
    --------
    >>> import nci_frames as nf
    >>> counts = nf.confusion_counts(tpr=0.6, tnr=0.9, ratio=9, size=1000)
    >>> nf.chart_contingency_space(nf.compute_rates(counts)).to_dict()["title"]["text"]
    'Base contingency space'
    """
    frame = schemas.collect(rates, schemas.RATES)
    style = model_style(frame["model"].cast(pl.String).fill_null("null"))
    rows = frame.select("model", "threshold", "tpr", tnr=1 - pl.col("fpr")).drop_nulls(["tpr", "tnr"])
    check_rows(rows)
    x = alt.X(
        field="tnr", type="quantitative", title="TNR (specificity)", scale=alt.Scale(domain=[-0.02, 1.02])
    )
    y = alt.Y(field="tpr", type="quantitative", title="TPR (recall)", scale=alt.Scale(domain=[-0.02, 1.02]))
    tooltip = [
        alt.Tooltip(field="model", type="nominal"),
        *(
            alt.Tooltip(field=name, type="quantitative", format=".6~g")
            for name in ("threshold", "tpr", "tnr")
        ),
    ]
    line = alt.Chart(pl.DataFrame({"tnr": [0.0, 1.0], "tpr": [1.0, 0.0]})).encode(x=x, y=y)
    corners = alt.Chart(_SPECIAL).encode(x=x, y=y)
    layers = alt.layer(
        line.mark_line(color="#8c959f", strokeDash=[4, 3], strokeWidth=1).properties(name="no_skill"),
        corners.mark_point(color="#57606a", shape="diamond", size=90).properties(name="special"),
        corners.transform_filter("datum.tnr == 0")
        .mark_text(align="left", dx=9, color="#57606a", fontSize=11)
        .encode(text=alt.Text(field="name", type="nominal"))
        .properties(name="special_left"),
        corners.transform_filter("datum.tnr == 1")
        .mark_text(align="right", dx=-9, color="#57606a", fontSize=11)
        .encode(text=alt.Text(field="name", type="nominal"))
        .properties(name="special_right"),
        alt.Chart(finite(rows))
        .mark_point(filled=True, size=110, opacity=0.9)
        .encode(x=x, y=y, color=model_colour(style, filled=True), tooltip=tooltip)
        .properties(name="points"),
    )
    return titled(layers, "Base contingency space", "each model a point; dashed: no skill", style, height=400)


def chart_metric_surface(
    surface: pl.DataFrame | pl.LazyFrame, /, *, metric: str, ratio: float
) -> alt.LayerChart:
    """Draw the surface of a metric over contingency space as a heat map.

    Parameters
    ----------
    surface
        What ``metric_surface`` returned, with a resolution of at most 70.
    metric, ratio
        Which metric it is, and at how many negatives per positive: for the title.

    Returns
    -------
    altair.LayerChart
        The surface; two of them side by side are ``left | right``.

    Raises
    ------
    ParameterError
        The frame has too many rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> surface = nf.metric_surface("f_beta", ratio=49, resolution=41)
    >>> nf.chart_metric_surface(surface, metric="f_beta", ratio=49).to_dict()["title"]["subtitle"]
    'over TPR and TNR, at 49 negatives per positive'
    """
    rows = schemas.collect(surface, schemas.SURFACE)
    check_rows(rows)
    places = rows["tpr"].unique().sort()
    # A little more than half the distance, so that no ground shows between the cells.
    half = (places[1] - places[0]) * 0.53 if len(places) > 1 else 0.5
    cells = rows.with_columns(
        tpr_end=pl.col("tpr") + half, tnr_end=pl.col("tnr") + half, tpr_start=pl.col("tpr") - half,
        tnr_start=pl.col("tnr") - half,
    )  # fmt: skip
    tooltip = [
        alt.Tooltip(field=name, type="quantitative", format=".4~g") for name in ("tpr", "tnr", "value")
    ]
    chart = (
        alt.Chart(finite(cells))
        .mark_rect()
        .encode(
            x=alt.X(
                field="tnr_start", type="quantitative", title="TNR (specificity)", scale=_UNIT, axis=_NO_GRID
            ),
            x2=alt.X2(field="tnr_end"),
            y=alt.Y(field="tpr_start", type="quantitative", title="TPR (recall)", scale=_UNIT, axis=_NO_GRID),
            y2=alt.Y2(field="tpr_end"),
            color=alt.Color(
                field="value",
                type="quantitative",
                scale=alt.Scale(scheme="viridis"),
                legend=alt.Legend(title="value", orient="right", gradientLength=300),
            ),
            tooltip=tooltip,
        )
        .properties(name="surface")
    )
    subtitle = f"over TPR and TNR, at {ratio:g} negatives per positive"
    return titled(chart, f"Surface of {metric}", subtitle, model_style(()), height=420)


def chart_imbalance_sensitivity(sensitivity: pl.DataFrame | pl.LazyFrame, /) -> alt.LayerChart:
    """Draw how sensitive metrics are to the ratio of the classes, a line per metric.

    Parameters
    ----------
    sensitivity
        What ``imbalance_sensitivity`` returned, for several ratios.

    Returns
    -------
    altair.LayerChart
        The lines over a logarithmic axis.

    Raises
    ------
    ParameterError
        The frame has too many rows.

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
    rows = schemas.collect(sensitivity, schemas.SENSITIVITY).drop_nulls("sensitivity")
    check_rows(rows)
    low, high = float(rows["ratio"].min()), float(rows["ratio"].max())  # type: ignore[arg-type]
    if low == high:
        low, high = low / 10, high * 10
    style = model_style(rows["metric"])
    colour = model_colour(style, "metric")
    tooltip = [
        alt.Tooltip(field="metric", type="nominal"),
        *(alt.Tooltip(field=name, type="quantitative", format=".4~g") for name in ("ratio", "sensitivity")),
    ]
    lines = (
        alt.Chart(finite(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                field="ratio",
                type="quantitative",
                axis=log_axis("ratio", low, high),
                scale=log_scale(low, high),
            ),
            y=alt.Y(field="sensitivity", type="quantitative", title="volume between the surfaces"),
            color=colour,
            tooltip=tooltip,
        )
        .properties(name="lines")
    )
    subtitle = "volume between a metric's surfaces at 1 : 1 and at the ratio"
    return titled(lines, "Imbalance sensitivity", subtitle, style)
