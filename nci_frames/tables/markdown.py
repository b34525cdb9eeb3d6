"""Frames -> Markdown tables where names are never markup."""

import functools
import re

import polars as pl

from nci_frames.tables.names import printable

_BY_BACKSLASH = "!#*.:@[]^_~"
#: Characters written as references, which are always text: renderers pair backslashes and pipes differently,
#: site generators interpret braces before Markdown, and GitHub reads formulas between dollars.
_BY_REFERENCE = "&<>|\\`{}$"
_ENDS = re.compile("^ +| +$")


def literal(text: str) -> str:
    r"""Escape a name so that Markdown shows it literally, in a cell and within a line.

    >>> literal("random_forest"), literal("<b>|[x](y)")
    ('random\\_forest', '&#60;b&#62;&#124;\\[x\\](y)')
    """
    escaped = "".join(map(_escaped, text))
    # Plain blanks at the ends of a cell would be stripped.
    return _ENDS.sub(lambda blanks: "&#32;" * len(blanks[0]), escaped)


@functools.cache
def _escaped(letter: str) -> str:
    if letter in _BY_BACKSLASH:
        return f"\\{letter}"
    if letter in _BY_REFERENCE or (letter.isspace() and letter != " "):
        return f"&#{ord(letter)};"
    return printable(letter)


def markdown_table(frame: pl.DataFrame) -> str:
    """Format a frame as a table: numbers right-aligned with six digits, null as an empty cell."""
    rules = ["---:" if dtype.is_numeric() else "---" for dtype in frame.dtypes]
    cells = [_cells(column) for column in frame]
    rows = [[literal(name) for name in frame.columns], rules, *zip(*cells, strict=True)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cells(column: pl.Series) -> list[str]:
    if column.dtype.is_float():
        return ["" if value is None else f"{value:.6g}" for value in column]
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        texts = pl.Series(
            [None if value is None else str(value) for value in column.to_list()], dtype=pl.String
        )
    else:
        texts = column.cast(pl.String)
    return ["" if text is None else text if column.dtype.is_numeric() else literal(text) for text in texts]
