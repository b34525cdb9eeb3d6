"""How much do the values vary over the folds and repeats of a cross-validation?"""

from operator import attrgetter

import polars as pl

from nci_frames.charts.f_beta_plot import chart_f_beta_plot
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import Chart, ReportQuestion, picture, shown_models
from nci_frames.schemas import beside
from nci_frames.tables.numbers import format_grid

#: Largest number of models with bands: more bands overlap too much.
_MOST_BANDS = 4


def fold_spread(comparison: Comparison, /) -> pl.DataFrame | None:
    """Return PR-AUC of each model over repeats and over folds; None if the log has neither.

    Columns are ``model``, ``prevalence``, ``value``, ``std`` over repeats, and ``fold_value`` and
    ``fold_std``, the mean and standard deviation over folds of the values within each. Rows are at
    ``middle_prevalence``, sorted by model.
    """
    folds = comparison.fold_areas
    if folds is None and comparison.repeat_count is None:
        return None
    at = {"metric": "pr_auc", "prevalence": comparison.middle_prevalence}
    areas = comparison.areas.filter(**at).sort("model")
    std = "std" if "std" in areas.columns else pl.lit(None, pl.Float64).alias("std")
    shown = areas.select("model", "prevalence", "value", std)
    within = (shown.clear() if folds is None else folds.filter(**at)).select(
        "model", fold_value="value", fold_std="std"
    )
    return beside(shown, within, "model")


def _title(comparison: Comparison) -> str:
    at = format_grid(comparison.middle_prevalence)
    return f"F-beta plot at η = {at}: mean and standard deviation over the folds"


def _draw(table: pl.DataFrame, comparison: Comparison) -> Chart:
    models = shown_models(comparison)
    shown = () if len(models) <= _MOST_BANDS else _bands(comparison)
    return chart_f_beta_plot(table, comparison.beta_winners, models=models, shown=shown)


def _bands(comparison: Comparison) -> list[str]:
    """Return the models whose bands are drawn: winners at any beta, then models near the top."""
    lowest, highest = comparison.beta[0], comparison.beta[-1]
    winners = comparison.beta_winners.filter(pl.col("start") < highest, pl.col("end") > lowest)["model"]
    return list(dict.fromkeys([*winners, *shown_models(comparison, most=_MOST_BANDS)]))[:_MOST_BANDS]


def _spread_title(comparison: Comparison) -> str:
    at = format_grid(comparison.middle_prevalence)
    return f"PR-AUC at η = {at} over repeats and folds, with standard deviations"


QUESTIONS = (
    picture("folds", _title, attrgetter("folds"), _draw, under="How much do the folds differ?", rule="beta"),
    ReportQuestion("spread", _spread_title, "data", fold_spread),
)
