"""The winners along a line are those of a brute force at 20,001 mixes."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.classes.class_winners import places_of_equality
from tests.cases import first_quick
from tests.class_logs import counts_of_models

METRICS = ["accuracy", "expected_cost", "balanced_accuracy", "recall", "precision", "f_beta",
           "macro_precision", "macro_f_beta", "weighted_f_beta", "kappa", "mcc"]  # fmt: skip


def test_equal_models_are_tied_and_the_first_is_named():
    counts = counts_of_models("a")
    same = pl.concat([counts.with_columns(model=pl.lit(name)) for name in "cab"])
    found = nf.class_winners(same, metric="macro_f_beta", start="uniform", end="observed")
    assert found.rows() == [(0.0, 1.0, "a", ["a", "b", "c"])]
    other = pl.concat([same, counts_of_models("z", seed=9)])
    for metric in ("accuracy", "mcc"):
        ends = {"start": {0: 1.0, 1: 0.0, 2: 0.0}, "end": {0: 0.0, 1: 0.5, 2: 0.5}}
        tied = nf.class_winners(other, metric=metric, **ends)["tied"].to_list()
        assert all(each in (["a", "b", "c"], ["z"]) for each in tied)


def test_one_class_alone_has_no_mcc():
    one = pl.DataFrame({"model": ["a", "b"], "label": ["x"] * 2, "decision": ["x"] * 2, "rows": [9] * 2})
    found = nf.class_winners(one, metric="mcc", start="uniform", end="observed")
    assert found.rows() == [(0.0, 1.0, None, [])]


def test_undefined_is_nobody():
    lacking = counts_of_models("ab").with_columns(rows=pl.when(pl.col("label") < 2).then("rows").otherwise(0))
    ends = {"start": {0: 0.5, 1: 0.5, 2: 0.0}, "end": dict.fromkeys(range(3), 1 / 3)}
    assert nf.class_winners(lacking, metric="accuracy", **ends).rows() == [(0.0, 1.0, None, [])]


@pytest.mark.parametrize("metric", first_quick(METRICS, 4))
@pytest.mark.parametrize("seed", first_quick(range(2)))
def test_ranges_are_exact(metric, seed):
    """As in a brute force of 20,001 mixes, and each border is where two models are equal."""
    models, classes = [f"m{n}" for n in range(7)], 4
    counts = counts_of_models(models, classes, seed=seed)
    first, last = np.random.default_rng(seed).dirichlet(np.ones(classes) / 2, 2)
    of = {"of": 2} if metric in ("recall", "precision", "f_beta") else {}
    ends = {"start": dict(enumerate(first)), "end": dict(enumerate(last))}
    cost = {(a, b): abs(a - b) for a in range(classes) for b in range(classes)}
    found = nf.class_winners(counts, metric=metric, **ends, **of, beta=2, cost=cost)
    assert [*found["start"], 1] == [0, *found["end"]]
    rates = counts["rows"].to_numpy().reshape(len(models), classes, classes)
    rates = rates / rates.sum(axis=2, keepdims=True)
    borders = found["start"].to_numpy()[1:]
    places = np.concatenate([np.linspace(0, 1, 20_001), borders])
    priors = np.outer(1 - places, first) + np.outer(places, last)
    values = np.array([plain_value(metric, priors, of_model, of.get("of")) for of_model in rates])
    ordered = np.sort(values, axis=0)
    gap = ordered[-1] - ordered[-2]
    assert gap[20_001:] == pytest.approx(0, abs=1e-12)
    mine = np.array([models.index(name) for name in found["model"]])
    told = mine[np.searchsorted(found["end"], places).clip(max=len(mine) - 1)]
    assert (told == values.argmax(axis=0))[:20_001][gap[:20_001] > 1e-12].all()


def plain_value(metric, priors, rates, of):
    """A metric by its formula, higher if better: beta is 2, a mistake costs the distance of the classes."""
    decided = priors @ rates
    right = priors * np.diagonal(rates)
    precision, f_beta = right / decided, 5 * right / (4 * priors + decided)
    chance = (priors * decided).sum(axis=1)
    above = right.sum(axis=1) - chance
    spread = (1 - (priors**2).sum(axis=1)) * (1 - (decided**2).sum(axis=1))
    paid = np.abs(np.subtract.outer(range(len(rates)), range(len(rates))))
    return {
        "accuracy": right.sum(axis=1),
        "balanced_accuracy": np.full(len(priors), np.diagonal(rates).mean()),
        "expected_cost": -priors @ (rates * paid).sum(axis=1),
        "recall": (right / priors)[:, of],
        "precision": precision[:, of],
        "f_beta": f_beta[:, of],
        "macro_precision": precision.mean(axis=1),
        "macro_f_beta": f_beta.mean(axis=1),
        "weighted_f_beta": (priors * f_beta).sum(axis=1),
        "kappa": above / (1 - chance),
        "mcc": above / np.sqrt(spread),
    }[metric]


@pytest.mark.parametrize("lead", [1e-2, 1e-12])
def test_a_lead_of_any_width_is_found(lead):
    """t/(1+t) + (1-t)/(2-t) is above 2/3 - lead only near 1/2, where its second derivative is -32/27."""
    found = places_of_equality(
        lambda t: np.stack([t / (1 + t) + (1 - t) / (2 - t), np.full(len(t), 2 / 3 - lead)])
    )
    half = np.sqrt(2 * lead * 27 / 32)
    assert found == pytest.approx([0.5 - half, 0.5 + half], abs=0.05 * half)
