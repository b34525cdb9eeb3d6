"""Colours on white and on the dark ground: seen, told apart, each model its own; names stay data."""

import inspect
import itertools
import json
import re

import altair as alt
import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.charts.parts.theme import DARK, GROUND, INK, PALETTE, PARTS, SOFT, chart_config, dark_spec
from tests.charts.drawn import FILE, MODELS, draw_all
from tests.comparisons import comparison

GROUNDS = {"light": (GROUND, lambda c: c), "dark": (DARK[GROUND], lambda c: DARK.get(c, c))}
#: Machado, Oliveira, Fernandes (2009), severity 1, doi:10.1109/TVCG.2009.113; on linear RGB.
EYES = {
    "all": [1, 0, 0, 0, 1, 0, 0, 0, 1],
    "no red cones": [
        *(0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998)
    ],
    "no green cones": [
        *(0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881)
    ],
    "no blue cones": [
        *(1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900)
    ],
}


def linear(colour):
    part = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Of WCAG 2.2: from 1 to 21."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(xyz / [0.9505, 1, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize(("colours", "least"), [((*PALETTE, *PARTS), 3), ((INK, SOFT), 4.5)])
def test_marks_are_seen_and_text_is_read_on_their_ground(ground, colours, least):
    below, shade = GROUNDS[ground]
    assert {colour for colour in colours if contrast(shade(colour), below) < least} == set()


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("eyes", EYES)
def test_models_are_told_apart_by_all_eyes(ground, eyes):
    _, shade = GROUNDS[ground]
    seen = [lab(np.clip(np.reshape(EYES[eyes], (3, 3)) @ linear(shade(c)), 0, 1)) for c in PALETTE]
    # A distance of 2.3 is just seen side by side.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 14


def test_dark_colours_are_as_many_and_are_exchanged_once():
    assert len(set(DARK.values())) == len(DARK)
    assert not set(DARK) & set(DARK.values())


OF_METRICS = ("decomposition", "class_matrix")
OF_MODELS = tuple(name for name in json.loads(FILE.read_text(encoding="utf-8")) if name not in OF_METRICS)


def test_every_chart_is_drawn_in_the_dark():
    source = inspect.getsource(draw_all)
    assert [name for name in nf.__all__ if name.startswith("chart_") and f"nf.{name}(" not in source] == []


def colours_of(node):
    """The colours outside the data."""
    if isinstance(node, dict):
        return {c for k, v in node.items() if k not in ("data", "datasets", "domain") for c in colours_of(v)}
    if isinstance(node, list):
        return {c for part in node for c in colours_of(part)}
    return {node} if isinstance(node, str) and re.fullmatch("#[0-9a-fA-F]{6}|white|black", node) else set()


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*OF_MODELS, *OF_METRICS])
def test_every_colour_is_exchanged(name):
    chart = draw_all()[name]
    dark = nf.dark_chart(chart)
    assert type(dark) is type(chart)
    before, after = chart.to_dict(validate=False), dark.to_dict()
    assert colours_of(before) <= {*DARK, *PARTS}
    assert colours_of(after) == {DARK.get(c, c) for c in colours_of(before)}
    assert after["datasets"] == before["datasets"]
    assert after["config"]["background"] == DARK[GROUND]
    # Nothing but colours has changed, and the chart that was given has not.
    back = {dark: light for light, dark in DARK.items()}
    text = json.dumps(after)
    for shade, light in back.items():
        text = text.replace(f'"{shade}"', f'"{light}"')
    assert json.loads(text) == before == chart.to_dict(validate=False)


@pytest.mark.thorough
def test_models_called_like_colours_keep_their_names():
    names = [GROUND, INK, PALETTE[0]]
    tables = comparison({name: (0.5, 0.01 * (i + 1)) for i, name in enumerate(names)})
    dark = nf.dark_chart(nf.chart_p3(tables.projection)).to_dict()
    (rows,) = dark["datasets"].values()
    assert {row["model"] for row in rows} == set(names)
    scale = dark["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == sorted(names)
    assert scale["range"] == [DARK[c] for c in PALETTE[:3]]


def test_charts_of_ones_own_can_be_dark():
    rows = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    chart = alt.Chart(rows).mark_line(color=INK).encode(x="x:Q", y="y:Q").configure(**chart_config())
    dark = nf.dark_chart(chart).to_dict()
    assert dark["mark"]["color"] == DARK[INK]
    assert dark_spec({"a": ["x", {"b": SOFT}], "domain": [SOFT], "n": 1}) == {
        "a": ["x", {"b": DARK[SOFT]}],
        "domain": [SOFT],
        "n": 1,
    }


def test_every_chart_of_models_takes_the_models_of_the_comparison():
    charts = {name for name in nf.__all__ if name.startswith("chart_")} - {f"chart_{n}" for n in OF_METRICS}
    assert [n for n in sorted(charts) if "models" not in inspect.signature(getattr(nf, n)).parameters] == []


def colour_scales(node):
    if isinstance(node, dict):
        colour = node.get("color")
        mine = [colour["scale"]] if isinstance(colour, dict) and "range" in colour.get("scale", {}) else []
        return [*mine, *(scale for part in node.values() for scale in colour_scales(part))]
    return [scale for part in node for scale in colour_scales(part)] if isinstance(node, list) else []


@pytest.mark.thorough
@pytest.mark.parametrize("name", OF_MODELS)
def test_a_model_has_one_colour_whatever_else_is_drawn(name):
    order = ("0 first", *MODELS)
    scales = colour_scales(draw_all(MODELS, order)[name].to_dict(validate=False))
    assert scales
    for scale in scales:
        assert set(scale["domain"]) <= set(MODELS)  # what is not drawn is not in the legend
        assert scale["range"] == [PALETTE[order.index(model)] for model in scale["domain"]]
