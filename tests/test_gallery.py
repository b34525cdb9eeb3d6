"""The gallery shows every chart that there is, and is no stranger to what `make gallery` would write."""

import runpy
from pathlib import Path

import pytest

import nci_frames as nf

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = runpy.run_path(str(DOCS / "gallery.py"))["PICTURES"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_there_is_small_and_has_its_line(name):
    line, _ = PICTURES[name]
    assert 2_000 < (DOCS / "gallery" / f"{name}.png").stat().st_size < 60_000
    assert f"![{line}](gallery/{name}.png)" in (DOCS / "gallery.md").read_text(encoding="utf-8").splitlines()


def test_no_other_picture_is_there():
    assert {path.stem for path in (DOCS / "gallery").glob("*.png")} == set(PICTURES)


def test_every_chart_of_the_library_is_shown():
    source = (DOCS / "gallery.py").read_text(encoding="utf-8")
    assert [name for name in nf.__all__ if name.startswith("chart_") and f"nf.{name}(" not in source] == []
