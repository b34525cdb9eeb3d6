"""Shared parts of docstrings: each is used, and none is left unfilled in what ``help()`` shows."""

import inspect
import re
from pathlib import Path

import pytest

import nci_frames as nf
from nci_frames.base.docstrings import PARTS, documented
from nci_frames.schemas import RANKING

PACKAGE = Path(nf.__file__).parent


@pytest.mark.thorough
def test_every_part_is_shared_and_not_written_again():
    sources = "\n".join(p.read_text() for p in PACKAGE.rglob("*.py") if p.name != "docstrings.py")
    words = re.sub(r"\s+", " ", sources)
    for name, part in PARTS.items():
        assert sources.count(f"%({name})s") >= 2, f"{name} is not shared: write it where it is used"
        assert part not in words, f"write %({name})s instead"


def test_help_shows_the_parts():
    for name in nf.__all__:
        assert "%(" not in (inspect.getdoc(getattr(nf, name)) or ""), name


def test_help_shows_the_columns_of_a_frame():
    shown = inspect.getdoc(nf.rank_models) or ""
    assert "%(columns of ranking: rank, gap)s" in (PACKAGE / "evaluation/projection/ranking.py").read_text()
    table = next(part for part in shown.split("\n\n") if part.startswith("====")).splitlines()
    assert table[1].split() == ["column", "dtype", "meaning", "null", "where"]
    assert [line.split()[:2] for line in table if line.startswith(("rank", "gap"))] == [
        *(["rank", "Int64"], ["gap", "Float64"])
    ]
    rank, gap = (column for column in RANKING.columns if column.name in ("rank", "gap"))
    words = " ".join(" ".join(table).split())
    assert rank.meaning in words
    assert gap.null in words


def test_a_part_keeps_the_indentation_and_the_width():
    def chart() -> None:
        """Draw.

        Returns
        -------
        Chart
            %(thinning)s
        """

    lines = (documented(chart).__doc__ or "").splitlines()
    (named,) = (line for line in lines if line.endswith("Chart"))  # Python 3.13 takes the indentation away
    filled = [line for line in lines if "pixel" in line]
    assert len(filled) >= 2
    assert all(line.startswith(named.replace("Chart", " " * 4)) and len(line) <= 110 for line in filled)


def test_an_unknown_part_is_an_error():
    def chart() -> None:
        """%(modles)s"""

    with pytest.raises(KeyError, match="modles"):
        documented(chart)
