"""A comparison -> the charts of its report, each with a name that is valid as a file name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import polars as pl

from nci_frames import charts
from nci_frames.base.errors import ParameterError
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.log_tables import MOST_MODELS
from nci_frames.questions.segment_table import CHARTED, LABEL, segment_labels, worst_first
from nci_frames.tables.numbers import format_grid

__all__ = ["Figure", "report_charts", "report_figures", "shown_models"]

Chart = alt.LayerChart | alt.FacetChart

#: By name: the title, how it is drawn, and what the page's controls do to it.
_Drawn = dict[str, tuple[str, Callable[[], Chart], Mapping[str, str]]]

#: Bands of more models than this overlap too much.
_MOST_BANDS = 4

#: Panels of a chart of all segments, and models whose differences between segments are explained.
_MOST_PANELS, _MOST_REASONS = 12, 3


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of a report: its name, how it is drawn, and what the page's controls do to it."""

    name: str
    title: str
    draw: Callable[[], Chart]
    #: Where it stands: with the answer, with the other charts, or with the segments.
    section: Literal["answer", "charts", "segments"]
    #: "rule": the axis along which the page marks its prevalence or beta; "points": the two fields of marks
    #: that follow them; "recomputed": the variable that changes the values; "chosen": what the rows are of.
    live: Mapping[str, str]


def shown_models(comparison: Comparison, /, *, most: int = MOST_MODELS) -> list[str]:
    """Return the models that charts show: the few that rank highest anywhere, sorted."""
    return sorted(comparison.leading[:most])


def report_figures(comparison: Comparison, /) -> list[Figure]:
    """Return the figures of a report, in their order; none is drawn yet."""
    models = shown_models(comparison)
    among = pl.col("model").is_in(models)
    beta, prevalence = comparison.main_beta, comparison.middle_prevalence
    observed = comparison.observed_prevalence
    bands = len(models) <= _MOST_BANDS
    own = _without_bounds(comparison.best.filter(among))
    projection = comparison.projection.filter(among)
    projection = projection if bands else _without_bounds(projection)
    areas = comparison.areas.filter(among)
    certainty = comparison.certainty
    shared: dict[str, Any] = {"observed": observed, "models": models}
    drawn: _Drawn = {
        "p3": (
            "Precision over prevalence",
            lambda: charts.chart_p3(projection, **shared),
            {"rule": "prevalence"},
        ),
        "f-own": (
            f"F{beta:g} over prevalence",
            lambda: charts.chart_f_beta_over_prevalence(own, beta=beta, **shared),
            {"rule": "prevalence", "recomputed": "beta", "measure": "own"},
        ),
        "f-prevalence": (
            f"F{beta:g} over prevalence",
            lambda: charts.chart_f_beta_over_prevalence(projection, beta=beta, **shared),
            {"rule": "prevalence", "recomputed": "beta", "measure": "threshold"},
        ),
        "f-beta": (
            "F-beta over beta",
            lambda: charts.chart_f_beta_over_beta(projection, prevalence=prevalence, **shared),
            {"rule": "beta", "recomputed": "prevalence", "measure": "threshold"},
        ),
        "pr-auc": (
            "PR-AUC over prevalence",
            lambda: charts.chart_pr_auc_over_prevalence(areas, **shared),
            {"rule": "prevalence"},
        ),
        "ranks": (
            "Rank by PR-AUC over prevalence",
            lambda: charts.chart_rank_over_prevalence(areas.filter(metric="pr_auc"), **shared),
            {"rule": "prevalence"},
        ),
        "winners": (
            f"Best model of this log by F{beta:g} over prevalence",
            lambda: charts.chart_winner_ranges(comparison.best_winners, **shared),
            {"rule": "prevalence"},
        ),
        "decisions": (
            "Decision map of F-beta",
            lambda: charts.chart_decision_map(comparison.decisions, certified=comparison.certified, **shared),
            {"points": "odds beta"},
        ),
        "roc": (
            "ROC curves, logarithmic FPR",
            lambda: charts.chart_roc(comparison.curves, log_x=True, models=models),
            {"points": "fpr tpr"},
        ),
        "pr": (
            "Precision and recall",
            lambda: charts.chart_pr(_curve_points(comparison, "precision"), models=models),
            {},
        ),
        "work": (
            "Recall over the share of predicted positives",
            lambda: charts.chart_pos_fraction(
                _curve_points(comparison, "pos_fraction"), log_x=True, models=models
            ),
            {},
        ),
    }
    first = _answers(comparison, shared)
    if certainty is not None:
        by_area = certainty.filter(among, pl.col("metric") == "pr_auc")
        ranked_areas = areas.filter(metric="pr_auc")
        drawn["probability"] = (
            "Probability of being best by PR-AUC",
            lambda: charts.chart_probability_best(by_area, ranking=ranked_areas, **shared),
            {"rule": "prevalence"},
        )
    folds = comparison.folds
    if folds is not None:
        drawn["folds"] = (
            f"F-beta plot at η = {format_grid(prevalence)}: mean and standard deviation over the folds",
            lambda: charts.chart_f_beta_plot(
                folds, comparison.beta_winners, models=models, shown=() if bands else _fold_bands(comparison)
            ),
            {"rule": "beta"},
        )
    band, widest = comparison.precision_bands, comparison.precision_uncertainty
    if band is not None and widest is not None:
        few = pl.col("model").is_in(shown_models(comparison, most=_MOST_PANELS // 2))
        drawn["uncertainty"] = (
            "Where precision is least certain",
            lambda: charts.chart_precision_uncertainty(band.filter(few), widest.filter(few), **shared),
            {},
        )
    return [
        *(Figure(name, title, draw, "answer", live) for name, (title, draw, live) in first.items()),
        *(Figure(name, title, draw, "charts", live) for name, (title, draw, live) in drawn.items()),
        *_segment_figures(comparison, models),
    ]


def _answers(comparison: Comparison, shared: Mapping[str, Any]) -> _Drawn:
    """Return the two charts of the answer: who is the best and how sure that is, and the intervals."""
    beta, models = comparison.main_beta, shared["models"]
    own = comparison.best.filter(pl.col("model").is_in(models), pl.col("beta") == beta)
    sure = comparison.best_certainty
    found: _Drawn = {}
    if sure is not None:
        some = sure.filter(pl.col("model").is_in(models))
        found["leaders"] = (
            f"Who is the best by F{beta:g}, and how sure is that?",
            lambda: charts.chart_probability_best(some, ranking=own, **shared),
            {"rule": "prevalence"},
        )
    here = own.filter(prevalence=comparison.middle_prevalence)
    found["intervals"] = (
        f"F{beta:g} of each model at its own best threshold",
        lambda: charts.chart_intervals(here, models=models),
        {"recomputed": "both", "measure": "own"},
    )
    return found


def _fold_bands(comparison: Comparison) -> list[str]:
    """Return the few models whose bands are drawn: the winners at any beta, then models near the top."""
    lowest, highest = comparison.beta[0], comparison.beta[-1]
    winners = comparison.beta_winners.filter(pl.col("start") < highest, pl.col("end") > lowest)["model"]
    return list(dict.fromkeys([*winners, *shown_models(comparison, most=_MOST_BANDS)]))[:_MOST_BANDS]


def _segment_figures(comparison: Comparison, models: Sequence[str]) -> list[Figure]:
    """Return the chart of the segments that are chosen, and of few segments their areas and differences."""
    points, projection = comparison.segment_points, comparison.segment_projection
    if not comparison.segments or points is None or projection is None:
        return []
    keys, beta = list(comparison.segments), comparison.main_beta
    worst = worst_first(comparison).select(keys)
    among = pl.col("model").is_in(models)

    def labelled(table: pl.DataFrame) -> pl.DataFrame:
        some = table.filter(among).join(worst.head(CHARTED), on=keys, how="semi", nulls_equal=True)
        return some.with_columns(segment_labels(worst, keys)).drop(key for key in keys if key != LABEL)

    figures = [
        Figure(
            "chosen",
            f"F{beta:g} over prevalence in the segments chosen",
            lambda: charts.chart_segments(
                labelled(projection.filter(metric="f_beta", beta=beta)),
                segments=LABEL,
                metric="f_beta",
                observed=labelled(points),
                models=models,
            ),
            "segments",
            {"chosen": "segments"},
        )
    ]
    if len(keys) > 1 or len(worst) > _MOST_PANELS:
        return figures
    return [*figures, *_few_segments(comparison, models, keys[0])]


def _few_segments(comparison: Comparison, models: Sequence[str], key: str) -> list[Figure]:
    """Return PR-AUC of every segment, and why they differ."""
    points, areas, differences = comparison.segment_points, comparison.segment_areas, comparison.differences
    if areas is None or differences is None:
        return []
    among = pl.col("model").is_in(models)
    leading = comparison.best_winners["model"].unique(maintain_order=True).head(_MOST_REASONS).to_list()
    reasons = differences.filter(among, pl.col("model").is_in(leading))
    figures = [
        Figure(
            "segments",
            "PR-AUC over prevalence by segment",
            lambda: charts.chart_segments(
                areas.filter(among), segments=key, metric="pr_auc", observed=points, models=models
            ),
            "segments",
            {},
        )
    ]
    if reasons["due_to_rates"].drop_nulls().len():
        title = f"Why segments differ in F{comparison.main_beta:g}"
        figures.append(
            Figure(
                "differences", title, lambda: charts.chart_decomposition(reasons, over=key), "segments", {}
            )
        )
    return figures


def report_charts(comparison: Comparison, /) -> dict[str, Chart]:
    """Draw the charts of a report, without those that cannot be drawn."""
    return dict(_drawn(report_figures(comparison)))


def _drawn(figures: Sequence[Figure]) -> Iterator[tuple[str, Chart]]:
    for figure in figures:
        try:
            yield figure.name, figure.draw()
        except ParameterError:
            continue


def _without_bounds(table: pl.DataFrame) -> pl.DataFrame:
    return table.drop("lower", "upper", strict=False)


def _curve_points(comparison: Comparison, metric: str) -> pl.DataFrame:
    """Select a metric and recall of every point: at the main prevalences, or at one for many models."""
    table = comparison.curve_projection.filter(pl.col("metric").is_in([metric, "recall"]))
    many = comparison.curves["model"].n_unique() > _MOST_BANDS
    return table.filter(prevalence=comparison.middle_prevalence) if many else table
