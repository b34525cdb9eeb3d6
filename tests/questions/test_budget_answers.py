"""What an answer to a budget of alerts says of the alerts, with and without a confidence."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.answer_lines import answer_lines

LABEL = np.arange(4400) < 400
SCORE = np.random.default_rng(0).normal(2.0 * LABEL)
COUNTS = nf.count_confusion(
    pl.DataFrame({"model": "a", "label": LABEL, "score": 1 / (1 + np.exp(-SCORE))}), thresholds="exact"
)


def asked(alerts: float, confidence: float | None) -> nf.Comparison:
    question = nf.Question(prevalence=1e-3, alerts=alerts, volume=1e6, confidence=confidence)
    return nf.compare_models(COUNTS, prevalence=[1e-3, 0.1], question=question, repeats=20)


def test_the_bounds_of_the_alerts_are_those_of_wilson():
    row = asked(5000, None).answer.row(0, named=True)
    point = nf.select_operating_points(
        nf.compute_rates(COUNTS, interval="wilson"), threshold=row["threshold"]
    ).row(0, named=True)
    for side in ("lower", "upper"):
        share = 1e-3 * point[f"tpr_{side}"] + (1 - 1e-3) * point[f"fpr_{side}"]
        assert row[f"pos_fraction_{side}"] == pytest.approx(share)
    assert row["pos_fraction"] <= 0.005 < row["pos_fraction_upper"]


@pytest.mark.thorough
def test_a_budget_that_may_be_exceeded_is_told_and_one_that_is_kept_is_not_doubted():
    (plain,), (sure,) = (
        [line for line in answer_lines(asked(5000, confidence).said) if "alerts (95 %: " in line]
        for confidence in (None, 0.9)
    )
    assert "so the budget may be exceeded" in plain
    assert "exceeded" not in sure
    assert "kept with confidence 0.9" in answer_lines(asked(5000, 0.9).said)[0]


def test_where_no_threshold_is_known_the_answer_says_so():
    compared = asked(50, 0.95)
    assert compared.answer["threshold"].to_list() == [None]
    assert "is known to have a pos_fraction of at most 5e-05" in compared.answer["reason"][0]
    assert answer_lines(compared.said)[1:] == [
        "No threshold is known to keep this budget with confidence 0.95: the log has too few rows"
    ]
