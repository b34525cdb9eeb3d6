"""Which model to choose, and at which threshold?"""

import altair as alt
import polars as pl

from nci_frames.charts.parts.axes import value_axis
from nci_frames.charts.parts.lines import draw_lines
from nci_frames.evaluation.metrics import asked_metric
from nci_frames.questions.answer_lines import answer_lines, measure_words, value_name
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, first_questions, of_shown, picture, shown_models
from nci_frames.tables.numbers import format_grid, sentence

#: Largest number of models with bands: more bands overlap too much.
_MOST_BANDS = 4


def _title(comparison: Comparison) -> str:
    at = format_grid(comparison.asked_prevalence)
    return sentence(f"{value_name(comparison.question)} of each model at prevalence {at}")


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
