"""Shared parts of docstrings, and tables of columns.

A docstring refers to a part as ``%(models)s`` on a separate line, and ``documented`` inserts its text, which
``help()`` then shows. ``%(columns of winners)s`` inserts the table of that frame, from its schema, and
``%(columns of winners: start, end)s`` two rows of it. The decorators ``@checked`` and ``@metric`` call
``documented``.
"""

import re
import textwrap
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

PARTS = {
    "models": "All models of the comparison, if the frame holds only some of them: "
    "each model keeps its colour.",
    "observed": "Prevalence of the log, marked by a vertical line.",
    "open_prevalence": "P(y=1) in [0, 1], or an expression; by default the column ``prevalence``.",
    "outside_prevalence": "If the prevalence is outside [0, 1].",
    "of_both_rates": "Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null if either is null.",
    "of_all_rows": "Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null if either is null, unless "
    "its class has no rows at the prevalence.",
    "thinning": "More than 5,000 points are thinned to an error of half a pixel; if that is not enough, "
    "of 1, 2 or 4 pixels, which the subtitle then states.",
}

#: The columns of each kind of frame: name, type, meaning, and meaning of null.
COLUMNS: dict[str, list[tuple[str, str, str, str]]] = {}
_HEAD = ("column", "dtype", "meaning", "null where")

_PART = re.compile(r"^( *)%\((columns of )?([\w -]+)(?:: ([\w, ]+))?\)s$", re.MULTILINE)
#: Line length of the code.
_WIDTH = 110


def documented(function: F) -> F:
    """Insert the parts into the docstring of *function*.

    >>> @documented
    ... def chart(models):
    ...     '''Draw.
    ...
    ...     models
    ...         %(models)s
    ...     '''
    >>> "each model keeps its colour" in chart.__doc__
    True

    Raises
    ------
    KeyError
        If a part does not exist.
    """
    if function.__doc__:  # None under python -OO
        function.__doc__ = _PART.sub(_filled, function.__doc__)
    return function


def _filled(match: re.Match[str]) -> str:
    indent, columns, part, some = match.groups()
    if columns:
        rows = [row for row in COLUMNS[part] if some is None or row[0] in some.split(", ")]
        return textwrap.indent("\n".join(_table(rows, _WIDTH - len(indent))), indent)
    return textwrap.fill(PARTS[part], _WIDTH, initial_indent=indent, subsequent_indent=indent)


def _table(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Write a simple table in reStructuredText; the last two columns share the remaining width."""
    rows = [_HEAD, *rows]
    name, dtype, _, null = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    # Two types stand below each other.
    dtype = min(dtype, len("List(String)"))
    left = width - name - dtype - 3
    null = min(null, left // 3)
    widths = (name, dtype, left - null, null)
    rule = " ".join("=" * each for each in widths)
    drawn = []
    for row in rows:
        cells = [textwrap.wrap(cell, each) for cell, each in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            padded = (cell.ljust(each) for cell, each in zip(line, widths, strict=True))
            drawn.append(" ".join(padded).rstrip())
    return [rule, drawn[0], rule, *drawn[1:], rule]
