"""An answer -> a few lines: the model, its threshold and value, its rivals, and where the order changes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from nci_frames.base.messages import listed, quantity
from nci_frames.evaluation.labelling.cheapest import labels_in_words, labels_that_tell
from nci_frames.evaluation.metrics import COSTS_OF_ONE, called_metric, title_of
from nci_frames.questions import order
from nci_frames.questions.answer import Answer
from nci_frames.questions.question import Question
from nci_frames.tables import numbers

#: Largest relative rounding error of a share of rows.
_ROUNDING = 1e-9
#: Prevalences below this are also written as "1 in 5,000".
_RARE = 0.01
_NEAR = "which this log cannot tell apart"
_SAME_ROWS = "on the rows that chose the threshold"

#: A row of ``Comparison.answer``.
_Row = dict[str, Any]


def answer_lines(answer: Answer, /) -> list[str]:
    """Return an answer in at most five lines, in the order of every format of a report.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": 0.5, "tp": [600, 800], "fp": [10, 200], "fn": [400, 200],
    ...     "tn": [9990, 9800],
    ... })
    >>> question = nf.Question(prevalence=0.01, threshold=0.5)
    >>> comparison = nf.compare_models(counts, prevalence=[0.005, 0.5], question=question, repeats=20)
    >>> for line in answer_lines(comparison.said):
    ...     print(line)
    At prevalence 0.01, by F1 at threshold 0.5:
    Choose a at threshold 0.5: F1 0.706 (95 %: 0.650 to 0.748)
    In this log the best model changes with the prevalence: a up to 0.053 (95 %: 0.0415 to 0.067), then b
    Significantly better than the other model
    It finds 60 % of the positives; 0.699 % of all rows are alerts, 85.8 % of them right
    """
    same = "" if answer.judged or not answer.question.own else ", evaluated on the rows that chose it"
    lines = [f"{_place(answer)}, by {measure_words(answer.question)}{same}:"]
    best, near, doubted, said = _read(answer)
    if not best:
        return [*lines, numbers.sentence(_nothing(answer))]
    first = best[0]
    valued = best[:1] if near else best
    own = [row["threshold"] for row in valued if row["threshold"] is not None]
    shown = [numbers.format_threshold(threshold) for threshold in own]
    at = f" at threshold {shown[0]}" if len({*own}) == 1 else ""
    if _raises_none(first):
        at += " (no alert)"
    if 1 < len({*own}) <= len(own) <= order.SOME:
        at = f" (at thresholds {listed(shown)})"
    # Names of rivals come last, as a phone's first screen must show the choice and its value.
    value = _value(answer, valued)
    if _costs_too_much(answer):
        choice = f"choose no model; {choice_in_words(best, None, value, at=at, doubted=False)}"
    else:
        choice = choice_in_words(best, near, value, at=at, doubted=doubted)
    lines += [choice, order_line(answer), said]
    if doubted or first["model"] in answer.imprecise:
        # The log may tell recall where it cannot tell precision.
        first |= {"precision": None}
    if first["pos_fraction"] is not None:
        lines.append(_work(answer, first, several=bool(near or best[1:])))
    return [numbers.sentence(line) for line in lines if line]


def choice_in_words(
    best: Sequence[_Row], near: Sequence[_Row] | None, value: str, *, at: str = "", doubted: bool
) -> str:
    """Return which models to choose: the *best* in the log, and those *near* it, which cannot be told apart.

    If *near* is None, no model is to be chosen before the others, see ``none_near``.
    """
    if near is None:
        return f"best in this log: {order.any_of(_names(best))}{at}, {value}"
    here = f"{at}; in this log" if doubted else f"{at}:"
    if near:
        here = f", {_NEAR}: {best[0]['model']}{at} has"
    return f"Choose {order.any_of(_names([*best, *near]))}{here} {value}"


def short_answer(answer: Answer, /) -> str:
    """Return the answer as one sentence, in the order of its lines."""
    best, near, doubted, said = _read(answer)
    if not best:
        return f"{_place(answer)}: {_nothing(answer)}"
    here = "in this log " if near is None or doubted else ""
    value = _value(answer, best[:1] if near else best)
    if near:
        here = f"{_NEAR}: {best[0]['model']} has "
    named = order.any_of(_names([*best, *(near or [])]))
    if _costs_too_much(answer):
        named, here = f"no model; best in this log: {named}", here.removeprefix("in this log ")
    first = f"{_place(answer)}: {named}, {here}{value}"
    return "; ".join(filter(None, [first, order_line(answer), said]))


def _read(answer: Answer) -> tuple[list[_Row], list[_Row] | None, bool, str]:
    """Return the best models, those near them, whether the value is doubtful, and a sentence.

    The sentence tells why it is doubtful, or how the others compare; it is empty if neither is known.
    """
    best, others = best_of(answer.models.to_dicts())
    if _without_alerts(answer):
        best = []
    doubt = _doubt(answer, best, others) if best else None
    if doubt is not None:
        # Models that tie need not be equally good, either.
        return best, none_near([*best[1:], *others]), True, doubt
    near, said = rivals(others) if answer.tested else (none_near(others), "")
    return best, near, False, said


def _nothing(answer: Answer) -> str:
    sure, none = answer.question.confidence, "no model has a defined value"
    if answer.lacks is not None:
        return f"{none}: the log has no {answer.lacks}"
    if sure is not None:
        return f"no threshold is known to keep this budget with confidence {sure:g}: the log has too few rows"
    if _without_alerts(answer):
        more = "the rows at the highest threshold counted stand for more alerts"
        return f"no model raises an alert within this budget: in this log {more}"
    reasons = answer.models["reason"].unique().to_list()
    return none + (f": {reasons[0]}" if len(reasons) == 1 and reasons[0] else "")


def _without_alerts(answer: Answer) -> bool:
    """Return whether no model has a threshold within the budget that any row reaches."""
    return answer.question.alerts is not None and {*answer.models["pos_fraction"]} - {None} == {0.0}


def _raises_none(row: _Row) -> bool:
    """Return whether a threshold is above all scores."""
    return bool(row["threshold"] == math.inf and row["pos_fraction"] == 0)


def _names(rows: Sequence[_Row]) -> list[str]:
    return [row["model"] for row in rows]


def _place(answer: Answer) -> str:
    own = ", that of the log" if answer.observed else ""
    rare = f" ({numbers.format_one_in(answer.prevalence)})" if answer.prevalence < _RARE else ""
    return f"At prevalence {numbers.format_grid(answer.prevalence)}{rare}{own}"


def measure_words(question: Question, /) -> str:
    """Return the name of the metric, with its costs, its budget or the threshold of the models."""
    name = measure_name(question)
    if question.cost is not None:
        missed, false, *review = question.cost
        costs = f"a missed positive costs {missed:,.15g}, a false alarm {false:,.15g}"
        name += f" ({costs}{''.join(f', the review of an alert {cost:,.15g}' for cost in review)})"
    elif name.replace(" ", "_") in COSTS_OF_ONE:
        name += " (a missed positive and a false alarm cost 1 each)"
    if question.alerts is not None:
        among = quantity(question.volume or 0, "row")
        sure = "" if question.confidence is None else f", kept with confidence {question.confidence:g}"
        return f"{name} with at most {quantity(question.alerts, 'alert')} among {among}{sure}"
    if question.area is not None:
        return name
    if question.threshold is not None:
        return f"{name} at threshold {numbers.format_threshold(question.threshold)}"
    return f"{name}, each model at its own best threshold"


def measure_name(question: Question, /) -> str:
    """Return the name of the metric of a question."""
    if question.f_beta:
        return numbers.f_beta_name(question.beta)
    if question.cost is not None:
        return "expected cost"
    area = question.area
    label = called_metric(question.asked).label if area is None else area.name
    name, call, given = title_of(label).partition("(")
    return name.replace("_", " ") + call + given


def value_name(question: Question, /) -> str:
    """Return the name of a value of the metric in titles and tables, where costs are per row."""
    return measure_name(question) + (" a row" if question.cost is not None else "")


def _value(answer: Answer, best: Sequence[_Row]) -> str:
    """Return the name and value of the metric of models that tie; a cost is for the volume, or per row."""
    cost = answer.question.cost is not None
    rows = answer.question.volume if cost else None
    shown: Callable[[float], str]
    shown = numbers.format_value if rows is None else lambda number: _amount(number * rows)
    per = "" if not cost else " a row" if rows is None else f" for {quantity(rows, 'row')}"
    value = best[0]["value"]
    told = f"{measure_name(answer.question)} {shown(value)}{per}{bounds_in_words(best, shown)}"
    without = _without_model(answer)
    if without is None:
        return told
    what, least = without
    less = ", which is less" if value > least * (1 + _ROUNDING) else ""
    return f"{told}; without a model, {what} costs {shown(least)}{less}"


def _without_model(answer: Answer) -> tuple[str, float] | None:
    """Return what costs least without a model, and how much; None if another metric was asked for."""
    question, costs = answer.question, {}
    if question.cost is not None:
        missed, false, *review = question.cost
        costs["raising no alert"] = missed * answer.prevalence
        if question.alerts is None:
            costs["an alert for every row"] = false * (1 - answer.prevalence) + sum(review)
    elif question.area is None and called_metric(question.asked).metric.name == "relative_cost":
        costs["the better of no alert and an alert for every row"] = 1.0
    return min(costs.items(), key=lambda cost: cost[1], default=None)


def _costs_too_much(answer: Answer) -> bool:
    """Return whether every model that may be the best certainly costs more than no model."""
    without = _without_model(answer)
    if without is None:
        return False
    best, others = best_of(answer.models.to_dicts())
    lower = [row["lower"] for row in (*best, *others) if not row["distinguishable"]]
    return bool(best[0]["supported"]) and None not in lower and min(lower) > without[1] * (1 + _ROUNDING)


def bounds_in_words(best: Sequence[_Row], shown: Callable[[float], str] = numbers.format_value) -> str:
    """Return the bounds of a value in brackets: the widest of models that tie; empty without bounds."""
    bounds = [row[name] for name in ("lower", "upper") for row in best]
    return "" if None in bounds else f" (95 %: {shown(min(bounds))} to {shown(max(bounds))})"


def _amount(value: float) -> str:
    return numbers.format_grid(value) if value < 100 else f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share in percent.

    >>> [percent(share) for share in (0.4567, 3.33e-7, 0.9999, 1)]
    ['45.7 %', '3.33 × 10⁻⁵ %', '99.99 %', '100 %']
    """
    # Two digits of the distance to 100, at least: 99.99 % is not all.
    digits = max(3, 1 - math.floor(math.log10(1 - share))) if share < 1 else 3
    size = 100 * share
    return f"{f'{size:.{digits}g}' if size >= 0.001 else numbers.format_grid(size)} %"


def best_of(rows: Sequence[_Row]) -> tuple[list[_Row], list[_Row]]:
    """Return the best of rows that are sorted by rank, and the other rows that have a value."""
    ranked = [row for row in rows if row["rank"] is not None]
    best = [row for row in ranked if row["rank"] == 1]
    return best, ranked[len(best) :]


def none_near(others: Sequence[_Row]) -> list[_Row] | None:
    """Return no rows if all others are known to differ from the best, and None if some may be as good."""
    return [] if all(row.get("distinguishable") for row in others) else None


def rivals(others: Sequence[_Row]) -> tuple[list[_Row] | None, str]:
    """Return the rows not distinguishable from the best, and a sentence on how the rest compare with it.

    Without such rows, see ``none_near``.
    """
    near = [row for row in others if row["distinguishable"] is False]
    rest = [row for row in others if row not in near]
    return near or none_near(others), _compared(rest, all_others=not near) if rest else ""


def _compared(others: Sequence[_Row], *, all_others: bool) -> str:
    """Return how other models compare with the chosen ones."""
    untold = _names([row for row in others if row["distinguishable"] is None])
    if all_others and len(untold) == len(others):
        return "whether it is significantly better than others, this log cannot tell"
    if untold:
        return f"{order.UNTOLD}: {listed(untold, order.SOME)}"
    if not all_others:
        return f"significantly worse than the best: {listed(_names(others), order.SOME)}"
    return f"significantly better than {order.all_of(len(others))}"


def _doubt(answer: Answer, best: Sequence[_Row], others: Sequence[_Row]) -> str | None:
    """Return why the log does not support the best value, and what it tells of the order; None if it does."""
    reason: str | None = best[0]["reason"]
    if best[0]["supported"]:
        return None
    if _raises_none(best[0]):
        reason = "this log cannot tell whether alerts would do better"
    elif reason is not None:
        reason = "; ".join(filter(None, [reason, _way_out(answer, best[0])]))
    return with_known_order(reason, best, others) if reason is not None and answer.tested else reason


def with_known_order(reason: str, best: Sequence[_Row], others: Sequence[_Row]) -> str:
    """Return why a value is not known, and what is known of the order of several compared models."""
    if not others:
        return reason
    known = order.known_order(_names(best), {row["model"]: row["distinguishable"] for row in others})
    return f"{reason}. {numbers.sentence(known)}"


def _way_out(answer: Answer, row: _Row) -> str:
    """Return how many labels would tell the value; empty if unknown."""
    if answer.question.area is not None:
        return "nci-frames plan-labels does not plan for areas"
    recall, flagged = row["recall"], row["pos_fraction"]
    if recall and flagged is not None and flagged <= answer.prevalence * recall * (1 + _ROUNDING):
        return "no alert in it is false: labels of alerts of the traffic would tell how many are"
    return labels_in_words(labels_for(answer.question, answer.prevalence, row))


def labels_for(question: Question, prevalence: float, row: _Row, /) -> tuple[int, int] | None:
    """Return how many labels would tell the metric of a model: chosen by score, and at random.

    The *row* has its recall and its share of positive decisions. None if unknown, or for an area. For costs,
    which the command that plans labels does not take, both numbers are those at random.
    """
    recall, flagged = row["recall"], row["pos_fraction"]
    if question.area is not None or recall is None or flagged is None or not 0 < prevalence < 1:
        return None
    fpr = (flagged - prevalence * recall) / (1 - prevalence)
    beta = question.beta if question.f_beta else 1.0
    found = labels_that_tell(question.asked, recall=recall, fpr=fpr, prevalence=prevalence, beta=beta)
    return found if found is None or question.cost is None else (found[1], found[1])


def _work(answer: Answer, row: _Row, *, several: bool) -> str:
    """Return the alerts and the positives found: among the volume if given, and as shares otherwise.

    If *several* models may be chosen, the model is named.
    """
    recall, precision, flagged = (row[name] or 0.0 for name in ("recall", "precision", "pos_fraction"))
    rows, who = answer.question.volume, f"with {row['model']}, " if several else ""
    # Where no model is judged on other rows, the first line says so.
    same = f" ({_SAME_ROWS})" if answer.question.own and answer.judged else ""
    if rows is None:
        right = "" if row["precision"] is None else f", {percent(precision)} of them right"
        share = f"{percent(recall)} of the positives"
        found = f"{who}{share} are found" if several else f"it finds {share}"
        return f"{found}; {percent(flagged)} of all rows are alerts{right}{same}"
    positives = rows * answer.prevalence
    right = f"{_amount(positives * recall)} of {_amount(positives)} positives found{same}"
    alerts = _amount(rows * flagged)
    alerts += f" alert{'' if alerts == '1' else 's'}{_alerts(answer, row)}"
    return f"{who}of {quantity(rows, 'row')}: {alerts}, {right}"


def _alerts(answer: Answer, row: _Row) -> str:
    """Return the interval of the number of alerts in brackets; empty without a budget."""
    low, high = row.get("pos_fraction_lower"), row.get("pos_fraction_upper")
    question = answer.question
    if low is None or high is None or question.volume is None or question.alerts is None:
        return ""
    least, most = question.volume * low, question.volume * high
    # With a confidence, the budget is kept at that level, which may be below that of these bounds.
    doubted = question.confidence is None and most > question.alerts
    doubt = ", so the budget may be exceeded" if doubted else ""
    return f" (95 %: {_amount(least)} to {_amount(most)}{doubt})"


def order_line(answer: Answer, /) -> str:
    """Return where the best model changes with the prevalence; empty if models were not compared."""
    low, high = answer.span
    if not answer.tested or low == high:
        return ""
    known, unknown = [lead for lead in answer.leads if lead.models], order.untold_in_words(answer.leads)
    if len(answer.models) == 1 and known:
        return f"at other prevalences this log cannot tell the value {unknown}" if unknown else ""
    if not known:
        span = f"from {numbers.format_grid(low)} to {numbers.format_grid(high)}"
        return f"at other prevalences this log cannot tell the value ({span})"
    doubt = f"; the log cannot tell the value {unknown}" if unknown else ""
    if answer.error and len(answer.models) > 1:
        doubt += f"; {order.known_within(measure_words(answer.question), answer.error)}"
    told = order.only_leader(known)
    if told is None:
        told = f"the best model changes with the prevalence: {order.leads_in_words(answer.leads)}"
    return f"in this log {told}{doubt}"
