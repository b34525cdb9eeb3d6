"""The questions of a report, in their order, and their charts."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.questions import (
    classes,
    counted,
    curves,
    folds,
    how_sure,
    probabilities,
    segments,
    what_would_tell,
    where_it_changes,
    which_model,
)
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.report_question import SECTIONS, AnyComparison, Chart, ReportQuestion
from nci_frames.schemas import with_key_texts

TITLE = "How the models compare as the class balance changes"
CLASS_TITLE = "How the models compare as the mix of the classes changes"

_MODULES = (
    which_model, counted, how_sure, what_would_tell, where_it_changes, curves, probabilities, folds, segments,
)  # fmt: skip


def report_questions() -> tuple[ReportQuestion, ...]:
    """Return the questions of a report, in their order.

    Pass some of them, or others as well, to ``write_report`` as *questions*.

    Returns
    -------
    A tuple of ReportQuestion.

    Examples
    --------
    >>> import nci_frames as nf
    >>> nf.report_questions()[0].name
    'answer'
    """
    return tuple(question for module in _MODULES for question in module.QUESTIONS)


def class_report_questions() -> tuple[ReportQuestion, ...]:
    """Return the questions of a report on decisions among classes, in their order.

    Pass some of them, or others as well, to ``write_report`` as *questions*.

    Returns
    -------
    A tuple of ReportQuestion.

    Examples
    --------
    >>> import nci_frames as nf
    >>> [question.name for question in nf.class_report_questions()][:3]
    ['answer', 'intervals', 'share']
    """
    return classes.QUESTIONS


def questions_of(comparison: AnyComparison) -> tuple[ReportQuestion, ...]:
    """Return the default questions for a comparison."""
    return classes.QUESTIONS if isinstance(comparison, ClassComparison) else report_questions()


class Answered(NamedTuple):
    """A question of a report with its answer in one comparison."""

    question: ReportQuestion
    title: str
    table: pl.DataFrame
    #: Sentences of the answer; None if the table is shown instead.
    sentences: list[str] | None
    segments: tuple[str, ...]

    @property
    def shown_table(self) -> pl.DataFrame:
        """The table for readers, with the names of segments as text."""
        return with_key_texts(self.table, self.segments)

    @property
    def silent(self) -> bool:
        """Whether the question is answered only by a chart."""
        return self.sentences == []


def answered(
    comparison: AnyComparison, /, questions: Sequence[ReportQuestion] | None = None
) -> list[Answered]:
    """Return the questions that the comparison can answer, in the order of their sections."""
    found = []
    asked = questions_of(comparison) if questions is None else questions
    segments = () if isinstance(comparison, ClassComparison) else comparison.segments
    for question in sorted(asked, key=lambda question: SECTIONS.index(question.section)):
        table = question.table(comparison)
        if table is not None:
            sentences = question.sentences(table, comparison)
            found.append(Answered(question, question.heading(comparison), table, sentences, segments))
    return found


def report_charts(
    comparison: AnyComparison, /, questions: Sequence[ReportQuestion] | None = None
) -> dict[str, Chart]:
    """Return the charts of a report by name, without those that cannot be drawn."""
    found = {}
    for shown in answered(comparison, questions):
        try:
            chart = shown.question.chart(shown.table, comparison)
        except ParameterError:
            continue
        if chart is not None:
            found[shown.question.name] = chart
    return found
