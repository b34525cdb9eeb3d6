"""A comparison of decisions among classes -> one self-contained HTML page."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.classes import lines_at, mix_in_words, opening_class
from nci_frames.questions.order import leads_in_words
from nci_frames.reporting.content import Content
from nci_frames.reporting.html import render_page
from nci_frames.reporting.live import answers_at, looked_up
from nci_frames.tables.numbers import format_grid

#: Columns of a model that the page looks up.
_SENT = ("model", "rank", "value", "lower", "upper", "distinguishable", "supported")


def render_class_page(comparison: ClassComparison, /, **more: Any) -> str:
    """Return the page as a string; *more* are further fields of ``Content``."""
    content = Content(comparison, **more)
    own, places, names = comparison.shares, comparison.places, [*comparison.leads]
    first, at_mix = names.index(opening_class(comparison)), [places.index(own[name]) for name in names]
    asked = {"label": "Class", "words": names, "first": first}
    measure, models, beta = comparison.measure, comparison.models, comparison.beta
    answers = [answers_at(measure, _along(comparison, name), models, _SENT) for name in names]
    live = looked_up(models, places, at_mix[first], asked=asked, answers=answers, beta=beta, own=at_mix)
    return render_page("classes.html.jinja", content, live, mix=mix_in_words(comparison))


def _along(comparison: ClassComparison, name: str) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """Yield the sentences and the rows of the models at each share of a class."""
    leads, curves = comparison.leads[name], comparison.curves.filter(pl.col("class") == name)
    best, others = leads_in_words(leads), "the others in proportion"
    along = "whatever" if len(leads) == 1 else "along"
    told = f"Best {along} the share of class {name}, {others}: {best}"
    for (share,), part in curves.group_by("share", maintain_order=True):
        rows, where = part, f"Where class {name} has {format_grid(100 * share)} %, {others}"
        if share == comparison.shares[name]:
            rows, where = comparison.answer, f"At {mix_in_words(comparison)}"
        yield lines_at(where, comparison, rows.to_dicts(), told), rows.to_dicts()
