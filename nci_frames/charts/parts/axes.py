"""Axes: rates from 0 to 1, logarithmic axes labelled in powers of ten, and values marked on them.

Scales and axes are dictionaries: Altair copies its own objects, each with all settings that it might have, at
every step.
"""

import json
import math
from collections.abc import Iterable
from typing import Any

import altair as alt
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts.theme import SOFT

__all__ = ["log_axis", "log_range", "log_scale", "log_x", "observed_rule", "rate_axis", "vertical_rule"]

_AXIS_TITLES = {
    "fpr": "FPR (false-positive rate), log scale",
    "ratio": "negatives per positive, log scale",
    "odds": "odds of the prevalence η/(1-η), log scale",
    "prevalence": "prevalence η = P(y = 1), log scale",
    "pos_fraction": "POSfrac: share of rows predicted positive, log scale",
    "beta": "β, log scale (recall weighs more to the right)",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rate_axis(field: str, title: str) -> dict[str, Any]:
    """Return the settings of an axis for rates: from 0 to 1, whatever the values."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, 1]},
        "axis": {"tickCount": 5, "format": ".1f"},
    }


def log_range(places: Iterable[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis; a single value gets a decade on either side."""
    there = list(places)
    low, high = min(there), max(there)
    return (low, high) if low < high else (low / 10, high * 10)


def log_x(field: str, name: str, low: float, high: float) -> alt.X:
    """Encode a field by its position on the logarithmic axis of *name*."""
    axis, scale = log_axis(name, low, high), log_scale(low, high)
    return alt.X(field=field, type="quantitative", axis=axis, scale=scale)


def log_scale(low: float, high: float) -> dict[str, Any]:
    """Return a logarithmic scale between two numbers."""
    return {"type": "log", "domain": [low, high], "nice": False}


def log_axis(x: str, low: float, high: float) -> dict[str, Any]:
    """Label whole powers of ten; a short axis gets 1, 2 and 5 times each instead."""
    if low <= 0:
        msg = "a logarithmic axis has only numbers above 0"
        raise ParameterError(msg, where=_AXIS_TITLES[x], found=f"{low:g}")
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    powers = {d: 10.0**d for d in decades if low <= 10.0**d <= high}
    if len(powers) >= (3 if x == "prevalence" else 4):
        names = {str(d): "1" if d == 0 else f"10{str(d).translate(_SUPERSCRIPTS)}" for d in powers}
        expression = f"({json.dumps(names, ensure_ascii=False)})[round(log(datum.value) / LN10)]"
        return {"title": _AXIS_TITLES[x], "values": list(powers.values()), "labelExpr": expression}
    steps = [float(f"{m}e{d}") for d in decades for m in (1, 2, 5) if low <= float(f"{m}e{d}") <= high]
    return {"title": _AXIS_TITLES[x], "values": steps or [low, high], "format": "~g"}


def observed_rule(observed: float | None, x: str, low: float, high: float) -> list[alt.Chart]:
    """Mark the prevalence of the log on a logarithmic axis of prevalence or of its odds; 0 is not marked."""
    if not observed:
        return []
    place = observed / (1 - observed) if x == "odds" else observed
    return vertical_rule(place, x, low, high, f"observed {observed:.3g}")


def vertical_rule(mark: float, x: str, low: float, high: float, label: str) -> list[alt.Chart]:
    """Mark one value of the axis, with a label above the plot, clear of all lines."""
    place = math.log(mark / low) / math.log(high / low)
    align: Any = "left" if place < 0.15 else "right" if place > 0.85 else "center"
    base = alt.Chart(pl.DataFrame({x: [mark], "label": [label]})).encode(
        x=alt.X(field=x, type="quantitative", scale=log_scale(low, high))
    )
    return [
        base.mark_rule(color=SOFT, strokeDash=[4, 3], strokeWidth=1.25).properties(name="rule"),
        base.mark_text(align=align, baseline="bottom", dy=-4, color=SOFT, fontSize=11)
        .encode(y=alt.YValue(0), text=alt.Text(field="label", type="nominal"))
        .properties(name="rule_label"),
    ]
