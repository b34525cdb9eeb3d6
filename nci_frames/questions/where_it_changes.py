"""Where does the order of the models change?"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import polars as pl

from nci_frames.charts.decision_map import chart_decision_map
from nci_frames.charts.winners import chart_rank_over_prevalence, chart_winner_ranges
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.order import Order, order_lines, read_leads, read_order
from nci_frames.questions.ranked import Measure, measure_names, ranked_tables
from nci_frames.questions.report_question import ReportQuestion, of_several, of_shown, picture
from nci_frames.tables.numbers import f_beta_name


def orders(comparison: Comparison) -> Mapping[Measure, Order]:
    """Return the order of the models over prevalence by each measure."""
    tables = [table for table in ranked_tables(comparison) if table.over == "prevalence"]
    rankings = {table.measure: table.rows for table in tables}
    found = {measure: read_order(rows) for measure, rows in rankings.items()}
    span = {"low": comparison.prevalence[0], "high": comparison.prevalence[-1]}
    # With own best thresholds, borders are exact only on the rows that chose them.
    exact: dict[Measure, pl.DataFrame] = {"f_beta": comparison.winners}
    if "optimistic" not in comparison.best.columns:
        exact["own"] = comparison.best_winners
    # Areas at prevalence 0 and 1 do not follow from those in between.
    if span["low"] > 0 and span["high"] < 1:
        exact["pr_auc"] = comparison.area_winners
    if "asked" in found:
        exact["asked"] = comparison.answer_winners
    for measure, winners in exact.items():
        leads = read_leads(winners, **span)
        if leads:
            found[measure] = found[measure]._replace(leads=leads)
    largest = comparison.area_errors.select(pl.col("error").max()).item() or 0.0
    errors = {"pr_auc": largest, "asked": comparison.said.error}
    return {measure: order._replace(error=errors.get(measure, 0.0)) for measure, order in found.items()}


def _say(_: pl.DataFrame, comparison: Comparison) -> list[str]:
    if len(comparison.answer) == 1:
        return ["There is one model, so there is no order."]
    names = measure_names(comparison)
    found = orders(comparison).items()
    return [line for measure, order in found for line in order_lines(names[measure], order)]


def _areas(comparison: Comparison) -> pl.DataFrame:
    return of_shown(comparison.areas.filter(metric="pr_auc"), comparison)


def _title(comparison: Comparison) -> str:
    return f"Best model of this log by {f_beta_name(comparison.main_beta)} over prevalence"


def _picture(
    name: str, title: Any, table: Callable[..., Any], draw: Callable[..., Any], **live: str
) -> ReportQuestion:
    return picture(name, title, of_several(table), draw, section="order", **live)


QUESTIONS = (
    ReportQuestion(
        "order",
        "Does the order of the models change with the prevalence?",
        "order",
        attrgetter("answer_winners"),
        _say,
    ),
    _picture(
        "ranks", "Rank by PR-AUC over prevalence", _areas, chart_rank_over_prevalence, rule="prevalence"
    ),
    _picture(
        "decisions", "Decision map of F-beta", attrgetter("decisions"), chart_decision_map, points="odds beta"
    ),
    _picture("winners", _title, attrgetter("best_winners"), chart_winner_ranges, rule="prevalence"),
)
