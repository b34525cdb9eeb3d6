"""The building blocks of charts: colours, curves, tooltips, layers and panels."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts.selection import finite
from nci_frames.charts.parts.theme import (
    DASHES,
    GROUND,
    HEIGHT,
    PALETTE,
    WIDTH,
    ModelStyle,
    config_for,
)
from nci_frames.tables.names import all_drawable, drawable, drawable_spec

__all__ = [
    "COARSE",
    "DOTS",
    "LINES",
    "colour",
    "compose",
    "curves",
    "facet",
    "fills",
    "model_scale",
    "opacity",
    "panel_size",
    "prevalence_strokes",
    "shape",
    "tooltip",
    "veil",
    "with_eta",
]

_LEGEND = "model (click to highlight)"

#: Point shapes, one for each stroke of ``DASHES``.
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")

#: Points are drawn for grids of at most this many values; on finer grids only the point under the pointer.
COARSE = 12

#: Opacities of areas, one for each stroke of ``DASHES``.
_DEPTHS = (0.85, 0.45, 0.25, 0.65, 0.15)

#: The symbols of a model in the legend.
LINES: dict[str, Any] = {}
DOTS: dict[str, Any] = {"symbolType": "circle", "symbolSize": 90}
SQUARES: dict[str, Any] = {"symbolType": "square", "symbolStrokeWidth": 0}


def colour(
    style: ModelStyle,
    *,
    legend: dict[str, Any] | None = LINES,
    field: str = "model",
    title: str = _LEGEND,
) -> alt.Color:
    """Colour by model, as in every other chart of these models; panels with names need no legend."""
    return alt.Color(field=field, type="nominal", title=title, scale=model_scale(style), legend=legend)


def model_scale(style: ModelStyle) -> dict[str, Any]:
    """Return the colours of the models, of fills and of outlines."""
    return {"domain": list(style.models), "range": list(style.colours)}


def fills(style: ModelStyle) -> dict[str, alt.Color | alt.Opacity]:
    """Fill by model; areas of models that share a colour differ in opacity, as lines differ in stroke."""
    found: dict[str, alt.Color | alt.Opacity] = {"color": colour(style, legend=SQUARES, title="model")}
    if style.dashed:
        depths = [_DEPTHS[DASHES.index(dash)] for dash in style.dashes]
        # By default Vega-Lite would take the opacities for the ends of a continuous range.
        scale = {"type": "ordinal", "domain": list(style.models), "range": depths}
        found["opacity"] = alt.Opacity(
            field="model", type="ordinal", title="model", scale=scale, legend=SQUARES
        )
    return found


def shape(style: ModelStyle) -> alt.Shape:
    """Give points of models that share a colour different shapes, as lines have different strokes."""
    shapes = [_SHAPES[DASHES.index(dash)] for dash in style.dashes]
    scale = {"domain": list(style.models), "range": shapes}
    return alt.Shape(field="model", type="nominal", title=_LEGEND, scale=scale, legend=DOTS)


def tooltip(numbers: Mapping[str, str], *, names: Sequence[str] = ("model",)) -> list[alt.Tooltip]:
    """Show names as they are and numbers to six digits; *numbers* maps fields to titles."""
    return [
        *(alt.Tooltip(field=name, type="nominal", title=name) for name in names),
        *(alt.Tooltip(field=f, type="quantitative", title=t, format=".6~g") for f, t in numbers.items()),
    ]


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
    """Draw a line per model through its rows, in the order of the rows, with targets for the pointer.

    The area between ``lower`` and ``upper`` is shaded where they differ; null values leave gaps. *dots* draws
    every point, and *reach* is the size of its pointer target, in square pixels. If *inherited*, the rows are
    those of the surrounding panels, and rows without a model are not drawn.
    """
    chosen = alt.selection_point(name="chosen", fields=["model"], bind="legend")
    hover = alt.selection_point(name="hover", on="pointerover", clear="pointerout", empty=False)
    start = alt.Chart().transform_filter("isValid(datum.model)") if inherited else alt.Chart(finite(rows))
    base = start.encode(x=x, y=y, color=colour(style))
    # Without order=False Vega-Lite sorts by x, and steps lose their order at equal x.
    lines = base.mark_line(interpolate=interpolate, order=False, clip=clip).encode(
        opacity=opacity(chosen, 1.0, 0.12)
    )
    if dash is not None:
        lines = lines.encode(strokeDash=dash)
    elif style.dashed:
        scale = {"domain": list(style.models), "range": [list(d) for d in style.dashes]}
        stroke = alt.StrokeDash(field="model", type="nominal", title=_LEGEND, scale=scale)
        lines = lines.encode(strokeDash=stroke)
    points = base.mark_point(filled=True, size=50, clip=clip).encode(
        opacity=opacity(hover, 1.0, 1.0 if dots else 0.0)
    )
    # Large invisible targets for the pointer: with nearest=True Vega-Lite 6 shows text fields as "undefined".
    targets = base.mark_point(filled=True, size=reach, opacity=0, clip=clip)
    targets = targets.encode(tooltip=tooltip(numbers, names=names))
    told, untold = _by_support(rows, str(y["field"]))
    faded = []
    if untold is not None:
        lines = lines.properties(data=finite(told))
        dotted = base.mark_line(order=False, clip=clip, strokeDash=[1, 4], strokeCap="round").encode(
            opacity=opacity(chosen, 0.7, 0.12)
        )
        faded = [dotted.properties(data=finite(untold), name="untold")]
    # Explicit names: Altair would take them from a counter, and equal charts would differ.
    return [
        *_band(rows, base, chosen),
        *faded,
        lines.add_params(chosen).properties(name="lines"),
        points.properties(name="points"),
        targets.add_params(hover).properties(name="targets"),
    ]


def veil(ranges: pl.DataFrame, base: alt.Chart, *, height: int | None = None) -> list[alt.Chart]:
    """Cover ranges, areas or bars of a height, that the log does not support."""
    if ranges.is_empty():
        return []
    hidden = base.properties(data=finite(ranges), name="untold")
    if height is None:
        return [hidden.mark_area(clip=True, color=GROUND, opacity=0.7)]
    return [hidden.mark_bar(height=height, color=GROUND, opacity=0.7)]


def _by_support(rows: pl.DataFrame, field: str) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the rows for the line of what the log supports, and those for the line of the rest.

    Both have the value where one begins and the other ends.
    """
    if "supported" not in rows.columns or rows["supported"].fill_null(value=True).all():
        return rows, None
    supported = pl.col("supported").fill_null(value=True)
    beside = (~supported.shift(1, fill_value=True) | ~supported.shift(-1, fill_value=True)).over("model")
    told, untold = (pl.when(shown).then(field).alias(field) for shown in (supported, ~supported | beside))
    return rows.with_columns(told), rows.with_columns(untold)


def _band(rows: pl.DataFrame, base: alt.Chart, chosen: alt.Parameter) -> list[alt.Chart]:
    if (
        not {"lower", "upper"} <= set(rows.columns)
        or rows.filter(pl.col("lower") < pl.col("upper")).is_empty()
    ):
        return []
    return [
        base.mark_area()
        .encode(
            y=alt.Y(field="lower", type="quantitative"),
            y2=alt.Y2(field="upper"),
            opacity=opacity(chosen, 0.15, 0.03),
        )
        .properties(name="band")
    ]


def with_eta(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the label of the prevalence, which `prevalence_strokes` encodes."""
    return rows.with_columns(eta=pl.col("prevalence").map_elements("{:.3g}".format, return_dtype=pl.String))


def prevalence_strokes(prevalence: pl.Series, style: ModelStyle) -> alt.StrokeDash | None:
    """Give each prevalence a stroke, with a legend at the side; a single prevalence needs none."""
    names = [f"{eta:.3g}" for eta in prevalence.unique().sort()]
    if len(names) == 1:
        return None
    if len(names) > len(DASHES) or len(set(names)) < len(names):
        raise ParameterError(
            f"a chart can distinguish at most {len(DASHES)} prevalences, by three digits",
            found=f"prevalence {', '.join(names[:20])}",
            hint="select a few of them before drawing",
        )
    if len(set(style.colours)) < len(style.models):
        raise ParameterError(
            f"a chart of several prevalences can distinguish at most {len(PALETTE)} models",
            found=f"{quantity(len(names), 'prevalence')} and {quantity(len(style.models), 'model')}",
            hint="draw one prevalence, or fewer models",
        )
    return alt.StrokeDash(
        field="eta",
        type="nominal",
        title="prevalence η",
        scale=alt.Scale(domain=names, range=[list(dash) for dash in DASHES[: len(names)]]),
        # Strokes can be distinguished only if the symbols of the legend are long enough.
        legend=alt.Legend(orient="right", symbolSize=900, columns=1),
    )


def opacity(parameter: alt.Parameter, chosen: float, others: float) -> alt.OpacityValue:
    """Return the opacity of marks that a selection has chosen, and of all others.

    For what ``alt.condition`` returns, Altair would look through all its classes.
    """
    empty = {} if parameter.empty is alt.Undefined else {"empty": parameter.empty}
    return alt.OpacityValue(others, condition={"param": parameter.name, "value": chosen, **empty})


def compose(
    layers: Sequence[alt.Chart],
    *,
    style: ModelStyle,
    title: str,
    subtitle: str,
    says: str,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> alt.LayerChart:
    """Combine the layers under a title; *says* is the description for screen readers."""
    # All at once: Altair copies the layers again at each step of a chain of methods.
    chart = alt.LayerChart(
        layer=list(layers),
        width=width,
        height=height,
        title=alt.TitleParams(text=title, subtitle=subtitle),
        description=f"{title}: {subtitle}. {says}",
        config=alt.Config(**config_for(style)),
    )
    return _with_drawable_names(chart, [layer.data for layer in layers], *style.models, title, subtitle)


def panel_size(panels: int) -> tuple[int, int]:
    """Return the size of each panel in pixels, with at most three panels in a row."""
    return (WIDTH, HEIGHT) if panels == 1 else (250 if panels == 2 else 200, 170)


def facet(
    rows: pl.DataFrame,
    layers: Sequence[alt.Chart],
    *,
    style: ModelStyle,
    title: str,
    subtitle: str,
    says: str,
    by: str = "model",
    order: str | None = None,
    square: bool = False,
    height: int | None = None,
) -> alt.FacetChart:
    """Combine the layers in a panel per value of a field, with at most three panels in a row.

    The panels are sorted by that value, or by another field.
    """
    panels = rows[by].n_unique()
    width, usual = panel_size(panels)
    width = min(420, width) if square else width
    height = height or (width if square else usual)
    header = alt.Header(title=None, labelLimit=width)
    config = config_for(style)
    config["legend"]["offset"] = 24  # below the axis titles of the panels
    sort = alt.EncodingSortField(field=order, op="min") if order else alt.Undefined
    panel = alt.LayerChart(layer=list(layers), width=width, height=height)
    chart = alt.FacetChart(
        spec=panel,
        facet=alt.Facet(field=by, type="nominal", header=header, sort=sort),
        data=finite(rows),
        columns=min(3, panels),
        # Each panel has an x axis, even above the gap that an incomplete last row leaves.
        resolve=alt.Resolve(axis=alt.AxisResolveMap(x="independent")),
        title=alt.TitleParams(text=title, subtitle=subtitle),
        description=f"{title}: {subtitle}. {says}",
        config=alt.Config(**config),
    )
    return _with_drawable_names(chart, [rows], *style.models, title, subtitle)


_Chart = TypeVar("_Chart", alt.LayerChart, alt.FacetChart)


def _with_drawable_names(chart: _Chart, data: Sequence[Any], *texts: str) -> _Chart:
    """Return the chart with names that it can hold, which nearly all names are."""
    frames = (frame for frame in data if isinstance(frame, pl.DataFrame))
    if all(drawable(text) == text for text in texts) and all(map(all_drawable, frames)):
        return chart
    return type(chart).from_dict(drawable_spec(chart.to_dict(validate=False)))
