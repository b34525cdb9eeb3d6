"""A comparison of decisions among classes -> one HTML page that needs nothing but itself."""

from typing import Any

import polars as pl

from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.classes import (
    lines_at,
    mix_in_words,
    opening_class,
)
from nci_frames.questions.order import leads_in_words
from nci_frames.questions.report_question import shown_models
from nci_frames.reporting.content import Content
from nci_frames.reporting.html import render_page
from nci_frames.tables.names import drawable
from nci_frames.tables.numbers import format_grid, sentence
from nci_frames.tables.packed import packed

#: What the page looks up of a model.
_SENT = ("model", "rank", "value", "lower", "upper", "distinguishable", "supported")


def render_class_page(comparison: ClassComparison, /, **more: Any) -> str:
    """Return the page as text; *more* is other ``Content``."""
    content = Content(comparison, **more)
    live = _looked_up(comparison)
    return render_page(
        "classes.html.jinja",
        content,
        shown_models(comparison),
        live,
        measure=comparison.measure,
        mix=mix_in_words(comparison),
        varied=live["asked"]["words"],
    )


def _looked_up(comparison: ClassComparison) -> dict[str, Any]:
    """Return what the page looks up, in the form of ``live_numbers``: the axis is the share of a class."""
    names = [*comparison.leads]
    own = comparison.shares
    places, models = comparison.places, comparison.models
    first = names.index(opening_class(comparison))
    at_mix = [places.index(own[name]) for name in names]
    return {
        "models": models,
        "drawn": [drawable(model) for model in models],
        "prevalence": places,
        "first": at_mix[first],
        "own": at_mix,
        "asked": {"label": "Class", "words": names, "first": first},
        "answers": [_along(comparison, name) for name in names],
        "threshold": None,
        "beta": comparison.beta if comparison.beta < float("inf") else None,
        "points": [],
    }


def _along(comparison: ClassComparison, name: str) -> dict[str, Any]:
    """Return the answer at each share of a class."""
    number = {model: place for place, model in enumerate(comparison.models)}
    leads, curves = comparison.leads[name], comparison.curves.filter(pl.col("class") == name)
    best, others = leads_in_words(leads), "the others in proportion"
    told = f"Best along the share of class {name}, {others}: {best}"
    if len(leads) == 1:
        told = f"Best whatever the share of class {name}, {others}: {best}"
    lines, sent = [], []
    for place, part in enumerate(curves.partition_by("share", maintain_order=True)):
        share = part["share"][0]
        rows = (comparison.answer if share == comparison.shares[name] else part).to_dicts()
        where = f"Where class {name} has {format_grid(100 * share)} %, {others}"
        if share == comparison.shares[name]:
            where = f"At {mix_in_words(comparison)}"
        lines.append(lines_at(where, comparison, rows, told))
        shown: list[dict[str, Any]] = [{key: row.get(key) for key in _SENT} for row in rows]
        sent += [row | {"at": place, "model": number[row["model"]]} for row in shown]
    return {"name": sentence(comparison.measure), "lines": lines, "models": packed(sent)}
