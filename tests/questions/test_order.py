"""Which models lead where: how ties are named and borders are written, wherever they are told."""

from html import unescape

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.answer_lines import order_line
from nci_frames.questions.order import Lead, Order, leads_in_words, order_lines, read_leads, read_order
from nci_frames.questions.where_it_changes import orders
from nci_frames.reporting.html import render_report
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.terminal import render_text
from tests.comparisons import questions

GRID = [0.001, 0.01, 0.05, 0.1, 0.2, 0.4]


def ranks(*columns):
    rows = [(m, eta, r) for eta, models in columns for m, r in models.items()]
    return pl.DataFrame(
        rows, schema={"model": pl.String, "prevalence": pl.Float64, "rank": pl.Int64}, orient="row"
    )


def test_a_tie_between_is_no_change_by_itself():
    touched = ranks((0.1, {"a": 1, "b": 2}), (0.2, {"a": 1, "b": 1}), (0.3, {"a": 1, "b": 2}))
    assert read_order(touched).overtakings == ()
    assert read_order(touched).leads == (Lead(("a",), 0.1, 0.3),)
    assert order_lines("F1", read_order(touched)) == [
        "By F1 the order does not change: in this log a leads at every prevalence from 0.1 to 0.3, and no "
        "two models change places there."
    ]


def test_at_one_prevalence_nothing_is_said_of_changes():
    leads = (Lead((), 0.001, 0.001), Lead(("a",), 0.05, 0.05))
    assert order_lines("F1", Order(leads, ())) == [
        "By F1 in this log a leads at 0.05. This log cannot tell the value at 0.001."
    ]


def test_a_change_across_a_tie_is_found():
    crossed = ranks((0.1, {"a": 1, "b": 2}), (0.2, {"a": 1, "b": 1}), (0.3, {"a": 2, "b": 1}))
    (change,) = read_order(crossed).overtakings
    assert (change.winner, change.loser, change.before, change.after) == ("b", "a", 0.1, 0.3)
    said, _ = order_lines("F1", read_order(crossed))
    assert said == "By F1 the order changes in this log: a up to 0.2, then b at 0.3."


def test_what_a_log_cannot_tell_parts_two_leads_of_a_model():
    told = ranks(*((eta, {"a": 1}) for eta in (0.1, 0.2, 0.3, 0.4)))
    order = read_order(told.with_columns(supported=~pl.col("prevalence").is_in([0.2, 0.3])))
    assert order.leads == (Lead(("a",), 0.1, 0.1), Lead((), 0.2, 0.3), Lead(("a",), 0.4, 0.4))
    said = order_lines("F1", order)[0]
    assert "in this log a leads from 0.1 to 0.4, wherever the log can tell the value" in said
    assert said.endswith(" This log cannot tell the value from 0.2 to 0.3.")


def test_two_leads_of_a_model_are_no_change():
    """Of five ranges two change the model."""
    names = ["a", "", "a", "", "b", "a", "", "a"]
    leads = [Lead((name,) if name else (), place, place + 1.0) for place, name in enumerate(names)]
    assert leads_in_words(leads).endswith("; from 7 on a; 2 changes in all")


def test_a_lead_after_a_range_that_the_log_cannot_tell_begins_where_it_can():
    leads = (Lead((), 0.001, 0.01), Lead(("a",), 0.01, 0.2), Lead(("b",), 0.2, 0.4, (0.1, 0.3)))
    (said,) = order_lines("F1", Order(leads, ()))
    assert said.startswith(
        "By F1 the order changes in this log: a from 0.01 up to 0.2 (95 %: 0.1 to 0.3), then b. "
    )


def test_a_range_that_begins_at_the_end_of_the_axis_does_not_lead_on_it():
    winners = pl.DataFrame({"start": [0.0, 0.5], "end": [0.5, 1.0], "model": ["a", "b"]})
    assert read_leads(winners, low=0.1, high=0.5) == (Lead(("a",), 0.1, 0.5),)
    assert [lead.models for lead in read_leads(winners, low=0.5, high=0.5)] == [("a",), ("b",)]


@pytest.fixture(scope="module")
def tied() -> nf.Comparison:
    """Return the report of a careful model, and of two that are equal and find more."""
    tables = {"careful": (400, 20), "equal": (900, 900), "same": (900, 900)}
    rows = [
        (model, at, tp + at_all * (1000 - tp), fp + at_all * (20_000 - fp))
        for model, (tp, fp) in tables.items()
        for at, at_all in ((0.0, 1), (0.5, 0))
    ]
    counts = pl.DataFrame(rows, ["model", "threshold", "tp", "fp"], orient="row")
    counts = counts.with_columns(fn=1000 - pl.col("tp"), tn=20_000 - pl.col("fp"))
    return nf.compare_models(counts, prevalence=GRID, repeats=20)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("question", "measure", "border"),
    [
        ({}, "own", "careful at 0.01, then equal or same from 0.05"),
        ({"threshold": 0.5}, "f_beta", "up to 0.0331 (95 %: "),
        ({"metric": "pr_auc"}, "pr_auc", ", then equal or same"),
        ({"cost": (3, 1)}, "asked", "careful at 0.01, then equal or same from 0.05"),
        ({"metric": "mcc", "threshold": 0.5}, "asked", ", then equal or same"),
        (
            {"metric": "recall", "threshold": 0.5},
            "asked",
            "equal or same lead at every prevalence from 0.001",
        ),
        ({"metric": "roc_auc"}, None, "equal or same lead at every prevalence from 0.001 to 0.4"),
    ],
)
def test_an_answer_and_the_order_name_ties_and_borders_alike(tied, question, measure, border):
    """On a terminal, a page and in Markdown."""
    asked = tied.asking(prevalence=0.05, **question)
    answer = order_line(asked.said)
    assert border in answer
    if measure is not None:
        low, high = asked.said.span
        assert orders(asked)[measure].leads == read_leads(asked.answer_winners, low=low, high=high)
    told = answer.removeprefix("in this log ").partition("prevalence: ")[2] or answer.removeprefix("in ")
    told = told.partition(";")[0]
    expected = 1 if measure is None else 2
    telling = {"questions": questions("answer", "order")}
    texts = (
        render_text(asked, **telling),
        render_markdown(asked, **telling).replace("\\", ""),
        unescape(render_report(asked, **telling)),
    )
    assert [" ".join(text.split()).count(told) >= expected for text in texts] == [True] * 3
