"""The questions of a report, in their order; and their charts."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.questions import (
    counted,
    curves,
    folds,
    how_sure,
    probabilities,
    segments,
    where_it_changes,
    which_model,
)
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import SECTIONS, Chart, ReportQuestion

TITLE = "How the models compare as the class balance changes"

_ROOMS = (which_model, counted, how_sure, where_it_changes, curves, probabilities, folds, segments)


def report_questions() -> tuple[ReportQuestion, ...]:
    """Return the questions that a report answers, in their order.

    ``write_report`` takes them as *questions*: some of them, or some more.

    Returns
    -------
    A tuple of ReportQuestion.

    Examples
    --------
    >>> import nci_frames as nf
    >>> nf.report_questions()[0].name
    'answer'
    """
    return tuple(question for room in _ROOMS for question in room.QUESTIONS)


@dataclass(frozen=True, slots=True)
class Answered:
    """A question of a report with what answers it in one comparison."""

    question: ReportQuestion
    title: str
    table: pl.DataFrame
    #: What is said; None where the table is shown.
    sentences: list[str] | None

    @property
    def silent(self) -> bool:
        """Whether only a chart answers it."""
        return self.sentences == []


def answered(comparison: Comparison, /, questions: Sequence[ReportQuestion] | None = None) -> list[Answered]:
    """Return the questions that the log has an answer to, in the order of their sections."""
    found = []
    asked = report_questions() if questions is None else questions
    for question in sorted(asked, key=lambda question: SECTIONS.index(question.section)):
        table = question.table(comparison)
        if table is not None:
            sentences = question.sentences(table, comparison)
            found.append(Answered(question, question.heading(comparison), table, sentences))
    return found


def report_charts(
    comparison: Comparison, /, questions: Sequence[ReportQuestion] | None = None
) -> dict[str, Chart]:
    """Draw the charts of a report by their names, without those that cannot be drawn."""
    found = {}
    for shown in answered(comparison, questions):
        try:
            chart = shown.question.chart(shown.table, comparison)
        except ParameterError:
            continue
        if chart is not None:
            found[shown.question.name] = chart
    return found
