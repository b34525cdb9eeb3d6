"""The look of all charts: one configuration, and one colour per model.

The theme is registered but never enabled, since enabling a theme changes every chart of the session. Each
chart carries the configuration itself.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import altair as alt

from nci_frames.base.errors import SchemaError
from nci_frames.schemas import checked
from nci_frames.tables.names import with_texts

#: Four of Okabe and Ito's colours, and four replacements: their yellow, orange and sky blue are hard to see
#: on white. Each pair is distinguishable in all forms of colour vision, and each colour from the background.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#705E3B", "#4690FF", "#819D52", "#242828")

#: Colours of the two parts of a difference; no model has them.
PARTS = ("#8c959f", "#6d3fc0")

#: Beyond eight models the colours repeat, and each round has a different stroke.
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (12, 4))

#: Size of the plotting area, in pixels.
WIDTH, HEIGHT = 520, 300

#: Mean width of a letter, and the width of a symbol of the legend with its gaps, in pixels.
LETTER, _SYMBOL = 6.6, 44

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
GROUND, INK, SOFT, LINE = "#ffffff", "#1f2328", "#57606a", "#e6e8eb"

#: Fonts of axes and legends.
_TEXTS = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500}

#: Style of a dashed line that marks a value, and of small text beside marks.
RULE: dict[str, Any] = {"color": SOFT, "strokeDash": [4, 3], "strokeWidth": 1.25}
NOTE: dict[str, Any] = {"color": SOFT, "fontSize": 11}

_BRIGHT = ("#2F7FDB", "#E86A2C", "#10BC8C", "#D77BB6", "#94805A", "#8CC4FF", "#C4E58C", "#ECE4EA")
#: Replacement of each colour on a dark background; other colours are unchanged.
DARK = {
    GROUND: "#1c2024", INK: "#e4e7ea", SOFT: "#a3abb3", LINE: "#343a40", PARTS[1]: "#a47df0",
    **dict(zip(PALETTE, _BRIGHT, strict=True)),
}  # fmt: skip

_Chart = TypeVar(
    "_Chart", alt.Chart, alt.LayerChart, alt.FacetChart, alt.ConcatChart, alt.HConcatChart, alt.VConcatChart
)


class ModelStyle:
    """Colour and stroke of each model, the same in every chart that shows the same models.

    They follow from the position of a model among the sorted names, or in *among*. Models that are not in
    *among* come after those that are, so that the latter keep their colours.

    Raises
    ------
    SchemaError
        If the name of a model is null.
    """

    def __init__(self, models: Iterable[str | None], *, among: Iterable[str] = ()) -> None:
        names = set(models)
        #: The models, sorted; and the colour and the stroke of each.
        self.models = shown = sorted(name for name in names if name is not None)
        if len(shown) < len(names):
            raise SchemaError.unnamed_model()
        place = {name: i for i, name in enumerate(dict.fromkeys([*sorted(set(among)), *shown]))}
        self.colours = [PALETTE[place[name] % len(PALETTE)] for name in shown]
        self.dashes = [DASHES[place[name] // len(PALETTE) % len(DASHES)] for name in shown]
        #: Whether there are more models than colours.
        self.dashed = any(dash != DASHES[0] for dash in self.dashes)
        #: Number of columns of the legend, given the longest name.
        longest = max(map(len, shown), default=0)
        self.columns = max(1, min(len(shown), int(WIDTH // (longest * LETTER + _SYMBOL))))


def chart_config() -> dict[str, Any]:
    """Return the Vega-Lite configuration that the charts carry."""
    return {
        "background": GROUND,
        "font": FONT,
        "padding": {"left": 8, "right": 14, "top": 8, "bottom": 8},
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "title": {
            "anchor": "start", "frame": "group", "color": INK, "fontSize": 15, "fontWeight": 600,
            "subtitleColor": SOFT, "subtitleFontSize": 12, "subtitlePadding": 4, "offset": 22,
        },
        "axis": {
            "labelColor": SOFT, "titleColor": INK, "titlePadding": 8, "gridColor": LINE,
            "domainColor": "#8c959f", "tickColor": "#8c959f", "labelPadding": 4, **_TEXTS,
        },
        "axisY": {"domain": False, "ticks": False},
        "legend": {
            "orient": "bottom", "labelColor": INK, "titleColor": SOFT,
            "columnPadding": 14, "rowPadding": 4, "offset": 10,
            "symbolType": "stroke", "symbolSize": 260, "symbolStrokeWidth": 2.5, "symbolOpacity": 1, **_TEXTS,
        },
        "header": {"labelColor": INK, "labelFontSize": 12, "labelAnchor": "start", "labelPadding": 6},
        # Round caps would fill the gaps of the finer strokes.
        "line": {"strokeWidth": 2.25, "strokeCap": "butt", "strokeJoin": "round"},
    }  # fmt: skip


@alt.theme.register("nci_frames", enable=False)
def _theme() -> alt.theme.ThemeConfig:
    """Return the configuration as a theme, for ``altair.theme.enable("nci_frames")``."""
    return {"config": {**chart_config(), "range": {"category": list(PALETTE)}}}  # type: ignore[typeddict-item]


def config_for(style: ModelStyle) -> dict[str, Any]:
    """Return the configuration with a legend that fits the names; symbolLimit 0 lists all models."""
    config = chart_config()
    config["legend"] |= {"columns": style.columns, "labelLimit": WIDTH - _SYMBOL, "symbolLimit": 0}
    return config


@checked
def dark_chart(chart: _Chart, /) -> _Chart:
    """Return the chart in colours for a dark background.

    Parameters
    ----------
    chart
        A chart of this library, or a chart with its theme.

    Returns
    -------
    altair.Chart
        A new chart of the same type with the same data and marks. Each model has the same colour in all dark
        charts.

    Examples
    --------
    >>> import nci_frames as nf
    >>> counts = nf.expected_counts(tpr=0.6, fpr=0.1, positives=100, negatives=900)
    >>> chart = nf.chart_roc(nf.compute_rates(counts))
    >>> nf.dark_chart(chart).to_dict()["config"]["background"]
    '#1c2024'
    """
    return type(chart).from_dict(dark_spec(chart.to_dict()))


def dark_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the colours of a Vega-Lite specification for a dark background, except in its data."""
    return with_texts(spec, lambda text, data: text if data else DARK.get(text, text))
