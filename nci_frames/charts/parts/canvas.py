"""Building blocks of charts: colours, tooltips, layers and panels."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import polars as pl

from nci_frames.charts.parts.selection import finite
from nci_frames.charts.parts.theme import DASHES, GROUND, HEIGHT, INK, LETTER, WIDTH, ModelStyle, config_for
from nci_frames.tables.names import all_drawable, drawable, drawable_spec
from nci_frames.tables.numbers import sentence

#: Opacity of areas for each stroke of ``DASHES``.
_DEPTHS = (0.85, 0.45, 0.25, 0.65, 0.15)

#: Formats of exact numbers, such as numbers of rows.
_FORMS = {"rows": ","}

#: The symbols of a model in the legend.
LINES: dict[str, Any] = {}
SQUARES: dict[str, Any] = {"symbolType": "square", "symbolStrokeWidth": 0}


def colour(style: ModelStyle, *, legend: dict[str, Any] | None = LINES) -> alt.Color:
    """Colour by model, as in every other chart of these models; panels with names need no legend."""
    return alt.Color(field="model", type="nominal", title="model", scale=model_scale(style), legend=legend)


def model_scale(style: ModelStyle) -> dict[str, Any]:
    """Return the colours of the models, of fills and of outlines."""
    return {"domain": style.models, "range": style.colours}


def fills(style: ModelStyle) -> dict[str, Any]:
    """Fill by model; areas of models that share a colour differ in opacity, as lines differ in stroke."""
    found: dict[str, Any] = {"color": colour(style, legend=SQUARES)}
    if style.dashed:
        depths = [_DEPTHS[DASHES.index(dash)] for dash in style.dashes]
        # By default Vega-Lite would read the opacities as the ends of a continuous range.
        scale = {"type": "ordinal", "domain": style.models, "range": depths}
        found["opacity"] = alt.Opacity("model:O", title="model", scale=scale, legend=SQUARES)
    return found


def tooltip(numbers: Mapping[str, str], *, names: Sequence[str] = ("model",)) -> list[alt.Tooltip]:
    """Show names unchanged and numbers with six digits; *numbers* maps fields to titles."""
    named = [alt.Tooltip(field=name, type="nominal", title=name) for name in names]
    for name, title in numbers.items():
        form = _FORMS.get(name, ".6~g")
        named.append(alt.Tooltip(field=name, type="quantitative", title=title, format=form))
    return named


def own_titles(*names: str) -> dict[str, str]:
    """Map each field to its name as title."""
    return {name: name.replace("_", " ") for name in names}


def value_titles(rows: pl.DataFrame, x: str, title: str) -> dict[str, str]:
    """Return the titles of a value over *x*, and of its bounds and threshold, if the rows have them."""
    bounds = {"lower": "lower bound", "upper": "upper bound"}
    titles = {x: x, "value": title, **bounds, "threshold": "threshold"}
    return {field: text for field, text in titles.items() if field in rows.columns}


def layer(name: str, marks: alt.Chart, **channels: Any) -> alt.Chart:
    """Encode marks, and name them: the numbers that Altair assigns would make equal charts differ."""
    chart: alt.Chart = marks.encode(**channels).properties(name=name)
    return chart


def targets(base: alt.Chart, shown: list[alt.Tooltip], *, size: int = 120, clip: bool = False) -> alt.Chart:
    """Show a tooltip near each point; *size* is that of its invisible target, in square pixels."""
    # With nearest=True instead of large targets, Vega-Lite 6 shows text fields as "undefined".
    marks = base.mark_point(filled=True, size=size, opacity=0, clip=clip)
    return layer("targets", marks, tooltip=shown)


def area(base: alt.Chart, lower: str, upper: str, name: str, **mark: Any) -> alt.Chart:
    """Shade the area between two fields."""
    return layer(name, base.mark_area(**mark), y=alt.Y(f"{lower}:Q"), y2=alt.Y2(upper))


def named(places: pl.DataFrame, x: alt.X, y: alt.Y, *, letters: int) -> list[alt.Chart]:
    """Write the ``name`` at each place, with an outline for legibility on any colour."""
    if places.is_empty():
        return []
    base = alt.Chart(places).encode(x=x, y=y, text=alt.Text("name:N"))
    look: dict[str, Any] = {"limit": letters * LETTER, "fontSize": 12}
    outline = base.mark_text(stroke=GROUND, strokeWidth=3.5, strokeJoin="round", **look)
    return [outline.properties(name="outlines"), base.mark_text(color=INK, **look).properties(name="names")]


def opacity(parameter: alt.Parameter, chosen: float, others: float) -> alt.OpacityValue:
    """Return the opacity of the marks chosen by a selection, and of all others.

    ``alt.condition`` is avoided: Altair searches all its classes for its result.
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
    # In one call: Altair copies the layers at each step of a chain of methods.
    texts, config = _texts(title, subtitle, says), alt.Config(**config_for(style))
    chart = alt.LayerChart(layer=list(layers), width=width, height=height, config=config, **texts)
    return _with_drawable_names(chart, [layer.data for layer in layers], *style.models, title, subtitle)


def _texts(title: str, subtitle: str, says: str) -> dict[str, Any]:
    title = sentence(title)
    heading = alt.TitleParams(text=title, subtitle=subtitle)
    return {"title": heading, "description": f"{title}: {subtitle}. {says}"}


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
    """Combine the layers in one panel per value of a field, with at most three panels in a row.

    The panels are sorted by that value, or by another field.
    """
    panels = rows[by].n_unique()
    width, usual = panel_size(panels)
    width = min(420, width) if square else width
    config = config_for(style)
    config["legend"]["offset"] = 24  # below the axis titles of the panels
    header = alt.Header(title=None, labelLimit=width)
    sort = alt.EncodingSortField(field=order, op="min") if order else alt.Undefined
    chart = alt.FacetChart(
        spec=alt.LayerChart(layer=list(layers), width=width, height=height or (width if square else usual)),
        facet=alt.Facet(field=by, type="nominal", header=header, sort=sort),
        data=finite(rows),
        columns=min(3, panels),
        # Each panel has an x axis, even above the gap that an incomplete last row leaves.
        resolve=alt.Resolve(axis=alt.AxisResolveMap(x="independent")),
        config=alt.Config(**config),
        **_texts(title, subtitle, says),
    )
    return _with_drawable_names(chart, [rows], *style.models, title, subtitle)


_Chart = TypeVar("_Chart", alt.LayerChart, alt.FacetChart)


def _with_drawable_names(chart: _Chart, data: Sequence[Any], *texts: str) -> _Chart:
    """Return the chart with drawable names; nearly all names are drawable."""
    frames = (frame for frame in data if isinstance(frame, pl.DataFrame))
    if all(drawable(text) == text for text in texts) and all(map(all_drawable, frames)):
        return chart
    return type(chart).from_dict(drawable_spec(chart.to_dict(validate=False)))
