"""Where the order of models changes, against brute force, high precision, and every point of a fine grid."""

import itertools
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from polars.testing import assert_frame_equal
from scipy.optimize import brentq

import nci_frames as nf
from nci_frames.base.typing import Floats
from tests.cases import first_quick
from tests.comparisons import counts_of
from tests.logs import counts_at, random_log, rates_of

WHOLE = st.integers(0, 60)


points = st.lists(st.tuples(st.sampled_from("abc"), WHOLE, WHOLE), min_size=1, max_size=12)


def f_beta(tpr: Any, fpr: Any, eta: Any, beta: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (1 + beta**2) * eta * tpr / (beta**2 * eta + eta * tpr + (1 - eta) * fpr)


@given(points=points)
def test_the_map_names_the_best_everywhere(points):
    rates = rates_of(*points)
    table = nf.decision_map(rates)
    assert [*table["lambda_start"], np.inf] == [0, *table["lambda_end"]]
    rng = np.random.default_rng(0)
    eta, beta = rng.random(200) ** 3, np.exp(rng.normal(0, 2, 200))
    value = f_beta(rates["tpr"].to_numpy()[:, None], rates["fpr"].to_numpy()[:, None], eta, beta)
    winner = table[np.searchsorted(table["lambda_start"], (1 - eta) / eta / beta**2, side="right") - 1]
    row = {key: place for place, key in enumerate(rates.select("model", "threshold").rows())}
    named = value[[row[key] for key in winner.select("model", "threshold").rows()], np.arange(200)]
    assert named == pytest.approx(value.max(axis=0), rel=1e-12, abs=1e-300)


# Three points that meet in one.
@pytest.mark.thorough
@example(points=[("a", 18, 9), ("b", 0, 45), ("b", 42, 54), ("b", 48, 0)], beta=0.5)
@given(points=points, beta=st.sampled_from([0.0, 0.5, 1.0, 3.0, float("inf")]))
def test_winners_over_prevalence_are_best(points, beta):
    rates = rates_of(*points)
    for metric in ("f_beta", "accuracy"):
        ranges = nf.winner_ranges(rates, metric=metric, over="prevalence", beta=beta)
        assert [*ranges["start"], 1] == [0, *ranges["end"]]
        middles = ((ranges["start"] + ranges["end"]) / 2).to_list()
        values = nf.project_rates(rates, metrics=metric, prevalence=middles, beta=beta)
        best = dict(values.group_by("prevalence").agg(pl.col("value").max()).iter_rows())
        named = ranges.select("model", "threshold").rows()
        for middle, (model, threshold) in zip(middles, named, strict=True):
            value = values.filter(model=model, threshold=threshold, prevalence=middle)["value"].item()
            assert (value is None) == (best[middle] is None)
            assert value is None or value == pytest.approx(best[middle], rel=1e-9)


@given(points=points, eta=st.sampled_from([1e-4, 0.1, 0.7]))
def test_crossovers_over_beta_and_prevalence_are_those_of_lambda(points, eta):
    rates = rates_of(*points)
    over_beta = nf.find_crossovers(rates, metric="f_beta", over="beta", prevalence=eta)
    over_eta = nf.find_crossovers(rates, metric="f_beta", over="prevalence", beta=2)
    lambdas = ((1 - eta) / eta / over_beta["beta"] ** 2).sort()
    others = ((1 - over_eta["prevalence"]) / over_eta["prevalence"] / 4).sort()
    assert lambdas.to_list() == pytest.approx(others.to_list(), rel=1e-9)
    # A model that is better at a small beta is better where positives are rare.
    pairs, others = (sorted(found.select("model_a", "model_b").rows()) for found in (over_beta, over_eta))
    assert pairs == others


def test_a_point_on_the_line_between_two_others_is_best_nowhere():
    rates = nf.compute_rates(counts_at([2, 3, 4], [1, 2, 3], 6, 6))
    for metric in ("accuracy", "f_beta"):
        assert nf.winner_ranges(rates, metric=metric, over="prevalence").filter(model="b").is_empty()
    assert nf.decision_map(rates).filter(model="b").is_empty()


def test_precision_never_crosses_and_one_model_or_twins_have_nothing_to_cross():
    rates = rates_of(("a", 60, 20), ("b", 30, 5), ("c", 30, 5))
    assert nf.find_crossovers(rates, metric="precision", over="prevalence").is_empty()
    assert nf.find_crossovers(rates, metric="npv", over="prevalence").is_empty()
    assert nf.find_crossovers(rates, metric="roc_auc", over="prevalence").is_empty()
    assert nf.find_crossovers(rates, metric="f_beta", over="prevalence", beta=0).is_empty()
    assert nf.find_crossovers(rates.filter(model="a"), metric="f_beta", over="beta").is_empty()
    twins = rates.filter(pl.col("model") != "a")
    for metric, over in (("f_beta", "beta"), ("accuracy", "prevalence")):
        assert nf.find_crossovers(twins, metric=metric, over=over).is_empty()
    found = nf.find_crossovers(rates, metric="f_beta", over="prevalence")
    assert found.columns == ["metric", "model_a", "model_b", "prevalence", "beta", "value"]
    assert found.select("model_a", "model_b").rows() == [("b", "a"), ("c", "a")]
    assert found["value"].to_list() == pytest.approx(
        [f_beta(0.5, 5 / 60, eta, 1) for eta in found["prevalence"]]
    )


def test_metrics_without_a_formula_are_searched():
    name = "informed_f1"
    nf.register_metric(name, nf.f_beta(beta=1).alias(name) + 0 * pl.col("tpr"), range=(0, 1))
    rates = rates_of(("a", 60, 20), ("b", 30, 5), ("c", 55, 12))
    searched = nf.find_crossovers(rates, metric=name, over="prevalence")
    exact = nf.find_crossovers(rates, metric="f_beta", over="prevalence")
    assert searched.select("model_a", "model_b").rows() == exact.select("model_a", "model_b").rows()
    assert searched["prevalence"].to_list() == pytest.approx(exact["prevalence"].to_list(), rel=1e-9)
    ranges = nf.winner_ranges(rates, metric=name, over="prevalence")
    expected = nf.winner_ranges(rates, metric="f_beta", over="prevalence")
    assert ranges["model"].to_list() == expected["model"].to_list()
    assert ranges["end"].to_list() == pytest.approx(expected["end"].to_list(), rel=1e-9)


def test_groups_of_one_class_are_left_out():
    rates = nf.compute_rates(nf.count_confusion(random_log(), thresholds=[0.0, 0.5, 1.0], by="country"))
    assert nf.decision_map(rates).columns == [
        "country", "lambda_start", "lambda_end", "model", "tied", "threshold", "supported", "reason",
    ]  # fmt: skip
    lacking = rates.with_columns(
        pl.lit(None, pl.Int64).alias(name) for name in ("tp", "fp", "fn", "tn", "positives", "negatives")
    ).with_columns(tpr=pl.lit(None, pl.Float64), reason=pl.lit("not attained"))
    assert nf.decision_map(lacking).is_empty()
    assert nf.find_crossovers(lacking, metric="accuracy", over="prevalence").is_empty()
    assert nf.winner_ranges(lacking, metric="accuracy", over="prevalence").is_empty()


def test_a_range_is_cut_from_the_whole():
    rates = rates_of(("a", 60, 20), ("b", 30, 5))
    whole = nf.winner_ranges(rates, metric="f_beta", over="beta", prevalence=0.1)
    border = whole["end"][0]
    ends = {"start": border / 2, "end": border * 2}
    part = nf.winner_ranges(rates, metric="f_beta", over="beta", prevalence=0.1, **ends)
    assert part.select("start", "end", "model").rows() == [
        (border / 2, border, whole["model"][0]), (border, border * 2, whole["model"][1])
    ]  # fmt: skip
    above = nf.winner_ranges(rates, metric="f_beta", over="beta", prevalence=0.1, start=border * 2)
    assert above["model"].to_list() == [whole["model"][1]]


TWINS = pl.concat(
    counts_of({name: rates}).with_columns(model=pl.lit(name))
    for name, rates in {"b": (0.6, 0.01), "a": (0.6, 0.01), "c": (0.8, 0.2), "d": (0.7, 0.2)}.items()
)


@pytest.mark.parametrize(
    "metric", first_quick(["f_beta", "precision", "expected_cost", "pr_auc", "roc_auc", "mcc"], 3)
)
def test_equal_models_are_named_together(metric):
    asked: Any = nf.expected_cost(c_fp=1, c_fn=9) if metric == "expected_cost" else metric
    frame = TWINS if metric.endswith("auc") else nf.compute_rates(TWINS.filter(threshold=0.5))
    ranges = nf.winner_ranges(frame, metric=asked, over="prevalence")
    tied = dict(ranges.select("model", "tied").rows())
    assert set(tied) <= {"a", "c"}
    assert all(names == (["a", "b"] if model == "a" else [model]) for model, names in tied.items())
    assert len(tied) == (1 if metric in ("precision", "roc_auc") else 2)
    alone = nf.winner_ranges(frame.filter(pl.col("model") != "b"), metric=asked, over="prevalence")
    assert_frame_equal(alone.drop("tied"), ranges.drop("tied"))
    assert alone["tied"].list.len().to_list() == [1] * len(alone)


def test_a_map_names_equal_models_and_files_hold_them(tmp_path):
    whole = nf.decision_map(nf.compute_rates(TWINS.filter(threshold=0.5)))
    found = whole.select("model", "tied").unique(maintain_order=True)
    assert found.rows() == [("c", ["c"]), ("a", ["a", "b"])]
    text = nf.save_table(whole, tmp_path / "map.csv").read_text()
    assert pl.read_csv(tmp_path / "map.csv").schema["tied"] == pl.String
    assert ",a; b," in text
    assert "| a; b |" in nf.save_table(whole, tmp_path / "map.md").read_text()
    nf.save_table(whole, tmp_path / "map.parquet")
    assert pl.read_parquet(tmp_path / "map.parquet").schema["tied"] == pl.List(pl.String)
    hostile = whole.with_columns(tied=pl.Series([["=1", "b"]] * len(whole)))
    assert ",'=1; b," in nf.save_table(hostile, tmp_path / "map.csv").read_text()


ROWS = 12
many_points = st.lists(
    st.tuples(st.sampled_from("abcde"), st.integers(0, ROWS), st.integers(0, ROWS)), min_size=1, max_size=14
)
Line = tuple[Fraction, Fraction]


def f_beta_line(tp: int, fp: int) -> Line | None:
    """(1 + lambda·FPR)/TPR is lowest where F-beta is highest."""
    return (Fraction(ROWS, tp), Fraction(fp, tp)) if tp else None


def accuracy_line(tp: int, fp: int) -> Line:
    error_at_0, error_at_1 = Fraction(fp, ROWS), 1 - Fraction(tp, ROWS)
    return error_at_0, error_at_1 - error_at_0


def exact_crossings(one: list[Line], other: list[Line], end: int | None) -> list[tuple[Fraction, bool]]:
    """Return each x at which the lowest lines of two models cross, and whether the first was lower."""

    def difference(x: Fraction) -> Fraction:
        return min(a + b * x for a, b in one) - min(a + b * x for a, b in other)

    places = {Fraction(0)} | ({Fraction(end)} if end else set())
    for (a, b), (c, d) in itertools.product([*one, *other], repeat=2):
        x = (c - a) / (b - d) if b != d else None
        if x is not None and x > 0 and (end is None or x < end):
            places.add(x)
    ordered = sorted(places)
    told = [((x + y) / 2, difference((x + y) / 2)) for x, y in itertools.pairwise(ordered)]
    if end is None:
        told.append((ordered[-1] + 1, difference(ordered[-1] + 1)))
    signs = [(x, d) for x, d in told if d]
    return [
        # They part where they have met: the first place at which they are equal.
        (next(p for p in ordered if x < p < y and difference(p) == 0), d < 0)
        for (x, d), (y, e) in itertools.pairwise(signs)
        if (d < 0) != (e < 0)
    ]


@pytest.mark.parametrize(
    ("metric", "line", "end"), [("f_beta", f_beta_line, None), ("accuracy", accuracy_line, 1)]
)
@given(data=many_points)
@example(data=[("a", 6, 1), ("b", 6, 3)])  # at prevalence 1 they meet, and do not cross
@example(data=[("a", 6, 2), ("a", 3, 1), ("b", 6, 2), ("b", 9, 6), ("c", 9, 6), ("c", 3, 0)])
def test_lines_cross_where_exact_arithmetic_says(metric, line, end, data):
    rates = rates_of(*data, positives=ROWS, negatives=ROWS)
    found = nf.find_crossovers(rates, metric=metric, over="prevalence")
    lines = {
        model: [line(tp, fp) for tp, fp in mine.select("tp", "fp").iter_rows() if line(tp, fp) is not None]
        for (model,), mine in rates.sort("model").group_by("model", maintain_order=True)
    }
    expected = []
    for a, b in itertools.combinations(lines, 2):
        if lines[a] and lines[b]:
            for x, a_was_lower in exact_crossings(lines[a], lines[b], end):
                # Lambda falls as the prevalence rises, the prevalence is itself.
                a_below = a_was_lower == (metric == "accuracy")
                eta = float(x if metric == "accuracy" else 1 / (1 + x))
                expected.append(((a, b) if a_below else (b, a), eta))
    rows = found.select("model_a", "model_b", "prevalence").rows()
    expected.sort()
    assert [(a, b) for a, b, _ in rows] == [pair for pair, _ in expected]
    assert [eta for *_, eta in rows] == pytest.approx([eta for _, eta in expected], rel=1e-12)


@pytest.mark.thorough
@example(data=[("a", 1, 0), ("a", 5, 1), ("b", 0, 2), ("b", 5, 0), ("b", 7, 1)])
@given(data=many_points)
def test_curves_cross_where_a_pair_alone_does(data):
    """The best points of two models by MCC, place by place, and a root between by another method."""
    rates = rates_of(*data, positives=ROWS, negatives=ROWS)
    found = nf.find_crossovers(rates, metric="mcc", over="prevalence")
    places = np.linspace(-27.631021115928547, 27.631021115928547, 4_001)

    def mcc(model: str, place: float | Floats) -> Floats:
        eta = 1 / (1 + np.exp(-np.asarray(place)))[..., None]
        t, f = (rates.filter(model=model)[rate].to_numpy() for rate in ("tpr", "fpr"))
        with np.errstate(invalid="ignore", divide="ignore"):
            said = eta * t + (1 - eta) * f
            left = eta * (1 - t) + (1 - eta) * (1 - f)
            value = np.nan_to_num((t - f) * np.sqrt(eta * (1 - eta) / (said * left)), nan=-np.inf)
        best = value.max(axis=-1)
        return np.where(np.isneginf(best), np.nan, best)

    expected = []
    models = sorted({name for name, _, _ in data})
    curve = {model: mcc(model, places) for model in models}
    for a, b in itertools.combinations(models, 2):
        difference = curve[a] - curve[b]
        told = np.flatnonzero(np.abs(difference) > 1e-14 * (np.abs(curve[a]) + np.abs(curve[b])))
        for left, right in itertools.pairwise(told):
            if (difference[left] > 0) != (difference[right] > 0):
                root = brentq(lambda x, a=a, b=b: float(mcc(a, x) - mcc(b, x)), places[left], places[right])
                low, eta, high = 1 / (1 + np.exp(-np.array([places[left], root, places[right]])))
                # Models that are equal over a range change places anywhere in it.
                width = high - low if right > left + 1 else 0.0
                expected.append(((a, b) if difference[left] > 0 else (b, a), eta, width))
    expected.sort()
    rows = found.select("model_a", "model_b", "prevalence").rows()
    assert [(a, b) for a, b, _ in rows] == [pair for pair, _, _ in expected]
    for (*_, eta), (_, root, width) in zip(rows, expected, strict=True):
        assert eta == pytest.approx(root, rel=1e-9, abs=width)


@pytest.mark.long
def test_many_models_are_compared_in_several_parts(monkeypatch):
    rng = np.random.default_rng(0)
    data = [(f"m{n % 40:02}", int(t), int(f)) for n, (t, f) in enumerate(rng.integers(0, 61, (120, 2)))]
    whole = nf.find_crossovers(rates_of(*data), metric="mcc", over="prevalence")
    for name, value in (("meetings._VALUES_AT_A_TIME", 10_000), ("contest._VALUES_AT_A_TIME", 500)):
        monkeypatch.setattr(f"nci_frames.evaluation.crossovers.{name}", value)
    assert nf.find_crossovers(rates_of(*data), metric="mcc", over="prevalence").equals(whole)
    assert len(whole) > 50


def test_models_without_false_positives_share_an_infinite_likelihood_ratio():
    counts = counts_at([60, 80, 90], [0, 0, 5], 100, 1000)
    found = nf.winner_ranges(nf.compute_rates(counts), metric="lr_plus", over="prevalence")
    assert found.select("start", "end", "tied").rows() == [(0.0, 1.0, ["a", "b"])]


def test_models_tie_by_value_where_the_metric_does_not_tell_their_rates_apart():
    missing = nf.compute_rates(counts_at([0, 0], [2, 5], 10, 1000))  # neither finds a positive
    assert nf.decision_map(missing)["tied"].to_list() == [["a", "b"]]
    for over, fixed in (("prevalence", {}), ("beta", {"prevalence": 0.3})):
        found = nf.winner_ranges(missing, metric="f_beta", over=over, **fixed)
        assert found["tied"].to_list() == [["a", "b"]]
    free = nf.compute_rates(counts_at([6, 6, 5], [2, 5, 0], 10, 1000))
    for metric in ("recall_gain", nf.expected_cost(c_fp=0)):
        found = nf.winner_ranges(free, metric=metric, over="prevalence")
        assert found["tied"].unique().to_list() == [["a", "b"]]
