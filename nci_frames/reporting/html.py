"""A comparison -> one self-contained HTML page: no network, no server, no other file."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import polars as pl
from altair.utils.schemapi import debug_mode

from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts.theme import DARK, DASHES, WIDTH, ModelStyle
from nci_frames.questions import segment_lines
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.classes import lines_at, mix_in_words, opening_class, order_along
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.ranked import doubt_of, ranked_tables
from nci_frames.questions.report import Answered
from nci_frames.questions.report_question import AnyComparison, shown_models
from nci_frames.questions.segments import segment_numbers
from nci_frames.reporting.bundle import vega_bundle
from nci_frames.reporting.content import Content
from nci_frames.reporting.live import answers_at, live_numbers, looked_up
from nci_frames.reporting.templates import NUMBERS, own, template
from nci_frames.tables import numbers
from nci_frames.tables.packed import packed

#: Maximum number of rows of a list on the page; the frames contain all.
_SHIFTS_SHOWN, _ROWS = 20, 100
#: Maximum number of columns of a ranked table.
_COLUMNS = 6

_SCRIPTS = (
    "numbers.js", "rows.js", "values.js", "tables.js", "legend.js", "charts.js", "live_charts.js",
    "ranking.js", "answer.js", "controls.js", "panels.js", "segments.js", "downloads.js", "start.js",
)  # fmt: skip
#: Maximum height of charts; charts lower than the second number get a row of their own.
_HIGH, _LOW = 300, 150
_TENS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1)
#: Columns of a model that the page of several classes looks up.
_OF_CLASSES = ("model", "rank", "value", "lower", "upper", "distinguishable", "supported")


def render_report(comparison: Comparison, /, **more: Any) -> str:
    """Return the page as a string; *more* are further fields of ``Content``."""
    content = Content(comparison, **more)
    segments, tables = segment_numbers(comparison), ranked_tables(comparison)
    offered, first = _offered(comparison, content.scenarios or {})
    return render_page(
        "report.html.jinja",
        content,
        live_numbers(comparison, [first, *(eta for _, eta in offered)], content.questions),
        offered=offered,
        tables=[(table, table.cells(_COLUMNS)) for table in tables if table.rows.height],
        doubt=doubt_of(tables),
        segments=None if segments is None else _script_json(segments),
        segment_lines=segment_lines,
        shifts=_largest_shifts(comparison.shifts),
    )


def render_class_page(comparison: ClassComparison, /, **more: Any) -> str:
    """Return the page as a string; *more* are further fields of ``Content``."""
    content = Content(comparison, **more)
    own, places, names = comparison.shares, comparison.places, comparison.moved
    first, at_mix = names.index(opening_class(comparison)), [places.index(own[name]) for name in names]
    asked = {"label": "Class", "words": names, "first": first}
    measure, models, beta = comparison.measure, comparison.models, comparison.beta
    answers = [answers_at(measure, _along(comparison, name), models, _OF_CLASSES) for name in names]
    place = {"prevalence": places, "first": at_mix[first], "own": at_mix}
    live = looked_up(models, **place, asked=asked, answers=answers, beta=beta)
    return render_page("classes.html.jinja", content, live, mix=mix_in_words(comparison))


def _along(comparison: ClassComparison, name: str) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """Yield the sentences and the rows of the models at each share of a class."""
    curves, told = comparison.curves.filter(pl.col("class") == name), order_along(comparison, name)
    for (share,), part in curves.group_by("share", maintain_order=True):
        at = f"{numbers.format_grid(100 * share)} %"
        rows, where = part, f"Where class {name} has {at}, the others in proportion"
        if share == comparison.shares[name]:
            rows, where = comparison.answer, f"At {mix_in_words(comparison)}"
        yield lines_at(where, comparison, rows.to_dicts(), told), rows.to_dicts()


def render_page(name: str, content: Content, live: Mapping[str, Any], **more: Any) -> str:
    """Fill a template with the fields of *content*, its questions, charts and scripts, and their data."""
    scripts = [vega_bundle(), *map(own, _SCRIPTS)]
    shown = content.answered
    return template(name, cell=numbers.format_cell, **NUMBERS).render(
        **vars(content),
        policy=_policy(scripts),
        css=own("report.css"),
        scripts=scripts,
        legend=_legend(shown_models(content.comparison)),
        shown=shown,
        figures_of=_folded(shown, content.comparison),
        rows=_ROWS,
        live=_script_json(live),
        dark=_script_json(DARK),
        **more,
    )


def _offered(comparison: Comparison, scenarios: Mapping[str, float]) -> tuple[list[tuple[str, float]], float]:
    """Return the named prevalences of the page, and the prevalence at which it opens.

    These are the scenarios, powers of ten and the prevalence of the log, if the page covers them. It opens at
    the prevalence of the question, at the first scenario that the log supports, or at that of the log.
    """
    low, high = comparison.prevalence_range
    own = [] if comparison.observed_prevalence is None else [("observed", comparison.observed_prevalence)]
    tens = [(numbers.format_one_in(eta), eta) for eta in _TENS]
    asked, more = (
        [(name, eta) for name, eta in named if low <= eta <= high]
        for named in (scenarios.items(), [*tens, *own])
    )
    first = comparison.asked_prevalence
    if asked and comparison.question.prevalence is None:
        answers = comparison.answers(sorted({eta for _, eta in asked}), tested=False)
        told = {answer.prevalence for answer in answers if answer.models["supported"][0]}
        first = next((eta for _, eta in asked if eta in told), asked[0][1])
    return [*asked, *more], first


def _legend(models: Sequence[str]) -> list[dict[str, str]]:
    """Return the name, colour and stroke of each model in the charts."""
    style = ModelStyle(models, among=models)
    return [
        {"name": name, "colour": colour, "dash": "" if dash == DASHES[0] else " ".join(map(str, dash))}
        for name, colour, dash in zip(style.models, style.colours, style.dashes, strict=True)
    ]


def _figure(found: Answered, comparison: AnyComparison) -> dict[str, Any]:
    """Return the chart of a question as safe JSON, with its texts; empty without a chart."""
    question = found.question
    try:
        # Skip validation against Vega-Lite's schema, which takes longer than drawing; tests do it.
        with debug_mode(False):
            chart = question.chart(found.table, comparison)
            spec = None if chart is None else chart.to_dict(validate=False)
    except ParameterError as error:
        # No value, or too many models: the tables still show the values.
        return {"missing": error.what, "wide": False}
    if spec is None:
        return {}
    spec["datasets"] = {name: packed(rows) for name, rows in spec.get("datasets", {}).items()}
    heading = spec.pop("title", {})
    panels = "layer" not in spec and "mark" not in spec
    height = spec.get("height", _HIGH)
    # The height of a list of segments depends on its rows; a few bars need a long axis and little height.
    wide = panels or "chosen" in question.live or height < _LOW
    # Charts with their own shape keep it.
    if not panels and spec.get("width", WIDTH) == WIDTH:
        spec["width"] = "container"
        # Two charts in a row have the same height.
        spec["height"] = height if wide else _HIGH
    return {
        "missing": None,
        "subtitle": heading.get("subtitle", "") if isinstance(heading, dict) else "",
        "description": spec.get("description", ""),
        "spec": _script_json(spec),
        "wide": wide,
    }


def _folded(
    shown: Sequence[Answered], comparison: AnyComparison
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the figures of each section by the heading they are folded under, open ones first."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for each in shown:
        figure = _figure(each, comparison) if each.question.draw is not None else {}
        if figure:
            section = found.setdefault(each.question.section, {"": []})
            section.setdefault(each.question.under, []).append({**figure, "of": each})
    return {
        section: {under: _filled(group) for under, group in groups.items() if group}
        for section, groups in found.items()
    }


def _filled(figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Widen a figure that would be alone in a row of two."""
    filled: list[dict[str, Any]] = []
    for _, group in groupby(figures, lambda figure: figure["wide"]):
        row = list(group)
        if len(row) % 2 == 1:
            row[-1] = {**row[-1], "wide": True}
        filled += row
    return filled


def _largest_shifts(shifts: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Return the largest differences between segments, in descending order."""
    if shifts is None:
        return []
    differing = shifts.filter("distinguishable").sort(-pl.col("effect"), "model", "key", "class")
    return differing.head(_SHIFTS_SHOWN).to_dicts()


def _policy(scripts: Sequence[str]) -> str:
    """Return a content security policy that allows only the scripts of this page, by their hashes."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script_json(spec: Mapping[str, Any]) -> str:
    """Return JSON that cannot close the script element around it."""
    text = json.dumps(spec, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})
