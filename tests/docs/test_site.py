"""The pages of the documentation: each is in the navigation, and their links and headings exist."""

import functools
import inspect
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

import nci_frames as nf
from docs import api, conf, reference
from tests.small_jobs import ended

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md")])
STUB = api.STUB.read_text(encoding="utf-8")
RETURNS = """Return a table.

Returns
-------
A row per model:

======= ======= ============== ============
column  dtype   meaning        null where
======= ======= ============== ============
tpr,    Float64 a rate, in     there is no
fpr             [0, 1]         such row
reason  String  why not        supported
======= ======= ============== ============

Notes
-----
None."""


@functools.cache
def tokens(path: Path) -> list[Token]:
    """Return the tokens of a page, those inside of lines, too."""
    blocks = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    return [token for block in blocks for token in (block, *(block.children or ()))]


def headings(path: Path) -> set[str]:
    """Return the anchors of a page, as GitHub and MyST make them from its headings."""
    found = tokens(path)
    titles = [found[n + 1] for n, token in enumerate(found) if token.type == "heading_open"]
    words = ["".join(t.content for t in title.children or () if t.content) for title in titles]
    return {re.sub(r"[^\w\- ]", "", word.lower()).replace(" ", "-") for word in words}


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page):
    links = [str(token.attrs.get("href") or token.attrs.get("src") or "") for token in tokens(page)]
    html = " ".join(token.content for token in tokens(page) if token.type.startswith("html"))
    links += re.findall(r"(?:src|srcset)=\"([^\"]+)\"", html)
    broken = []
    for link in filter(None, links):
        if link.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        outside = page.parent == DOCS and target.suffix == ".md" and target.parent != DOCS
        if outside or not target.exists() or (anchor and anchor not in headings(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.long
def test_the_command_of_the_first_page_ranks_the_models_of_a_wide_file(tmp_path, monkeypatch):
    page = (DOCS / "start.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\.venv/bin/nci-frames (.*?[^\\])$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    rows = {"outcome": ["fraud", "ok", "ok"], "p_forest": [0.9, 0.1, 0.2], "p_linear": [0.6, 0.7, 0.5]}
    pl.concat([pl.DataFrame(rows)] * 50).with_row_index("id").write_parquet("payments.parquet")
    done = ended(0, *shlex.split(command.replace("\\\n", " ")))
    assert "300 predictions counted; report: report/report.html" in done.output
    assert Path("report/report.html").is_file()


def test_every_page_is_in_the_navigation_once():
    listed = conf.listed_pages((DOCS / "index.md").read_text(encoding="utf-8"))
    pages = [page for part in listed.values() for page in part]
    assert sorted([*pages, "index"]) == sorted(path.stem for path in DOCS.glob("*.md"))
    source = [(DOCS / "index.md").read_text(encoding="utf-8")]
    conf.add_navigation(None, "index", source)
    assert [line for line in source[0].splitlines() if line in pages] == pages
    assert source[0].count(":caption: ") == len(listed)


def test_the_page_of_the_api_leads_to_the_pages_of_the_rooms():
    source = [(DOCS / "api.md").read_text(encoding="utf-8")]
    conf.add_navigation(None, "api", source)
    assert "| {any}`compute_areas <nci_frames.compute_areas>` |" in source[0]
    assert "reference/evaluation.areas" in source[0].splitlines()


def test_every_public_name_is_in_the_reference_once(tmp_path):
    reference.write_pages(tmp_path, STUB)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    (tmp_path / "cellar.rst").touch()
    reference.write_pages(tmp_path, STUB)
    # A page that has not changed is not built again.
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(api.ROOMS)
    text = "\n".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert sorted(re.findall(r"^\.\. auto\w+:: nci_frames\.(\w+)$", text, re.MULTILINE)) == sorted(nf.__all__)
    assert ".. autoexception:: nci_frames.ParameterError" in text
    assert ".. autoclass:: nci_frames.CountsLedger\n   :members:" in text


def test_the_table_of_a_docstring_keeps_its_cells():
    made = reference.with_list_tables(RETURNS.splitlines())
    assert made[:5] == RETURNS.splitlines()[:5]
    assert made[-3:] == ["Notes", "-----", "None."]
    cells = [re.sub(r"^   [* ] -", "", line).strip() for line in made if re.match(r"   [* ] -", line)]
    assert cells == [
        *("column", "dtype", "meaning", "null where"),
        *("tpr, fpr", "Float64", "a rate, in [0, 1]", "there is no such row"),
        *("reason", "String", "why not", "supported"),
    ]


def test_the_tables_of_every_docstring_keep_to_their_columns():
    documented = [(inspect.getdoc(getattr(nf, name)) or "").splitlines() for name in nf.__all__]
    made = [line for lines in documented for line in reference.with_list_tables(lines)]
    assert made.count(".. list-table::") > 40
    assert not any(re.fullmatch("=+( =+)+", line) for line in made)


def test_a_table_that_is_drawn_wrongly_is_an_error():
    table = ["=== ===", "a   b", "=== ===", "much too", "=== ==="]
    with pytest.raises(ValueError, match="this line of a table leaves its column: much too"):
        reference.with_list_tables(table)
    with pytest.raises(ValueError, match="this table has no end"):
        reference.with_list_tables(table[:-1])
