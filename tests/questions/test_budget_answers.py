"""What an answer to a budget of alerts says of the alerts, with and without a confidence."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import nci_frames as nf
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.reporting.live import live_numbers
from tests.cases import first_quick
from tests.chart_specs import unpacked
from tests.logs import unit_log

LOG = unit_log({"a": 2.0}, (400, 4000)).drop("unit")
COUNTS = nf.count_confusion(LOG.with_columns(score=1 / (1 + (-pl.col("score")).exp())), thresholds="exact")


def asked(alerts: float, confidence: float | None) -> nf.Comparison:
    question = nf.Question(prevalence=1e-3, alerts=alerts, volume=1e6, confidence=confidence)
    return nf.compare_models(COUNTS, prevalence=[1e-3, 0.1], question=question, repeats=2)


def test_the_bounds_of_the_alerts_are_those_of_clopper_and_pearson():
    row = asked(5000, None).answer.row(0, named=True)
    point = nf.select_operating_points(
        nf.compute_rates(COUNTS, interval="clopper_pearson"), threshold=row["threshold"]
    ).row(0, named=True)
    for side in ("lower", "upper"):
        share = 1e-3 * point[f"tpr_{side}"] + (1 - 1e-3) * point[f"fpr_{side}"]
        assert row[f"pos_fraction_{side}"] == pytest.approx(share)
    assert row["pos_fraction"] <= 0.005 < row["pos_fraction_upper"]


@pytest.mark.long
def test_bounds_at_the_end_of_a_budget_hold():
    """Ten alerts in 10,000 rows end at the first or second row of a log of 20 + 1,500.

    That row is a positive more often than not, and is counted. Wilson's intervals held recall in 0.86 of the
    logs, and the share of alerts in 0.87.
    """
    logs = unit_log({str(log): 2.0 for log in range(300)}, (20, 1500), seed=4).drop("unit")
    question = nf.Question(prevalence=0.01, alerts=10, volume=10_000)
    compared = nf.compare_models(nf.count_confusion(logs), prevalence=0.01, question=question)
    # The bound of the first model is another one: it is the best of 300.
    found = compared.answer_over_prevalence.filter(pl.col("rank") > 1).drop_nulls("threshold")
    recall, fpr = (norm.sf(found["threshold"].to_numpy() - distance) for distance in (2, 0))
    for truth, name in ((recall, ""), (0.01 * recall + 0.99 * fpr, "pos_fraction_")):
        lower, upper = (found[f"{name}{side}"].to_numpy() for side in ("lower", "upper"))
        assert ((lower <= truth) & (truth <= upper)).mean() > 0.93


@pytest.mark.thorough
def test_all_models_keep_a_budget_together():
    question = nf.Question(prevalence=1e-3, alerts=5000, volume=1e6, confidence=0.9)
    two = pl.concat([COUNTS, COUNTS.with_columns(model=pl.lit("b"))])
    found = nf.compare_models(two, prevalence=1e-3, question=question, repeats=2).answer["threshold"]
    budget = {"alerts": 5000, "volume": 1e6, "prevalence": 1e-3}
    sure = nf.select_operating_points(nf.compute_rates(two), **budget, confidence=0.95)["threshold"]
    assert found.to_list() == sure.to_list()
    assert found[0] > asked(5000, 0.9).answer["threshold"][0]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("alerts", "confidence", "best"), [(25_000, None, "b"), (25_000, 1 - 1e-6, "a"), (5, 0.9, None)]
)
def test_models_are_compared_at_the_thresholds_at_which_they_are_ranked(alerts, confidence, best):
    """With the 100 false positives of the budget b is ahead; with the 58 that are sure it is behind."""
    fp = list(range(121))
    counts = pl.DataFrame(
        {"model": ["a"] * 121 + ["b"] * 121, "threshold": [1 - one / 200 for one in fp] * 2}
    )
    counts = counts.with_columns(
        tp=pl.Series([240 + one // 4 for one in fp] + [120] * 78 + [360] * 43), fp=pl.Series(fp * 2)
    )
    counts = counts.with_columns(fn=400 - pl.col("tp"), tn=4000 - pl.col("fp"), resolution=pl.lit("exact"))
    question = nf.Question(prevalence=1e-4, alerts=alerts, volume=1e6, metric="recall", confidence=confidence)
    answer = nf.compare_models(counts, prevalence=[1e-4, 0.1], question=question, repeats=100).answer
    differs = None if best is None else answer["model"] != best
    assert answer["distinguishable"].to_list() == ([None] * 2 if best is None else differs.to_list())
    assert best is None or answer["model"][0] == best


@pytest.mark.thorough
def test_a_budget_that_may_be_exceeded_is_told_and_one_that_is_kept_is_not_doubted():
    (plain,), (sure,) = (
        [line for line in answer_lines(asked(5000, confidence).said) if "alerts (95 %: " in line]
        for confidence in (None, 0.9)
    )
    assert "so the budget may be exceeded" in plain
    assert "exceeded" not in sure
    assert "kept with confidence 0.9" in answer_lines(asked(5000, 0.9).said)[0]


def hosts(units: int, seed: int) -> pl.DataFrame:
    """Counts of 30 rows of each host; one host in twenty is faulty, and its negatives score 3 higher."""
    rng, unit = np.random.default_rng(seed), np.repeat(np.arange(units), 30)
    label, faulty = rng.random(len(unit)) < 0.1, rng.random(units) < 0.05
    score = rng.normal(np.where(label | faulty[unit], 3.0, 0.0))
    log = pl.DataFrame({"model": "a", "bucket": unit, "label": label, "score": score})
    return nf.count_confusion(log, thresholds=np.arange(-40, 160) / 20)


@pytest.mark.parametrize("logs", first_quick([4, 60]))
def test_a_budget_is_kept_by_the_units_above_each_threshold(logs):
    """Faulty hosts make few of all rows, but most alerts: counted as independent, 20 % of logs missed."""
    question = nf.Question(prevalence=1e-3, alerts=50, volume=1000, confidence=0.95)
    missed = 0
    for seed in range(logs):
        counts = hosts(100, seed)
        row = nf.compare_models(counts, question=question, repeats=2).answer.row(0, named=True)
        sure = nf.select_operating_points(
            nf.compute_rates(counts, interval="wilson", units="bucket"),
            alerts=50, volume=1000, prevalence=1e-3, confidence=0.95,
        )  # fmt: skip
        assert row["threshold"] == sure["threshold"].item()
        high, low = norm.sf(row["threshold"] - 3), norm.sf(row["threshold"])
        missed += 1e-3 * high + (1 - 1e-3) * (0.05 * high + 0.95 * low) > 0.05
    assert missed <= 0.05 * logs


def test_too_few_units_keep_no_budget_with_confidence():
    question = nf.Question(prevalence=1e-3, alerts=50, volume=1000, confidence=0.95)
    compared = nf.compare_models(hosts(15, 5), question=question, repeats=2)
    assert compared.answer["threshold"].to_list() == [None]
    assert answer_lines(compared.said)[1].startswith("No threshold is known to keep this budget")


def test_where_no_threshold_is_known_the_answer_says_so():
    compared = asked(50, 0.95)
    assert compared.answer["threshold"].to_list() == [None]
    assert "is known to have a pos_fraction of at most 5e-05" in compared.answer["reason"][0]
    assert answer_lines(compared.said)[1:] == [
        "No threshold is known to keep this budget with confidence 0.95: the log has too few rows"
    ]


def test_a_budget_below_one_row_of_the_log_is_told_and_recommends_no_model():
    for alerts in (0, 0.01):
        compared = asked(alerts, None)
        assert answer_lines(compared.said)[1:] == [
            "No model raises an alert within this budget: in this log the rows at the highest threshold "
            "counted stand for more alerts"
        ]
        bounds = compared.answer.select("lower", "upper", "^pos_fraction.*$")
        assert compared.answer["threshold"].to_list() == [float("inf")]
        # Nothing reaches an infinite threshold.
        assert bounds.row(0) == (0, 0, 0, 0, 0)


@pytest.mark.thorough
def test_a_budget_of_more_than_half_of_the_rows_has_a_slider():
    question = nf.Question(prevalence=1e-3, alerts=600_000, volume=1e6)
    compared = nf.compare_models(COUNTS, prevalence=1e-3, question=question, repeats=2)
    asked_for = live_numbers(compared)["asked"]
    assert asked_for["words"] == [f"at most {n} among 1,000,000 rows" for n in ("300,000", "600,000")]
    assert asked_for["first"] == 1


@pytest.mark.thorough
def test_a_page_marks_a_precision_that_is_in_doubt_where_recall_is_not():
    at = 1e-4
    question = nf.Question(prevalence=at, alerts=20_000, volume=1e6)
    compared = nf.compare_models(COUNTS, prevalence=[at, 0.1], question=question, repeats=2)
    live = live_numbers(compared)
    rows = unpacked(live["answers"][live["asked"]["first"]]["models"])
    points = nf.compute_rates(COUNTS, interval="wilson")
    for row, eta in ((rows[0], live["prevalence"][0]), (rows[-1], live["prevalence"][-1])):
        here = nf.select_operating_points(points, threshold=row["threshold"])
        told = nf.project_rates(here, metrics="precision", prevalence=eta)["supported"].item()
        assert (row["supported"], row["precise"]) == (True, told)
    assert not rows[0]["precise"]
