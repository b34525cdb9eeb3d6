"""The first two questions of every report: which model is best, and how much the values differ."""

from collections.abc import Callable
from typing import Any

import polars as pl

from nci_frames.charts.intervals import draw_forest
from nci_frames.evaluation.metrics import Metric, better_sign
from nci_frames.questions.report_question import (
    AnyComparison,
    Chart,
    ReportQuestion,
    of_shown,
    picture,
    shown_models,
)


def first_questions(
    say: Callable[[Any], list[str]],
    title: Callable[[Any], str],
    *,
    metric: Callable[[Any], Metric],
    measure: Callable[[Any], str],
    where: Callable[[Any], str] = lambda _: "",
) -> tuple[ReportQuestion, ReportQuestion]:
    """Return both questions. All parameters are functions of the comparison.

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

    def draw(table: pl.DataFrame, comparison: AnyComparison) -> Chart:
        return draw_forest(
            table,
            name=measure(comparison),
            title=title(comparison) + where(comparison),
            models=shown_models(comparison),
            order="descending" if better_sign(metric(comparison)) > 0 else "ascending",
        )

    answer = ReportQuestion(
        name="answer",
        title="Which model is best?",
        section="answer",
        table=lambda comparison: comparison.answer,
        say=lambda _, comparison: say(comparison),
        live={"answer": "looked up"},
    )
    values = picture(
        "intervals",
        title,
        lambda comparison: of_shown(comparison.answer, comparison).drop_nulls("value"),
        draw,
        section="answer",
        recomputed="answer",
    )
    return answer, values
