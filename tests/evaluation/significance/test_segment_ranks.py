"""Ranks of segments against plain Python, and the rates of their false findings."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact, norm

import nci_frames as nf
from nci_frames.evaluation.significance.propagation import p_values, propagated
from nci_frames.questions.segment_lines import segment_lines, worst_sentence
from nci_frames.tables.numbers import format_value
from tests.logs import counts_at, counts_of_bins

EDGES = np.linspace(-3, 5, 41)
AT = float(EDGES[26])


def law(mean: float) -> np.ndarray[Any, Any]:
    return np.diff(norm.cdf(np.concatenate([[-np.inf], EDGES, [np.inf]]), mean))


def segments(
    count: int, *, seed: int, bad: tuple[int, ...] = (), rows: tuple[int, int] = (400, 8000)
) -> pl.DataFrame:
    """Segments of one model with the same scores; the positives of some score lower."""
    rng = np.random.default_rng(seed)
    bins = np.empty((2, count, len(EDGES) + 1), np.int64)
    for segment in range(count):
        for place, mean in enumerate((1.2 if segment in bad else 2.0, 0.0)):
            total = rng.integers(rows[place] // 2, 2 * rows[place])
            bins[place, segment] = rng.multinomial(total, law(mean))
    return counts_of_bins(*bins, EDGES)


def test_every_number_is_that_of_the_function_for_it():
    other = segments(5, seed=2).with_columns(model=pl.lit("b"))
    counts = pl.concat([segments(5, seed=1), other])
    found = nf.rank_segments(counts, segments="segment", threshold=AT, prevalence=0.02, model="b")
    assert not found["shifted"].any()
    assert found["due_to_rates"].is_sorted()
    points = nf.compute_rates(counts.filter(threshold=AT))
    ranks = nf.rank_models(nf.project_rates(points, metrics="f_beta", prevalence=0.02)).filter(model="b")
    for row in found.iter_rows(named=True):
        (rank,) = ranks.filter(segment=row["segment"]).iter_rows(named=True)
        assert [row[name] for name in ("value", "rank", "gap")] == [rank["value"], rank["rank"], rank["gap"]]
        # A segment and the rest are two segments.
        apart = nf.pool_counts(other.with_columns(here=pl.col("segment") == row["segment"]), over="segment")
        rates = nf.compute_rates(apart.filter(threshold=AT))
        (parts,) = nf.decompose_difference(rates, metric="f_beta", over="here").iter_rows(named=True)
        wanted = {"own_value": parts["value"], "rest_value": parts["reference_value"],
                  "observed_prevalence": parts["prevalence"]}  # fmt: skip
        wanted |= {name: parts[name] for name in ("difference", "due_to_prevalence", "due_to_rates")}
        assert {name: row[name] for name in wanted} == pytest.approx(wanted)
        for name in ("", "own_", "due_to_prevalence_", "due_to_rates_"):
            point = row[f"{name}value" if name in ("", "own_") else name[:-1]]
            assert row[f"{name}lower"] < point < row[f"{name}upper"]
        (effect,) = nf.check_projection(apart, over="here").filter(pl.col("class") == row["class"])["effect"]
        assert row["effect"] == pytest.approx(effect, abs=1e-12)


@pytest.mark.thorough
def test_the_best_model_of_all_is_the_champion_and_folds_are_pooled():
    worse = segments(4, seed=1, bad=(0, 1, 2, 3)).with_columns(model=pl.lit("a"))
    counts = pl.concat([worse, segments(4, seed=2).with_columns(model=pl.lit("b"))])
    asked: dict[str, Any] = {"segments": "segment", "threshold": AT, "prevalence": 0.02}
    found = nf.rank_segments(counts, **asked)
    assert found["model"].unique().to_list() == ["b"]
    assert found["rank"].to_list() == [1] * 4
    folds = pl.concat([counts.with_columns(fold=pl.lit(fold)) for fold in ("1", "2")])
    double = counts.with_columns(pl.col("tp", "fp", "fn", "tn") * 2)
    assert nf.rank_segments(folds, **asked).equals(nf.rank_segments(double, **asked))
    assert nf.rank_segments(counts, **asked | {"threshold": {"a": AT, "b": AT}}).equals(found)


@pytest.mark.thorough
def test_segments_with_few_positives_are_listed_without_numbers():
    counts = segments(6, seed=3)
    few = counts.filter(segment=2).with_columns(tp=pl.lit(3), fn=pl.lit(9), segment=pl.lit(9))
    counts = pl.concat([counts, few], how="vertical_relaxed")
    found = nf.rank_segments(counts, segments="segment", threshold=AT, prevalence=0.02)
    last = found.row(-1, named=True)
    assert (last["segment"], last["positives"], last["supported"]) == (9, 12, False)
    assert last["reason"] == "fewer than 20 positives"
    empty = found.select("value", "own_value", "^due.*$", "p_value", "^shift.*$", "effect", "rank", "class")
    assert empty.row(-1) == (None,) * len(empty.columns)
    assert empty.head(-1).null_count().row(0) == (0,) * len(empty.columns)
    shown = nf.rank_segments(counts, segments="segment", threshold=AT, prevalence=0.02, min_positives=12)
    assert shown["value"].null_count() == 0


def test_bounds_of_a_difference_are_newcombes_and_its_p_value_belongs_to_them():
    """Newcombe (1998), method 10, table II: 56/70 against 48/80."""
    rates, trials = np.array([[56 / 70], [48 / 80]]), np.array([[70.0], [80.0]])

    def difference(of: Any) -> Any:
        return of[0] - of[1]

    value, lower, upper = (side.item() for side in propagated(difference, rates, trials, 1.959964))
    assert (round(value, 4), round(lower, 4), round(upper, 4)) == (0.2, 0.0524, 0.3339)
    p_value = p_values(difference, rates, trials).item()
    z = -norm.ppf(p_value / 2)
    _, at_zero, _ = propagated(difference, rates, trials, z)
    assert at_zero.item() == pytest.approx(0, abs=1e-9)
    assert p_value == pytest.approx(fisher_exact([[56, 14], [48, 32]]).pvalue, abs=0.005)
    undefined = propagated(lambda of: np.where(of[0] > 0.7, np.nan, of[0]), rates, trials, 1.96)
    assert np.isnan(undefined[0]).all()


def test_an_interval_without_zero_beside_no_significance_is_explained():
    counts = segments(14, seed=4, bad=(3,)).with_columns(model=pl.lit("a"))
    question = nf.Question(prevalence=0.02, threshold=AT)
    _, worst, second, third = segment_lines(
        nf.compare_models(counts, prevalence=0.02, segments="segment", question=question)
    )
    assert ": significantly worse; at" in worst
    assert ": not significantly worse among the 14 segments tested; at" in second
    assert re.search(r"\(95 %: \u2212\S+ to \u2212\S+\)$", second)
    assert ": not significantly worse; at" in third


@pytest.mark.long
def test_a_comparison_tells_of_the_worst_segments():
    counts = segments(14, seed=5, bad=(3,)).with_columns(model=pl.lit("a"))
    few = counts.filter(segment=2).with_columns(tp=pl.lit(3), fn=pl.lit(9), segment=pl.lit(99))
    counts = pl.concat([counts, few], how="vertical_relaxed")
    asked: dict[str, Any] = {
        "prevalence": [0.001, 0.02],
        "segments": "segment",
        "question": nf.Question(prevalence=0.02, threshold=AT),
        "repeats": 20,
    }
    comparison = nf.compare_models(counts, **asked)
    ranks = nf.rank_segments(
        counts, segments="segment", threshold=AT, prevalence=comparison.middle_prevalence
    )
    assert comparison.segment_ranks.equals(ranks)
    told = worst_sentence(comparison)
    assert told == (
        "1 of 14 segments is significantly worse than the rest; in 1 the scores differ from the "
        "rest; 1 more cannot be judged: fewer than 20 positives."
    )
    first, worst, *others = segment_lines(comparison)
    assert first == f"Segments, a at threshold {AT:g}: {told[:-1]}"
    row = ranks.row(0, named=True)
    own, rest, part = (format_value(row[name]) for name in ("own_value", "rest_value", "due_to_rates"))
    values = f"at its own prevalence F1 {own}, in the rest {rest}; due to the model {part} (95 %: "
    assert worst.startswith(f"- segment = 3: significantly worse; {values}")
    assert len(others) == 2
    assert all("not significantly worse; at" in line for line in others)
    assert (
        nf.compare_models(counts.with_columns(pl.col("tp", "fp", "fn", "tn") / 2), **asked).segment_ranks
        is None
    )
    assert (
        worst_sentence(nf.compare_models(counts, **asked | {"question": nf.Question(threshold=0.05)})) is None
    )
    one = nf.compare_models(counts.filter(segment=3), **asked)
    assert one.segment_ranks is None


@pytest.mark.long
def test_segments_of_which_none_can_be_judged():
    counts = segments(3, seed=5, rows=(8, 8000))
    comparison = nf.compare_models(counts, prevalence=[0.001, 0.02], segments="segment", threshold=AT)
    assert worst_sentence(comparison) == "None of 3 segments can be judged: fewer than 20 positives."


def in_places(above: np.ndarray[Any, Any], keys: dict[str, np.ndarray[Any, Any]]) -> pl.DataFrame:
    """Counts from how many negatives and positives of each place reach no, the first, the second edge, ..."""
    fp, tp = above[..., 1:].reshape(2, -1)
    negatives, positives = np.repeat(above[..., 0], len(EDGES), axis=-1)
    each = {name: np.repeat(values, len(EDGES)) for name, values in keys.items()}
    at = np.tile(EDGES, above.shape[1])
    return counts_at(tp, fp, positives, negatives, model="a", threshold=at, **each)


def by_users(count: int, *, seed: int, users: int = 300, copies: int = 6, buckets: int = 64) -> pl.DataFrame:
    """Counts by bucket of one model, alike in all segments; the rows of a user have nearly one score."""
    rng = np.random.default_rng(seed)
    size = count * users
    segment, bucket, positive = (
        np.arange(size) // users,
        rng.integers(0, buckets, size),
        rng.random(size) < 0.3,
    )
    rows = 1 + rng.poisson(copies - 1, size)
    user = np.repeat(np.arange(size), rows)
    score = rng.normal(2.0 * positive, 1)[user] + rng.normal(0, 0.1, len(user))
    reached = np.searchsorted(EDGES, score, side="right")
    cells = np.zeros((2, count, buckets, len(EDGES) + 1), np.int64)
    np.add.at(cells, (positive[user].astype(int), segment[user], bucket[user], reached), 1)
    above = cells[..., ::-1].cumsum(axis=-1)[..., ::-1].reshape(2, count * buckets, -1)
    segments, places = np.indices((count, buckets)).reshape(2, -1)
    return in_places(above, {"segment": segments, "bucket": places})


@pytest.mark.thorough
def test_whole_units_are_counted():
    once = by_users(4, seed=7, users=250, copies=1)
    cells = pl.col("tp", "fp", "fn", "tn")
    asked: dict[str, Any] = {"segments": "segment", "threshold": AT, "prevalence": 0.1}
    alone, four = (
        nf.rank_segments(counts, units="bucket", **asked).sort("segment")
        for counts in (once, once.with_columns(cells * 4))
    )
    # Each row four times: the same values, and bounds as wide, which as independent rows were half as wide.
    assert four["value"].to_list() == pytest.approx(alone["value"].to_list())
    for name in ("own", "due_to_rates", "due_to_prevalence"):
        wide, like = (t[f"{name}_upper"] - t[f"{name}_lower"] for t in (four, alone))
        assert (wide / like).to_list() == pytest.approx([1.0] * 4, rel=0.25)
        as_rows = nf.rank_segments(once.with_columns(cells * 4), **asked).sort("segment")
        narrow = as_rows[f"{name}_upper"] - as_rows[f"{name}_lower"]
        assert (narrow / like).to_list() == pytest.approx([0.5] * 4, rel=0.25)
    assert four["positives"].to_list() == [4 * rows for rows in alone["positives"]]
    # Of about 75 positives, each four times, are too few where 120 are asked for, which 300 rows are not.
    few = nf.rank_segments(once.with_columns(cells * 4), units="bucket", min_positives=120, **asked)
    assert few["value"].null_count() == 4
    assert set(few["reason"]) == {"fewer than 120 independent positives"}
    assert (
        nf.rank_segments(once.with_columns(cells * 4), min_positives=120, **asked)["value"].null_count() == 0
    )


@pytest.mark.thorough
def test_comparisons_by_units_rank_segments_by_units():
    counts = by_users(3, seed=7, users=200)
    comparison = nf.compare_models(
        counts, prevalence=[0.1, 0.3], segments="segment", threshold=AT, repeats=20
    )
    threshold, prevalence = comparison.answer.select("threshold", "prevalence").row(0)
    expected = nf.rank_segments(
        counts, segments="segment", threshold=threshold, prevalence=prevalence, units="bucket"
    )
    assert comparison.segment_ranks.equals(expected)


@pytest.mark.long
def test_segments_of_ten_units_each_are_seldom_shifted():
    """Ten units know little of the variance: if it is taken as known, 40 % of logs have a finding."""
    logs, rng, shifted = 10, np.random.default_rng(3), 0
    for _ in range(logs):
        rows = rng.poisson(30, 200)
        unit = np.repeat(np.arange(200), rows)
        label = rng.random(len(unit)) < 0.1
        score = rng.normal(0, np.sqrt(0.3), 200)[unit] + rng.normal(1.5 * label, np.sqrt(0.7))
        reached = np.searchsorted(EDGES, score, side="right")
        cells = np.zeros((2, 200, len(EDGES) + 1), np.int64)
        np.add.at(cells, (label.astype(int), unit, reached), 1)
        above = cells[..., ::-1].cumsum(axis=-1)[..., ::-1]
        counts = in_places(above, {"segment": np.arange(200) // 10, "bucket": np.arange(200)})
        found = nf.rank_segments(counts, segments="segment", threshold=AT, units="bucket", min_positives=5)
        shifted += bool(found["shifted"].any())
    assert shifted / logs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / logs)
