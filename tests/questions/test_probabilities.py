"""Do the probabilities hold: where it is asked, what is said, and what is drawn."""

import warnings

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.counts.score_scale import are_probabilities
from nci_frames.questions.answer_lines import percent
from nci_frames.questions.report import answered, report_charts
from nci_frames.tables.numbers import format_grid
from tests.comparisons import altered, questions
from tests.evaluation.probabilities import logs

NAMES = ("probabilities", "calibration", "decision_curve")
ASKED = questions(*NAMES)


def compared(counts, eta=0.01, **options):
    question = nf.Question(prevalence=eta)
    return nf.compare_models(counts, prevalence=[0.01, 0.25], question=question, repeats=20, **options)


def shown(comparison):
    return {each.question.name: each for each in answered(comparison, ASKED)}


@pytest.mark.long
def test_the_sentences_are_those_of_the_tables():
    counts = logs.exact(logs.probability_log(300))
    comparison = compared(counts)
    found = shown(comparison)
    assert set(found) == set(NAMES)
    alarms, brier = found["probabilities"].sentences
    best = comparison.answer["model"][0]
    counts = counts.filter(model=best)
    for adjusted in (False, True):
        curve = nf.calibration_curve(counts, prevalence=0.01, adjusted=adjusted)
        mixed = curve.filter(pl.col("observed").is_between(0, 1, closed="none"))
        row = mixed.sort((pl.col("predicted") - 0.8).abs()).row(0, named=True)
        names = ("predicted", "observed", "lower", "upper")
        predicted, *shares = (row[name] for name in names)
        share, lower, upper = map(percent, shares)
        told = f"about {format_grid(predicted)} are positive in {share} of cases (95 %: {lower} to {upper})"
        assert told in alarms
    values = [
        nf.proper_scores(counts, prevalence=0.01, metrics="brier", adjusted=adjusted)["value"].item()
        for adjusted in (False, True)
    ]
    assert brier == (
        f"The Brier score of {best} is {format_grid(values[0])}, and that of always saying 0.01 is 0.0099; "
        f"adjusted it is {format_grid(values[1])}."
    )
    charts = report_charts(comparison, ASKED)
    assert charts["calibration"].to_dict()["title"]["text"] == "Calibration at prevalence η = 0.01"
    assert charts["decision_curve"].to_dict()["title"]["text"] == "Decision curve at prevalence η = 0.01"


@pytest.mark.thorough
def test_at_the_prevalence_of_the_log_nothing_is_adjusted():
    log = logs.probability_log(300)
    lines = shown(compared(logs.exact(log), log["label"].mean()))["probabilities"].sentences
    assert not any("adjusted" in line for line in lines)


@pytest.mark.thorough
def test_the_page_has_what_its_slider_needs():
    """The mean score of a block at any prevalence follows from those of its positives and negatives."""
    counts = logs.exact(logs.probability_log(300))
    table = shown(compared(counts))["calibration"].table
    for eta in (0.001, 0.4):
        expected = nf.calibration_curve(counts, prevalence=eta).sort("model", "score_lower")
        right = table["share"] * table["observed"] * eta / 0.01
        wrong = table["share"] * (1 - table["observed"]) * (1 - eta) / 0.99
        mean = (right * table["predicted_of_positives"] + wrong * table["predicted_of_negatives"]) / (
            right + wrong
        )
        assert mean.to_list() == pytest.approx(expected["predicted"].to_list(), rel=1e-9)
        assert (right / (right + wrong)).to_list() == pytest.approx(expected["observed"].to_list(), rel=1e-9)


@pytest.mark.thorough
def test_the_decision_curve_of_the_page_is_mixed_from_those_of_either_class():
    counts = logs.exact(logs.probability_log(300))
    table = shown(compared(counts))["decision_curve"].table
    for eta in (0.001, 0.4):
        places = table["threshold_probability"].unique().to_list()
        expected = nf.decision_curve(counts, prevalence=eta, threshold_probabilities=places)
        assert expected["threshold_probability"].equals(table["threshold_probability"])
        for name in ("net_benefit", "treat_all", "interventions_avoided", "lower", "upper"):
            mixed = eta * table[f"{name}_of_positives"] + (1 - eta) * table[f"{name}_of_negatives"]
            assert mixed.to_list() == pytest.approx(expected[name].to_list(), abs=1e-12)


@pytest.mark.long
def test_the_sentences_of_the_page_are_those_of_a_report_at_each_prevalence():
    counts = logs.exact(logs.probability_log(300))
    question = shown(compared(counts))["probabilities"].question
    said = question.say_at(compared(counts), [0.003, 0.2])
    for eta, lines in zip((0.003, 0.2), said, strict=True):
        assert lines == shown(compared(counts, eta))["probabilities"].sentences


@pytest.mark.thorough
def test_units_have_no_bounds_of_rows():
    log = logs.probability_log(300).with_columns(bucket=pl.int_range(pl.len()) % 30)
    found = shown(compared(logs.exact(log)))
    assert found["calibration"].table["lower"].null_count() == len(found["calibration"].table) > 0
    alarms, _ = found["probabilities"].sentences
    assert "95 %" not in alarms
    assert alarms.endswith(" of cases.")
    chart = found["calibration"].question.draw(found["calibration"].table, compared(logs.exact(log)))
    assert chart.to_dict()["title"]["subtitle"] == "dashed: scores are what they say"


@pytest.mark.thorough
def test_the_sentences_are_of_the_model_of_the_answer_if_others_are_drawn():
    """Charts show four of these six equal models."""
    log = logs.probability_log(300).filter(model="a")
    many = [log.with_columns(model=pl.lit(f"m{k}")) for k in range(6)]
    counts = logs.exact(pl.concat(many))
    comparison = compared(counts)
    first = altered(comparison, answer=comparison.answer.filter(model="m5"))
    alarms, _ = shown(first)["probabilities"].sentences
    assert "rows that m5 scores" in alarms


@pytest.mark.parametrize(
    ("move", "thresholds", "asked"),
    [
        (lambda s: s, nf.uniform_thresholds(101), True),
        (lambda s: s * 2, "exact", False),
        # The lowest score, below which there is no row, is known all the same.
        (lambda s: pl.when(s == s.min()).then(-0.1).otherwise(s), "exact", False),
        (lambda s: s - 0.5, nf.uniform_thresholds(101), False),
        (lambda s: (s / (1 - s)).log(), nf.logit_thresholds(101), False),
        (lambda s: s * 2, [0.0, 0.5, 1.0], False),
        (lambda s: s, [0.5], False),
        (lambda s: s, [0.0, 0.5, 1.001], True),
        # Of rows beyond the last thresholds counts tell nothing, unless there are few.
        (lambda s: s.clip(0.2, 0.8), [0.1, 0.5, 0.9], True),
    ],
)
def test_it_is_asked_only_of_scores_that_are_probabilities(move, thresholds, asked):
    log = logs.probability_log(500).with_columns(move(pl.col("score")).alias("score"))
    with warnings.catch_warnings():
        # What is wrong here is that the scores are no probabilities.
        warnings.simplefilter("ignore", nf.OutsideGridWarning)
        counts = nf.count_confusion(log, thresholds=thresholds)
    assert are_probabilities(counts) is asked


def test_scores_that_are_no_probabilities_are_not_asked_about():
    log = logs.probability_log(500).with_columns(pl.col("score") * 2)
    assert shown(compared(logs.exact(log), threshold=1.0)) == {}
