"""How rows move a metric, against formulas and against simulated samples; the shares of a pilot."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize_scalar
from scipy.stats import binom

import nci_frames as nf
from nci_frames.evaluation.labelling.goals import Cells, moves
from nci_frames.evaluation.labelling.pilots import Pilot
from nci_frames.evaluation.labelling.plan import (
    DOUBTFUL,
    Goal,
    planned_half_widths,
    simulated_errors,
    uniform_error,
)
from nci_frames.evaluation.labelling.positives import by_laws, mixed
from nci_frames.evaluation.labelling.ranges import uniform_deviation
from tests.logs import unit_log

CELLS = Cells(
    np.array([900_000.0, 90_000.0, 8_000.0, 2_000.0]),
    np.array([1e-5, 1e-3, 0.02, 0.4]),
    np.array([[False, False, True, True]]),
)


def test_moves_are_the_derivatives_of_the_formulas():
    found = CELLS.rows * CELLS.positive
    true, positives, flagged = found[2:].sum() + 0.5, found.sum() + 1, 10_001
    recall, precision = true / positives, true / flagged
    f_beta = 5 * true / (4 * positives + flagged)
    above = CELLS.flagged[0]
    for metric, beta, value, wanted in (
        ("recall", 1.0, recall, (above - recall) / positives),
        ("precision", 1.0, precision, above / flagged),
        ("f_beta", 2.0, f_beta, (5 * above - 4 * f_beta) / (4 * positives + flagged)),
    ):
        moved = moves(CELLS, metric, beta)
        assert moved.value == pytest.approx(value)
        np.testing.assert_allclose(moved.positive, wanted, rtol=1e-5, atol=1e-12)


def test_moves_of_a_difference():
    """Only units that one of two models flags move the difference of their recalls."""
    flagged = np.array([[True, True, False, False], [True, False, True, False]])
    cells = Cells(np.array([300.0, 80.0, 80.0, 10_000.0]), np.array([0.7, 0.3, 0.3, 0.001]), flagged)
    moved = moves(cells, "recall", 1.0)
    assert moved.value == pytest.approx(0)
    positives = (cells.rows * cells.positive).sum() + 1
    np.testing.assert_allclose(moved.positive * positives, [0, 1, -1, 0], atol=1e-6)


@pytest.mark.parametrize("metric", ["recall", "precision", "f_beta"])
def test_standard_errors_are_those_of_simulated_samples(metric):
    rng = np.random.default_rng(1)
    size, labels = CELLS.rows.astype(np.int64), np.array([40_000, 9000, 2000, 1000])
    moved = moves(CELLS, metric, 1.0)
    above = CELLS.flagged[0]

    def values(found, rows):
        true, positives, flagged = found[:, above].sum(1), found.sum(1), rows[:, above].sum(1)
        return {
            "recall": true / positives,
            "precision": true / flagged,
            "f_beta": 2 * true / (positives + flagged),
        }[metric]

    drawn = rng.binomial(labels, CELLS.positive, (4000, 4)) * (size / labels)
    error = values(drawn, np.tile(CELLS.rows, (4000, 1))).std()
    linear = (CELLS.rows * moved.positive) ** 2 * CELLS.positive * (1 - CELLS.positive) / labels
    assert np.sqrt(linear.sum()) == pytest.approx(error, rel=0.08)
    assert simulated_errors([(CELLS, labels)], metric, 1.0) == [pytest.approx(error, rel=0.08)]
    uniform = rng.multinomial(900_000, CELLS.rows / CELLS.rows.sum(), 4000)
    error = values(rng.binomial(uniform, CELLS.positive), uniform).std()
    assert uniform_deviation(CELLS, moved, 900_000) == pytest.approx(error, rel=0.08)
    assert uniform_error(CELLS, 900_000, metric, 1.0) == pytest.approx(error, rel=0.08)


def test_the_error_of_few_positives_is_that_of_all_outcomes():
    """Two cells, of which one is flagged: the sum over all numbers of positives found."""
    labels = np.array([3, 4])
    cells = Cells(np.array([300.0, 40.0]), np.array([0.1, 0.5]), np.array([[False, True]]))
    missed, hit = (np.arange(n + 1) for n in labels)
    chance = binom.pmf(missed, 3, 0.1)[:, None] * binom.pmf(hit, 4, 0.5)
    found = (10 * hit + 0.5) / (100 * missed[:, None] + 10 * hit + 1)
    error = np.sqrt((chance * (found - 20.5 / 51) ** 2).sum())
    assert simulated_errors([(cells, labels)], "recall", 1.0) == [pytest.approx(error, rel=0.03)]


def test_a_doubtful_number_of_positives_may_be_an_eighth():
    labels = np.array([30, 30, 30, 30])
    expected = CELLS.rows @ CELLS.positive
    few = CELLS._replace(positive=CELLS.positive * 12 / expected)

    def error(positives):
        cells = CELLS._replace(positive=CELLS.positive * positives / expected)
        return simulated_errors([(cells, labels)], "recall", 1.0)[0]

    # At least a positive for twenty labels.
    wanted = [np.sqrt(error(expected) * error(expected / 8)), np.sqrt(error(12) * error(6))]
    samples = [(CELLS, labels), (few, labels)]
    assert Goal("recall", 1.0, 120, DOUBTFUL).judged(samples, simulated_errors) == pytest.approx(wanted)
    sure = Goal("recall", 1.0, 120)
    assert sure.judged(samples, simulated_errors) == pytest.approx([error(expected), error(12)])


def test_samples_are_measured_together_as_each_alone():
    labels = np.array([30, 30, 30, 30])
    fewer = Cells(CELLS.rows[1:], CELLS.positive[1:], CELLS.flagged[:, 1:])
    possible = Goal("recall", 1.0, 120, DOUBTFUL).possible(CELLS, labels)
    samples = [*possible, (fewer, labels[1:]), (CELLS, labels[::-1] + np.arange(4))]
    for measure in (simulated_errors, planned_half_widths):
        alone = [measure([sample], "f_beta", 2.0)[0] for sample in samples]
        assert measure(samples, "f_beta", 2.0) == alone
        assert len(set(alone)) == len(samples)


@given(st.integers(0, 1000))
def test_the_share_of_a_mixture_is_the_most_probable_one(seed):
    rng = np.random.default_rng(seed)
    positives, negatives = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
    eta = rng.random()
    rows = rng.multinomial(5000, eta * positives + (1 - eta) * negatives).astype(np.float64)
    best = minimize_scalar(
        lambda share: -(rows * np.log(share * positives + (1 - share) * negatives)).sum(),
        bounds=(1e-4, 1), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    assert mixed(rows, positives, negatives) == pytest.approx(max(best.x, 1 / 5001), abs=2e-4)


def test_shares_by_the_laws_of_a_pilot():
    rows = np.array([9000.0, 900.0, 100.0])
    found = by_laws(rows, np.array([0.1, 0.3, 0.6]), np.array([0.9, 0.09, 0.01]), 0.01)
    np.testing.assert_allclose(found, [10 / 9000, 30 / 900, 0.6])


def test_the_likelihood_ratio_of_a_pilot_rises_with_the_score():
    counts = nf.count_confusion(unit_log({"a": 1.0}, 2000, digits=1).drop("unit"), thresholds="exact")
    pilot = Pilot.of_scores(counts, "a")
    ratio = pilot.positives[:-1] * pilot.negatives[1:] - pilot.positives[1:] * pilot.negatives[:-1]
    assert (ratio <= 1e-12).all()
