"""How do the metrics of the models change with the prevalence and beta?"""

import polars as pl

from nci_frames import charts
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.log_tables import shown_models
from nci_frames.questions.report_question import Chart, picture

#: Bands of more models than this overlap too much; and of precision, whose bands are drawn alone.
_MOST_BANDS, _MOST_PRECISION_BANDS = 4, 6


def _among(table: pl.DataFrame, comparison: Comparison, most: int | None = None) -> pl.DataFrame:
    models = shown_models(comparison) if most is None else shown_models(comparison, most=most)
    return table.filter(pl.col("model").is_in(models, nulls_equal=True))


def _projection(comparison: Comparison) -> pl.DataFrame:
    """Return the metrics at the threshold of the points, with their bands if those are few."""
    table = _among(comparison.projection, comparison)
    few = len(shown_models(comparison)) <= _MOST_BANDS
    return table if few else table.drop("lower", "upper", strict=False)


def _own(comparison: Comparison) -> pl.DataFrame:
    return _among(comparison.best, comparison).drop("lower", "upper", strict=False)


def _f_beta(comparison: Comparison) -> str:
    return f"F{comparison.main_beta:g} over prevalence"


def _draw_p3(table: pl.DataFrame, comparison: Comparison) -> Chart:
    models = shown_models(comparison)
    return charts.chart_p3(table, observed=comparison.observed_prevalence, models=models)


def _draw_f_beta(table: pl.DataFrame, comparison: Comparison) -> Chart:
    return charts.chart_f_beta_over_prevalence(
        table, beta=comparison.main_beta, observed=comparison.observed_prevalence,
        models=shown_models(comparison),
    )  # fmt: skip


def _draw_over_beta(table: pl.DataFrame, comparison: Comparison) -> Chart:
    return charts.chart_f_beta_over_beta(
        table, prevalence=comparison.middle_prevalence, observed=comparison.observed_prevalence,
        models=shown_models(comparison),
    )  # fmt: skip


def _draw_areas(table: pl.DataFrame, comparison: Comparison) -> Chart:
    models = shown_models(comparison)
    return charts.chart_pr_auc_over_prevalence(table, observed=comparison.observed_prevalence, models=models)


def _bands(comparison: Comparison) -> pl.DataFrame | None:
    bands = comparison.precision_bands
    return None if bands is None else _among(bands, comparison, _MOST_PRECISION_BANDS)


def _draw_bands(table: pl.DataFrame, comparison: Comparison) -> Chart:
    widest = comparison.precision_uncertainty
    few = table.clear() if widest is None else _among(widest, comparison, _MOST_PRECISION_BANDS)
    return charts.chart_precision_uncertainty(
        table, few, observed=comparison.observed_prevalence, models=shown_models(comparison)
    )


QUESTIONS = (
    picture("p3", "Precision over prevalence", _projection, _draw_p3, rule="prevalence"),
    picture("f-own", _f_beta, _own, _draw_f_beta, rule="prevalence"),
    picture("f-prevalence", _f_beta, _projection, _draw_f_beta, rule="prevalence"),
    picture("f-beta", "F-beta over beta", _projection, _draw_over_beta, recomputed="prevalence"),
    picture(
        "pr-auc",
        "PR-AUC over prevalence",
        lambda comparison: _among(comparison.areas, comparison),
        _draw_areas,
        rule="prevalence",
    ),
    picture("uncertainty", "Where precision is least certain", _bands, _draw_bands),
)
