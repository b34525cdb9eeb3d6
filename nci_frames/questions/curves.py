"""How do the metrics of the models change with the prevalence, beta and the threshold?"""

import polars as pl

from nci_frames.charts.curves import (
    chart_f_beta_over_beta,
    chart_f_beta_over_prevalence,
    chart_p3,
    chart_pr_auc_over_prevalence,
)
from nci_frames.charts.intervals import chart_precision_uncertainty
from nci_frames.charts.operating_points import chart_pos_fraction, chart_pr, chart_roc
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, marks, of_shown, picture, shown_models

#: Bands of more models than this overlap too much; and of precision, whose bands are drawn alone.
_MOST_BANDS, _MOST_PRECISION_BANDS = 4, 6


def _projection(comparison: Comparison) -> pl.DataFrame:
    """Return the metrics at the threshold of the points, with their bands if those are few."""
    table = of_shown(comparison.projection, comparison)
    few = len(shown_models(comparison)) <= _MOST_BANDS
    return table if few else table.drop("lower", "upper", strict=False)


def _own(comparison: Comparison) -> pl.DataFrame:
    return of_shown(comparison.best, comparison).drop("lower", "upper", strict=False)


def _f_beta(comparison: Comparison) -> str:
    return f"F{comparison.main_beta:g} over prevalence"


def _draw_f_beta(table: pl.DataFrame, comparison: Comparison) -> Chart:
    return chart_f_beta_over_prevalence(table, beta=comparison.main_beta, **marks(comparison))


def _draw_over_beta(table: pl.DataFrame, comparison: Comparison) -> Chart:
    at = comparison.middle_prevalence
    return chart_f_beta_over_beta(table, prevalence=at, **marks(comparison))


def _bands(comparison: Comparison) -> pl.DataFrame | None:
    return of_shown(comparison.precision_bands, comparison, most=_MOST_PRECISION_BANDS)


def _draw_bands(table: pl.DataFrame, comparison: Comparison) -> Chart:
    widest = comparison.precision_uncertainty
    few = table.clear() if widest is None else of_shown(widest, comparison, most=_MOST_PRECISION_BANDS)
    return chart_precision_uncertainty(table, few, **marks(comparison))


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
        "p3",
        "Precision over prevalence",
        _projection,
        lambda table, comparison: chart_p3(table, **marks(comparison)),
        rule="prevalence",
    ),
    picture("f-own", _f_beta, _own, _draw_f_beta, rule="prevalence"),
    picture("f-prevalence", _f_beta, _projection, _draw_f_beta, rule="prevalence"),
    picture("f-beta", "F-beta over beta", _projection, _draw_over_beta, recomputed="prevalence"),
    picture(
        "pr-auc",
        "PR-AUC over prevalence",
        lambda comparison: of_shown(comparison.areas, comparison),
        lambda table, comparison: chart_pr_auc_over_prevalence(table, **marks(comparison)),
        rule="prevalence",
    ),
    picture("uncertainty", "Where precision is least certain", _bands, _draw_bands),
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
