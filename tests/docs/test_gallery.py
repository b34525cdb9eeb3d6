"""The gallery shows every chart that there is, and its pages are those that `make gallery` writes."""

import runpy
from pathlib import Path

import polars as pl
import pytest

import nci_frames as nf

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = runpy.run_path(str(DOCS / "gallery.py"))
REPORTS = runpy.run_path(str(DOCS / "reports.py"))
PICTURES, picture_lines = GALLERY["PICTURES"], GALLERY["picture_lines"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_there_is_small_and_has_its_line(name):
    line, _ = PICTURES[name]
    for stem in (name, f"{name}-dark"):
        assert 2_000 < (DOCS / "gallery" / f"{stem}.png").stat().st_size < 30_000
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert "\n".join(picture_lines(name, line)) in page
    assert page.count(f"{name}-dark.png") == page.count(f'"gallery/{name}.png"') == 1


def test_no_other_picture_is_there():
    stems = {stem for name in PICTURES for stem in (name, f"{name}-dark")}
    assert {path.stem for path in (DOCS / "gallery").glob("*.png")} == stems


def test_every_chart_of_the_library_is_shown():
    source = (DOCS / "gallery.py").read_text(encoding="utf-8")
    assert [name for name in nf.__all__ if name.startswith("chart_") and f"nf.{name}(" not in source] == []


def test_every_report_of_the_gallery_has_its_commands_and_a_picture():
    assert (DOCS / "reports.md").read_text(encoding="utf-8") == "\n".join(REPORTS["page_lines"]())
    sizes = {path.stem: path.stat().st_size for path in (DOCS / "reports").glob("*.png")}
    assert set(sizes) == set(REPORTS["REPORTS"])
    assert min(sizes.values()) > 10_000
    assert sum(sizes.values()) < 1_400_000


def test_the_report_lists_every_combination_of_models_and_segments():
    table = (DOCS / "report.md").read_text(encoding="utf-8").partition("<!-- pages: begin -->\n")[2]
    head, _, *rows = table.partition("<!-- pages: end -->")[0].strip().splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")]
    cells = [dict(zip(names, (c.strip() for c in row.strip("|").split("|")), strict=True)) for row in rows]
    assert [(cell["models"], cell["segments"]) for cell in cells] == [
        (models, segments) for models in ("2", "10", "92") for segments in ("0", "3", "120", "2,000")
    ]
    assert max(float(cell["page"].removesuffix(" MB")) for cell in cells) <= 4


@pytest.mark.thorough
def test_the_logs_of_the_gallery_have_the_models_and_segments_that_it_names(tmp_path):
    REPORTS["write_logs"](tmp_path)
    models = pl.scan_parquet(tmp_path / "models.parquet").select(pl.col("model").n_unique(), pl.len())
    assert models.collect().row(0) == (92, 92 * 20_000)
    shops = pl.scan_parquet(tmp_path / "shops.parquet").select(pl.col("shop").n_unique())
    assert shops.collect().item() == 120
