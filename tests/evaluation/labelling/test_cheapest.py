"""How many labels would tell what a log cannot, against formulas and simulated samples."""

import numpy as np
import pytest

import nci_frames as nf
from nci_frames.evaluation.labelling.cheapest import labels_in_words, labels_that_tell
from nci_frames.questions.answer_lines import answer_lines
from tests.logs import counts_at
from tests.small_jobs import ended


def test_precision_takes_labels_of_alerts():
    eta, recall, fpr = 0.001, 0.6, 0.002
    planned, random = labels_that_tell("precision", recall=recall, fpr=fpr, prevalence=eta)
    flagged = eta * recall + (1 - eta) * fpr
    precision = eta * recall / flagged
    assert planned == pytest.approx(100 * (1 - precision) / precision, abs=1)
    assert random == pytest.approx(planned / flagged, rel=1e-3)


def test_recall_by_simulation():
    eta, recall, fpr = 0.01, 0.7, 0.02
    planned, random = labels_that_tell("recall", recall=recall, fpr=fpr, prevalence=eta)
    flagged = eta * recall + (1 - eta) * fpr
    shares = np.array([1 - flagged, flagged])
    p = np.array([eta * (1 - recall), eta * recall]) / shares
    weight = shares * np.array([recall, 1 - recall]) * np.sqrt(p * (1 - p))
    labels = np.round(planned * weight / weight.sum()).astype(np.int64)
    rng = np.random.default_rng(0)
    below, above = (rng.binomial(labels, p, (4000, 2)) * shares / labels).T
    values = above / (above + below)
    assert values.std() / recall == pytest.approx(0.1, rel=0.1)
    missed, found = rng.multinomial(random, [eta * (1 - recall), eta * recall, 1 - eta], 4000).T[:2]
    assert (found / (found + missed)).std() / recall == pytest.approx(0.1, rel=0.1)
    assert random > planned


def test_a_plan_needs_ten_labels_on_each_side_of_the_threshold():
    assert labels_that_tell("precision", recall=0.6, fpr=0.001, prevalence=0.08) == (20, 40)


@pytest.mark.parametrize(
    ("recall", "fpr", "eta"), [(0.6, 0.0, 0.1), (0.0, 0.1, 0.1), (0.5, 0.1, 0.0), (1.0, 1.0, 0.1)]
)
def test_nothing_is_said_where_nothing_is_known(recall, fpr, eta):
    found = labels_that_tell("precision", recall=recall, fpr=fpr, prevalence=eta)
    assert found is None
    assert labels_in_words(found) == ""


def test_labels_tell_nothing_of_a_cost_of_0() -> None:
    missed = nf.expected_cost(c_fn=1, c_fp=0)
    assert labels_that_tell(missed, recall=1.0, fpr=0.3, prevalence=1e-4) is None
    planned, random = labels_that_tell(missed, recall=0.9, fpr=0.3, prevalence=1e-4)
    # A hundred missed positives are needed, one in 100,000 rows.
    assert random == pytest.approx(1e7, rel=0.01)
    assert planned < random


def test_a_report_that_cannot_tell_says_what_would():
    counts = counts_at([600, 800], [10, 200], 1000, 10_000)
    question = nf.Question(prevalence=0.0001, threshold=0.5, metric="precision")
    comparison = nf.compare_models(counts, prevalence=[0.0001, 0.5], question=question, repeats=20)
    told = "\n".join(answer_lines(comparison.said))
    assert "about 400,000 independent negatives would be needed; labels of about 1,700 rows" in told
    assert "nci-frames plan-labels" in told


def test_the_plan_of_a_test_set_says_what_would_tell_more():
    rates = ("--tpr", "0.6", "--fpr", "0.001")
    told = ended(0, "plan", "--positives", "100", "--negatives", "10000", *rates).output
    assert "below it, as at 0.00041, the test set cannot tell; labels of about" in " ".join(told.split())
