"""Answers to one question, against loops over models, thresholds and prevalences."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.answer import Answer
from nci_frames.questions.answer_lines import answer_lines, measure_name, order_line, short_answer
from nci_frames.questions.certainty import MOST_RESAMPLED
from nci_frames.questions.order import Lead
from nci_frames.questions.ranked import own_threshold_words
from nci_frames.questions.report import report_charts
from nci_frames.reporting.json import render_json
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.terminal import print_answer, print_basis, print_conclusion
from tests.comparisons import altered, printed, questions
from tests.comparisons import comparison as compare_many
from tests.logs import counts_at, random_log

LOG = random_log(1500, seed=4).drop("country", "fold")
COUNTS = nf.count_confusion(LOG, thresholds=[-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0])
RATES = nf.compute_rates(COUNTS)
GRID = [0.001, 0.01, 0.1, 0.3, 0.5]


@pytest.fixture(scope="module")
def comparison() -> nf.Comparison:
    return nf.compare_models(COUNTS, prevalence=GRID, threshold=0.5, repeats=20)


Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def ask(comparison: nf.Comparison) -> Ask:
    return lambda **options: comparison.asking(**options).said


def cost(row: dict[str, Any], eta: float, missed: float, false: float) -> float:
    return float(eta * (1 - row["tpr"]) * missed + (1 - eta) * row["fpr"] * false)


def test_the_cheapest_model_at_a_threshold(ask):
    answer = ask(prevalence=0.01, cost=(200, 1), threshold=0.5)
    costs = {
        row["model"]: cost(row, 0.01, 200, 1) for row in RATES.filter(threshold=0.5).iter_rows(named=True)
    }
    assert dict(answer.models.select("model", "value").iter_rows()) == pytest.approx(costs)
    assert answer.models["model"][0] == min(costs, key=lambda model: costs[model])
    assert answer.models["rank"].to_list() == [1, 2]
    assert answer.models["value"].is_between(answer.models["lower"], answer.models["upper"]).all()


@pytest.mark.thorough
def test_own_thresholds_are_judged_on_other_rows(ask, comparison):
    answer = ask(prevalence=0.01, cost=(50, 1))
    assert own_threshold_words(comparison).endswith(
        "own best threshold, evaluated on rows that did not choose it"
    )
    metric = nf.expected_cost(c_fp=1, c_fn=50)
    fitted = nf.cross_fit(COUNTS, metric=metric, prevalence=0.01)
    judged = dict(fitted.select("model", "value").iter_rows())
    assert dict(answer.models.select("model", "value").iter_rows()) == pytest.approx(judged, rel=1e-12)
    for row in answer.models.iter_rows(named=True):
        points = RATES.filter(model=row["model"]).to_dicts()
        best = min(points, key=lambda point: cost(point, 0.01, 50, 1))
        assert row["threshold"] == best["threshold"]
        assert row["recall"] == pytest.approx(best["tpr"])
        assert row["pos_fraction"] == pytest.approx(0.01 * best["tpr"] + 0.99 * best["fpr"])
        assert row["lower"] <= row["value"] <= row["upper"]


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"cost": (50.0, 1.0)}, {"metric": "accuracy"}])
def test_the_leaders_are_those_of_a_loop(comparison, options):
    """Also where one prevalence is asked for: the order is searched over all of them."""
    asked = comparison.asking(prevalence=0.02, **options)
    answer, winners = asked.said, asked.answer_winners
    metric = nf.expected_cost(c_fp=1, c_fn=50) if "cost" in options else options.get("metric", "f_beta")
    sign = -1 if "cost" in options else 1
    for start, end, model in winners.select("start", "end", "model").iter_rows():
        fitted = nf.cross_fit(COUNTS, metric=metric, prevalence=start)
        values = {name: sign * value for name, value in fitted.select("model", "value").iter_rows()}
        assert values[model] == pytest.approx(max(values.values()), rel=1e-12)
        assert start <= end
    assert winners["start"].to_list() == sorted([*GRID, 0.02])
    assert answer.span == (0.001, 0.5)


def test_alerts_are_limited_at_every_prevalence(comparison):
    asked = comparison.asking(prevalence=0.02, alerts=50, volume=1000)
    answer, winners = asked.said, asked.answer_winners

    def within(eta: float) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for row in RATES.iter_rows(named=True):
            allowed = eta * row["tpr"] + (1 - eta) * row["fpr"] <= 0.05
            if allowed and row["tpr"] > found.get(row["model"], {"tpr": -1})["tpr"]:
                found[row["model"]] = row
        return found

    points = within(0.02)
    assert set(answer.models["model"]) == set(points) == {"forest", "linear"}
    for row in answer.models.iter_rows(named=True):
        assert row["threshold"] == points[row["model"]]["threshold"]
        assert row["value"] == pytest.approx(points[row["model"]]["tpr"])
        assert row["pos_fraction"] <= 0.05
    assert winners["start"].to_list() == sorted([*GRID, 0.02])
    for start, model in winners.select("start", "model").iter_rows():
        recalls = {name: row["tpr"] for name, row in within(start).items()}
        assert recalls[model] == max(recalls.values())
    assert "Of 1,000 rows:" in "\n".join(answer_lines(answer))


@pytest.mark.thorough
def test_an_area_is_chosen_by(comparison):
    asked = comparison.asking(prevalence=0.1, metric="pr_auc")
    answer, winners = asked.said, asked.answer_winners
    areas = nf.compute_areas(COUNTS, prevalence=0.1).filter(metric="pr_auc")
    assert dict(answer.models.select("model", "value").iter_rows()) == dict(
        areas.select("model", "value").iter_rows()
    )
    assert answer.models["threshold"].null_count() == 2
    assert winners.select("start", "model").equals(comparison.area_winners.select("start", "model"))


@pytest.mark.thorough
def test_the_best_by_an_area_without_prevalence_is_the_best_everywhere(comparison):
    """The model with the largest PR-AUC over prevalence may be another one."""
    areas = nf.compute_areas(COUNTS, prevalence=0.1).filter(metric="roc_auc").sort("value")
    other, best = areas["model"]
    led = altered(comparison, area_winners=comparison.area_winners.with_columns(model=pl.lit(other)))
    asked = led.asking(prevalence=0.1, metric="roc_auc")
    assert asked.said.models["model"].to_list() == [best, other]
    assert asked.said.models["value"].to_list() == areas["value"].to_list()[::-1]
    # A threshold is that of the tables.
    at_threshold = led.asking(prevalence=0.1, metric="roc_auc", threshold=0.5)
    assert answer_lines(at_threshold.said)[0] == "At prevalence 0.1, by ROC-AUC:"
    assert asked.answer_winners.rows() == [(0.001, 0.5, best, [best], True, None, None)]


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"metric": "precision"}, {"metric": "f_beta"}, {"cost": (200, 1)}])
def test_the_only_prevalence_compared_is_the_one_that_is_asked(options):
    question = nf.Question(prevalence=0.01, threshold=0.5, **options)
    comparison = nf.compare_models(COUNTS, prevalence=0.01, question=question, threshold=0.5, repeats=20)
    winner = comparison.answer_winners.row(0, named=True)
    assert (winner["start"], winner["end"]) == (0.01, 0.01)
    assert winner["model"] == comparison.answer["model"][0]
    said = " ".join(answer_lines(comparison.said))
    assert "threshold 0.5" in said
    assert "every prevalence" not in said


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ({"threshold": 0.5}, {"metric": "f_beta", "threshold": 0.5}),
        ({"alerts": 20, "volume": 1000}, {"metric": "recall", "pos_fraction": 0.02}),
    ],
)
def test_rivals_are_those_of_compare_best(ask, asked, same):
    answer = ask(prevalence=0.1, **asked)
    found = nf.compare_best(COUNTS, prevalence=0.1, repeats=200, **same)
    rivals = ("model", "distinguishable")
    assert dict(answer.models.select(rivals).rows()) == dict(found.select(rivals).rows())


def test_without_a_prevalence_it_is_that_of_the_log(ask):
    answer = ask()
    assert answer.prevalence == LOG["label"].mean()
    assert ", that of the log, by F1, each model at its own best threshold:" in answer_lines(answer)[0]


def test_costs_and_alerts_are_told_in_numbers_of_the_user(ask):
    answer = ask(prevalence=0.01, cost=(200, 1), volume=2_000_000, threshold=0.5)
    row = answer.models.row(0, named=True)
    text = "\n".join(answer_lines(answer))
    assert "(a missed positive costs 200, a false alarm 1) at threshold 0.5:" in text
    assert f"expected cost {row['value'] * 2e6:,.0f} for 2,000,000 rows" in text
    # Without any alert it would be 4,000,000.
    assert "; without a model, an alert for every row costs 1,980,000, which is less\n" in text
    (_, said, *_) = answer_lines(ask(prevalence=0.01, cost=(20, 1, 0.5), threshold=0.5))
    assert said.endswith("; without a model, raising no alert costs 0.200")
    assert f"Of 2,000,000 rows: {row['pos_fraction'] * 2e6:,.0f} alerts" in text
    assert f"{row['recall'] * 2e4:,.0f} of 20,000 positives found" in text


def test_an_infinite_value_has_no_bound_that_is_no_number():
    counts = counts_at([50, 60], 0, 100, 1000)
    question = nf.Question(metric="lr_plus", threshold=0.5, prevalence=0.1)
    answer = nf.compare_models(counts, prevalence=0.1, question=question, repeats=20).answer
    assert answer["value"].is_infinite().all()
    assert not answer["lower"].fill_null(0.0).is_nan().any()


def test_costs_that_nobody_gave_are_told(ask):
    for metric in ("expected_cost", "relative_cost"):
        said = answer_lines(ask(metric=metric, threshold=0.5))[0]
        assert f"by {metric.replace('_', ' ')} (a missed positive and a false alarm cost 1 each) at" in said
    assert "cost 1 each" not in answer_lines(ask(metric=nf.expected_cost(c_fn=20), threshold=0.5))[0]


@pytest.mark.thorough
def test_alerts_at_a_threshold_of_its_own_are_those_of_the_rows_that_chose_it(ask):
    same = " (on the rows that chose the threshold)"
    assert [answer_lines(ask(volume=volume))[-1].endswith(same) for volume in (None, 1000)] == [True] * 2
    assert same not in answer_lines(ask(threshold=0.5))[-1]


def test_of_a_single_model_no_lead_is_told(comparison):
    one = nf.compare_models(COUNTS.filter(model=COUNTS["model"][0]), prevalence=GRID, repeats=20)
    assert not any("lead" in line or "best in" in line for line in answer_lines(one.said))
    assert order_line(one.said).startswith(
        "at other prevalences this log cannot tell the value from 0.001 to "
    )
    assert order_line(one.asking(prevalence=0.1, metric="recall", threshold=0.5).said) == ""
    assert "the best in this log" not in short_answer(one.asking(prevalence=0.001).said)
    assert "There is one model, so there is no order\\." in render_markdown(one, questions=questions("order"))
    order = questions("ranks", "decisions", "winners", "leaders", "probability")
    assert [len(report_charts(compared, order)) for compared in (one, comparison)] == [0, 5]


def ask_two(prevalence: list[float], tp: Any, fp: Any, rows: tuple[int, int], **options: Any) -> Answer:
    """Ask which of two models of so many positives and negatives is better at the first prevalence."""
    comparison = nf.compare_models(counts_at(tp, fp, *rows), prevalence=prevalence, repeats=50)
    return comparison.asking(prevalence=prevalence[0], threshold=0.5, **options).said


@pytest.mark.thorough
def test_two_models_that_change_places_are_named():
    """By hand: F1 is 2 / (1 + (1 + k fpr) / tpr) with k = (1 - eta) / eta, and so equal at one k."""
    answer = ask_two([0.01, 0.5], [6000, 8000], [100, 2000], (10_000, 100_000))
    k = (1 / 0.6 - 1 / 0.8) / (0.02 / 0.8 - 0.001 / 0.6)
    lines = answer_lines(answer)
    assert lines[1].startswith("Choose a at threshold 0.5: F1 ")
    until = f"a up to {1 / (1 + k):.3g} (95 %: "
    assert lines[2].startswith(f"In this log the best model changes with the prevalence: {until}")
    assert lines[2].endswith("), then b")
    assert lines[3] == "Significantly better than the other model"
    assert short_answer(answer).startswith("At prevalence 0.01: a, F1 ")
    always = ask_two([0.01, 0.5], [800, 600], [1000, 2000], (1000, 10_000))
    assert answer_lines(always)[2] == "In this log a leads at every prevalence from 0.01 to 0.5"


@pytest.mark.thorough
def test_tied_models_are_named_with_the_threshold_of_each():
    counts = counts_at([600, 600], 10, 1000, 10_000, threshold=[0.3, 0.7])
    question = nf.Question(prevalence=0.01)
    compared = nf.compare_models(counts, prevalence=[0.01, 0.5], question=question, repeats=20)
    assert answer_lines(compared.said)[1].startswith("Choose a or b (at thresholds 0.3, 0.7): F1 ")
    # Models without a false alarm have the same precision in the log, which tells nothing of its order.
    alerts = answer_lines(ask_two([0.01, 0.5], [5, 9], [0, 0], (10, 100), metric="precision"))
    # Their bounds are the widest of both, and who finds what is told of one of them.
    assert alerts[1] == "Best in this log: a or b at threshold 0.5, precision 1.000 (95 %: 0.000 to 1.000)"
    assert alerts[-1].startswith("With a, 50 % of the positives are found; ")
    assert not any("the best in this log" in line for line in alerts)


@pytest.mark.thorough
def test_the_order_may_be_known_where_the_value_is_not():
    """Of 2,000 negatives no more than 1,000 false positives can be told at 1e-5, but 0 against 1,000 can."""
    counts = counts_at([950, 500], [40, 1500], 1000, 2000)
    comparison = nf.compare_models(counts, prevalence=[1e-5, 0.3], repeats=50)
    answer = comparison.asking(prevalence=1e-5, threshold=0.5).said
    lines = answer_lines(answer)
    assert lines[1].startswith("Choose a at threshold 0.5; in this log F1 ")
    assert lines[-1].startswith("It finds 95 % of the positives; ")
    assert "right" not in lines[-1]
    (told,) = [line for line in lines if "cannot tell the value:" in line]
    assert told.endswith(". Still, it shows that a is significantly better than the other model")
    assert "significantly better than the other model" not in lines
    assert short_answer(answer).endswith(f"; t{told[1:]}")
    asked = comparison.asking(prevalence=1e-5, threshold=0.5)
    assert told in render_markdown(asked).replace("\\", "")
    assert [row["distinguishable"] for row in json.loads(render_json(asked))["answer"]] == [False, True]


def test_the_lowest_cost_is_the_best_also_where_the_order_is_not_known():
    answer = ask_two([1e-5, 0.3], [24, 25], [40, 45], (50, 2000), cost=(100, 1))
    (told,) = [line for line in answer_lines(answer) if "cannot tell the value:" in line]
    assert answer_lines(answer)[1].startswith("Best in this log: a at threshold 0.5, expected cost ")
    assert answer.models["value"].is_sorted()
    said = ". Nor does it show which model is best: the best in this log is a; not distinguishable from it: b"
    assert told.endswith(said)


def test_a_model_that_had_better_raise_no_alert_is_compared_without_its_alerts():
    """At its only threshold above 0 it costs six times as much, but none need be used."""
    at = {"model": ["a", "a", "b", "b"], "threshold": [0.0, 1.0] * 2, "resolution": "exact"}
    counts = counts_at([60, 3, 60, 30], [2000, 2, 2000, 600], 60, 2000, **at)
    question = nf.Question(prevalence=0.05, cost=(1, 1))
    answer = nf.compare_models(counts, question=question, prevalence=[0.05]).answer
    shown = answer.select("model", "threshold", "rank", "distinguishable")
    assert shown.rows() == [("a", 1.0, 1, False), ("b", math.inf, 2, False)]


def test_the_cost_of_no_alert_is_known_and_what_alerts_would_change_is_not():
    """Each model's best threshold is above all scores, since negatives have the higher ones."""
    log = pl.DataFrame({"label": [1] * 20 + [0] * 500, "score": [*range(20), *range(10, 510)]})
    log = log.with_columns(model=pl.lit("a"), score=pl.col("score").cast(pl.Float64))
    asked = nf.Question(prevalence=0.01, cost=(20, 5))
    counts = nf.count_confusion(log, thresholds="exact")
    lines = answer_lines(nf.compare_models(counts, prevalence=[0.01, 0.5], question=asked).said)
    cost = "expected cost 0.200 a row (95 %: 0.200 to 0.200); without a model, raising no alert costs 0.200"
    assert f"Choose a at threshold ∞ (no alert); in this log {cost}" in lines
    assert "This log cannot tell whether alerts would do better" in lines


@pytest.mark.parametrize(
    ("eta", "choice", "said"),
    [
        (1e-3, "no model; best in this log: a ", "raising no alert costs 200, which is less"),
        (0.1, "b or a, ", "an alert for every row costs 4,500"),
        (0.15, "b or a, ", "an alert for every row costs 4,250, which is less"),
        (0.5, "no model; best in this log: b ", "an alert for every row costs 2,500, which is less"),
    ],
)
def test_no_model_is_chosen_where_all_cost_more_than_none(eta: float, choice: str, said: str) -> None:
    """At 0.15, the best model may cost less than alerts for all rows: its interval reaches below."""
    asked = nf.Question(prevalence=eta, cost=(200, 5), threshold=0.5, volume=1000)
    counts = counts_at([80, 90], [100, 400], 100, 1000)
    answer = nf.compare_models(counts, prevalence=[1e-3, 0.5], question=asked).said
    line = answer_lines(answer)[1]
    assert line.startswith(f"Choose {choice}")
    assert line.endswith(f"; without a model, {said}")
    assert ("no model; best in this log: " in short_answer(answer)) == choice.startswith("no model")


def test_a_model_that_was_not_compared_may_cost_less_than_none() -> None:
    asked = nf.Question(prevalence=1e-3, cost=(200, 5), threshold=0.5)
    counts = counts_at([80, 90], [100, 400], 100, 1000)
    answer = nf.compare_models(counts, prevalence=[1e-3, 0.5], question=asked).said
    untold = pl.when(pl.col("rank") == 1).then("distinguishable")
    models = answer.models.with_columns(distinguishable=untold)
    assert answer_lines(replace(answer, models=models))[1].startswith("Choose no model; ")
    assert ": no model; best in this log: a, expected cost " in short_answer(replace(answer, models=models))
    lower = pl.when(pl.col("rank") == 1).then("lower").otherwise(0.1)
    models = models.with_columns(lower=lower)
    assert answer_lines(replace(answer, models=models))[1].startswith("Best in this log: a ")


@pytest.mark.parametrize(("false", "less"), [(1, ""), (500, ", which is less")])
def test_a_relative_cost_stands_beside_that_of_no_model(false: int, less: str) -> None:
    asked = nf.Question(prevalence=0.1, metric="relative_cost", threshold=0.5)
    counts = counts_at([80], [false], 100, 1000)
    lines = answer_lines(nf.compare_models(counts, prevalence=[1e-3, 0.5], question=asked).said)
    both = "; without a model, the better of no alert and an alert for every row costs 1.000"
    assert lines[1].endswith(f"{both}{less}")


def test_a_model_whose_name_is_empty_has_one_in_every_table() -> None:
    counts = counts_at([80, 60], [100, 400], 100, 1000).with_columns(pl.col("model").replace("a", ""))
    compared = nf.compare_models(counts, prevalence=[0.1, 0.5], threshold=0.5, repeats=20)
    assert answer_lines(compared.said)[1].startswith("Choose (no name) at threshold 0.5: F1 ")
    assert all({*table["model"]} <= {"(no name)", "b"} for table in (compared.points, compared.answer))
    third = counts.vstack(counts.head(1).with_columns(model=pl.lit("(no name)"))).sort("model")
    assert {*nf.compare_models(third, repeats=20).answer["model"]} == {"((no name))", "(no name)", "b"}


def test_one_alert_is_no_plural():
    asked = nf.Question(prevalence=1e-3, threshold=0.5, volume=1000, metric="precision")
    counts = counts_at([100], [0], 100, 1000)
    lines = answer_lines(nf.compare_models(counts, prevalence=[1e-3, 0.5], question=asked).said)
    assert lines[-1] == "Of 1,000 rows: 1 alert, 1 of 1 positives found"


def test_a_precision_that_the_log_cannot_tell_is_not_told_beside_a_value_that_it_can() -> None:
    """Without a false alarm among 1,000 negatives, precision is 1 in the log at any prevalence."""
    asked = nf.Question(threshold=0.5, metric="balanced_accuracy")
    compared = nf.compare_models(counts_at([80], [0], 100, 1000), prevalence=[1e-4, 0.5], question=asked)
    answers = list(compared.answers([1e-4, compared.observed_prevalence]))
    untold, told = (answer_lines(answer)[-1] for answer in answers)
    assert [answer.imprecise for answer in answers] == [{"a"}, frozenset()]
    assert told == "It finds 80 % of the positives; 7.27 % of all rows are alerts, 100 % of them right"
    assert untold == "It finds 80 % of the positives; 0.008 % of all rows are alerts"


def test_few_alerts_are_written_as_other_small_numbers() -> None:
    asked = nf.Question(prevalence=1e-8, threshold=0.5, volume=1000)
    counts = counts_at([100], [0], 100, 1000)
    lines = answer_lines(nf.compare_models(counts, prevalence=[1e-8, 0.5], question=asked).said)
    assert lines[-1] == "Of 1,000 rows: 10⁻⁵ alerts, 10⁻⁵ of 10⁻⁵ positives found"


def test_sums_of_weights_have_no_interval_and_no_test():
    weighted = COUNTS.with_columns(pl.col("tp", "fp", "fn", "tn") * 0.5).drop("resolution", strict=False)
    comparison = nf.compare_models(weighted, prevalence=GRID, threshold=0.5)
    answer = comparison.asking(prevalence=0.1).said
    assert own_threshold_words(comparison).endswith("own best threshold, evaluated on the rows that chose it")
    assert "chose the threshold" not in answer_lines(comparison.said)[-1]
    same = ", each model at its own best threshold, evaluated on the rows that chose it:"
    assert answer_lines(answer)[0].endswith(same)
    assert same not in answer_lines(comparison.asking(threshold=0.5).said)[0]
    assert answer.models["lower"].null_count() == 2
    untold = "Whether it is significantly better than others, this log cannot tell"
    assert untold in answer_lines(answer)
    known = replace(answer, models=answer.models.with_columns(supported=True))
    assert untold[1:] in short_answer(known)
    assert answer_lines(known)[1].startswith("Best in this log: ")


@pytest.mark.thorough
def test_a_sentence_does_not_say_more_than_the_answer():
    """Too few negatives, and the model that is the best where the log can tell is another one."""
    told = short_answer(ask_two([0.01, 0.005, 0.5], [6, 8], [1, 2], (10, 100)))
    assert told.startswith("At prevalence 0.01: a, in this log F1 ")
    assert "; this log cannot tell the value: about " in told
    assert told.endswith(
        ". Nor does it show which model is best: the best in this log is a; not distinguishable from it: b"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options", [{}, {"cost": (2.0, 1.0)}, {"alerts": 1.0, "volume": 9.0}, {"metric": "pr_auc"}]
)
def test_logs_of_one_class_or_of_no_weight_have_an_answer_too(options):
    one_class = [LOG.with_columns(label=pl.lit(label)) for label in (False, True)]
    counted = [nf.count_confusion(log, thresholds=[0.0, 0.5]) for log in one_class]
    # Counts of a ledger may have no other weight.
    counted.append(nf.count_confusion(LOG, thresholds=[0.0, 0.5]).with_columns(weight=pl.lit(0.0)))
    for counts, lacks in zip(counted, ("positives", "negatives", "rows of a weight above 0"), strict=True):
        told = f"No model has a defined value: the log has no {lacks}"
        comparison = nf.compare_models(counts, prevalence=GRID, repeats=20)
        answer = comparison.asking(**options).said
        assert answer.prevalence in GRID
        assert answer_lines(answer)[-1] == told
        assert short_answer(answer).endswith(told[1:])


def test_a_budget_that_no_counted_threshold_keeps_is_told():
    counts = nf.count_confusion(LOG.with_columns(score=pl.lit(0.9)), thresholds=[0.0, 0.5])
    question = nf.Question(prevalence=GRID[0], alerts=1, volume=100)
    told = answer_lines(nf.compare_models(counts, prevalence=GRID, question=question, repeats=20).said)[-1]
    assert told == "No model has a defined value: no counted threshold has a pos_fraction of at most 0.01"


@pytest.mark.thorough
@pytest.mark.parametrize("width", [80, 200])
def test_lines_fit_the_terminal(comparison, width):
    asked = [comparison.asking(prevalence=0.02, **more) for more in ({}, {"cost": (200, 1), "volume": 2e6})]
    answers = [each.said for each in asked]
    for each in asked:
        lines = printed(print_answer, each, width=width).splitlines()
        assert all(len(line) <= width for line in lines)
        assert all(line == line.rstrip() for line in lines)
        assert lines[0].startswith("At prevalence 0.02, by ")
    told = {str(place): answer for place, answer in enumerate([*answers, answers[0]])}
    lines = printed(print_conclusion, told, width=width).splitlines()
    assert all(len(line) <= width for line in lines)


@pytest.mark.long
def test_the_answer_and_what_it_rests_on_fit_a_screen():
    models = {f"gradient_boosting_with_a_long_name_{i:02d}": (0.9 - i / 50, 0.3 / 1.2**i) for i in range(14)}
    tables = compare_many(models, segments=[f"shop {i}" for i in range(5)])
    said = printed(print_answer, tables, width=80) + printed(print_basis, tables, width=80)
    lines = said.splitlines()
    assert 8 < len(lines) <= 24
    assert "which this log cannot tell apart" in said or "Choose" in said
    assert "Values at other prevalences assume" in " ".join(said.split())
    assert not any(line.startswith(("┃", "│")) for line in lines)


@pytest.mark.thorough
def test_a_rare_class_is_told_as_one_in_so_many(comparison):
    said = answer_lines(comparison.asking(prevalence=0.0001).said)[0]
    assert said.startswith("At prevalence 10⁻⁴ (1 in 10,000), by F1")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("F0.5", {"beta": 0.5}),
        ("F0.333", {"beta": 1 / 3}),
        ("F∞", {"beta": math.inf}),
        ("FPR", {"metric": "fpr"}),
        ("Youden's J", {"metric": "tss"}),
        ("LR+", {"metric": "lr_plus"}),
    ],
)
def test_metrics_have_the_names_by_which_they_are_known(name: str, options: Any) -> None:
    assert measure_name(nf.Question(**options)) == name


def test_many_changes_of_the_best_model_are_told_shortly():
    starts = [0.001 * 2**i for i in range(10)]
    leads = [Lead((f"m{i}",), start, end) for i, (start, end) in enumerate(pairwise(starts))]
    models = pl.DataFrame({"model": ["m0", "m1"], "rank": [1, 2]})
    answer = Answer(nf.Question(), 0.01, False, models, leads, (0.001, 0.512), True)
    assert order_line(answer) == (
        "in this log the best model changes with the prevalence: m0 up to 0.002, then m1 up to 0.004; "
        "from 0.256 on m8; 8 changes in all"
    )


@pytest.mark.thorough
def test_of_many_models_those_that_lead_by_what_is_asked_have_bounds():
    rng, models, edges = np.random.default_rng(0), MOST_RESAMPLED + 2, np.linspace(0.1, 0.9, 9)
    reach = [np.sort(rng.random((models, 9)), axis=1)[:, ::-1] for _ in range(2)]
    tp, fp = (np.round(size * part).astype(int) for size, part in zip((200, 1000), reach, strict=True))
    names = np.repeat([f"m{place:02d}" for place in range(models)], 9)
    counts = counts_at(tp.ravel(), fp.ravel(), 200, 1000, model=names, threshold=np.tile(edges, models))
    for question in (nf.Question(metric="roc_auc"), nf.Question(threshold=0.5)):
        asked = nf.compare_models(counts, prevalence=[0.1, 0.2], question=question, repeats=20)
        told = asked.answer.filter(pl.col("distinguishable").is_not_null())
        assert told.height == MOST_RESAMPLED
        assert told["rank"][0] == 1
        # The other two were not compared, however many rows there are.
        assert "not known whether worse: m" in "\n".join(answer_lines(asked.said)).lower()
        title = report_charts(asked)["intervals"].to_dict()["title"]["text"]
        assert f" of 12 of {models} models at prevalence " in title
