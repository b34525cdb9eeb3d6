"""Ranks of segments against plain Python, and the rates of their false findings."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, fisher_exact, norm

import nci_frames as nf
from nci_frames.evaluation.rates.intervals import exact_bounds
from nci_frames.evaluation.significance.propagation import p_values, propagated
from nci_frames.questions.segment_lines import segment_lines, worst_sentence
from nci_frames.questions.segments import worst_first
from nci_frames.tables.numbers import format_value
from tests.cases import first_quick
from tests.logs import counts_at, counts_of_bins, unit_log

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


@pytest.mark.thorough
def test_every_number_is_that_of_the_function_for_it():
    other = segments(3, seed=2).with_columns(model=pl.lit("b"))
    counts = pl.concat([segments(3, seed=1), other])
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


@pytest.mark.parametrize("order", first_quick([["y", "x"], ["x", "y"]]), ids="".join)
@pytest.mark.parametrize("units", first_quick([None, "bucket"]))
def test_a_segment_of_two_keys_has_the_numbers_of_their_product(order, units):
    """Of keys in another order than their columns, each segment had the shift of another one."""
    counts = segments(6, seed=4, bad=(1,))
    if units:
        counts = nf.count_confusion(
            nf.unit_buckets(unit_log({"a": 1.5}, 600, digits=1).with_columns(segment=pl.col("unit") % 6)),
            thresholds=EDGES.tolist(),
        )
    x, y = pl.col("segment") // 2, pl.col("segment") % 2
    apart = counts.select("model", pl.exclude("model", "segment"), x=x, y=y)
    found, wanted = (
        nf.rank_segments(some, segments=keys, threshold=AT, metric="precision", units=units)
        for some, keys in ((apart, order), (counts, "segment"))
    )
    assert wanted["shift_p_value"].n_unique() > 3
    columns = [name for name in wanted.columns if name != "segment"]
    told = found.select("model", (2 * pl.col("x") + pl.col("y")).alias("segment"), *columns[1:])
    assert told.sort("segment").equals(wanted.select(told.columns).sort("segment"))


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


def test_segments_with_few_positives_are_never_all_of_the_rest():
    names, positives = ["high", "low", "middle", "few", "fewer"], [1000] * 3 + [4] * 2
    counts = counts_at([900, 300, 600, 4, 4], 20, positives, 5000, model="a", segment=names)
    found = nf.rank_segments(counts, segments="segment", threshold=0.5, prevalence=0.02, metric="recall")
    (high,) = found.filter(segment="high").iter_rows(named=True)
    # All three differ; the rest without the other two would have 8 positives, all found.
    assert high["shifted"]
    assert high["rest_value"] == pytest.approx(608 / 1008)
    assert found.filter(segment="few")["reason"].to_list() == ["fewer than 20 positives"]


def test_bounds_of_a_difference_are_newcombes_and_its_p_value_belongs_to_them():
    """Newcombe (1998), method 10, table II: 56/70 against 48/80."""
    rates, trials = np.array([[56 / 70], [48 / 80]]), np.array([[70.0], [80.0]])

    def difference(of: Any) -> Any:
        return of[0] - of[1]

    value, lower, upper = (side.item() for side in propagated(difference, rates, trials, 1.959964))
    assert (round(value, 4), round(lower, 4), round(upper, 4)) == (0.2, 0.0524, 0.3339)
    p_value = p_values(difference, rates, trials).item()
    z = -norm.ppf(p_value / 2)
    # Of a small p-value the bounds are those of Clopper and Pearson, which are a little wider.
    _, at_zero, _ = propagated(difference, rates, trials, z, exact_bounds)
    assert at_zero.item() == pytest.approx(0, abs=1e-9)
    assert p_value == pytest.approx(fisher_exact([[56, 14], [48, 32]]).pvalue, abs=0.005)
    undefined = propagated(lambda of: np.where(of[0] > 0.7, np.nan, of[0]), rates, trials, 1.96)
    assert np.isnan(undefined[0]).all()


def test_a_p_value_of_few_scores_beyond_a_border_is_at_least_the_binomial_one():
    false = [14, *[4, 5] * 150]
    counts = counts_at(60, false, 100, 450, model="a", site=list(range(301)))
    worst = nf.rank_segments(counts, segments="site", threshold=0.5).filter(site=0).row(0, named=True)
    tail = 2 * binom(450, sum(false[1:]) / 300 / 450).sf(13)
    # That of the positives, all alike, is 1.
    assert worst["shift_p_value"] == pytest.approx(tail * (2 - tail))
    assert not worst["shifted"]


@pytest.mark.thorough
def test_a_few_false_positives_more_are_no_finding():
    """400 equal segments with one false positive each, on average: some have five or six by chance."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        tp, fp = rng.binomial(30, 0.8, 400), rng.binomial(1000, 0.001, 400)
        counts = counts_at(tp, fp, 30, 1000, model="a", segment=range(400))
        assert counts["fp"].max() >= 5
        asked = {"threshold": 0.5, "metric": "precision", "prevalence": 0.02}
        found.append(nf.rank_segments(counts, segments="segment", **asked))
    assert [table["distinguishable"].sum() for table in found] == [0] * 4
    assert sum(table["shifted"].sum() for table in found) <= 2


@pytest.mark.parametrize(("cost", "sign"), first_quick([((5, 1), ""), (None, "\u2212")]))
def test_an_interval_without_zero_beside_no_significance_is_explained(cost, sign):
    counts = segments(14, seed=4, bad=(3,)).with_columns(model=pl.lit("a"))
    question = nf.Question(prevalence=0.02, threshold=AT, cost=cost)
    _, worst, second, third = segment_lines(
        nf.compare_models(counts, prevalence=0.02, segments="segment", question=question)
    )
    assert ": significantly worse; at" in worst
    assert ": not significantly worse among the 14 segments tested; at" in second
    assert re.search(rf"\(95 %: {sign}\d.* to {sign}\d.*\)$", second)
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
    values = f"at its prevalence in this log F1 {own}, in the rest {rest}; due to the model {part} (95 %: "
    assert worst.startswith(f"- segment = 3: significantly worse; {values}")
    assert len(others) == 2
    assert all("not significantly worse; at" in line for line in others)
    sums = counts.with_columns(pl.col("tp", "fp", "fn", "tn") / 2)
    for lacking in (sums, counts.filter(segment=3)):
        assert nf.compare_models(lacking, **asked).segment_ranks is None
    asked["question"] = nf.Question(threshold=0.05)
    assert worst_sentence(nf.compare_models(counts, **asked)) is None


@pytest.mark.long
def test_segments_of_which_none_can_be_judged():
    counts = segments(3, seed=5, rows=(8, 8000))
    comparison = nf.compare_models(counts, prevalence=[0.001, 0.02], segments="segment", threshold=AT)
    assert worst_sentence(comparison) == "None of 3 segments can be judged: fewer than 20 positives."
    enough = segments(1, seed=5).with_columns(segment=pl.lit(3, counts.schema["segment"]))
    alone = pl.concat([counts.filter(pl.col("segment") < 2), enough.select(counts.columns)])
    comparison = nf.compare_models(alone, prevalence=0.02, segments="segment", threshold=AT)
    assert worst_sentence(comparison) == (
        "The only segment judged is not significantly worse than the rest; 2 more cannot be judged: fewer "
        "than 20 positives."
    )


def by_users(count: int, users: int) -> pl.DataFrame:
    """Counts by bucket of one model, alike in all segments."""
    log = unit_log({"a": 2.0}, count * users, seed=1).with_columns(segment=pl.col("unit") % count)
    return nf.count_confusion(nf.unit_buckets(log, buckets=64), thresholds=EDGES.tolist())


@pytest.mark.thorough
def test_whole_units_are_counted():
    once = by_users(4, 250)
    often = once.with_columns(pl.col("tp", "fp", "fn", "tn") * 4)
    asked: dict[str, Any] = {"segments": "segment", "threshold": AT, "prevalence": 0.1}
    alone, four, as_rows = (
        nf.rank_segments(counts, units=units, **asked).sort("segment")
        for counts, units in ((once, "bucket"), (often, "bucket"), (often, None))
    )
    # Each row four times: the same values, and bounds as wide, which as independent rows were half as wide.
    assert four["value"].to_list() == pytest.approx(alone["value"].to_list())
    for name in ("own", "due_to_rates", "due_to_prevalence"):
        wide, like = (t[f"{name}_upper"] - t[f"{name}_lower"] for t in (four, alone))
        assert (wide / like).to_list() == pytest.approx([1.0] * 4, rel=0.25)
        narrow = as_rows[f"{name}_upper"] - as_rows[f"{name}_lower"]
        assert (narrow / like).to_list() == pytest.approx([0.5] * 4, rel=0.25)
    assert four["positives"].to_list() == [4 * rows for rows in alone["positives"]]
    # Of about 75 positives, each four times, are too few where 120 are asked for, which 300 rows are not.
    few = nf.rank_segments(often, units="bucket", min_positives=120, **asked)
    assert few["value"].null_count() == 4
    assert set(few["reason"]) == {"fewer than 120 independent positives"}
    assert nf.rank_segments(often, min_positives=120, **asked)["value"].null_count() == 0


def test_segments_of_ten_units_each_do_not_pretend_to_know_their_variance():
    """If it is taken as known, there is a finding in 40 % of logs, and in this one."""
    log = unit_log({"a": 1.5}, 200, share=0.1, times=20, noise=0.8, digits=2)
    counts = nf.count_confusion(
        nf.unit_buckets(log.with_columns(segment=pl.col("unit") // 10)), thresholds=EDGES.tolist()
    )
    found = nf.rank_segments(counts, segments="segment", threshold=AT, units="bucket", min_positives=1)
    assert not found["shifted"].any()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
def test_a_segment_may_lack_the_units_that_differ_by_chance(seed):
    """One unit in ten scores higher; where a segment of ten units has none, that is no finding."""
    rng = np.random.default_rng(seed)
    unit, label = np.repeat(np.arange(200), 30), rng.random(6000) < 0.1
    score = 3.0 * (rng.random(200) < 0.1)[unit] + rng.normal(1.5 * label)
    log = pl.DataFrame({"model": "a", "segment": unit // 10, "unit": unit, "label": label, "score": score})
    for lower, shifted in ((0.0, []), (1.5, [4])):
        moved = log.with_columns(pl.col("score") - lower * (pl.col("segment") == 4))
        counts = nf.count_confusion(nf.unit_buckets(moved), thresholds=EDGES.tolist())
        found = nf.rank_segments(counts, segments="segment", threshold=AT, units="bucket", min_positives=1)
        # With the variance of its own units alone, 4 to 10 of the segments were.
        assert found.filter("shifted")["segment"].to_list() == shifted


def test_units_that_all_agree_vary_as_those_of_the_rest():
    """One unit in five has hits; ten units without any are no finding, and fifty are."""
    unit = np.arange(250)
    for units, shifted in ((10, False), (50, True)):
        tp = np.where((unit < units) | (unit % 5 > 0), 0, 20)
        counts = counts_at(tp, 10, 20, 20, model="a", segment=unit < units, bucket=unit)
        found = nf.rank_segments(counts, segments="segment", threshold=0.5, units="bucket")
        assert found.filter("segment")["shifted"].item() is shifted


@pytest.mark.thorough
def test_segments_of_units_with_few_rare_scores_are_not_shifted() -> None:
    """About five negatives of each of 40 segments are beyond the threshold; of one none, of one twelve."""
    hits = np.array([0, 12, *[4, 5, 6, 5] * 9, 5, 5])
    site, bucket = np.indices((40, 64)).reshape(2, -1)
    false = (bucket < hits[site]).astype(np.int64)
    counts = counts_at(4, false, 8, 8, model=["a"] * len(site), site=site, bucket=bucket)
    found = nf.rank_segments(counts, segments="site", threshold=0.5, units="bucket")
    # The smaller one of two p-values, of a binomial tail and of 1, is adjusted.
    tails = np.array([2 * binom(512, 5 / 512).cdf(0), 2 * binom(512, 5 / 512).sf(11)])
    of_two = found.filter(pl.col("site") < 2).sort("site")["shift_p_value"].to_numpy()
    assert (of_two > 0.8 * tails * (2 - tails)).all()
    assert not found["shifted"].any()


@pytest.mark.filterwarnings("error")
def test_segments_whose_rows_weigh_nothing_or_lack_a_class_cannot_be_judged() -> None:
    rng = np.random.default_rng(0)
    label = rng.random(3000) < 0.1
    log = pl.DataFrame({
        "model": "a", "part": rng.choice(["x", "y"], 3000), "label": label,
        "score": rng.normal(1.5 * label, 1), "weight": np.where(label, 1.0, rng.choice([10.0, 100.0], 3000)),
    })  # fmt: skip
    odd = [
        log[:9].with_columns(part=pl.lit("weightless"), weight=pl.lit(0.0)),
        log.filter(~pl.col("label"))[:9].with_columns(part=pl.lit("negative")),
    ]
    counts = nf.count_confusion(
        nf.scan_predictions(pl.concat([log, *odd]), weight="weight", segments="part"), thresholds=[0.0, 1.0]
    )
    ranks = nf.rank_segments(counts, segments="part", threshold=1.0)
    assert sorted(ranks.filter(pl.col("value").is_null())["part"]) == ["negative", "weightless"]
    assert ranks.drop_nulls("value")["lower"].null_count() == 0


def test_a_segment_whose_rest_has_no_positive_is_not_said_to_be_as_the_rest():
    counts = pl.DataFrame({
        "model": "a", "country": ["at", "de"], "threshold": 0.5,
        "tp": [80, 0], "fp": [10, 5], "fn": [20, 0], "tn": [990, 495],
    })  # fmt: skip
    ranks = nf.rank_segments(counts, segments="country", threshold=0.5)
    assert ranks.select("country", "rest_value", "distinguishable", "reason").rows() == [
        ("at", None, None, "the metric is undefined in the rest"),
        ("de", None, None, "fewer than 20 positives"),
    ]
    comparison = nf.compare_models(counts, segments=["country"], question=nf.Question(threshold=0.5))
    assert worst_sentence(comparison) == (
        "None of 2 segments can be judged: the metric is undefined in the rest, or fewer than 20 positives."
    )
    assert worst_first(comparison)["verdict"].to_list() == ranks["reason"].to_list()
