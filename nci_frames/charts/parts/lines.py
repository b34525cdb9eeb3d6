"""Lines, one per model, with bands, highlights and tooltips; strokes for prevalences."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts import canvas, selection
from nci_frames.charts.parts.axes import LogAxis, rate_axis
from nci_frames.charts.parts.selection import finite
from nci_frames.charts.parts.theme import DASHES, PALETTE, ModelStyle
from nci_frames.tables.numbers import format_grid

#: Height of a chart of two rates, in pixels.
SQUARE = 420

#: Points are drawn for grids of at most this many values; on finer grids only the point under the pointer.
_COARSE = 12


def draw_lines(
    rows: pl.DataFrame,
    x: str = "prevalence",
    *,
    what: str,
    where: str = "",
    subtitle: str,
    models: Sequence[str],
    observed: float | None = None,
    y: alt.Y | None = None,
    numbers: Mapping[str, str] | None = None,
) -> alt.LayerChart:
    """Draw one line per model over prevalence or beta, without points that a log axis cannot show.

    *what* is the name of the values, by default rates; *where* ends the title. Raise ParameterError unless
    there is one row per model and x, and at least one value.
    """
    observed = selection.checked_observed(observed)
    y = y or alt.Y(**rate_axis("value", what))
    value = str(y["field"])
    numbers = numbers or canvas.value_titles(rows, x, what)
    shown = rows.filter(pl.col(x).is_finite(), pl.col(x) > 0).sort("model", x)
    selection.refuse_doubles(shown, "model", x)
    selection.refuse_empty(shown[value], what, rows, f", each undefined or at {x} 0 or infinity")
    over_beta = x == "beta"
    axis = LogAxis.through(x, shown[x].unique(), 1.0 if over_beta else observed)
    style = ModelStyle(rows["model"].unique(), among=models)
    told = [name for name in ("supported",) if name in rows.columns]
    heights = [value, *(name for name in ("lower", "upper") if name in numbers)]
    drawn, note = selection.fitted(shown.select("model", *numbers, *told), x, heights)
    dots = shown[x].n_unique() <= _COARSE
    lines = curves(drawn, axis.x(), y, style=style, numbers=numbers, dots=dots, reach=220)
    return canvas.compose(
        [*lines, *(axis.mark(1, "β = 1") if over_beta else axis.observed(observed))],
        style=style,
        title=f"{what} over {x}{where}",
        subtitle=subtitle + note + selection.why_dotted(shown.drop_nulls(value)),
        says=f"{what} on the vertical axis; a line per model.",
    )


def draw_by_prevalence(
    rows: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    *,
    style: ModelStyle,
    numbers: Mapping[str, str],
    title: str,
    subtitle: str,
    interpolate: str = "linear",
    clip: bool = False,
    below: Sequence[alt.Chart] = (),
    above: Sequence[alt.Chart] = (),
) -> alt.LayerChart:
    """Draw one curve per model and prevalence, with a colour per model and a stroke per prevalence."""
    etas = [format_grid(eta) for eta in rows["prevalence"].unique().sort()]
    named = rows.with_columns(eta=pl.col("prevalence").map_elements(format_grid, return_dtype=pl.String))
    dash = _prevalence_strokes(etas, style)
    lines = curves(named, x, y, style=style, numbers=numbers, interpolate=interpolate, dash=dash, clip=clip)
    return canvas.compose(
        [*below, *lines, *above],
        style=style,
        title=f"{title} at prevalence η = {', '.join(etas)}",
        subtitle=subtitle,
        says="A colour per model and a stroke per prevalence.",
        height=SQUARE,
    )


def curves(
    rows: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    *,
    style: ModelStyle,
    numbers: Mapping[str, str],
    interpolate: Any = "linear",
    dash: alt.StrokeDash | None = None,
    clip: bool = False,
    dots: bool = False,
    reach: int = 120,
    names: Sequence[str] = ("model",),
    inherited: bool = False,
) -> list[alt.Chart]:
    """Draw one line per model through its rows, in the order of the rows, with targets for the pointer.

    The area between ``lower`` and ``upper`` is shaded if they differ; null values leave gaps. *dots* draws
    every point, and *reach* is the size of its pointer target, in square pixels. If *inherited*, the rows are
    those of the surrounding panels, and rows without a model are not drawn.
    """
    chosen = alt.selection_point(name="chosen", fields=["model"], bind="legend")
    hover = alt.selection_point(name="hover", on="pointerover", clear="pointerout", empty=False)
    start = alt.Chart().transform_filter("isValid(datum.model)") if inherited else alt.Chart(finite(rows))
    base = start.encode(x=x, y=y, color=canvas.colour(style))
    # Without order=False Vega-Lite sorts by x, and steps lose their order at equal x.
    lines = base.mark_line(interpolate=interpolate, order=False, clip=clip)
    lines = lines.encode(opacity=canvas.opacity(chosen, 1.0, 0.12), strokeDash=dash or _model_strokes(style))
    band = []
    if {"lower", "upper"} <= set(rows.columns) and (rows["lower"] < rows["upper"]).any():
        shade = base.encode(opacity=canvas.opacity(chosen, 0.15, 0.03))
        band = [canvas.area(shade, "lower", "upper", "band", **({"clip": True} if clip else {}))]
    untold = []
    if selection.marks_support(rows):
        # A faint line everywhere, covered where supported: a page that moves rows changes "supported".
        look: dict[str, Any] = {} if dash else {"strokeDash": [1, 4], "strokeCap": "round"}
        faint = base.mark_line(interpolate=interpolate, order=False, clip=clip, **look)
        paleness = canvas.opacity(chosen, 0.35 if dash else 0.7, 0.12)
        untold = [canvas.layer("untold", faint, opacity=paleness, strokeDash=dash or alt.Undefined)]
        told = y.copy()
        told["field"] = "told"
        known = f"datum.supported === false ? null : datum.{y['field']}"
        lines = lines.transform_calculate(told=known).encode(y=told)
    shown = canvas.tooltip(numbers, names=names)
    points = base.mark_point(filled=True, size=50, clip=clip)
    points = points.encode(opacity=canvas.opacity(hover, 1.0, 1.0 if dots else 0.0))
    # Explicit names: the numbers that Altair assigns would make equal charts differ.
    return [
        *band,
        *untold,
        lines.add_params(chosen).properties(name="lines"),
        points.properties(name="points"),
        canvas.targets(base, shown, size=reach, clip=clip).add_params(hover),
    ]


def _model_strokes(style: ModelStyle) -> Any:
    """Return a stroke for each model, if there are more models than colours."""
    if not style.dashed:
        return alt.Undefined
    scale = {"domain": style.models, "range": [list(dash) for dash in style.dashes]}
    return alt.StrokeDash(field="model", type="nominal", title="model", scale=scale)


def _prevalence_strokes(names: Sequence[str], style: ModelStyle) -> alt.StrokeDash | None:
    """Give each prevalence a stroke, with a legend at the side; a single prevalence needs none."""
    if len(names) == 1:
        return None
    if len(names) > len(DASHES) or len(set(names)) < len(names):
        msg = f"a chart can distinguish at most {len(DASHES)} prevalences, by three digits"
        found = f"prevalence {', '.join(names[:20])}"
        raise ParameterError(msg, found=found, hint="select a few of them before drawing")
    if len(set(style.colours)) < len(style.models):
        msg = f"a chart of several prevalences can distinguish at most {len(PALETTE)} models"
        found = f"{quantity(len(names), 'prevalence')} and {quantity(len(style.models), 'model')}"
        raise ParameterError(msg, found=found, hint="draw one prevalence, or fewer models")
    return alt.StrokeDash(
        "eta:N",
        title="prevalence η",
        scale=alt.Scale(domain=names, range=[list(dash) for dash in DASHES[: len(names)]]),
        # Strokes can be distinguished only if the symbols of the legend are long enough.
        legend=alt.Legend(orient="right", symbolSize=900, columns=1),
    )
