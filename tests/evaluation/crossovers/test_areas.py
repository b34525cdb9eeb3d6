"""Areas over the prevalence: crossovers, nodes, winners, and lines, against brute force."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BarycentricInterpolator
from sklearn.metrics import log_loss

import nci_frames as nf
from nci_frames.base.typing import Floats
from nci_frames.evaluation.crossovers.areas import area_curves, area_nodes
from nci_frames.evaluation.crossovers.winners import area_winners
from tests.cases import first_quick
from tests.comparisons import counts_of
from tests.evaluation.probabilities import logs
from tests.logs import crossing_models

ALL = 10**12


def models_at(*models: list[tuple[int, int]], total: int = ALL) -> pl.DataFrame:
    """Return counts of models with points (tp, fp), as falls the threshold."""
    rows = [
        {"model": f"m{i:04}", "threshold": -float(at), "tp": tp, "fp": fp, "fn": total - tp, "tn": total - fp}
        for i, points in enumerate(models)
        for at, (tp, fp) in enumerate(points)
    ]
    return pl.DataFrame(rows).sort("model", "threshold")


def random_models(models: int, points: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    reached = np.sort(rng.integers(0, 1_000, (models, 2, points)), axis=2)
    return models_at(*([(int(tp), int(fp)) for tp, fp in model.T] for model in reached), total=1_000)


def brute_force(counts: pl.DataFrame, logits: Floats) -> Floats:
    """Return the average precision of each model at each place, from its definition."""
    k = np.exp(-logits)[:, None]
    areas = []
    for (_,), part in counts.sort("threshold", descending=True).group_by("model", maintain_order=True):
        total = part["tp"][0] + part["fn"][0], part["fp"][0] + part["tn"][0]
        tpr, fpr = (
            np.append(part[name].to_numpy() / of, 1.0) for name, of in zip(("tp", "fp"), total, strict=True)
        )
        step = np.diff(tpr, prepend=0.0)
        tpr, fpr, step = tpr[step > 0], fpr[step > 0], step[step > 0]
        areas.append((step * tpr / (tpr + k * fpr)).sum(axis=1))
    return np.array(areas)


@pytest.mark.thorough
def test_areas_between_the_nodes_have_13_digits():
    rng = np.random.default_rng(4)
    false = np.sort(10 ** rng.uniform(0, 12, (20, 3)))
    counts = models_at(*([(ALL // 10, int(a)), (ALL // 2, int(b)), (ALL, int(c))] for a, b, c in false))
    ((_, curves),) = area_curves(counts)
    logits = np.sort(rng.uniform(-27.63, 27.63, 2_000))
    areas = brute_force(counts, logits)
    assert curves.everywhere(logits) == pytest.approx(areas, rel=1e-13, abs=0)
    model = rng.integers(0, 20, len(logits))
    assert curves.at(model, logits) == pytest.approx(areas[model, np.arange(len(logits))], rel=1e-13, abs=0)


@pytest.mark.thorough
@pytest.mark.parametrize("points", [1, 4, 20])
def test_all_changes_of_order_that_a_fine_grid_shows_are_found(points):
    counts = random_models(25, points, seed=points)
    found = nf.find_crossovers(counts, metric="pr_auc", over="prevalence")
    logits = np.linspace(-27.6, 27.6, 3_001)
    areas = brute_force(counts, logits)
    seen = 0
    for one in range(25):
        for other in range(one + 1, 25):
            lead = areas[one] - areas[other]
            signed = np.flatnonzero(np.abs(lead) > 1e-12 * (areas[one] + areas[other]))
            change = np.flatnonzero(np.diff(np.sign(lead[signed])))
            names = f"m{one:04}", f"m{other:04}"
            rows = found.filter(pl.col("model_a").is_in(names), pl.col("model_b").is_in(names))
            mine = np.sort(np.log(rows["prevalence"]) - np.log1p(-rows["prevalence"]))
            # Between two points of the grid there may be two more.
            assert len(mine) >= len(change)
            for at in change:
                inside = (mine >= logits[signed[at]]) & (mine <= logits[signed[at + 1]])
                assert inside.sum() % 2 == 1
            seen += len(change)
    assert seen > 10


@pytest.mark.thorough
def test_two_crossings_between_near_neighbours_are_both_found():
    """Model b is above a everywhere, except for a dip, as deep as one number makes it."""

    def pair(fp: int) -> pl.DataFrame:
        return models_at(
            [(4 * ALL // 100, 322 * ALL // 10**6), (69 * ALL // 100, 349 * ALL // 10**6)],
            [
                (35 * ALL // 100, 19 * ALL // 10**6),
                (55 * ALL // 100, 23 * ALL // 10**6),
                (99 * ALL // 100, fp),
            ],
        )

    def dip(fp: int) -> tuple[float, float]:
        near = np.linspace(-6, -4.5, 2_001)
        one, other = brute_force(pair(fp), near)
        return float(near[(other - one).argmin()]), float((other - one).min())

    def crossings(fp: int) -> Floats:
        met = nf.find_crossovers(pair(fp), metric="pr_auc", over="prevalence")["prevalence"].to_numpy()
        place = np.log(met) - np.log1p(-met)
        return np.sort(place[(place > -6) & (place < -4.5)])

    low, high = ALL // 100, ALL // 20
    assert dip(low)[1] > 0 > dip(high)[1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if dip(middle)[1] > 0 else (low, middle)
    place, depth = dip(high + 10**8)
    found = crossings(high + 10**8)
    assert depth < 0
    assert len(found) == 2
    assert found[0] < place < found[1] < found[0] + 0.3
    assert not len(crossings(low - 10**5))


def test_twins_and_models_that_differ_in_a_millionth():
    points = [(ALL // 4, ALL // 1000), (ALL // 2, ALL // 100), (ALL * 3 // 4, ALL // 10)]
    moved = [(ALL // 4, ALL // 1000 - 1_000), (ALL // 2, ALL // 100 + 10_000), (ALL * 3 // 4, ALL // 10)]
    counts = models_at(points, points, moved)
    found = nf.find_crossovers(counts, metric="pr_auc", over="prevalence")
    # Fewer false positives at the first point count for more if positives are rare.
    assert found.select("model_a", "model_b").rows() == [("m0002", "m0000"), ("m0002", "m0001")]
    assert found["prevalence"].n_unique() == 1
    place = np.log(found["prevalence"]) - np.log1p(-found["prevalence"])
    same, _, other = brute_force(counts, np.array([place[0] - 0.05, place[0] + 0.05]))
    assert np.sign(other - same).tolist() == [1, -1]


def logit(eta):
    eta = np.asarray(eta, np.float64)
    return np.log(eta) - np.log1p(-eta)


@given(
    low=st.floats(1e-9, 0.4), factor=st.floats(1.5, 1e6), scale=st.floats(1e-12, 1e3), place=st.floats(0, 1)
)
def test_the_precision_of_any_point_follows_from_ascending_nodes(low, factor, scale, place):
    # One point at any ratio of FPR to TPR is the worst that an area can be made of.
    odds = low / (1 - low) * factor
    high = min(odds / (1 + odds), 0.9999)
    nodes = np.array(area_nodes(low, high))
    assert low < nodes[0]
    assert nodes[-1] < high
    assert (np.diff(nodes) > 0).all()
    eta = 1 / (1 + np.exp(-(logit(low) + place * (logit(high) - logit(low)))))

    def precision(at):
        return 1 / (1 + scale * (1 - at) / at)

    found = BarycentricInterpolator(logit(nodes), precision(nodes))(logit(eta))
    assert found == pytest.approx(precision(eta), abs=1e-10)


LOW, HIGH = 1e-5, 0.6


def winners_of(counts: pl.DataFrame, low: float = LOW, high: float = HIGH) -> pl.DataFrame:
    areas = nf.compute_areas(counts, prevalence=area_nodes(low, high)).filter(metric="pr_auc")
    support = nf.lowest_supported_prevalence(counts, metric="pr_auc")
    return area_winners(areas, support, low, high)


def winners_of_curves(counts: pl.DataFrame) -> pl.DataFrame:
    return nf.winner_ranges(counts, metric="pr_auc", over="prevalence", start=LOW, end=HIGH)


def leads(ranges: pl.DataFrame) -> pl.DataFrame:
    """Join the ranges of one model, which are cut where its area begins to be supported."""
    return ranges.filter(pl.col("model").ne_missing(pl.col("model").shift()))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", first_quick(range(4)))
@pytest.mark.parametrize(("winners", "within"), [(winners_of, 1e-10), (winners_of_curves, 1e-13)])
def test_the_winner_of_a_range_has_the_largest_area_in_it(winners, within, seed):
    counts = crossing_models(seed)
    ranges = winners(counts)
    assert [*ranges["start"], HIGH] == [LOW, *ranges["end"]]
    logits = np.random.default_rng(seed).uniform(np.log(LOW), np.log(HIGH / (1 - HIGH)), 300)
    etas = (1 / (1 + np.exp(-logits))).tolist()
    areas = nf.compute_areas(counts, prevalence=etas).filter(metric="pr_auc")
    best = areas.group_by("prevalence").agg(pl.col("value").max().alias("best"))
    named = best.sort("prevalence").join_asof(
        ranges.select("start", "model").sort("start"), left_on="prevalence", right_on="start"
    )
    found = named.join(areas, on=["prevalence", "model"])
    assert found.height == 300
    assert (found["best"] - found["value"]).max() < within


def test_borders_are_those_of_the_crossovers():
    counts = counts_of({"boosted trees": (0.82, 0.012), "forest": (0.64, 0.004)})
    (crossing,) = nf.find_crossovers(counts, metric="pr_auc", over="prevalence").filter(
        pl.col("prevalence").is_between(LOW, HIGH)
    )["prevalence"]
    ranges = leads(winners_of(counts))
    assert ranges["model"].to_list() == ["forest", "boosted trees"]
    assert ranges["start"][1] == pytest.approx(crossing, rel=1e-8)


def test_equal_models_and_models_without_an_area():
    counts = counts_of({"a": (0.8, 0.1), "b": (0.8, 0.1), "c": (None, 0.1)})
    ranges = winners_of(counts)
    assert (ranges["start"][0], ranges["end"][-1], ranges["threshold"].null_count()) == (
        LOW,
        HIGH,
        len(ranges),
    )
    assert set(ranges["model"]) == {"a"}
    assert winners_of(counts_of({"c": (None, 0.1)})).is_empty()


ENDS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=6)


def models_of(ends):
    """Models with these Brier scores, in 64ths, at prevalence 0 and 1: one row of each class."""
    parts = [
        pl.DataFrame({"model": f"m{place}", "label": [False, True], "score": [at_0 / 8, 1 - at_1 / 8]})
        for place, (at_0, at_1) in enumerate(ends)
    ]
    return logs.exact(pl.concat(parts))


@given(ENDS)
def test_every_range_has_the_lowest_brier_score(ends):
    ranges = nf.winner_ranges(models_of(ends), metric="brier", over="prevalence")
    assert [*ranges["start"], 1] == [0, *ranges["end"]]
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
    found = nf.find_crossovers(models_of(ends), metric="brier", over="prevalence")
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
    certain = models_of([(4, 8), (6, 2)])
    ranges = nf.winner_ranges(certain, metric="log_loss", over="prevalence")
    assert ranges.select("start", "end", "model").rows() == [(0.0, 1.0, "m1")]
    assert nf.find_crossovers(certain, metric="log_loss", over="prevalence").is_empty()
    hopeless = nf.winner_ranges(models_of([(4, 8), (8, 2)]), metric="log_loss", over="prevalence")
    assert hopeless.select("model", "tied").rows() == [("m0", ["m0", "m1"])]


def test_each_key_has_its_own_winners_within_the_ends():
    parts = [models_of([(1, 7), (5, 2)]), models_of([(5, 2), (1, 7)])]
    counts = pl.concat(part.with_columns(day=pl.lit(day)) for day, part in enumerate(parts))
    ranges = nf.winner_ranges(counts, metric="brier", over="prevalence", start=0.2, end=0.9)
    border = 24 / (24 + 45)
    assert ranges.select("day", "model", "start").rows() == [
        (0, "m0", 0.2), (0, "m1", pytest.approx(border)), (1, "m1", 0.2), (1, "m0", pytest.approx(border))
    ]  # fmt: skip
    above = nf.winner_ranges(counts, metric="brier", over="prevalence", start=ranges["start"][1])
    assert above["model"].to_list() == ["m1", "m0"]
    alone = pl.concat(
        [
            counts,
            pl.DataFrame({**counts.row(0, named=True), "day": 2, "tp": 0, "fn": 0}, schema=counts.schema),
        ]
    )
    assert nf.winner_ranges(alone, metric="brier", over="prevalence").filter(day=2).is_empty()


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_infinite_log_losses_beside_finite_ones_warn_of_nothing(certain):
    """Warnings are errors here. The finite models meet where scikit-learn's losses are equal."""
    label = np.array([True] * 10 + [False] * 30)
    rng = np.random.default_rng(3)
    low, high = (np.clip(rng.random(40) * 0.4 + part, 0.01, 0.99) for part in (0.0, 0.5))
    wrong = np.where(np.arange(40) == (0 if certain == 0 else 39), certain, low)
    scores = {"high": high, "low": low, "none": np.full(40, certain), "wrong": wrong}
    log = pl.concat(pl.DataFrame({"model": m, "label": label, "score": s}) for m, s in scores.items())
    counts = nf.count_confusion(log)
    crossed = nf.find_crossovers(counts, metric="log_loss", over="prevalence")
    assert crossed.select("model_a", "model_b").rows() == [("low", "high")]
    weight = np.where(label, crossed["prevalence"].item() / 10, (1 - crossed["prevalence"].item()) / 30)
    equal = [log_loss(label, each, sample_weight=weight) for each in (low, high)]
    assert equal == pytest.approx([crossed["value"].item()] * 2, rel=1e-9)
    winners = nf.winner_ranges(counts, metric="log_loss", over="prevalence")
    assert winners["model"].to_list() == ["low", "high"]
    bounds = nf.bootstrap(counts, metric="log_loss", prevalence=0.25, repeats=20)
    assert bounds.filter(pl.col("value").is_infinite())["model"].to_list() == ["none", "wrong"]
    assert bounds.filter(pl.col("value").is_finite())["lower"].null_count() == 0
