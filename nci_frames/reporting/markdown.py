"""A comparison -> one Markdown page, to be read on a code host or in a terminal."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import jinja2
from markupsafe import Markup

from nci_frames.questions.comparison import Comparison
from nci_frames.questions.ranked_tables import doubt_of
from nci_frames.questions.spread import fold_spread
from nci_frames.questions.summary import TITLE, Role, segment_areas, summarise
from nci_frames.questions.verdicts import read_assumption, read_independence
from nci_frames.questions.worst_segments import worst_segments
from nci_frames.reporting.gates import RunSummary
from nci_frames.tables.markdown import literal
from nci_frames.tables.numbers import (
    format_count,
    format_grid,
    format_group,
    format_percent,
    format_threshold,
    format_value,
)

__all__ = ["render_markdown"]

#: Maximum number of segments on the page, and of models of each; the frames contain all.
_SEGMENTS, _MODELS, _OVERTAKINGS, _COLUMNS = 24, 5, 12, 6

_ROLES: Mapping[Role, str] = MappingProxyType(
    {"lowest": "lowest", "observed": "nearest to the log's", "middle": "middle", "highest": "highest"}
)


def render_markdown(
    comparison: Comparison,
    /,
    *,
    title: str = TITLE,
    facts: Sequence[tuple[str, str]] = (),
    gates: RunSummary | None = None,
) -> str:
    """Return the page as text; *gates* are those of the job that made it. Equal arguments give equal text.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> render_markdown(comparison, title="four rows").splitlines()[0]
    '# four rows'
    """
    summary = summarise(comparison)
    return _template().render(
        title=title,
        comparison=comparison,
        summary=summary,
        segments=segment_areas(comparison),
        gates=gates,
        roles=_ROLES,
        models=sorted(comparison.points["model"].unique()),
        tables=[(table, table.cells(_COLUMNS)) for table in summary.tables if table.rows.height],
        doubt=doubt_of(summary.tables),
        spread=fold_spread(comparison),
        points=comparison.points.sort("model").to_dicts(),
        undefined=comparison.undefined.to_dicts(),
        assumption=read_assumption(comparison.shifts),
        independence=read_independence(
            comparison.buckets,
            weighted=comparison.weighted,
            repeats=comparison.repeats,
            unit_rows=comparison.unit_rows,
        ),
        facts=[(str(label), str(value)) for label, value in facts],
        shown_overtakings=_OVERTAKINGS,
        shown_segments=_SEGMENTS,
        shown_models=_MODELS,
        worst=worst_segments(comparison),
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nci_frames.reporting", package_path=""),
        # What is not Markup already is text from the data, or might be.
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else _markup(literal(str(value))),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "grid": _trusted(format_grid),
        "group": _trusted(format_group),
        "value": _trusted(format_value),
        "count": _trusted(format_count),
        "percent": _trusted(format_percent),
        "threshold": _trusted(format_threshold),
        "name": _name,
    }
    return environment.get_template("report.md.jinja")


def _trusted(form: Callable[[Any], str]) -> Callable[[Any], Markup]:
    """Say that what a function makes of a number is no markup."""
    return lambda number: _markup(form(number))


def _name(value: object) -> Markup:
    """Write a value from the data; one that could not be seen is put into words."""
    return _markup("*missing*" if value is None else literal(str(value)) or "*empty*")


def _markup(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - escaped for Markdown, or made of a number
