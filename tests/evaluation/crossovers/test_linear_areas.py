"""Winners and crossovers of areas that are linear in the prevalence: exactly those of the values."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nci_frames as nf
from tests.evaluation.probabilities import logs

ENDS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=6)


def counts_of(ends):
    """Models with these Brier scores, in 64ths, at prevalence 0 and 1: one row of each class."""
    parts = [
        pl.DataFrame({"model": f"m{place}", "label": [False, True], "score": [at_0 / 8, 1 - at_1 / 8]})
        for place, (at_0, at_1) in enumerate(ends)
    ]
    return logs.exact(pl.concat(parts))


@given(ENDS)
def test_every_range_has_the_lowest_brier_score(ends):
    ranges = nf.winner_ranges(counts_of(ends), metric="brier", over="prevalence")
    assert (ranges["start"][0], ranges["end"][-1]) == (0.0, 1.0)
    assert ranges["start"][1:].to_list() == ranges["end"][:-1].to_list()
    for row in ranges.iter_rows(named=True):
        for share in (0.01, 0.5, 0.99):
            eta = row["start"] + share * (row["end"] - row["start"])
            values = [(1 - eta) * (a / 8) ** 2 + eta * (b / 8) ** 2 for a, b in ends]
            assert values[int(row["model"][1:])] == pytest.approx(min(values), abs=1e-12)
        alike = [f"m{place}" for place, end in enumerate(ends) if end == ends[int(row["model"][1:])]]
        assert row["tied"] == alike
        assert row["threshold"] is None
        assert row["supported"]


@given(ENDS)
def test_crossovers_are_where_the_lines_meet(ends):
    found = nf.find_crossovers(counts_of(ends), metric="brier", over="prevalence")
    expected = {}
    for one in range(len(ends)):
        for other in range(one + 1, len(ends)):
            at_0, at_1 = (ends[one][end] ** 2 - ends[other][end] ** 2 for end in (0, 1))
            if at_0 * at_1 < 0:
                pair = (one, other) if at_0 < 0 else (other, one)
                expected[tuple(f"m{place}" for place in pair)] = at_0 / (at_0 - at_1)
    rows = {(a, b): eta for a, b, eta in found.select("model_a", "model_b", "prevalence").rows()}
    assert rows == pytest.approx(expected, abs=1e-12)
    for row in found.iter_rows(named=True):
        at_0, at_1 = ends[int(row["model_a"][1:])]
        eta = row["prevalence"]
        assert row["value"] == pytest.approx((1 - eta) * (at_0 / 8) ** 2 + eta * (at_1 / 8) ** 2, abs=1e-12)


def test_infinite_log_losses_lead_only_among_themselves():
    certain = counts_of([(4, 8), (6, 2)])
    ranges = nf.winner_ranges(certain, metric="log_loss", over="prevalence")
    assert ranges.select("start", "end", "model").rows() == [(0.0, 1.0, "m1")]
    assert nf.find_crossovers(certain, metric="log_loss", over="prevalence").is_empty()
    hopeless = nf.winner_ranges(counts_of([(4, 8), (8, 2)]), metric="log_loss", over="prevalence")
    assert hopeless.select("model", "tied").rows() == [("m0", ["m0", "m1"])]


def test_each_key_has_its_own_winners_within_the_ends():
    parts = [counts_of([(1, 7), (5, 2)]), counts_of([(5, 2), (1, 7)])]
    counts = pl.concat(part.with_columns(day=pl.lit(day)) for day, part in enumerate(parts))
    ranges = nf.winner_ranges(counts, metric="brier", over="prevalence", start=0.2, end=0.9)
    border = 24 / (24 + 45)
    assert ranges.select("day", "model", "start").rows() == [
        (0, "m0", 0.2), (0, "m1", pytest.approx(border)), (1, "m1", 0.2), (1, "m0", pytest.approx(border))
    ]  # fmt: skip
    alone = pl.concat(
        [
            counts,
            pl.DataFrame({**counts.row(0, named=True), "day": 2, "tp": 0, "fn": 0}, schema=counts.schema),
        ]
    )
    assert nf.winner_ranges(alone, metric="brier", over="prevalence").filter(day=2).is_empty()


def test_proper_scores_are_ranked_with_their_skill():
    counts = logs.exact(logs.probability_log(models=["a", "b", "c"]))
    for adjusted in (False, True):
        scores = nf.proper_scores(counts, prevalence=[0.01, 0.5], adjusted=adjusted)
        ranks = nf.rank_models(scores)
        assert "skill" in ranks.columns
        for _, group in ranks.group_by("metric", "prevalence"):
            assert group.sort("rank")["value"].is_sorted()
            assert group["rank"].sort().to_list() == [1, 2, 3]
