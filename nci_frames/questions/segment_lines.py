"""Sentences on segments: in how many the model is worse than in the rest, and in which."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.base.messages import quantity
from nci_frames.evaluation.metrics import better_sign, called_metric
from nci_frames.evaluation.support.reasons import in_brief, why_doubtful
from nci_frames.questions.answer_lines import value_name
from nci_frames.questions.comparison import Comparison
from nci_frames.schemas import with_key_texts
from nci_frames.tables.numbers import f_beta_name, format_threshold, format_value

#: Number of segments that an answer names.
_NAMED = 3


def judged_model(comparison: Comparison, /) -> str:
    """Return the model judged in the segments: the best of the answer."""
    ranks = comparison.segment_ranks
    return str((comparison.answer if ranks is None else ranks)["model"][0])


def why_untested(comparison: Comparison, /) -> str | None:
    """Return why segments were not compared with the rest, and what to do; None if they were."""
    if comparison.segment_ranks is not None:
        return None
    drawn, sizes = comparison.segment_drawn, comparison.segment_sizes
    at = format_threshold(comparison.segment_threshold)
    reasons = {
        "The counts are sums of weights, which the test does not take. Count whole rows to see where the "
        "model is worse": comparison.weighted,
        "There is one segment only, so there is no rest to compare it with": sizes is not None
        and len(sizes) < 2,
        f"There are too few units: tests need {LEAST_BUCKETS} groups of them": not drawn.enough,
        "The rows of several repeats depend on each other. Name their unit to see where the model is worse": (
            not drawn.resampled
        ),
        "There are too many segments to count each by groups of units. Name fewer keys of segments to see "
        "where the model is worse": {*drawn.segments} != {*comparison.segments},
        f"The threshold {at} was not counted in every segment. Count at it, or compare at a threshold that "
        "was counted, to see where the model is worse": True,
    }
    return next(reason for reason, holds in reasons.items() if holds)


def said_of(comparison: Comparison, /) -> str:
    """Return a sentence on all segments, or why they were not compared."""
    untested = why_untested(comparison)
    return f"{untested}." if untested is not None else worst_sentence(comparison) or ""


def doubt_of_segments(comparison: Comparison, /) -> str | None:
    """Return why some segments do not support their value, in a few words; None if all of them do."""
    ranks = comparison.segment_ranks
    return None if ranks is None else why_doubtful(ranks.drop_nulls("value"))


def metric_name(comparison: Comparison, /) -> str:
    """Return the name of the metric of the segments."""
    of_area = comparison.question.area is not None
    return f_beta_name(comparison.main_beta) if of_area else value_name(comparison.question)


def is_worse(comparison: Comparison, /) -> pl.Expr:
    """Return whether the part of a difference due to rates makes a segment worse; higher costs are worse."""
    return pl.col("due_to_rates") * better_sign(called_metric(comparison.segment_metric).metric) < 0


def worst_sentence(comparison: Comparison, /) -> str | None:
    """Return in how many segments the model is worse than in the rest; None if they were not ranked."""
    ranks = comparison.segment_ranks
    if ranks is None:
        return None
    judged = ranks.drop_nulls("distinguishable")
    unjudged = ranks.filter(pl.col("distinguishable").is_null())["reason"]
    worse, shifted = judged.filter("distinguishable", is_worse(comparison)).height, ranks["shifted"].sum()
    # Segments with too few positives were not tested for different scores either.
    parts = [f"None of {quantity(len(ranks), 'segment')} can be judged: {in_brief(unjudged)}"]
    if len(judged) == 1:
        parts = [f"The only segment judged is {'' if worse else 'not '}significantly worse than the rest"]
    elif len(judged):
        are = "are" if worse > 1 else "is"
        of = quantity(len(judged), "segment")
        parts = [f"{worse or 'None'} of {of} {are} significantly worse than the rest"]
    if shifted:
        parts.append(f"in {shifted:,} the scores differ from the rest")
    if len(judged) and len(unjudged):
        parts.append(f"{len(unjudged):,} more cannot be judged: {in_brief(unjudged)}")
    return "; ".join(parts) + "."


def segment_lines(comparison: Comparison, /) -> list[str]:
    """Return the lines of an answer on segments: for each key, how many are worse, and the worst few.

    Or why they were not compared.
    """
    alone = comparison.by_key
    if len(alone) == 1:
        return _lines(comparison, "Segments", _NAMED)
    return [line for each in alone for line in _lines(each, f"By {each.segments[0]}", 1)]


def _lines(comparison: Comparison, named: str, most: int) -> list[str]:
    told, ranks = worst_sentence(comparison), comparison.segment_ranks
    if ranks is None or told is None:
        return [f"{named}: not compared with the rest. {why_untested(comparison)}"]
    at = f"{judged_model(comparison)} at threshold {format_threshold(comparison.segment_threshold)}"
    if comparison.question.area is not None:
        at += f", by {metric_name(comparison)}"
    tested, named_rows = len(ranks.drop_nulls("distinguishable")), with_key_texts(ranks, comparison.segments)
    worse = named_rows.filter(is_worse(comparison)).head(most)
    lines = [_segment_line(row, comparison, tested) for row in worse.iter_rows(named=True)]
    return [f"{named}, {at}: {told[:1].lower()}{told[1:].rstrip('.')}", *lines]


def _segment_line(row: Mapping[str, Any], comparison: Comparison, tested: int) -> str:
    names = ", ".join(f"{key} = {row[key]}" for key in comparison.segments)
    name = metric_name(comparison)
    own, rest = format_value(row["own_value"]), format_value(row["rest_value"])
    values = f"at its prevalence in this log {name} {own}, in the rest {rest}"
    part, *bounds = (format_value(row[f"due_to_rates{side}"]) for side in ("", "_lower", "_upper"))
    verdict = "significantly worse"
    if not row["distinguishable"]:
        # Intervals hold for one segment; tests are corrected for all segments.
        apart = (row["due_to_rates_lower"] or 0) > 0 or (row["due_to_rates_upper"] or 0) < 0
        verdict = f"not {verdict}" + (f" among the {tested:,} segments tested" if apart else "")
    return f"- {names}: {verdict}; {values}; due to the model {part} (95 %: {' to '.join(bounds)})"
