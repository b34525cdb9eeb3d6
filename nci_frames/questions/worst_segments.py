"""Segments in their order -> those that a page shows, and a sentence on all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from nci_frames.base.messages import quantity
from nci_frames.evaluation.metrics import better_sign, called_metric, title_of
from nci_frames.evaluation.support.reasons import in_brief, why_doubtful
from nci_frames.questions.comparison import Comparison
from nci_frames.tables.numbers import format_threshold, format_value

#: More segments are not read; the table of the comparison has all.
_SHOWN = 12
#: Segments that an answer names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class WorstSegments:
    """What a page says of the segments in which the best model is worse than in the rest."""

    #: What the metric is called.
    name: str

    model: str | None
    #: The first rows of ``rank_segments``, those with numbers.
    rows: tuple[Mapping[str, Any], ...]
    sentence: str
    #: Why some segments do not support their value, in a few words; None if all of them do.
    doubt: str | None


def metric_name(comparison: Comparison, /) -> str:
    """Return what the metric is called by which segments are judged."""
    called = called_metric(comparison.segment_metric)
    return f"F{comparison.main_beta:g}" if called.metric.name == "f_beta" else title_of(called.metric.name)


def is_worse(comparison: Comparison, /) -> pl.Expr:
    """Return whether what a difference owes to the model makes a segment worse: a higher cost is worse."""
    return pl.col("due_to_rates") * better_sign(called_metric(comparison.segment_metric).metric) < 0


def worst_segments(comparison: Comparison, /) -> WorstSegments | None:
    """Return what a page shows; None where segments were not ranked."""
    ranks = comparison.segment_ranks
    if ranks is None or ranks.is_empty():
        return None
    judged = ranks.filter(pl.col("value").is_not_null())
    worse = judged.filter("distinguishable", is_worse(comparison))
    shifted = ranks.filter("shifted")
    unjudged = ranks.filter(pl.col("value").is_null())["reason"]
    differ = f"in {len(shifted):,} the scores differ from the rest"
    if judged.is_empty():
        of = quantity(len(ranks), "segment")
        # Of few positives it is not known either whether their scores differ.
        parts = [f"None of {of} can be judged: {in_brief(unjudged)}", *([differ] if len(shifted) else [])]
    else:
        of = quantity(len(judged), "segment")
        many = f"{len(worse) or 'None'} of {of} {'are' if len(worse) > 1 else 'is'}"
        parts = [f"{many} significantly worse than the rest"]
        parts += [differ] if len(shifted) else []
        if len(unjudged):
            parts.append(f"{len(unjudged):,} more cannot be judged: {in_brief(unjudged)}")
    sentence = "; ".join(parts) + "."
    return WorstSegments(
        metric_name(comparison),
        ranks["model"][0],
        tuple(judged.head(_SHOWN).to_dicts()),
        sentence,
        why_doubtful(judged),
    )


def segment_lines(comparison: Comparison, /) -> list[str]:
    """Return what an answer says of segments: of each key alone how many are worse, and the worst few.

    No line where segments were not ranked.
    """
    alone = comparison.by_key
    if len(alone) == 1:
        return _lines(comparison, "Segments", _NAMED)
    return [line for each in alone for line in _lines(each, f"By {each.segments[0]}", 1)]


def _lines(comparison: Comparison, named: str, most: int) -> list[str]:
    found = worst_segments(comparison)
    if found is None:
        return []
    at = f", {found.model} at threshold {format_threshold(comparison.segment_threshold)}"
    sign = better_sign(called_metric(comparison.segment_metric).metric)
    worse = [row for row in found.rows if row["due_to_rates"] is not None and sign * row["due_to_rates"] < 0]
    told = found.sentence[:1].lower() + found.sentence[1:].rstrip(".")
    return [
        f"{named}{at}: {told}",
        *(_segment_line(row, comparison) for row in worse[:most]),
    ]


def _segment_line(row: Mapping[str, Any], comparison: Comparison) -> str:
    names = ", ".join(f"{key} = {'missing' if row[key] is None else row[key]}" for key in comparison.segments)
    name = metric_name(comparison)
    values = f"{name} {format_value(row['own_value'])}, in the rest {format_value(row['rest_value'])}"
    part, *bounds = (format_value(row[f"due_to_rates{side}"]) for side in ("", "_lower", "_upper"))
    verdict = "significantly worse" if row["distinguishable"] else "not significantly worse"
    return f"- {names}: {verdict}; {values}; due to the model {part} (95 %: {' to '.join(bounds)})"
