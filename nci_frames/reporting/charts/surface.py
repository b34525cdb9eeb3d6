"""Metric surfaces -> heat maps over contingency space."""

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.reporting.charts.canvas import compose, tooltip
from nci_frames.reporting.charts.selection import check_rows, finite
from nci_frames.reporting.theme import model_style

__all__ = ["chart_metric_surface"]

_UNIT = alt.Scale(domain=[0, 1], clamp=True, nice=False)
_NO_GRID = alt.Axis(grid=False, tickCount=5)


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
    x_title, y_title = "TNR (specificity)", "TPR (recall)"
    chart = (
        alt.Chart(finite(cells))
        .mark_rect()
        .encode(
            x=alt.X(field="tnr_start", type="quantitative", title=x_title, scale=_UNIT, axis=_NO_GRID),
            x2=alt.X2(field="tnr_end"),
            y=alt.Y(field="tpr_start", type="quantitative", title=y_title, scale=_UNIT, axis=_NO_GRID),
            y2=alt.Y2(field="tpr_end"),
            color=alt.Color(
                field="value",
                type="quantitative",
                scale=alt.Scale(scheme="viridis"),
                legend=alt.Legend(title="value", orient="right", gradientLength=300),
            ),
            tooltip=tooltip({"tpr": "TPR", "tnr": "TNR", "value": "value"}, names=()),
        )
        .properties(name="surface")
    )
    return compose(
        [chart],
        style=model_style(()),
        title=f"Surface of {metric}",
        subtitle=f"over TPR and TNR, at {ratio:g} negatives per positive",
        says="Darker is less.",
        height=420,
    )
