"""Metric surfaces -> interactive surfaces in three dimensions; needs the extra ``surface3d``."""

from typing import TYPE_CHECKING

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.extras import require
from nci_frames.base.messages import quantity
from nci_frames.charts.parts import selection, theme
from nci_frames.charts.surface import named_surfaces
from nci_frames.schemas.checked import checked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: More points than this make a figure slow to rotate.
_MAX_PLACES = 50_000


@checked
def plot_metric_surface_3d(
    surface: pl.DataFrame | pl.LazyFrame, /, *, metric: str | None = None, ratio: float | None = None
) -> "Figure":
    """Draw the surface of a metric over contingency space in 3-D; several share one colour scale.

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
    plotly.graph_objects.Figure
        An interactive figure; several surfaces are side by side. ``write_html`` saves it as a page that needs
        no network. Undefined values leave holes.

    Raises
    ------
    NciFramesError
        If plotly (the extra ``surface3d``) is not installed.
    ParameterError
        As for ``chart_metric_surface``, but with limits of 50,000 points and four surfaces; or if a surface
        is not a full grid.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Measuring class-imbalance sensitivity of deterministic performance
    evaluation metrics.

    Examples
    --------
    >>> import nci_frames as nf
    >>> from nci_frames.charts.surface_3d import plot_metric_surface_3d
    >>> surface = nf.metric_surface("precision", ratio=9, resolution=3)
    >>> figure = plot_metric_surface_3d(surface, metric="precision", ratio=9)
    >>> float(figure.data[0].z[1][1])
    0.1
    """
    plotly = require(
        "plotly.graph_objects", extra="surface3d", what="surfaces in three dimensions need plotly"
    )
    rows = selection.finite(named_surfaces(surface, metric=metric, ratio=ratio))
    panels = rows.partition_by("place", maintain_order=True)
    _check_size(rows, panels)
    low, high = rows["value"].min(), rows["value"].max()
    figure: Figure = plotly.Figure(
        layout={
            "title": {"text": "Metric surface" + "s" * (len(panels) > 1), "x": 0.02, "font": {"size": 15}},
            "font": {"family": theme.FONT, "color": theme.INK, "size": 12},
            "paper_bgcolor": theme.GROUND,
            "margin": {"l": 8, "r": 8, "t": 84, "b": 8},
            "width": 130 + 430 * len(panels),
            "height": 520,
            "coloraxis": {"colorscale": "Viridis", "cmin": low, "cmax": high, "colorbar": {"title": "value"}},
        }
    )
    axis = {"gridcolor": theme.LINE, "backgroundcolor": theme.GROUND, "color": theme.SOFT}
    scene = {
        "xaxis": axis | {"title": "TNR (specificity)", "range": [0, 1]},
        "yaxis": axis | {"title": "TPR (recall)", "range": [0, 1]},
        "zaxis": axis | {"title": "value", "range": [low, high]},
        "aspectmode": "cube",
        "camera": {"eye": {"x": -1.8, "y": -1.8, "z": 1.0}, "center": {"x": 0, "y": 0, "z": -0.15}},
    }
    for number, panel in enumerate(panels):
        left, right = (number + 0.03) / len(panels), (number + 0.97) / len(panels)
        place = f"scene{number + 1}"
        figure.update_layout({place: scene | {"domain": {"x": [left, right], "y": [0, 1]}}})
        figure.add_surface(
            x=panel["tnr"].unique().sort().to_numpy(),
            y=panel["tpr"].unique().sort().to_numpy(),
            # A row per TPR; undefined values are NaN, which plotly leaves out.
            z=panel.pivot("tnr", index="tpr", values="value").drop("tpr").to_numpy(),
            scene=place,
            coloraxis="coloraxis",
            # Names are not part of the template, which would read some of them as commands.
            hovertemplate="TNR %{x:.6~g}<br>TPR %{y:.6~g}<br>value %{z:.6~g}<extra></extra>",
        )
        anchor = {
            "x": left,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "bottom",
            "xref": "paper",
            "yref": "paper",
        }
        font = {"size": 13, "color": theme.INK}
        figure.add_annotation(text=_literal(panel["surface"][0]), showarrow=False, font=font, **anchor)
    return figure


def _check_size(rows: pl.DataFrame, panels: list[pl.DataFrame]) -> None:
    if rows.height > _MAX_PLACES or len(panels) > 4:
        raise ParameterError(
            f"a figure shows at most {_MAX_PLACES:,} points and four surfaces",
            found=f"{quantity(rows.height, 'point')}, {quantity(len(panels), 'surface')}",
            hint="use a lower resolution, or select with metric= or ratio=",
        )
    for panel in panels:
        if panel.height != panel["tpr"].n_unique() * panel["tnr"].n_unique():
            raise ParameterError(
                "a surface must be a full grid of TPR and TNR",
                found=quantity(panel.height, "point"),
                hint="make it with metric_surface",
            )


def _literal(name: str) -> str:
    """Escape the characters that plotly would read as HTML or as formulas."""
    return "".join(f"&#{ord(letter)};" if letter in "&<>$" else letter for letter in name)
