"""What was counted, and which groups have undefined rates?"""

from functools import partial

import polars as pl

from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import ReportQuestion
from nci_frames.schemas import beside
from nci_frames.tables.numbers import format_threshold


def _points(comparison: Comparison) -> pl.DataFrame:
    """Return the counts of each model, and the error bound of its PR-AUC."""
    columns = ("model", "positives", "negatives", "tp", "fp", "tpr", "fpr")
    errors = comparison.area_errors.rename({"error": "pr_auc_error"})
    return beside(comparison.points.select(columns), errors, "model").sort("model")


def _title(comparison: Comparison) -> str:
    what = "segments" if comparison.repeat_count is None else "segments and repeats"
    weights = ", sums of weights" if comparison.strata or comparison.weighted else ""
    return f"Counts at threshold {format_threshold(comparison.threshold)}, all {what} pooled{weights}"


def _doubts(comparison: Comparison, *, asked: bool) -> pl.DataFrame | None:
    """Return doubts about the threshold: that of the question if *asked*, the default one otherwise."""
    if asked is not (comparison.question.threshold is not None):
        return None
    told = [why for why in (comparison.off_scale, comparison.uncounted) if why is not None]
    return pl.DataFrame({"doubt": told}) if told else None


def _say_asked(table: pl.DataFrame) -> list[str]:
    return [f"Check the threshold: {why}." for why in table["doubt"]]


def _say_default(table: pl.DataFrame) -> list[str]:
    return [f"Charts and tables at the default threshold: {why}." for why in table["doubt"]]


def _undefined(comparison: Comparison) -> pl.DataFrame | None:
    """Return groups with undefined rates; None if no model has the threshold, which is said once."""
    if comparison.uncounted is not None or comparison.undefined.is_empty():
        return None
    return comparison.undefined


QUESTIONS = (
    ReportQuestion("threshold", "Check the threshold", "answer", partial(_doubts, asked=True), _say_asked),
    ReportQuestion(
        "threshold-of-charts",
        "Do charts at the default threshold tell anything?",
        "charts",
        partial(_doubts, asked=False),
        _say_default,
    ),
    ReportQuestion("counts", _title, "data", _points),
    ReportQuestion("undefined", "Groups whose rates are undefined", "data", _undefined),
)
