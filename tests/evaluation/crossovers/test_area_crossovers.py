"""Crossovers of areas: none is missed between near neighbours, twins or many models."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.typing import Floats
from nci_frames.evaluation.crossovers.areas import area_curves
from tests.logs import counts_at

ALL = 10**12


def counts_of(*models: list[tuple[int, int]], total: int = ALL) -> pl.DataFrame:
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
    return counts_of(*([(int(tp), int(fp)) for tp, fp in model.T] for model in reached), total=1_000)


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
    counts = counts_of(*([(ALL // 10, int(a)), (ALL // 2, int(b)), (ALL, int(c))] for a, b, c in false))
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


def test_two_crossings_between_near_neighbours_are_both_found():
    """Model b is above a everywhere, except for a dip, as deep as one number makes it."""

    def pair(fp: int) -> pl.DataFrame:
        return counts_of(
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
    counts = counts_of(points, points, moved)
    found = nf.find_crossovers(counts, metric="pr_auc", over="prevalence")
    # Fewer false positives at the first point count for more if positives are rare.
    assert found.select("model_a", "model_b").rows() == [("m0002", "m0000"), ("m0002", "m0001")]
    assert found["prevalence"].n_unique() == 1
    place = np.log(found["prevalence"]) - np.log1p(-found["prevalence"])
    same, _, other = brute_force(counts, np.array([place[0] - 0.05, place[0] + 0.05]))
    assert np.sign(other - same).tolist() == [1, -1]


def test_too_many_pairs_are_refused_before_any_is_compared():
    counts = counts_at(np.arange(6_500), 1, 6_500, 10, model=[f"m{i:05}" for i in range(6_500)])
    for frame, metric in ((counts, "pr_auc"), (nf.compute_rates(counts), "f_beta")):
        with pytest.raises(
            nf.ParameterError, match=r"6,500 models, which are 21,121,750 pairs[\s\S]*winner_ranges"
        ):
            nf.find_crossovers(frame, metric=metric, over="prevalence")
