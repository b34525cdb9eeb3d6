"""What are the ROC and precision-recall curves of the models?"""

import polars as pl

from nci_frames.charts.operating_points import chart_pos_fraction, chart_pr, chart_roc
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, picture
from nci_frames.questions.shown import shown_models

#: Curves of more models than this are drawn at one prevalence.
_MOST_AT_SEVERAL = 4


def _points(comparison: Comparison) -> pl.DataFrame:
    """Select what is drawn of every point: at the main prevalences, or at one for many models."""
    table = comparison.curve_projection
    many = comparison.curves["model"].n_unique() > _MOST_AT_SEVERAL
    return table.filter(prevalence=comparison.middle_prevalence) if many else table


def _draw_pr(table: pl.DataFrame, comparison: Comparison) -> Chart:
    rows = table.filter(pl.col("metric").is_in(["precision", "recall"]))
    return chart_pr(rows, models=shown_models(comparison))


def _draw_work(table: pl.DataFrame, comparison: Comparison) -> Chart:
    rows = table.filter(pl.col("metric").is_in(["pos_fraction", "recall"]))
    return chart_pos_fraction(rows, log_x=True, models=shown_models(comparison))


QUESTIONS = (
    picture(
        "roc",
        "ROC curves, logarithmic FPR",
        lambda comparison: comparison.curves,
        lambda table, comparison: chart_roc(table, log_x=True, models=shown_models(comparison)),
        points="fpr tpr",
    ),
    picture("pr", "Precision and recall", _points, _draw_pr),
    picture("work", "Recall over the share of predicted positives", _points, _draw_work),
)
