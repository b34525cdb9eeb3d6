"""How every chart looks: one configuration, one colour for each model.

The theme is registered but never enabled, since enabling a theme changes every chart of the session.
A chart carries the configuration itself and stays a value.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import altair as alt

__all__ = [
    "DASHES",
    "FONT",
    "GROUND",
    "HEIGHT",
    "INK",
    "LINE",
    "PALETTE",
    "PARTS",
    "SOFT",
    "WIDTH",
    "ModelStyle",
    "chart_config",
    "config_for",
    "model_style",
]

#: Okabe and Ito's colours for the colour-blind, on white: their yellow is too pale there, so that an
#: olive of the same hue stands in for it, and the dark grey comes last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#87851F", "#333333")

#: The two parts of a difference, in colours that no model has.
PARTS = ("#8c959f", "#6d3fc0")

#: Beyond eight models the colours repeat, and each round has a stroke of its own.
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (12, 4))

#: Size of the plotting area, in pixels.
WIDTH, HEIGHT = 520, 300

#: Mean width of a letter of the legend, and the room that its symbol and gaps take, in pixels.
_LETTER, _SYMBOL = 6.6, 44

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
GROUND, INK, SOFT, LINE = "#ffffff", "#1f2328", "#57606a", "#e6e8eb"


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
        "background": GROUND,
        "font": FONT,
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
            "gridColor": LINE,
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


def config_for(style: ModelStyle) -> dict[str, Any]:
    """Fit the legend to the names; symbolLimit 0 lists every model, where Vega would stop at thirty."""
    config = chart_config()
    config["legend"] |= {"columns": style.columns, "labelLimit": style.label_limit, "symbolLimit": 0}
    return config
