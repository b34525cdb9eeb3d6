"""How do the metrics of the models change with the prevalence, beta and the threshold?"""

from functools import partial
from operator import attrgetter

import polars as pl

from nci_frames.charts import curves
from nci_frames.charts.operating_points import chart_pos_fraction, chart_pr, chart_roc
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import at_asked, of_shown, picture
from nci_frames.tables.numbers import f_beta_name

#: Largest number of models with bands: more bands overlap too much.
_MOST_BANDS = 4

#: Betas at which F-beta is drawn, besides the betas compared.
_BETAS = tuple(4 ** (step / 16) for step in range(-16, 17))


def _at_threshold(comparison: Comparison) -> pl.DataFrame:
    """Return precision and F-beta at the threshold of the points, on a prevalence grid for smooth curves."""
    points, etas = of_shown(comparison.points, comparison), comparison.answer_prevalences
    few = not comparison.weighted and points["model"].n_unique() <= _MOST_BANDS
    table = project_rates(
        points, metrics=["precision", "f_beta"], prevalence=etas, beta=comparison.main_beta, band=few
    )
    return rank_models(table)


def _f_beta(comparison: Comparison) -> str:
    return f"{f_beta_name(comparison.main_beta)} over prevalence"


def _over_beta(comparison: Comparison) -> pl.DataFrame:
    betas = sorted({*_BETAS, *(beta for beta in comparison.beta if 0 < beta < float("inf"))})
    points = of_shown(comparison.points, comparison)
    return project_rates(points, metrics="f_beta", prevalence=comparison.asked_prevalence, beta=betas)


def _areas(comparison: Comparison) -> pl.DataFrame:
    """Return PR-AUC at the prevalences compared, and at the nodes that determine it in between."""
    place = ("model", "metric", "method", "prevalence")
    drawn = (*place, "value", "lower", "upper", "supported", "reason")
    tables = (comparison.areas.filter(metric="pr_auc"), comparison.area_nodes)
    rows = pl.concat(table.select(drawn) for table in tables)
    return of_shown(rows.unique(place, keep="first").sort(place), comparison)


_points = attrgetter("curve_projection")
_draw_alerts = partial(chart_pos_fraction, log_x=True)
_values = partial(picture, under="How do precision, F-beta and PR-AUC change with the prevalence and with β?")
_over_prevalence = partial(_values, rule="prevalence")

QUESTIONS = (
    picture("pr", at_asked("Precision and recall"), _points, chart_pr, recomputed="precision"),
    picture("work", at_asked("Recall over the share of alerts"), _points, _draw_alerts, recomputed="share"),
    _over_prevalence("p3", "Precision over prevalence", _at_threshold, curves.chart_p3),
    _over_prevalence("f-prevalence", _f_beta, _at_threshold, curves.chart_f_beta_over_prevalence),
    _values(
        "f-beta", at_asked("F-beta over beta"), _over_beta, curves.chart_f_beta_over_beta, recomputed="f_beta"
    ),
    _over_prevalence("pr-auc", "PR-AUC over prevalence", _areas, curves.chart_pr_auc_over_prevalence),
    picture(
        "roc",
        "ROC curves, logarithmic FPR",
        attrgetter("curves"),
        partial(chart_roc, log_x=True),
        under="What do the thresholds attain, whatever the prevalence?",
        points="fpr tpr",
    ),
)
