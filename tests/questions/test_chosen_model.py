"""The bounds of the model that the log ranks first, by hand and in simulated logs."""

import math

import polars as pl
import pytest
from scipy.stats import norm

import nci_frames as nf
from nci_frames.evaluation.metrics import asked_metric
from nci_frames.questions.chosen_model import for_the_first
from tests.logs import unit_log


def table(values: list[tuple[float, float | None, float | None]]) -> pl.DataFrame:
    names = ["value", "lower", "upper"]
    frame = pl.DataFrame(values, schema=dict.fromkeys(names, pl.Float64), orient="row")
    return frame.with_columns(prevalence=0.1, rank=pl.int_range(1, pl.len() + 1))


def test_only_rivals_count_and_only_the_worse_side_moves():
    # The third does not overlap with the first; the fourth was not resampled, and is not near.
    rows = [(0.9, 0.8, 0.95), (0.85, 0.75, 0.92), (0.5, 0.4, 0.6), (0.3, None, None)]
    given = table(rows)
    found = for_the_first(given, asked_metric("recall"))
    assert found["upper"].to_list() == given["upper"].to_list()
    assert found["lower"][1:].to_list() == given["lower"][1:].to_list()
    factor = norm.ppf(1 - 0.025 / 2) / norm.ppf(1 - 0.025)
    value, bound = (math.log(share / (1 - share)) for share in (0.9, 0.8))
    assert found["lower"][0] == pytest.approx(1 / (1 + math.exp(-value - (bound - value) * factor)))
    alone = for_the_first(given.filter(pl.col("rank") != 2), asked_metric("recall"))
    assert alone["lower"][0] == pytest.approx(0.8)
    # Of a metric that is best when low, the upper bound; at the end of a range, and of an endless one too.
    low = for_the_first(table([(0.0, 0.0, 0.1), (0.05, 0.0, 0.2)]), asked_metric("fnr"))
    assert low.select("lower", "upper").row(0) == (0.0, pytest.approx(0.1 * factor))
    cost = for_the_first(table([(3.0, 2.0, 4.0), (3.5, 2.0, 5.0)]), asked_metric("expected_cost"))
    assert cost.select("lower", "upper").row(0) == (2.0, pytest.approx(3 + factor))


def test_the_distance_of_a_bound_is_that_from_the_value_on_the_rows_that_chose_the_threshold():
    given = table([(0.85, 0.8, 0.95), (0.84, 0.75, 0.92)]).with_columns(optimistic=pl.Series([0.9, 0.88]))
    factor = norm.ppf(1 - 0.025 / 2) / norm.ppf(1 - 0.025)
    value, bound = (math.log(share / (1 - share)) for share in (0.9, 0.8))
    lower = for_the_first(given, asked_metric("g_mean"))["lower"][0]
    assert lower == pytest.approx(1 / (1 + math.exp(-value - (bound - value) * factor)))
    # An infinite value has no distance.
    endless = given.with_columns(optimistic=pl.Series([math.inf, 2.0]))
    assert for_the_first(endless, asked_metric("lr_plus"))["lower"][0] == pytest.approx(0.85 - 0.05 * factor)


def test_the_alerts_of_the_first_model_allow_for_its_choice_on_both_sides():
    shares = [(0.1, 0.05, 0.15), (0.1, 0.06, 0.16)]
    named = ["pos_fraction", "pos_fraction_lower", "pos_fraction_upper"]
    given = table([(0.9, 0.8, 0.95), (0.85, 0.75, 0.92)]).hstack(pl.DataFrame(shares, named, orient="row"))
    found = for_the_first(given, asked_metric("recall")).select(named)
    assert found.row(1) == shares[1]
    assert found["pos_fraction_lower"][0] < 0.05
    assert found["pos_fraction_upper"][0] > 0.15


@pytest.mark.long
def test_the_alerts_of_the_first_of_many_models_are_within_their_bounds_and_its_budget():
    """The bounds of a model that was named before held the alerts in 0.8 of these logs."""
    within, kept, logs = 0, 0, 60
    for log in range(logs):
        models = unit_log({str(model): 2.0 for model in range(12)}, (100, 600), seed=log).drop("unit")
        counts = nf.count_confusion(models, thresholds="exact")
        question = nf.Question(prevalence=1e-3, alerts=20, volume=1000, confidence=0.9)
        compared = nf.compare_models(counts, prevalence=1e-3, question=question)
        first = compared.answer_over_prevalence.row(0, named=True)
        alerted = 1e-3 * norm.sf(first["threshold"] - 2) + (1 - 1e-3) * norm.sf(first["threshold"])
        within += first["pos_fraction_lower"] <= alerted <= first["pos_fraction_upper"]
        kept += alerted <= 0.02
    assert within / logs > 0.93
    assert kept / logs > 0.88
