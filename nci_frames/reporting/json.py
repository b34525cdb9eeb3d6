"""A comparison -> a JSON summary for programs, described by docs/report.schema.json."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from nci_frames.base.json_text import json_text
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.order import Order
from nci_frames.questions.ranked import ranked_tables
from nci_frames.questions.where_it_changes import orders
from nci_frames.reporting.content import Content
from nci_frames.schemas import SEGMENT_RANKS

#: Increased if readers of the old format would misread the new one.
SCHEMA_VERSION = 2

_RANKED = ("rank", "gap", "supported", "reason")
_BOUNDED = ("value", "lower", "upper", "rank")
_TEST = ("statistic", "effect", "farthest", "adjusted", "distinguishable", "reason")
_KEYS = {
    "points": ("model", "threshold", "tp", "fp", "fn", "tn", "positives", "negatives", "tpr", "fpr"),
    "pr_auc": ("model", "prevalence", "method", "value", "lower", "upper", *_RANKED),
    "roc_auc": ("model", *_BOUNDED, "gap"),
    "asked": ("model", "prevalence", "threshold", *_BOUNDED, "supported", "reason"),
    "own_over_prevalence": ("model", "prevalence", "threshold", "value", "optimistic", *_RANKED),
    "own_over_beta": ("model", "beta", "threshold", "value", "optimistic", *_RANKED),
    "f_beta_over_prevalence": ("model", "prevalence", "value", *_RANKED),
    "f_beta_over_beta": ("model", "beta", "value", *_RANKED),
    "shifts": ("model", "key", "class", "segments", "rows", *_TEST),
}


def render_json(comparison: Comparison, /, **more: Any) -> str:
    """Return the summary as a string; *more* are fields of ``Content``. Equal arguments give equal text.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> import json
    >>> json.loads(render_json(comparison))["answer"][0]["model"]
    'a'
    """
    content, ranks = Content(comparison, **more), comparison.segment_ranks
    written = {
        "question": dataclasses.asdict(comparison.question),
        "prevalence": comparison.prevalence,
        "beta": comparison.beta,
        "threshold": comparison.threshold,
        "off_scale": comparison.off_scale,
        "observed_prevalence": comparison.observed_prevalence,
        "segment_keys": comparison.segments,
        "models": sorted(comparison.points["model"].unique()),
        "orders": {measure: _order(order) for measure, order in orders(comparison).items()},
        "tables": _tables(comparison),
        # All segments, by the question of the report, the worst first.
        "segments": None if ranks is None else _groups(comparison, ranks, tuple(SEGMENT_RANKS.fixed)),
        "undefined": _groups(comparison, comparison.undefined, ("model", "positives", "negatives", "reason")),
    }
    return _text(content, written)


def render_class_json(comparison: ClassComparison, /, **more: Any) -> str:
    """Return the summary of a comparison of decisions among classes as a string."""
    content = Content(comparison, **more)
    costs = [{"label": a, "decision": b, "cost": cost} for (a, b), cost in (comparison.cost or {}).items()]
    asked = {name: getattr(comparison, name) for name in ("metric", "beta", "scenario")}
    written = {
        "kind": "classes",
        "question": {**asked, "cost": costs},
        "classes": comparison.names.to_list(),
        "mixes": {name: [*mix.values()] for name, mix in comparison.mixes.items()},
        "models": comparison.models,
        "tables": {name: table.to_dicts() for name, table in comparison.tables.items() if name != "curves"},
    }
    return _text(content, written)


def _text(content: Content, own: Mapping[str, Any]) -> str:
    """Return the common fields of all summaries together with *own* fields, as JSON."""
    # The sentences, or the rows, of each question that has any.
    questions = {
        shown.question.name: {
            "title": shown.title,
            "section": shown.question.section,
            "sentences": shown.sentences,
            "rows": shown.table.to_dicts() if shown.sentences is None else None,
        }
        for shown in content.answered
        if not shown.silent
    }
    written = {
        "schema": SCHEMA_VERSION,
        "title": content.title,
        "answer": content.comparison.answer.to_dicts(),
        "questions": questions,
        "facts": [{"label": label, "value": value} for label, value in content.facts],
        **own,
    }
    return json_text(written, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def _order(order: Order) -> dict[str, Any]:
    return {
        "changes": bool(order.overtakings),
        "exact": order.exact,
        "leads": [
            {
                "models": lead.models,
                "from": lead.start,
                "to": lead.end,
                "from_bounds": lead.start_bounds,
                "supported": bool(lead.models),
            }
            for lead in order.leads
        ],
        "overtakings": [
            {"winner": change.winner, "loser": change.loser, "between": [change.before, change.after]}
            for change in order.overtakings
        ],
    }


def _tables(comparison: Comparison) -> dict[str, list[dict[str, Any]] | None]:
    frames: dict[str, pl.DataFrame | None] = {
        "points": comparison.points.sort("model"),
        "roc_auc": comparison.areas.filter(metric="roc_auc"),
        **{table.name: table.rows for table in ranked_tables(comparison)},
        "shifts": comparison.shifts,
    }
    # Only for sums of weights, values are not computed on other rows than the threshold.
    absent = {"optimistic"} - {*comparison.best.columns}
    return {
        name: None
        if frame is None
        else frame.select(key for key in _KEYS[name] if key not in absent).to_dicts()
        for name, frame in frames.items()
    }


def _groups(comparison: Comparison, frame: pl.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return columns of groups; the names of segments are data, so they are separate from the JSON keys."""
    keys = comparison.segments
    return [
        {"segment": {key: row[key] for key in keys}, **{name: row[name] for name in columns}}
        for row in frame.to_dicts()
    ]
