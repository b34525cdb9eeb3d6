"""The bounds of the model that the log ranks first, by hand and in simulated logs."""

import math

import polars as pl
import pytest
from scipy.stats import norm

from nci_frames.evaluation.metrics import asked_metric
from nci_frames.questions.chosen_model import for_the_first


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
