"""Axes: rates from 0 to 1, logarithmic axes labelled in powers of ten, and marked values.

Scales and axes are dictionaries, since Altair copies its own objects, with all their possible settings, at
every step.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import altair as alt
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import canvas
from nci_frames.charts.parts.theme import NOTE, RULE, WIDTH
from nci_frames.tables.numbers import format_grid, power_of_ten

_AXIS_TITLES = {
    "fpr": "FPR (false-positive rate), log scale",
    "odds": "odds of the prevalence η/(1-η), log scale",
    "prevalence": "prevalence η = P(y = 1), log scale",
    "pos_fraction": "POSfrac: share of rows predicted positive, log scale",
    "beta": "β, log scale (recall weighs more to the right)",
}


def value_axis(field: str, title: str, **scale: Any) -> dict[str, Any]:
    """Return the settings of an axis for values of any size."""
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": {"tickCount": 5}}


def rate_axis(field: str, title: str, form: str = ".1f") -> dict[str, Any]:
    """Return the settings of an axis for rates: from 0 to 1, whatever the values."""
    return value_axis(field, title, domain=[0, 1]) | {"axis": {"tickCount": 5, "format": form}}


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis of a variable, such as "prevalence" or "beta", between two numbers."""

    variable: str
    low: float
    high: float

    @classmethod
    def through(cls, variable: str, places: Iterable[float], *marks: float | None) -> Self:
        """Return an axis that covers all positive places and marks, or a decade around a single value."""
        there = [*places, *filter(None, marks)]
        low, high = min(there), max(there)
        return cls(variable, low, high) if low < high else cls(variable, low / 10, high * 10)

    @property
    def scale(self) -> dict[str, Any]:
        """Scale of all fields along the axis."""
        return {"type": "log", "domain": [self.low, self.high], "nice": False}

    @property
    def labels(self) -> dict[str, Any]:
        """Whole powers of ten; 1, 2 and 5 times each on a short axis."""
        low, high, title = self.low, self.high, _AXIS_TITLES[self.variable]
        if low <= 0:
            msg = "a logarithmic axis has only numbers above 0"
            raise ParameterError(msg, where=title, found=f"{low:g}")
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        powers = {d: 10.0**d for d in decades if low <= 10.0**d <= high}
        if len(powers) >= (3 if self.variable == "prevalence" else 4):
            names = json.dumps({str(d): power_of_ten(d) if d else "1" for d in powers}, ensure_ascii=False)
            expression = f"({names})[round(log(datum.value) / LN10)]"
            return {"title": title, "values": list(powers.values()), "labelExpr": expression}
        steps = [float(f"{m}e{d}") for d in decades for m in (1, 2, 5) if low <= float(f"{m}e{d}") <= high]
        return {"title": title, "values": steps or [low, high], "format": "~g"}

    def x(self, field: str | None = None) -> alt.X:
        """Encode a field, by default that of the variable, by its place on the axis."""
        field = field or self.variable
        return alt.X(field=field, type="quantitative", axis=self.labels, scale=self.scale)

    def at(self, field: str) -> alt.X:
        """Encode another field by its place on the axis, without labels."""
        return alt.X(field=field, type="quantitative", scale=self.scale)

    def y(self, field: str) -> alt.Y:
        """Encode a field by its height on such an axis, without labels."""
        return alt.Y(field=field, type="quantitative", scale=self.scale)

    def pixels(self, value: float) -> float:
        """Return the distance of a value from the left, on a chart of the usual width."""
        return WIDTH * math.log(value / self.low) / math.log(self.high / self.low)

    def part(self, value: float) -> float:
        """Return the part of the axis at which a value lies; the inverse of ``place``."""
        return self.pixels(value) / WIDTH

    def place(self, part: float) -> float:
        """Return the value at a part of the axis: 0 is its beginning, 1 its end."""
        return float(self.low * (self.high / self.low) ** part)

    def apart(self, values: Iterable[float], width: int) -> list[float]:
        """Select from ascending values those whose labels, *width* pixels wide, do not overlap."""
        kept: list[float] = []
        for value in values:
            if not kept or self.pixels(value) - self.pixels(kept[-1]) >= width:
                kept.append(value)
        return kept

    def mark(self, value: float, label: str) -> list[alt.Chart]:
        """Mark a value, with a label above the plot."""
        place = self.part(value)
        align: Any = "left" if place < 0.15 else "right" if place > 0.85 else "center"
        rows = pl.DataFrame({self.variable: [value], "label": [label]})
        base = alt.Chart(rows).encode(x=self.at(self.variable))
        text = base.mark_text(align=align, baseline="bottom", dy=-4, **NOTE)
        said = canvas.layer("rule_label", text, y=alt.YValue(0), text=alt.Text("label:N"))
        return [canvas.layer("rule", base.mark_rule(**RULE)), said]

    def observed(self, prevalence: float | None) -> list[alt.Chart]:
        """Mark the prevalence of the log, on an axis of prevalence or of its odds; 0 is not marked."""
        if not prevalence:
            return []
        place = prevalence / (1 - prevalence) if self.variable == "odds" else prevalence
        return self.mark(place, f"observed {format_grid(prevalence)}")
