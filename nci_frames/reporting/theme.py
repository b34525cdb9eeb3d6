"""How every chart looks: one configuration, one colour for each model, one way to draw lines.

The theme is registered but never enabled, since enabling a theme changes every chart of the session.
A chart carries the configuration itself and stays a value.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

__all__ = [
    "DASHES",
    "HEIGHT",
    "INK",
    "PALETTE",
    "SOFT",
    "WIDTH",
    "ModelStyle",
    "chart_config",
    "config_for",
    "line_chart",
    "log_axis",
    "log_scale",
    "model_colour",
    "model_style",
    "titled",
    "vertical_rule",
]

#: Okabe and Ito's colours for the colour-blind, on white: their yellow is too pale there, so that an
#: olive of the same hue stands in for it, and the dark grey comes last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#87851F", "#333333")

#: Beyond eight models the colours repeat, and each round has a stroke of its own.
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (12, 4))

#: Size of the plotting area, in pixels.
WIDTH, HEIGHT = 520, 300

#: Mean width of a letter of the legend, and the room that its symbol and gaps take, in pixels.
_LETTER, _SYMBOL = 6.6, 44

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
INK, SOFT, _LINE = "#1f2328", "#57606a", "#e6e8eb"


@dataclass(frozen=True, slots=True)
class ModelStyle:
    """Colour and stroke of each model, the same in every chart that shows the same models."""

    models: tuple[str, ...]
    colours: tuple[str, ...]
    dashes: tuple[tuple[int, ...], ...]

    @property
    def dashed(self) -> bool:
        """Whether there are more models than colours."""
        return len(self.models) > len(PALETTE)

    @property
    def label_limit(self) -> int:
        """Width that a legend label may take before it is shortened, in pixels."""
        return WIDTH - _SYMBOL

    @property
    def columns(self) -> int:
        """Columns of the legend, so that the longest name is not cut."""
        longest = max(map(len, self.models), default=0)
        return max(1, min(len(self.models), int(WIDTH // (longest * _LETTER + _SYMBOL))))


def model_style(models: Iterable[str]) -> ModelStyle:
    """Give each model a colour and a stroke by its place among the sorted names."""
    names = tuple(sorted(set(models)))
    return ModelStyle(
        names,
        tuple(PALETTE[i % len(PALETTE)] for i in range(len(names))),
        tuple(DASHES[i // len(PALETTE) % len(DASHES)] for i in range(len(names))),
    )


def chart_config() -> dict[str, Any]:
    """Return the Vega-Lite configuration that the charts carry."""
    return {
        "background": "#ffffff",
        "font": _FONT,
        "padding": {"left": 8, "right": 14, "top": 8, "bottom": 8},
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": INK,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": SOFT,
            "subtitleFontSize": 12,
            "subtitlePadding": 4,
            "offset": 22,
        },
        "axis": {
            "labelColor": SOFT,
            "labelFontSize": 12,
            "titleColor": INK,
            "titleFontSize": 12,
            "titleFontWeight": 500,
            "titlePadding": 8,
            "gridColor": _LINE,
            "domainColor": "#8c959f",
            "tickColor": "#8c959f",
            "labelPadding": 4,
        },
        "axisY": {"domain": False, "ticks": False},
        "legend": {
            "orient": "bottom",
            "labelColor": INK,
            "labelFontSize": 12,
            "titleColor": SOFT,
            "titleFontSize": 12,
            "titleFontWeight": 500,
            "columnPadding": 14,
            "rowPadding": 4,
            "offset": 10,
            "symbolType": "stroke",
            "symbolSize": 260,
            "symbolStrokeWidth": 2.5,
            "symbolOpacity": 1,
        },
        "header": {"labelColor": INK, "labelFontSize": 12, "labelAnchor": "start", "labelPadding": 6},
        # Round caps would fill the gaps of the finer strokes.
        "line": {"strokeWidth": 2.25, "strokeCap": "butt", "strokeJoin": "round"},
    }


@alt.theme.register("nci_frames", enable=False)
def _theme() -> alt.theme.ThemeConfig:
    """Offer the configuration to charts of one's own: ``altair.theme.enable("nci_frames")``."""
    return {"config": {**chart_config(), "range": {"category": list(PALETTE)}}}  # type: ignore[typeddict-item]


_AXIS_TITLES = {
    "fpr": "FPR (false-positive rate), log scale",
    "ratio": "negatives per positive, log scale",
    "prevalence": "prevalence η = P(y = 1), log scale",
    "pos_fraction": "POSfrac: share of rows predicted positive, log scale",
    "beta": "β, log scale (to the right recall counts more)",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

#: A grid of at most so many values shows its points, a finer one only the point under the pointer.
_COARSE = 12


def line_chart(
    rows: pl.DataFrame,
    x: str,
    *,
    style: ModelStyle,
    title: str,
    subtitle: str,
    value_title: str,
    observed: float | None = None,
) -> alt.LayerChart:
    """Draw ``value`` over the logarithm of *x*, a line per model; null values leave gaps.

    The rows have ``model``, *x* and ``value``, and may have ``threshold`` and the bounds ``lower`` and
    ``upper``. A click on the legend highlights a model; the pointer shows the row under it.
    """
    mark = observed if x == "prevalence" else 1.0
    mark = mark or None
    places = [*rows[x].unique(), *([mark] if mark else [])]
    low, high = min(places), max(places)
    if low == high:
        low, high = low / 10, high * 10
    x_axis = alt.X(field=x, type="quantitative", axis=log_axis(x, low, high), scale=log_scale(low, high))
    y_axis = alt.Y(
        field="value",
        type="quantitative",
        title=value_title,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(tickCount=5, format=".1f"),
    )
    domain = list(style.models)
    colour = alt.Color(
        field="model",
        type="nominal",
        title="model (click to highlight)",
        scale=alt.Scale(domain=domain, range=list(style.colours)),
    )
    dash = alt.StrokeDash(
        field="model",
        type="nominal",
        title="model (click to highlight)",
        scale=alt.Scale(domain=domain, range=[list(dash) for dash in style.dashes]),
    )
    chosen = alt.selection_point(name="chosen", fields=["model"], bind="legend")
    hover = alt.selection_point(name="hover", on="pointerover", clear="pointerout", empty=False)
    base = alt.Chart(rows).encode(x=x_axis, y=y_axis, color=colour)
    lines = base.mark_line().encode(opacity=alt.condition(chosen, alt.value(1.0), alt.value(0.12)))
    if style.dashed:
        lines = lines.encode(strokeDash=dash)
    rest = 1.0 if rows[x].n_unique() <= _COARSE else 0.0
    points = base.mark_point(filled=True, size=50).encode(
        opacity=alt.condition(hover, alt.value(1.0), alt.value(rest))
    )
    # Wide, unseen targets for the pointer: with nearest=True Vega-Lite 6 shows text fields as "undefined".
    targets = base.mark_point(filled=True, size=220, opacity=0).encode(tooltip=_tooltip(rows, x, value_title))
    # Names are given, since Altair would take them from a counter and equal charts would differ.
    layers = [
        *_band(rows, base, chosen),
        lines.add_params(chosen).properties(name="lines"),
        points.properties(name="points"),
        targets.add_params(hover).properties(name="targets"),
        *vertical_rule(mark, x, low, high),
    ]
    chart: alt.LayerChart = (
        alt.layer(*layers)
        .properties(
            width=WIDTH,
            height=HEIGHT,
            title=alt.TitleParams(text=title, subtitle=subtitle),
            description=f"{title}: {subtitle}. {value_title} on the vertical axis; a line per model.",
        )
        .configure(**config_for(style))
    )
    return chart


def config_for(style: ModelStyle) -> dict[str, Any]:
    """Fit the legend to the names; symbolLimit 0 lists every model, where Vega would stop at thirty."""
    config = chart_config()
    config["legend"] |= {"columns": style.columns, "labelLimit": style.label_limit, "symbolLimit": 0}
    return config


def model_colour(style: ModelStyle, field: str = "model", *, filled: bool = False) -> alt.Color:
    """Encode the model by its colour; the legend shows lines, or squares where areas are filled."""
    scale = alt.Scale(domain=list(style.models), range=list(style.colours))
    legend = alt.Legend(symbolType="square", symbolStrokeWidth=0) if filled else alt.Undefined
    return alt.Color(field=field, type="nominal", title=field, scale=scale, legend=legend)


def titled(
    chart: alt.LayerChart | alt.Chart | alt.FacetChart,
    title: str,
    subtitle: str,
    style: ModelStyle,
    *,
    height: int = HEIGHT,
) -> alt.LayerChart:
    """Give a chart its size, title, description and look."""
    whole: alt.LayerChart = (
        alt.layer(chart)
        .properties(
            width=WIDTH,
            height=height,
            title=alt.TitleParams(text=title, subtitle=subtitle),
            description=f"{title}: {subtitle}.",
        )
        .configure(**config_for(style))
    )
    return whole


def log_scale(low: float, high: float) -> alt.Scale:
    """Return a logarithmic scale between two numbers."""
    return alt.Scale(type="log", domain=[low, high], nice=False)


def log_axis(x: str, low: float, high: float) -> alt.Axis:
    """Label whole powers of ten; a short axis gets 1, 2 and 5 times each instead."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    powers = {d: 10.0**d for d in decades if low <= 10.0**d <= high}
    if len(powers) >= (3 if x == "prevalence" else 4):
        names = {str(d): "1" if d == 0 else f"10{str(d).translate(_SUPERSCRIPTS)}" for d in powers}
        expression = f"({json.dumps(names, ensure_ascii=False)})[round(log(datum.value) / LN10)]"
        return alt.Axis(title=_AXIS_TITLES[x], values=list(powers.values()), labelExpr=expression)
    steps = [float(f"{m}e{d}") for d in decades for m in (1, 2, 5) if low <= float(f"{m}e{d}") <= high]
    return alt.Axis(title=_AXIS_TITLES[x], values=steps or [low, high], format="~g")


def _tooltip(rows: pl.DataFrame, x: str, value_title: str) -> list[alt.Tooltip]:
    titles = {
        x: x,
        "value": value_title,
        "lower": "lower bound",
        "upper": "upper bound",
        "threshold": "threshold",
    }
    numbers = [
        alt.Tooltip(field=name, type="quantitative", title=title, format=".6~g")
        for name, title in titles.items()
        if name in rows.columns
    ]
    return [alt.Tooltip(field="model", type="nominal", title="model"), *numbers]


def _band(rows: pl.DataFrame, base: alt.Chart, chosen: alt.Parameter) -> list[alt.Chart]:
    """Shade between the bounds, where the frame has bounds that differ from the value."""
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
            opacity=alt.condition(chosen, alt.value(0.15), alt.value(0.03)),
        )
        .properties(name="band")
    ]


def vertical_rule(mark: float | None, x: str, low: float, high: float) -> list[alt.Chart]:
    """Mark one place of the axis, with a label above the plot where no line runs."""
    if mark is None:
        return []
    label = f"observed {mark:.3g}" if x == "prevalence" else "β = 1"
    place = math.log(mark / low) / math.log(high / low)
    align: Any = "left" if place < 0.15 else "right" if place > 0.85 else "center"
    base = alt.Chart(pl.DataFrame({x: [mark], "label": [label]})).encode(
        x=alt.X(field=x, type="quantitative", scale=log_scale(low, high))
    )
    return [
        base.mark_rule(color=SOFT, strokeDash=[4, 3], strokeWidth=1.25).properties(name="rule"),
        base.mark_text(align=align, baseline="bottom", dy=-4, color=SOFT, fontSize=11)
        .encode(y=alt.value(0), text=alt.Text(field="label", type="nominal"))
        .properties(name="rule_label"),
    ]
