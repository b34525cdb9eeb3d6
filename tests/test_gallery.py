"""The gallery shows every chart that there is, and is no stranger to what `make gallery` would write."""

import runpy
from pathlib import Path

import pytest

import nci_frames as nf

DOCS = Path(__file__).parents[1] / "docs"
GALLERY = runpy.run_path(str(DOCS / "gallery.py"))
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
