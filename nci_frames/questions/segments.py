"""In which segments is the model worse, and why?"""

import polars as pl

from nci_frames.charts.intervals import draw_segment_values
from nci_frames.charts.segments import chart_decomposition, chart_segments
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, ReportQuestion, of_shown, picture, shown_models
from nci_frames.questions.segment_table import (
    CHARTED,
    MOST_CHARTED,
    judged_model,
    metric_name,
    segment_labels,
    segment_lines,
    worst_first,
)
from nci_frames.tables.numbers import format_grid, format_threshold, format_value, sentence

#: Panels of a chart of all segments, and models whose differences between segments are explained.
_MOST_PANELS, _MOST_REASONS = 12, 3

#: Segments and models of each whose areas are listed; the frames contain all.
_MOST_SEGMENTS, _MOST_MODELS = 24, 5

#: What the page folds charts of all segments under.
_WHY = "How do the segments differ, and why?"


def traffic(comparison: Comparison) -> pl.DataFrame | None:
    """Return F-beta of the traffic, ranked; None unless the shares of the segments are known."""
    averages = comparison.field_averages
    if averages is None or comparison.field is None or "share" not in comparison.field.columns:
        return None
    rows = averages.filter(average="micro", metric="f_beta", beta=comparison.main_beta)
    return rows.select("model", "prevalence", "value", "rank", "gap", "supported", "reason")


def _by_first(comparison: Comparison) -> Comparison:
    """Return the log by the first key alone: what is drawn at first."""
    return comparison.by_key[0]


def _by(comparison: Comparison) -> str:
    return f"by {comparison.segments[0]}"


def _best_areas(comparison: Comparison) -> pl.DataFrame | None:
    """Return PR-AUC of the best models of the first segments, at one prevalence or their own in the field."""
    comparison = _by_first(comparison)
    rows = comparison.field_areas
    if rows is None and comparison.segment_areas is not None:
        rows = comparison.segment_areas.filter(prevalence=comparison.middle_prevalence)
    if rows is None:
        return None
    keys = list(comparison.segments)
    ordered = rows.filter(metric="pr_auc").sort(*keys, "rank", "model", nulls_last=True)
    segment, model = pl.struct(keys).rle_id(), pl.int_range(pl.len()).over(keys)
    few = ordered.filter(segment < _MOST_SEGMENTS, model < _MOST_MODELS)
    return few.select(*keys, "prevalence", "model", "value", "rank", "gap")


def _areas_title(comparison: Comparison) -> str:
    if comparison.field is not None:
        return "PR-AUC by segment, each at its own prevalence in the field"
    return f"PR-AUC {_by(comparison)} at prevalence {format_grid(comparison.middle_prevalence)}"


def _chosen(comparison: Comparison) -> pl.DataFrame | None:
    """Return the value of the best model in the worst segments; the page draws others that are chosen."""
    comparison = _by_first(comparison)
    if not comparison.segments:
        return None
    rows = worst_first(comparison)
    labels = segment_labels(rows, comparison.segments)
    told = rows.select(labels, *CHARTED, model=pl.lit(judged_model(comparison))).drop_nulls("value")
    return told.head(MOST_CHARTED).with_row_index("place")


def _chosen_title(comparison: Comparison) -> str:
    at = format_grid(comparison.asked_prevalence)
    return sentence(f"{metric_name(comparison)} in each segment at prevalence {at}")


def _draw_chosen(table: pl.DataFrame, comparison: Comparison) -> Chart:
    # An area has no threshold, so that segments are judged by another metric.
    by_first = _by_first(comparison)
    whole = None if comparison.question.area is not None else comparison.answer["value"][0]
    dashed = "" if whole is None else f"; dashed: all rows ({format_value(whole)})"
    return draw_segment_values(
        table,
        name=metric_name(comparison),
        title=_chosen_title(comparison),
        subtitle=f"{judged_model(by_first)} at threshold {format_threshold(by_first.segment_threshold)}; "
        f"bars: 95 % intervals{dashed}; pale: as the rest; at most {MOST_CHARTED} segments",
        whole=whole,
        models=shown_models(comparison),
    )


def _few(comparison: Comparison) -> bool:
    """Return whether the key has so few values that each has a panel."""
    return len(comparison.segments) == 1 and len(worst_first(comparison)) <= _MOST_PANELS


def _areas(comparison: Comparison) -> pl.DataFrame | None:
    by_first = _by_first(comparison)
    return of_shown(by_first.segment_areas, comparison) if _few(by_first) else None


def _draw_areas(table: pl.DataFrame, comparison: Comparison) -> Chart:
    return chart_segments(
        table,
        segments=comparison.segments[0],
        metric="pr_auc",
        observed=_by_first(comparison).segment_points,
        models=shown_models(comparison),
    )


def _differences(comparison: Comparison) -> pl.DataFrame | None:
    by_first = _by_first(comparison)
    if by_first.differences is None or not _few(by_first):
        return None
    leading = comparison.best_winners["model"].unique(maintain_order=True).head(_MOST_REASONS)
    reasons = of_shown(by_first.differences, comparison).filter(pl.col("model").is_in(leading.implode()))
    return reasons if reasons["due_to_rates"].drop_nulls().len() else None


def _draw_differences(table: pl.DataFrame, comparison: Comparison) -> Chart:
    return chart_decomposition(table, over=comparison.segments[0])


QUESTIONS = (
    ReportQuestion(
        name="segments-worst",
        title="In which segments is the best model worse than in the rest?",
        section="segments",
        table=lambda comparison: _by_first(comparison).segment_ranks,
        say=lambda _, comparison: segment_lines(comparison),
    ),
    ReportQuestion(name="segment-areas", title=_areas_title, section="segments", table=_best_areas),
    ReportQuestion(
        name="traffic",
        title=lambda comparison: (
            f"All traffic, with the shares and prevalences of its segments: F{comparison.main_beta:g}"
        ),
        section="segments",
        table=traffic,
    ),
    picture(
        "chosen",
        _chosen_title,
        _chosen,
        _draw_chosen,
        section="segments",
        chosen="segments",
    ),
    picture(
        "segments",
        lambda comparison: f"PR-AUC over prevalence {_by(comparison)}",
        _areas,
        _draw_areas,
        section="segments",
        under=_WHY,
    ),
    picture(
        "differences",
        lambda comparison: f"Why F{comparison.main_beta:g} differs {_by(comparison)}",
        _differences,
        _draw_differences,
        section="segments",
        under=_WHY,
    ),
)
