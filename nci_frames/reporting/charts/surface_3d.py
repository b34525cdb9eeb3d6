"""Metric surfaces -> surfaces in space, to be turned with the pointer; needs the extra ``surface3d``."""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nci_frames.errors import ParameterError
from nci_frames.extras import require
from nci_frames.reporting.charts.parts.selection import finite
from nci_frames.reporting.charts.parts.theme import FONT, GROUND, INK, LINE, SOFT
from nci_frames.reporting.charts.surface import named_surfaces

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["plot_metric_surface_3d"]

#: More places than this make a figure slow to turn.
_MAX_PLACES = 50_000


def plot_metric_surface_3d(
    surface: pl.DataFrame | pl.LazyFrame, /, *, metric: str | None = None, ratio: float | None = None
) -> "Figure":
    """Draw the surface of a metric over contingency space in three dimensions; several share one scale.

    Parameters
    ----------
    surface
        What ``metric_surface`` returned; or several of them put together, told apart by the columns
        ``metric`` and ``ratio``.
    metric
        Name of the metric: the one to draw or, where the frame does not say, the one that it is.
    ratio
        Negatives per positive, > 0: the ratio to draw or, where the frame does not say, the one that it is.

    Returns
    -------
    plotly.graph_objects.Figure
        A value that can be shown, turned with the pointer, and written by its ``write_html`` as a page that
        needs no network; side by side where there are several surfaces. Undefined values leave holes.

    Raises
    ------
    NciFramesError
        plotly, the extra ``surface3d``, is not installed.
    ParameterError
        As ``chart_metric_surface``, but for up to 50,000 places and four surfaces; or a surface is no full
        grid.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Measuring class-imbalance sensitivity of deterministic performance
    evaluation metrics.

    Examples
    --------
    >>> import nci_frames as nf
    >>> surface = nf.metric_surface("precision", ratio=9, resolution=3)
    >>> figure = nf.plot_metric_surface_3d(surface, metric="precision", ratio=9)
    >>> float(figure.data[0].z[1][1])
    0.1
    """
    plotly = require(
        "plotly.graph_objects", extra="surface3d", what="surfaces in three dimensions need plotly"
    )
    rows = finite(named_surfaces(surface, metric=metric, ratio=ratio))
    panels = rows.partition_by("place", maintain_order=True)
    _check_size(rows, panels)
    defined = rows["value"].drop_nulls()
    low, high = min(defined), max(defined)
    traces, scenes, names = [], {}, []
    for number, panel in enumerate(panels):
        scene = "scene" if number == 0 else f"scene{number + 1}"
        left, right = (number + 0.03) / len(panels), (number + 0.97) / len(panels)
        traces.append(
            plotly.Surface(
                x=panel["tnr"].unique().sort().to_numpy(),
                y=panel["tpr"].unique().sort().to_numpy(),
                z=_grid(panel),
                scene=scene,
                coloraxis="coloraxis",
                # Names are no part of a template, in which some would be read as commands.
                hovertemplate="TNR %{x:.6~g}<br>TPR %{y:.6~g}<br>value %{z:.6~g}<extra></extra>",
            )
        )
        scenes[scene] = _scene((left, right), (low, high))
        names.append(
            {
                "text": _literal(panel["surface"][0]),
                "x": left,
                "xanchor": "left",
                "y": 1.0,
                "yanchor": "bottom",
                "xref": "paper",
                "yref": "paper",
                "showarrow": False,
                "font": {"size": 13, "color": INK},
            }
        )
    title = "Metric surface" if len(panels) == 1 else "Metric surfaces"
    return plotly.Figure(
        traces,
        {
            "title": {"text": title, "x": 0.02, "font": {"size": 15}},
            "font": {"family": FONT, "color": INK, "size": 12},
            "paper_bgcolor": GROUND,
            "margin": {"l": 8, "r": 8, "t": 84, "b": 8},
            "width": 130 + 430 * len(panels),
            "height": 520,
            "annotations": names,
            "coloraxis": {"colorscale": "Viridis", "cmin": low, "cmax": high, "colorbar": {"title": "value"}},
            **scenes,
        },
    )


def _check_size(rows: pl.DataFrame, panels: list[pl.DataFrame]) -> None:
    if rows.height > _MAX_PLACES or len(panels) > 4:
        raise ParameterError(
            f"a figure shows at most {_MAX_PLACES:,} places of four surfaces",
            found=f"{rows.height:,} places, {len(panels)} surfaces",
            hint="use a lower resolution, or select with metric= or ratio=",
        )
    for panel in panels:
        if panel.height != panel["tpr"].n_unique() * panel["tnr"].n_unique():
            raise ParameterError(
                "a surface must be a full grid of TPR and TNR",
                found=f"{panel.height:,} places",
                hint="make it with metric_surface",
            )


def _grid(panel: pl.DataFrame) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the values, a row per TPR; a hole is NaN, as plotly has it."""
    values = panel.sort("tpr", "tnr")["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return values.reshape(panel["tpr"].n_unique(), panel["tnr"].n_unique())


def _scene(across: tuple[float, float], values: tuple[float, float]) -> dict[str, object]:
    def axis(title: str, ends: tuple[float, float]) -> dict[str, object]:
        return {
            "title": {"text": title},
            "range": list(ends),
            "gridcolor": LINE,
            "backgroundcolor": GROUND,
            "color": SOFT,
        }

    return {
        "domain": {"x": list(across), "y": [0, 1]},
        "xaxis": axis("TNR (specificity)", (0, 1)),
        "yaxis": axis("TPR (recall)", (0, 1)),
        "zaxis": axis("value", values),
        "aspectmode": "cube",
        "camera": {"eye": {"x": -1.8, "y": -1.8, "z": 1.0}, "center": {"x": 0, "y": 0, "z": -0.15}},
    }


def _literal(name: str) -> str:
    """Take the marks that plotly reads in a text, of HTML and of formulas, by their codes."""
    return "".join(f"&#{ord(letter)};" if letter in "&<>$" else letter for letter in name)
