"""A comparison -> the data of the page's sliders: the answer at every place."""

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nci_frames.base.errors import ParameterError
from nci_frames.questions.answer import Answer
from nci_frames.questions.answer_lines import answer_lines, value_name
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.places import SLIDER
from nci_frames.questions.report import report_questions
from nci_frames.questions.report_question import ReportQuestion
from nci_frames.tables.names import drawable
from nci_frames.tables.numbers import format_grid, sentence
from nci_frames.tables.packed import packed

#: Maximum number of rows of models on the page: with more models, there are fewer places.
_MOST_ROWS = 12_000

_Rows = Iterable[Mapping[str, Any]]
_COUNTS = ("tp", "fp", "positives", "negatives")
_SENT = (
    "model", "rank", "threshold", "value", "lower", "upper", "recall", "precision", "pos_fraction",
    "distinguishable", "supported", "precise",
)  # fmt: skip


def live_numbers(
    comparison: Comparison, /, chips: Sequence[float] = (), questions: Sequence[ReportQuestion] | None = None
) -> dict[str, Any]:
    """Return the data that the page looks up, as JSON values.

    The page opens at the first of the *chips*, prevalences with a button, if there are any.

    =========== ==================================================================================
    key         value
    =========== ==================================================================================
    models      sorted names; all values below refer to a model by its index here
    drawn       the names in charts
    threshold   the threshold of ``points``
    prevalence  the places of the slider, ascending, and ``first``, the index at which it opens
    asked       the second slider: its ``label``, the ``words`` of its places and the index of the
                ``first``; one place without a slider
    answers     for each of these the ``name`` of the metric in titles, and for each prevalence the ``lines``;
                and ``models``, packed rows of the models, the best first, with the index of the
                prevalence, ``at``
    said        for each of the *questions* with sentences, those at each prevalence
    beta        the beta of the charts of F-beta
    points      for each model ``[tp, fp, positives, negatives]`` at the threshold; null without rates
    =========== ==================================================================================
    """
    points = comparison.points.sort("model")
    models = points["model"].to_list()
    etas = sorted({*comparison.answer_prevalences, *chips})
    begin = chips[0] if chips else comparison.asked_prevalence
    label, variants = _variants(comparison, len(models) * len(etas))
    first = [words for words, _ in variants].index(_words(comparison))
    told = [_answers(each, etas, models, tested=at == first) for at, (_, each) in enumerate(variants)]
    shown = report_questions() if questions is None else questions
    return looked_up(
        models,
        prevalence=etas,
        first=min(range(len(etas)), key=lambda place: abs(math.log(etas[place] / begin))),
        asked={"label": label, "words": [words for words, _ in variants], "first": first},
        answers=told,
        beta=comparison.main_beta,
        threshold=_number(comparison.threshold),
        said={each.name: each.say_at(comparison, etas) for each in shown if each.say_at is not None},
        points=[None if row[0] is None else list(row) for row in points.select(_COUNTS).iter_rows()],
    )


def looked_up(models: Sequence[str], *, beta: float, **more: Any) -> dict[str, Any]:
    """Return what all pages have in common, together with *more*, in the form of ``live_numbers``."""
    drawn = [drawable(model) for model in models]
    always = {"models": models, "drawn": drawn, "beta": _number(beta), "threshold": None, "points": []}
    return {**always, **more}


def answers_at(
    name: str, found: Iterable[tuple[list[str], _Rows]], models: Sequence[str], sent: Sequence[str] = _SENT
) -> dict[str, Any]:
    """Return the answers by the metric *name*: the lines and the rows of the models at each place."""
    number = {model: place for place, model in enumerate(models)}
    lines: list[list[str]] = []
    rows: list[dict[str, Any]] = []
    for at, (said, of_models) in enumerate(found):
        lines.append(said)
        kept = ({key: _number(row.get(key)) for key in sent} for row in of_models)
        rows.extend(row | {"at": at, "model": number[row["model"]]} for row in kept)
    return {"name": sentence(name), "lines": lines, "models": packed(rows)}


def _answers(comparison: Comparison, etas: list[float], models: list[str], *, tested: bool) -> dict[str, Any]:
    answers = comparison.answers(etas, tested=tested)
    found = ((answer_lines(answer), _rows(answer)) for answer in answers)
    return answers_at(value_name(comparison.question), found, models)


def _rows(answer: Answer) -> _Rows:
    for row in answer.models.iter_rows(named=True):
        yield {**row, "precise": row["model"] not in answer.imprecise}


def _variants(comparison: Comparison, rows: int) -> tuple[str, list[tuple[str, Comparison]]]:
    """Return the label of the second slider, and a comparison for each of its places."""
    question = comparison.question
    label, changes = "", list[dict[str, Any]]()
    if question.alerts:
        label, changes = "Alerts", [{"alerts": question.alerts * factor} for factor in SLIDER]
    elif question.cost is not None:
        missed, *others = question.cost
        label = "Cost of a missed positive"
        changes = [{"cost": (missed * factor, *others)} for factor in SLIDER]
    elif question.f_beta:
        label = "\u03b2, the weight of recall"
        changes = [{"beta": question.beta * factor} for factor in SLIDER]
    own = _words(comparison)
    if not changes or len(changes) * rows > _MOST_ROWS:
        return label, [(own, comparison)]
    found = []
    for change in changes:
        # Twice a budget may be more than all rows: that is no place.
        with contextlib.suppress(ParameterError):
            other = comparison.asking(**change)
            words = _words(other)
            # The original comparison keeps its computed tables.
            found.append((words, comparison if words == own else other))
    return label, found


def _words(comparison: Comparison) -> str:
    question = comparison.question
    if question.alerts is not None:
        return f"at most {question.alerts:,.15g} among {question.volume:,.15g} rows"
    if question.cost is not None:
        missed, false, *review = question.cost
        reviewed = "".join(f", the review of an alert {cost:,.6g}" for cost in review)
        return f"{missed:,.6g}, a false alarm costs {false:,.6g}{reviewed}"
    if not question.f_beta or question.beta == 1:
        return "1, recall and precision count equally" if question.f_beta else ""
    return f"{format_grid(question.beta)}, {'recall' if question.beta > 1 else 'precision'} counts more"


def _number(value: Any) -> Any:
    """Return a JSON value: infinity and undefined become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
