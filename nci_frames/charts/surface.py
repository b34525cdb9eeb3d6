"""Metric surfaces -> heat maps over contingency space, a panel per surface."""

import math
from typing import Any

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import canvas, selection, theme
from nci_frames.schemas.checked import checked

_UNIT: dict[str, Any] = {
    "scale": {"domain": [0, 1], "clamp": True, "nice": False},
    "axis": {"grid": False, "tickCount": 5},
}


@checked
def chart_metric_surface(
    surface: pl.DataFrame | pl.LazyFrame, /, *, metric: str | None = None, ratio: float | None = None
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
    rows = named_surfaces(surface, metric=metric, ratio=ratio)
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
            x2="tnr_end",
            y=alt.Y(field="tpr_start", type="quantitative", title="TPR (recall)", **_UNIT),
            y2="tpr_end",
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


def named_surfaces(
    surface: pl.DataFrame | pl.LazyFrame, *, metric: str | None, ratio: float | None
) -> pl.DataFrame:
    """Return the surfaces to draw, each with the name and the position of its panel."""
    rows = schemas.collect(surface, schemas.SURFACE)
    for column, value in (("metric", metric), ("ratio", ratio)):
        if column not in rows.columns:
            if value is None:
                raise ParameterError(
                    f"the {column} of the surface is unknown",
                    hint=f"pass {column}=, or add the column {column!r}",
                )
            rows = rows.with_columns(pl.lit(value).alias(column))
    if ratio is not None and not ratio > 0:
        raise ParameterError.out_of_range("ratio", ratio, "negatives per positive, > 0")
    rows = selection.of_metric(rows, metric) if metric is not None else rows
    rows = selection.at(rows, "ratio", ratio) if ratio is not None else rows
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
