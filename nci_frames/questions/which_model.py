"""Which model to choose, and at which threshold?"""

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

import altair as alt
import polars as pl

from nci_frames.charts.intervals import draw_forest
from nci_frames.charts.parts.axes import value_axis
from nci_frames.charts.parts.lines import draw_lines
from nci_frames.evaluation.metrics import Metric, asked_metric, better_sign
from nci_frames.questions.answer_lines import answer_lines, measure_words, value_name
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import (
    Chart,
    ReportQuestion,
    note,
    of_shown,
    picture,
    shown_models,
    which_models,
)
from nci_frames.tables.numbers import format_grid, sentence

#: Largest number of models with bands: more bands overlap too much.
_MOST_BANDS = 4


def _title(comparison: Comparison) -> str:
    at = format_grid(comparison.asked_prevalence)
    return sentence(f"{value_name(comparison.question)} of {which_models(comparison)} at prevalence {at}")


def _over_prevalence(comparison: Comparison) -> pl.DataFrame:
    """Return the values at every position of the page's slider, not only at the prevalences compared."""
    rows = of_shown(comparison.answer_curve, comparison)
    few = rows["model"].n_unique() <= _MOST_BANDS
    return rows if few and rows["lower"].drop_nulls().len() else rows.drop("lower", "upper")


def _over_title(comparison: Comparison) -> str:
    return sentence(f"{value_name(comparison.question)} over prevalence")


def _draw_over_prevalence(table: pl.DataFrame, comparison: Comparison) -> Chart:
    what, by = value_name(comparison.question), measure_words(comparison.question)
    shaded = "; shaded: the 95 % bounds" if "lower" in table.columns else ""
    subtitle, y = f"by {by}{shaded}", alt.Y(**value_axis("value", what))
    models, observed = shown_models(comparison), comparison.observed_prevalence
    return draw_lines(table, y=y, what=what, subtitle=subtitle, models=models, observed=observed)


def first_questions(
    say: Callable[[Any], list[str]],
    title: Callable[[Any], str],
    *,
    metric: Callable[[Any], Metric],
    measure: Callable[[Any], str],
    where: Callable[[Any], str] = lambda _: "",
) -> tuple[ReportQuestion, ReportQuestion]:
    """Return the first two questions of every report: which model is best, and how much the values differ.

    All parameters are functions of the comparison.

    Parameters
    ----------
    say
        Returns the lines of the answer.
    title
        Returns the title of the values.
    metric, measure
        Return the metric of the ranking, and its name in words.
    where
        Returns a suffix of the chart title, which a page shows elsewhere.
    """

    def draw(table: pl.DataFrame, comparison: Any) -> Chart:
        heading, models = title(comparison) + where(comparison), shown_models(comparison)
        rising = better_sign(metric(comparison)) < 0
        return draw_forest(table, name=measure(comparison), title=heading, models=models, rising=rising)

    def defined(comparison: Any) -> pl.DataFrame:
        rows: pl.DataFrame = comparison.answer
        return of_shown(rows, comparison).drop_nulls("value")

    said, live = note("answer", "Which model is best?", say), {"answer": "looked up"}
    answer = replace(said, table=attrgetter("answer"), live=live)
    return answer, picture("intervals", title, defined, draw, section="answer", recomputed="answer")


QUESTIONS = (
    *first_questions(
        lambda comparison: answer_lines(comparison.said),
        _title,
        metric=lambda comparison: asked_metric(comparison.question.asked),
        measure=lambda comparison: value_name(comparison.question),
    ),
    picture(
        "value", _over_title, _over_prevalence, _draw_over_prevalence, section="answer", rule="prevalence"
    ),
)
