"""The winners of PR-AUC from its values at a few prevalences: against the areas between them."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.crossovers.areas import area_nodes
from nci_frames.evaluation.crossovers.winners import area_winners
from tests.cases import first_quick
from tests.comparisons import counts_of
from tests.logs import crossing_models

LOW, HIGH = 1e-5, 0.6


def winners_of(counts: pl.DataFrame, low: float = LOW, high: float = HIGH) -> pl.DataFrame:
    areas = nf.compute_areas(counts, prevalence=area_nodes(low, high)).filter(metric="pr_auc")
    support = nf.lowest_supported_prevalence(counts, metric="pr_auc")
    return area_winners(areas, support, low, high)


def leads(ranges: pl.DataFrame) -> pl.DataFrame:
    """Join the ranges of one model, which are cut where its area begins to be supported."""
    return ranges.filter(pl.col("model").ne_missing(pl.col("model").shift()))


@pytest.mark.parametrize("seed", first_quick(range(4)))
def test_the_winner_of_a_range_has_the_largest_area_in_it(seed):
    counts = crossing_models(seed)
    ranges = winners_of(counts)
    assert ranges["start"][0] == LOW
    assert ranges["end"][-1] == HIGH
    assert ranges["start"][1:].to_list() == ranges["end"][:-1].to_list()
    logits = np.random.default_rng(seed).uniform(np.log(LOW), np.log(HIGH / (1 - HIGH)), 300)
    etas = (1 / (1 + np.exp(-logits))).tolist()
    areas = nf.compute_areas(counts, prevalence=etas).filter(metric="pr_auc")
    best = areas.group_by("prevalence").agg(pl.col("value").max().alias("best"))
    named = best.sort("prevalence").join_asof(
        ranges.select("start", "model").sort("start"), left_on="prevalence", right_on="start"
    )
    found = named.join(areas, on=["prevalence", "model"])
    assert found.height == 300
    assert (found["best"] - found["value"]).max() < 1e-10


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
