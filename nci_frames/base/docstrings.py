"""Parts that many docstrings share, each written once.

A docstring names a part as ``%(models)s`` on a separate line, and ``documented`` puts the text there, so that
``help()`` shows it whole. The decorators ``@checked`` and that of metrics call it.
"""

import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

PARTS = {
    "models": "All models of the comparison, if the frame holds only some of them: "
    "each model keeps its colour.",
    "observed": "The prevalence of the log, marked by a vertical line.",
    "open_prevalence": "P(y=1) in [0, 1], or an expression; by default the column ``prevalence``.",
    "outside_prevalence": "If the prevalence is outside [0, 1].",
    "of_both_rates": "Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where either is.",
    "of_all_rows": "Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where either is, unless no "
    "row is of its class.",
    "thinning": "More than 5,000 points are thinned to an error of half a pixel; if that is not enough, "
    "of 1, 2 or 4 pixels, which the subtitle then states.",
}

_PART = re.compile(r"^( *)%\((\w+)\)s$", re.MULTILINE)
#: As wide as the lines of the code.
_WIDTH = 110


def documented(function: F) -> F:
    """Fill the parts into the docstring of *function*.

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
        If there is no such part.
    """
    if function.__doc__:  # None where Python runs with -OO
        function.__doc__ = _PART.sub(_filled, function.__doc__)
    return function


def _filled(match: re.Match[str]) -> str:
    indent, part = match.groups()
    return textwrap.fill(PARTS[part], _WIDTH, initial_indent=indent, subsequent_indent=indent)
