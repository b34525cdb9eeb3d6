"""Names that would break a chart or steer a terminal, in pictures and in the terminal."""

import io
import os
import signal
import subprocess
import sys
from xml.etree import ElementTree as ET

import altair as alt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import nci_frames as nf
from nci_frames.files import renderer
from nci_frames.reporting.terminal import print_comparison, print_frame
from nci_frames.tables.names import all_drawable, drawable, drawable_spec, is_drawable
from tests.cases import CHARACTERS
from tests.comparisons import comparison
from tests.hostile import UNDRAWABLE

#: XML 1.0, production 2.
XML = (range(0x9, 0xB), range(0xD, 0xE), range(0x20, 0xD800), range(0xE000, 0xFFFE), range(0x10000, 0x110000))
hostile = st.text(st.sampled_from("\x00\x1b\ufffe\uffff⟨⟩01b27e8\ufffd"), max_size=6) | st.builds(
    "{}{}".format, st.sampled_from(UNDRAWABLE), st.text("⟨⟩\n", max_size=3)
)


@given(st.text(CHARACTERS) | hostile)
def test_what_is_drawn_is_xml_and_no_property_of_every_object(name):
    shown = drawable(name)
    assert all(any(ord(letter) in kind for kind in XML) for letter in shown)
    assert shown not in UNDRAWABLE
    if name.isprintable() and "⟨" not in name:
        assert shown.removesuffix("⟨⟩") == name


@given(st.lists(hostile, unique=True, min_size=2, max_size=30))
def test_different_names_stay_different(names):
    assert len({drawable(name) for name in names}) == len(names)


@given(st.lists(hostile | st.text(CHARACTERS), min_size=1))
def test_a_frame_or_specification_with_such_names_is_found(names):
    kept = all(drawable(name) == name for name in names)
    assert all_drawable(pl.DataFrame({"n": names, "i": range(len(names))})) == kept
    spec = {"data": {"values": [{"n": name} for name in names]}}
    assert is_drawable(drawable_spec(spec))
    assert kept <= is_drawable(spec)


@pytest.mark.long
def test_characters_of_the_whole_first_plane_can_be_drawn(tmp_path):
    """The renderer is asked for all of them at once: it would end at a single bad one.

    Of blocks in which all are letters, every seventh.
    """
    odd = [*range(0x300), *range(0x2000, 0x2100), *range(0xD700, 0xD800), *range(0xF000, 0x10000)]
    letters = [chr(code) for code in [*odd, *range(0x300, 0xD800, 7), *range(0xE000, 0xF000, 7)]]
    names = ["".join(letters[i : i + 1024]) for i in range(0, len(letters), 1024)]
    data = pl.DataFrame({"model": names, "place": range(len(names))})
    chart = alt.Chart(data).mark_text().encode(y="place:Q", text="model:N")
    ET.fromstring(nf.save_chart(chart, tmp_path / "c.svg").read_bytes())  # noqa: S314


@pytest.mark.long
def test_charts_of_such_models_show_every_one(tmp_path):
    models = {name: (0.5 + 0.02 * i, 0.01 * (i + 1)) for i, name in enumerate(UNDRAWABLE)}
    tables = comparison(models, segments=[*UNDRAWABLE[:3], None], prevalence=[0.01, 0.1])
    drawn = {
        "p3": nf.chart_p3(tables.projection),
        "segments": nf.chart_segments(tables.segment_areas, segments="country", metric="pr_auc"),
        "best": nf.chart_probability_best(tables.certainty.filter(metric="pr_auc")),
    }
    for name, chart in drawn.items():
        svg = nf.save_chart(chart, tmp_path / f"{name}.svg").read_text()
        ET.fromstring(svg)  # noqa: S314 - written a moment ago
        for shown in UNDRAWABLE[:3] if name == "segments" else UNDRAWABLE:
            assert f">{drawable(shown)}</text>" in svg, (name, shown)
        assert nf.save_chart(chart, tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_chart_of_usual_names_is_left_alone():
    spec = nf.chart_p3(comparison().projection).to_dict()
    assert drawable_spec(spec) == spec


@pytest.mark.long
def test_a_fault_of_the_renderer_is_an_error_and_the_next_picture_is_drawn():
    spec = {"mark": "point", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
    fault = {**spec, "title": "\x01"}
    before = renderer.draw_picture(spec, "svg")
    with pytest.raises(nf.ParameterError, match=r"cannot be drawn(.|\n)*ended with exit code -6"):
        renderer.draw_picture(fault, "svg")
    assert renderer.draw_picture(spec, "svg") == before
    process = renderer._RENDERER._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert renderer.draw_picture(spec, "svg") == before


@pytest.mark.thorough
def test_the_renderer_ends_with_the_program():
    code = """
import sys
from nci_frames.files import renderer
renderer.draw_picture({"mark": "point", "data": {"values": [{"a": 1}]}}, "svg")
print(renderer._RENDERER._process.pid)
"""
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


@pytest.mark.thorough
def test_no_name_or_title_can_steer_the_terminal():
    evil = "\x1b[2J\x9b31m\x07\u202ex"
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    print_comparison(comparison({evil: (0.5, 0.1)}, segments=[evil], key=evil), console, title=evil)
    print_frame(pl.DataFrame({evil: [evil, None]}), console, title=evil)
    text = console.file.getvalue()
    assert text.count("�[2J�31m��x") >= 6
    assert not {letter for letter in text if not letter.isprintable()} - {"\n"}


@pytest.mark.thorough
def test_a_label_is_never_cut_within_a_letter(tmp_path):
    """Vega has 16 bits for a letter, and cut one of 60 rockets in half."""
    areas = pl.DataFrame({"model": ["\N{ROCKET}" * 60, "a"], "value": [0.5, 0.4]})
    chart = alt.Chart(areas).mark_bar().encode(x="value:Q", y=alt.Y("model:N", axis=alt.Axis(labelLimit=101)))
    text = nf.save_chart(chart, tmp_path / "rockets.svg").read_text(encoding="utf-8")
    assert "⟨1f680⟩" in text
