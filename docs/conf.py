"""Settings of Sphinx: `make docs` builds these pages as a site that needs no network.

The table of pages in index.md is the navigation, and the reference has a page for each room of docs/api.py.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from docs.api import PAGE, ROOMS, STUB
from docs.reference import with_list_tables, write_pages

DOCS = PAGE.parent

project = "nci_frames"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = project
html_show_sourcelink = False
html_copy_source = False
# Links to headings are checked, down to this depth; their names are those of the pages on GitHub.
myst_heading_anchors = 4
# "Returns" is text with a table, not a list of types.
napoleon_custom_sections = ["Returns"]
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True


def write_reference(_app: object) -> None:
    """Write the pages of the reference."""
    write_pages(DOCS / "reference", STUB.read_text(encoding="utf-8"))


def adapt_docstring(
    _app: object, _what: str, _name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    """Write a docstring as Sphinx wants it."""
    lines[:] = with_list_tables(lines)


def toctree(caption: str, pages: list[str]) -> str:
    """Return a part of the navigation."""
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def listed_pages(index: str) -> dict[str, list[str]]:
    """Return the pages in the tables of index.md, by heading."""
    parts = re.split(r"^## (.+)$", index, flags=re.MULTILINE)[1:]
    return {
        heading: re.findall(r"^\| \[[^\]]+\]\(([\w-]+)\.md\)", body, flags=re.MULTILINE)
        for heading, body in zip(parts[::2], parts[1::2], strict=True)
    }


def add_navigation(_app: object, page: str, source: list[str]) -> None:
    """Add to index.md the pages that it lists, and to api.md the pages of the rooms and links to them."""
    if page == "index":
        source[0] += "".join(toctree(*part) for part in listed_pages(source[0]).items())
    if page == "api":
        linked = re.sub(r"^\| `(\w+)` \|", r"| {any}`\1 <nci_frames.\1>` |", source[0], flags=re.MULTILINE)
        source[0] = linked + toctree("Rooms", [f"reference/{room}" for room in ROOMS])


def finish(app: Any, failed: Exception | None) -> None:
    """Add the pictures that are named in HTML. No page may load anything from another host."""
    if failed:
        return
    for pictures in ("gallery", "reports"):
        shutil.copytree(DOCS / pictures, Path(app.outdir) / pictures, dirs_exist_ok=True)
    loads = re.compile(r"<(?:script|link|img|source|iframe)\b[^>]*\b(?:src|href|srcset)=[\"']?(?:https?:)?//")
    for path in Path(app.outdir).rglob("*.html"):
        if found := loads.search(path.read_text(encoding="utf-8")):
            raise RuntimeError(f"{path} needs a network: {found[0]}")


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("builder-inited", write_reference)
    # Before Napoleon, which comes with the priority 500.
    app.connect("autodoc-process-docstring", adapt_docstring, priority=400)
    app.connect("source-read", add_navigation)
    app.connect("build-finished", finish)
