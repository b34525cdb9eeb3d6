"""A comparison -> one Markdown page for code hosts and terminals."""

from collections.abc import Callable
from typing import Any

import polars as pl
from markupsafe import Markup

from nci_frames.questions.comparison import Comparison
from nci_frames.questions.ranked import doubt_of, ranked_tables
from nci_frames.questions.report_question import AnyComparison
from nci_frames.reporting.content import Content
from nci_frames.reporting.templates import NUMBERS, template
from nci_frames.tables.markdown import literal, markdown_table

#: Maximum numbers of columns of a ranked table, and of rows of a table instead of sentences.
_COLUMNS, _ROWS = 6, 50


def render_markdown(comparison: AnyComparison, /, **more: Any) -> str:
    """Return the page as a string; *more* are further fields of ``Content``. Equal arguments give equal text.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> render_markdown(comparison, title="four rows").splitlines()[0]
    '# four rows'
    """
    content, name, own = Content(comparison, **more), "classes.md.jinja", dict[str, Any]()
    if isinstance(comparison, Comparison):
        name, tables = "report.md.jinja", ranked_tables(comparison)
        shown = [(table, table.cells(_COLUMNS)) for table in tables if table.rows.height]
        own = {"tables": shown, "doubt": doubt_of(tables)}
    page = template(name, _finalized, **_FILTERS)
    return page.render(**vars(content), answered=content.answered, rows=_ROWS, **own)


def _finalized(value: object) -> Markup:
    """Escape everything that is not marked as safe, since it may come from the data."""
    return value if isinstance(value, Markup) else _markup(literal(str(value)))


def _trusted(form: Callable[[Any], str]) -> Callable[[Any], Markup]:
    """Mark the result of a number formatter as safe."""
    return lambda number: _markup(form(number))


def _name(value: object) -> Markup:
    """Escape a value from the data; invisible values are put into words."""
    return _markup("*missing*" if value is None else literal(str(value)) or "*empty*")


def _markup(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - escaped for Markdown, or made of a number


def _table(frame: pl.DataFrame) -> Markup:
    return _markup(markdown_table(frame.head(_ROWS)))


_FILTERS: dict[str, Callable[[Any], Markup]] = {
    **{name: _trusted(form) for name, form in NUMBERS.items()},
    "table": _table,
    "name": _name,
}
