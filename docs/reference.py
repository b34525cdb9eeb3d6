"""The reference of the site: a page for each room, with the full docstring of every public name."""

import importlib
import inspect
import re
from pathlib import Path

import nci_frames as nf
from docs.api import names_by_room, summary


def room_pages(stub: str) -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    return {f"{room}.rst": room_page(room, names) for room, names in names_by_room(stub).items()}


def room_page(room: str, names: list[str]) -> str:
    """Return the page of one room."""
    lines = [room, "=" * len(room), "", summary(importlib.import_module(f"nci_frames.{room}"))]
    for name in names:
        directive = kind(getattr(nf, name))
        members = ["   :members:"] if directive == "autoclass" else []
        lines += ["", f".. {directive}:: nci_frames.{name}", *members]
    return "\n".join(lines) + "\n"


def kind(thing: object) -> str:
    """Return the directive of Sphinx that documents a public name."""
    if not inspect.isclass(thing):
        return "autofunction" if callable(thing) else "autodata"
    return "autoexception" if issubclass(thing, BaseException) else "autoclass"


def write_pages(folder: Path, stub: str) -> None:
    """Write the pages; those that have not changed are left alone, and so are not built again."""
    folder.mkdir(exist_ok=True)
    pages = {folder / name: text for name, text in room_pages(stub).items()}
    for old in set(folder.iterdir()) - set(pages):
        old.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def with_list_tables(lines: list[str]) -> list[str]:
    """Replace each table that is drawn with "=" by a list table, whose cells may go over several lines."""
    made: list[str] = []
    table: list[str] = []
    for line in lines:
        rule = bool(re.fullmatch("=+( =+)+", line))
        if table or rule:
            table.append(line)
            if rule and table.count(line) == 3:
                made += list_table(table)
                table = []
        else:
            made.append(line)
    if table:
        raise ValueError(f"this table has no end: {table[0]}")
    return made


def list_table(lines: list[str]) -> list[str]:
    """Return a table as Sphinx wants it. A name that ends with a comma goes on in the next line."""
    spans = [match.span() for match in re.finditer("=+", lines[0])]
    rows: list[list[str]] = []
    for line in lines[1:]:
        if line == lines[0]:
            continue
        if any(line[end : end + 1].strip() for _, end in spans[:-1]):
            raise ValueError(f"this line of a table leaves its column: {line}")
        ends = [*(end for _, end in spans[:-1]), None]
        cells = [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
        if rows and (not cells[0] or rows[-1][0].endswith(",")):
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    made = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        made += [f"   {'  -' if n else '* -'} {cell}".rstrip() for n, cell in enumerate(row)]
    return ["", *made, ""]
