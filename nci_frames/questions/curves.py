"""How do the metrics of the models change with the prevalence, beta and the threshold?"""

import polars as pl

from nci_frames.charts.curves import (
    chart_f_beta_over_beta,
    chart_f_beta_over_prevalence,
    chart_p3,
    chart_pr_auc_over_prevalence,
)
from nci_frames.charts.operating_points import chart_pos_fraction, chart_pr, chart_roc
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, at_asked, drawn, marks, of_shown, picture

#: Bands of more models than this overlap too much.
_MOST_BANDS = 4

#: Where F-beta is drawn over beta, besides the betas compared.
_BETAS = tuple(4 ** (step / 16) for step in range(-16, 17))

#: What the page folds these charts under.
_VALUES = "How do precision, F-beta and PR-AUC change with the prevalence and with β?"


def _at_threshold(comparison: Comparison) -> pl.DataFrame:
    """Return precision and F-beta at the threshold of the points, on a grid fine enough for smooth curves."""
    points, etas = of_shown(comparison.points, comparison), comparison.answer_prevalences
    few = not comparison.weighted and points["model"].n_unique() <= _MOST_BANDS
    table = project_rates(
        points, metrics=["precision", "f_beta"], prevalence=etas, beta=comparison.main_beta, band=few
    )
    return rank_models(table)


def _f_beta(comparison: Comparison) -> str:
    return f"F{comparison.main_beta:g} over prevalence"


def _draw_f_beta(table: pl.DataFrame, comparison: Comparison) -> Chart:
    return chart_f_beta_over_prevalence(table, beta=comparison.main_beta, **marks(comparison))


def _over_beta(comparison: Comparison) -> pl.DataFrame:
    betas = sorted({*_BETAS, *(beta for beta in comparison.beta if 0 < beta < float("inf"))})
    points = of_shown(comparison.points, comparison)
    return project_rates(points, metrics="f_beta", prevalence=comparison.asked_prevalence, beta=betas)


def _draw_over_beta(table: pl.DataFrame, comparison: Comparison) -> Chart:
    return chart_f_beta_over_beta(table, prevalence=comparison.asked_prevalence, **marks(comparison))


def _areas(comparison: Comparison) -> pl.DataFrame:
    """Return PR-AUC where it is known exactly: at the places that determine it everywhere between."""
    place = ("model", "metric", "method", "prevalence")
    drawn = (*place, "value", "lower", "upper", "supported", "reason")
    tables = (comparison.areas.filter(metric="pr_auc"), comparison.area_nodes)
    rows = pl.concat(table.select(drawn) for table in tables)
    return of_shown(rows.unique(place, keep="first").sort(place), comparison)


def _points(comparison: Comparison) -> pl.DataFrame:
    return comparison.curve_projection


QUESTIONS = (
    picture("pr", at_asked("Precision and recall"), _points, drawn(chart_pr), recomputed="precision"),
    picture(
        "work",
        at_asked("Recall over the share of alerts"),
        _points,
        drawn(chart_pos_fraction, log_x=True),
        recomputed="share",
    ),
    picture(
        "p3", "Precision over prevalence", _at_threshold, drawn(chart_p3), under=_VALUES, rule="prevalence"
    ),
    picture("f-prevalence", _f_beta, _at_threshold, _draw_f_beta, under=_VALUES, rule="prevalence"),
    picture(
        "f-beta",
        at_asked("F-beta over beta"),
        _over_beta,
        _draw_over_beta,
        under=_VALUES,
        recomputed="f_beta",
    ),
    picture(
        "pr-auc",
        "PR-AUC over prevalence",
        _areas,
        drawn(chart_pr_auc_over_prevalence),
        under=_VALUES,
        rule="prevalence",
    ),
    picture(
        "roc",
        "ROC curves, logarithmic FPR",
        lambda comparison: comparison.curves,
        drawn(chart_roc, log_x=True),
        under="What do the thresholds attain, whatever the prevalence?",
        points="fpr tpr",
    ),
)
