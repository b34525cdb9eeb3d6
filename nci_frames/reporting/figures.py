"""A comparison -> the charts of its report, each under a name that can be that of a file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import altair as alt
import polars as pl

from nci_frames.errors import ParameterError
from nci_frames.evaluation.bands import max_precision_uncertainty, precision_band
from nci_frames.evaluation.comparison import Comparison
from nci_frames.evaluation.projection import project_rates
from nci_frames.reporting import charts
from nci_frames.reporting.thinning import thin_curves

__all__ = ["MOST_MODELS", "Figure", "report_charts", "report_figures", "shown_models"]

Chart = alt.LayerChart | alt.FacetChart

#: More models than this no reader tells apart by colour and stroke.
MOST_MODELS = 12

#: Bands of more models than this hide one another.
_MOST_BANDS = 4

#: Curves of so many points are thinned before they are projected, on a canvas far finer than any screen.
_MANY_POINTS, _CANVAS = 50_000, (20_000, 10_000)


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of a report: its name, how it is drawn, and what the page's controls do to it."""

    name: str
    title: str
    draw: Callable[[], Chart]
    #: "rule": the axis along which the page marks its prevalence or beta; "points": the two fields of marks
    #: that follow them; "recomputed": the variable that changes the values.
    live: Mapping[str, str] = field(default_factory=dict)


def shown_models(comparison: Comparison, /) -> list[str]:
    """Return the models that charts show: those that come nearest to the top anywhere, at most twelve."""
    at_beta = pl.col("beta") == comparison.main_beta
    rankings = [comparison.best.filter(at_beta), comparison.areas, comparison.projection.filter(at_beta)]
    ranks = [table.select("model", "rank", place=pl.lit(i)) for i, table in enumerate(rankings)]
    highest = pl.concat(ranks).drop_nulls().group_by("model").agg(pl.struct("rank", "place").min())
    shown = highest.sort("rank", "model").head(MOST_MODELS)["model"]
    # Where nothing is defined, the charts say so of every model.
    return (shown if len(shown) else comparison.points["model"]).unique().sort().to_list()


def report_figures(comparison: Comparison, /) -> list[Figure]:
    """Return the figures of a report, in their order; none is drawn yet."""
    models = shown_models(comparison)
    among = pl.col("model").is_in(models)
    beta, prevalence = comparison.main_beta, comparison.middle_prevalence
    observed, grid = comparison.observed_prevalence, comparison.prevalence
    points = comparison.points.filter(among)
    bands = len(models) <= _MOST_BANDS
    own = _without_bounds(comparison.best.filter(among))
    projection = comparison.projection.filter(among)
    projection = projection if bands else _without_bounds(projection)
    areas = comparison.areas.filter(among)
    certainty = comparison.certainty
    drawn: dict[str, tuple[str, Callable[[], Chart], Mapping[str, str]]] = {
        "p3": (
            "Precision over prevalence",
            lambda: charts.chart_p3(projection, observed=observed),
            {"rule": "prevalence"},
        ),
        "f-own": (
            f"F{beta:g} over prevalence",
            lambda: charts.chart_f_beta_over_prevalence(own, beta=beta, observed=observed),
            {"rule": "prevalence", "recomputed": "beta", "measure": "own"},
        ),
        "f-prevalence": (
            f"F{beta:g} over prevalence",
            lambda: charts.chart_f_beta_over_prevalence(projection, beta=beta, observed=observed),
            {"rule": "prevalence", "recomputed": "beta", "measure": "threshold"},
        ),
        "f-beta": (
            "F-beta over beta",
            lambda: charts.chart_f_beta_over_beta(projection, prevalence=prevalence, observed=observed),
            {"rule": "beta", "recomputed": "prevalence", "measure": "threshold"},
        ),
        "pr-auc": (
            "PR-AUC over prevalence",
            lambda: charts.chart_pr_auc_over_prevalence(areas, observed=observed),
            {"rule": "prevalence"},
        ),
        "ranks": (
            "Rank by PR-AUC over prevalence",
            lambda: charts.chart_rank_over_prevalence(areas.filter(metric="pr_auc"), observed=observed),
            {"rule": "prevalence"},
        ),
        "decisions": (
            "Decision map of F-beta",
            lambda: charts.chart_decision_map(comparison.decisions, models=models, observed=observed),
            {"points": "odds beta"},
        ),
        "winners": (
            f"Who is best by F{beta:g} over prevalence",
            lambda: charts.chart_winner_ranges(comparison.best_winners, models=models, observed=observed),
            {"rule": "prevalence"},
        ),
        "roc": (
            "ROC curves, logarithmic FPR",
            lambda: charts.chart_roc(_curves(comparison.rates.filter(among)), log_x=True),
            {"points": "fpr tpr"},
        ),
        "pr": (
            "Precision and recall",
            lambda: charts.chart_pr(_precision_recall(comparison, models)),
            {},
        ),
    }
    if certainty is not None:
        by_area = certainty.filter(among, pl.col("metric") == "pr_auc")
        drawn["probability"] = (
            "Probability of being best by PR-AUC",
            lambda: charts.chart_probability_best(by_area, observed=observed),
            {"rule": "prevalence"},
        )
        drawn["uncertainty"] = (
            "Where precision is least certain",
            lambda: charts.chart_precision_uncertainty(
                precision_band(points, prevalence=grid), max_precision_uncertainty(points), observed=observed
            ),
            {},
        )
    return [
        Figure(name, title, draw, MappingProxyType(dict(live))) for name, (title, draw, live) in drawn.items()
    ]


def report_charts(comparison: Comparison, /) -> dict[str, Chart]:
    """Draw the charts of a report; one that cannot be drawn is left out."""
    return dict(_drawn(report_figures(comparison)))


def _drawn(figures: Sequence[Figure]) -> Iterator[tuple[str, Chart]]:
    for figure in figures:
        try:
            yield figure.name, figure.draw()
        except ParameterError:
            continue


def _without_bounds(table: pl.DataFrame) -> pl.DataFrame:
    return table.drop("lower", "upper", strict=False)


def _curves(rates: pl.DataFrame) -> pl.DataFrame:
    """Thin long curves on logarithmic FPR, where precision at any prevalence keeps its shape."""
    defined = rates.filter(pl.col("tpr").is_not_null() & pl.col("fpr").is_not_null())
    if defined.height <= _MANY_POINTS:
        return defined
    least = pl.col("fpr").filter(pl.col("fpr") > 0).min()
    ordered = defined.with_columns(across=pl.max_horizontal("fpr", least / 10)).sort("model", "fpr", "tpr")
    width, height = _CANVAS
    return thin_curves(ordered, "across", "tpr", within="model", width=width, height=height, log_x=True).drop(
        "across"
    )


def _precision_recall(comparison: Comparison, models: Sequence[str]) -> pl.DataFrame:
    """Project every point: at the main prevalences, or at the middle one where strokes tell models apart."""
    main = [eta for eta in comparison.main_prevalences if 0 < eta < 1]
    shown = main if len(models) <= _MOST_BANDS else [comparison.middle_prevalence]
    rates = _curves(comparison.rates.filter(pl.col("model").is_in(models)))
    return project_rates(rates, metrics=["precision", "recall"], prevalence=shown)
