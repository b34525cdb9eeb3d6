"""Scores moved to another prevalence: Bayes' rule, both ways, and at the ends."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nci_frames as nf

# The odds move by at most 10^6: beyond, a score near 1 has too few digits to come back.
inside = st.floats(1e-3, 1 - 1e-3)


@given(st.floats(0, 1), inside, inside)
def test_moved_there_and_back(score, eta, logged):
    log = pl.DataFrame({"s": [score]})
    there = log.select(nf.adjust_scores("s", prevalence=eta, logged_prevalence=logged))
    back = there.select(nf.adjust_scores("s", prevalence=logged, logged_prevalence=eta))
    assert back.item() == pytest.approx(score, rel=1e-9, abs=1e-9)
    odds, ratio = score / (1 - score) if score < 1 else float("inf"), eta / (1 - eta) * (1 - logged) / logged
    assert there.item() == pytest.approx(1 - 1 / (1 + odds * ratio), abs=1e-12)


def test_ends_nulls_and_columns():
    log = pl.DataFrame({"score": [0.0, 0.5, 1.0, None, -0.1, 1.1], "eta": [0.0, 0.0, 0.0, 0.5, 0.5, 0.5]})
    of_column = nf.adjust_scores(pl.col("score"), prevalence=pl.col("eta"), logged_prevalence=0.5)
    assert log.select(of_column)["score"].to_list() == [0.0, 0.0, 1.0, None, None, None]
    at_one = log.select(nf.adjust_scores("score", prevalence=1, logged_prevalence=0.5))
    assert at_one["score"].to_list() == [0.0, 1.0, 1.0, None, None, None]
    single = pl.DataFrame({"score": pl.Series([0.25], dtype=pl.Float32)})
    assert single.select(nf.adjust_scores("score", prevalence=0.5, logged_prevalence=0.5)).item() == 0.25
