"""Do the scores hold as probabilities at the prevalence of the question?"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from nci_frames.charts.probabilities import chart_calibration, chart_decision_curve
from nci_frames.evaluation.probabilities.calibration import calibration_curve
from nci_frames.evaluation.probabilities.decisions import decision_curve
from nci_frames.evaluation.probabilities.proper_scores import proper_scores
from nci_frames.questions.answer_lines import bounds_in_words, percent
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import ReportQuestion, at_asked, picture, shown_models
from nci_frames.schemas import beside, rows_where, within
from nci_frames.tables.numbers import format_grid

#: Largest number of models with curves: more curves overlap too much.
_MOST_CURVES = 4

#: Score of the alarms in a sentence, or the nearest score of the log.
_ALARM = 0.8

#: Heading under which the page folds the charts.
_HOLD = "Do the probabilities hold at your prevalence?"

#: Largest relative difference of prevalences that a sentence treats as equal.
_SAME = 0.01

#: Prevalences at which all rows are of one class, and the suffixes of columns of these rows.
_CLASSES = ((1.0, "_of_positives"), (0.0, "_of_negatives"))

#: Columns of a decision curve that the page mixes from those of both classes.
_MIXED = ("net_benefit", "treat_all", "interventions_avoided", "lower", "upper")

#: Threshold probabilities of the decision curve, besides those up to twice the prevalence.
_EVEN = tuple(place / 100 for place in range(100))


def _counts(comparison: Comparison) -> pl.DataFrame | None:
    """Return the counts of the models that charts show; None unless their scores are probabilities."""
    if not comparison.of_probabilities:
        return None
    shown = comparison.counts_of(shown_models(comparison, most=_MOST_CURVES))
    return None if shown.is_empty() else shown


def _scores(comparison: Comparison) -> pl.DataFrame | None:
    """Return the Brier score of the best model as logged and adjusted, and how often its alarms come true.

    Of the first model of the charts if the best has no rows of a class.
    """
    return _scores_at(comparison, [comparison.asked_prevalence])


@within()
def _scores_at(comparison: Comparison, etas: Sequence[float]) -> pl.DataFrame | None:
    shown, place = _counts(comparison), ["model", "prevalence"]
    if shown is None:
        return None
    counts = comparison.counts_of([comparison.answer["model"][0]])
    if counts.is_empty():
        counts = rows_where(shown, pl.col("model").eq_missing(shown["model"].min()))
    columns = [
        proper_scores(counts, prevalence=etas, metrics="brier", adjusted=adjusted)
        .select(*place, pl.col("value").alias(f"brier{name}"), pl.col("skill").alias(f"skill{name}"))
        .pipe(beside, _alarms(_curve(comparison, counts, etas, adjusted=adjusted), name), place)
        for adjusted, name in ((False, ""), (True, "_adjusted"))
    ]
    return beside(columns[0], columns[1], place).sort(place)


def _curve(
    comparison: Comparison, counts: pl.DataFrame, etas: Sequence[float], *, adjusted: bool
) -> pl.DataFrame:
    curve = calibration_curve(counts, prevalence=etas, adjusted=adjusted)
    if comparison.buckets is None and comparison.repeat_count is None:
        return curve
    # The rows of a unit are dependent, but the bounds treat them as independent.
    return curve.with_columns(pl.lit(None, pl.Float64).alias(side) for side in ("lower", "upper"))


def _alarms(curve: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return for each model the block with rows of both classes whose score is nearest to an alarm."""
    mixed, place = curve.filter(pl.col("observed").is_between(0, 1, closed="none")), ["model", "prevalence"]
    nearest = mixed.sort((pl.col("predicted") - _ALARM).abs(), "predicted").unique(place, keep="first")
    return nearest.select(*place, pl.col("predicted", "observed", "lower", "upper").name.suffix(name))


def _say_at(comparison: Comparison, etas: Sequence[float]) -> list[list[str]]:
    """Return the sentences at each of several prevalences."""
    table = _scores_at(comparison, etas)
    return [] if table is None else [_say(table.filter(prevalence=eta), comparison) for eta in etas]


def _say(table: pl.DataFrame, comparison: Comparison) -> list[str]:
    (row,) = table.to_dicts()
    at, observed = row["prevalence"], comparison.observed_prevalence
    there, elsewhere = format_grid(at), observed is None or abs(at / observed - 1) > _SAME
    alarms = [_come_true(row, name) for name in ("", "_adjusted")[: 1 + elsewhere]]
    value, always = format_grid(row["brier"]), format_grid(at * (1 - at))
    brier = f"The Brier score of {row['model']} is {value}, and that of always saying {there} is {always}"
    if elsewhere:
        brier += f"; adjusted it is {format_grid(row['brier_adjusted'])}"
    if None in alarms:
        return [f"{brier}."]
    scored = f"At prevalence {there}, rows that {row['model']} scores about "
    scored += "; adjusted to this prevalence, those at about ".join(filter(None, alarms))
    return [f"{scored}.", f"{brier}."]


def _come_true(row: dict[str, Any], name: str) -> str | None:
    names = ("predicted", "observed", "lower", "upper")
    predicted, observed, lower, upper = (row[each + name] for each in names)
    if predicted is None:
        return None
    bounds = bounds_in_words([{"lower": lower, "upper": upper}], percent)
    return f"{format_grid(predicted)} are positive in {percent(observed)} of cases{bounds}"


@within()
def _calibration(comparison: Comparison) -> pl.DataFrame | None:
    """Return the calibration curve, with the mean score of the positives and the negatives of each block."""
    counts, asked = _counts(comparison), comparison.asked_prevalence
    if counts is None:
        return None
    curves = _curve(comparison, counts, sorted({0.0, asked, 1.0}), adjusted=False).sort("score_lower")
    curve = curves.filter(prevalence=asked)
    for eta, name in _CLASSES:
        mean = pl.col("predicted").alias(f"predicted{name}")
        # At these prevalences all rows are of one class, so each block takes the next one with such rows.
        means = curves.filter(prevalence=eta).select("model", "score_lower", mean)
        curve = curve.join_asof(
            means, on="score_lower", by="model", strategy="forward", check_sortedness=False
        )
        # A block without such rows has weight 0 in their mean.
        curve = curve.with_columns(pl.col(f"predicted{name}").fill_null(pl.col("predicted")))
    return curve.sort("model", "score_lower")


@within()
def _decisions(comparison: Comparison) -> pl.DataFrame | None:
    """Return the decision curve, with the parts of each value from positives and from negatives."""
    counts, eta = _counts(comparison), comparison.asked_prevalence
    if counts is None:
        return None
    places = sorted({*_EVEN, *(eta * place / 10 for place in range(20) if eta * place < 10)})
    curves = decision_curve(counts, prevalence=sorted({0.0, eta, 1.0}), threshold_probabilities=places)
    curve = curves.filter(prevalence=eta)
    at = ["model", "threshold_probability"]
    for end, name in _CLASSES:
        values = curves.filter(prevalence=end).select(*at, pl.col(*_MIXED).name.suffix(name))
        curve = beside(curve, values, at)
    return curve


_hold = partial(picture, under=_HOLD)

QUESTIONS = (
    ReportQuestion("probabilities", _HOLD, "charts", _scores, _say, say_at=_say_at),
    _hold("calibration", at_asked("Calibration"), _calibration, chart_calibration, recomputed="calibration"),
    _hold(
        "decision_curve", at_asked("Decision curve"), _decisions, chart_decision_curve, recomputed="decisions"
    ),
)
