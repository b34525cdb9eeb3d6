"""Where every two models change places: all pairs at once against one pair at a time, in exact arithmetic."""

import itertools
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from scipy.optimize import brentq

import nci_frames as nf
from nci_frames.base.typing import Floats
from tests.logs import rates_of

ROWS = 12
points = st.lists(
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
@given(data=points)
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
@given(data=points)
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
