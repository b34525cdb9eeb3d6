"""Charts on disk are read back: as XML, as pixels, as a specification."""

import io
import json
import re
from xml.etree import ElementTree as ET

import altair as alt
import polars as pl
import pytest
from PIL import Image

import nci_frames as nf
from nci_frames.base.files import replacing
from tests.comparisons import MODELS, comparison
from tests.hostile import NAMES

SVG = "{http://www.w3.org/2000/svg}"


def scatter(rows: int = 3, **options: object) -> alt.Chart:
    """Return a chart with a clip and a gradient, which Vega numbers."""
    data = pl.DataFrame({"a": [float(i) for i in range(rows)]})
    chart = alt.Chart(data).mark_point(clip=True).encode(x="a:Q", color="a:Q")
    return chart.properties(width=100, height=50, **options)


def elements(svg: bytes) -> list[ET.Element]:
    return list(ET.fromstring(svg).iter())  # noqa: S314 - written a moment ago


def texts(svg: bytes) -> list[str]:
    return ["".join(node.itertext()) for node in elements(svg) if node.tag == f"{SVG}text"]


@pytest.mark.thorough
def test_an_svg_holds_the_models_and_numbers_its_parts_from_0(tmp_path):
    tables = comparison()
    chart = nf.chart_p3(tables.projection, observed=tables.observed_prevalence)
    path = nf.save_chart(chart, tmp_path / "deep" / "p3.svg")
    assert path == tmp_path / "deep" / "p3.svg"
    assert set(MODELS) <= set(texts(path.read_bytes()))
    first = nf.save_chart(scatter(), tmp_path / "1.svg").read_bytes()
    assert b'id="clip' in first
    assert b'id="gradient_' in first
    references = {
        value.removeprefix("url(#").removesuffix(")")
        for node in elements(first)
        for value in node.attrib.values()
        if value.startswith("url(#")
    }
    ids = {node.get("id") for node in elements(first) if node.get("id")}
    assert references == ids
    assert sorted(re.sub(r"\D", "", name) for name in ids) == ["0", "1"]


@pytest.mark.thorough
def test_a_pdf_has_one_page_of_the_size_of_the_chart(tmp_path):
    content = nf.save_chart(scatter(padding=0), tmp_path / "1.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    (width, height) = map(float, re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content).groups())
    svg = ET.fromstring(nf.save_chart(scatter(padding=0), tmp_path / "1.svg").read_bytes())  # noqa: S314
    assert (width, height) == (float(svg.get("width")), float(svg.get("height")))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["svg", "png", "json"])
def test_equal_charts_give_equal_bytes(tmp_path, kind):
    files = [nf.save_chart(scatter(), tmp_path / f"{i}.{kind}").read_bytes() for i in range(3)]
    assert files[0] == files[1] == files[2]
    assert files[0] != nf.save_chart(scatter(4), tmp_path / f"other.{kind}").read_bytes()


@pytest.mark.thorough
def test_a_png_has_scale_pixels_for_each_unit(tmp_path):
    def size(**options: float) -> tuple[int, int]:
        return Image.open(
            io.BytesIO(nf.save_chart(scatter(), tmp_path / "c.PNG", **options).read_bytes())
        ).size

    one = size(scale=1)
    assert size() == size(scale=2) == (2 * one[0], 2 * one[1])
    assert one[0] > 100


@pytest.mark.thorough
def test_the_json_is_the_specification(tmp_path):
    chart = nf.chart_pr_auc_over_prevalence(comparison().areas)
    text = nf.save_chart(chart, tmp_path / "c.json").read_text()
    assert json.loads(text) == chart.to_dict()
    assert alt.Chart.from_json(text).to_dict() == chart.to_dict()


def test_a_chart_may_have_more_rows_than_a_notebook_takes(tmp_path):
    spec = json.loads(nf.save_chart(scatter(6_000), tmp_path / "c.json").read_text())
    (rows,) = spec["datasets"].values()
    assert len(rows) == 6_000
    with pytest.raises(alt.MaxRowsError):
        scatter(6_000).to_dict()


@pytest.mark.thorough
def test_names_from_the_data_stay_text_in_pictures(tmp_path):
    names = [name for name in NAMES if name.strip()]
    data = pl.DataFrame({"model": names, "place": range(len(names))})
    chart = alt.Chart(data).mark_text(clip=True).encode(y="place:Q", text="model:N", tooltip="model:N")
    svg = nf.save_chart(chart, tmp_path / "c.svg").read_bytes()
    tags = {node.tag.removeprefix(SVG) for node in elements(svg)}
    assert not tags & {"script", "foreignObject", "a", "image"}
    assert {name.strip() for name in names} <= set(texts(svg))


@pytest.mark.thorough
def test_a_picture_without_a_pixel_is_refused(tmp_path):
    with pytest.raises(nf.ParameterError, match="the chart cannot be drawn"):
        nf.save_chart(scatter(), tmp_path / "c.png", scale=1e-9)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_loaded_from_a_network_and_the_older_file_stays(tmp_path):
    (tmp_path / "c.svg").write_text("older")
    (tmp_path / "folder.svg").mkdir()
    remote = alt.Chart("https://x.example/rows.csv").mark_point().encode(x="a:Q")
    with pytest.raises(nf.ParameterError, match="External data url not allowed"):
        nf.save_chart(remote, tmp_path / "c.svg")
    assert (tmp_path / "c.svg").read_text() == "older"
    with pytest.raises(nf.ParameterError, match="the path of a chart must be a file"):
        nf.save_chart(scatter(), tmp_path / "folder.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.svg", "folder.svg"]


def test_a_writer_that_fails_leaves_nothing_behind(tmp_path):
    (tmp_path / "x").write_text("older")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "x") as file:
        file.write_text(str(1 / 0 if file.write_text("half") else ""))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "older")]
