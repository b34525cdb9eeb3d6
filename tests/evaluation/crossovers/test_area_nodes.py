"""The prevalences from which the areas at all others follow."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BarycentricInterpolator

import nci_frames as nf
from nci_frames.evaluation.crossovers.areas import area_nodes
from tests.cases import first_quick
from tests.logs import random_log

RANGES = [(1e-4, 0.5), (1e-9, 0.999), (0.01, 0.02)]


def logit(eta):
    eta = np.asarray(eta, np.float64)
    return np.log(eta) - np.log1p(-eta)


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("method", first_quick(["average_precision", "interpolated", "trapezoid"]))
def test_areas_between_the_nodes_follow_from_those_at_them(low, high, method):
    counts = nf.count_confusion(random_log(3_000, seed=2, values=200), thresholds="exact", by=[])
    nodes = area_nodes(low, high)
    asked = (1 / (1 + np.exp(-np.random.default_rng(0).uniform(logit(low), logit(high), 100)))).tolist()

    def areas(prevalence):
        found = nf.compute_areas(counts, prevalence=prevalence, method=method).filter(metric="pr_auc")
        return found.sort("prevalence").partition_by("model")

    known_areas, wanted_areas = areas(nodes), areas(asked)
    assert len(known_areas) == 2
    for known, wanted in zip(known_areas, wanted_areas, strict=True):
        polynomial = BarycentricInterpolator(logit(nodes), known["value"].to_numpy())
        found = polynomial(logit(wanted["prevalence"].to_numpy()))
        assert np.abs(found - wanted["value"].to_numpy()).max() < 1e-10


@given(
    low=st.floats(1e-9, 0.4), factor=st.floats(1.5, 1e6), scale=st.floats(1e-12, 1e3), place=st.floats(0, 1)
)
def test_the_precision_of_any_point_follows_from_the_nodes(low, factor, scale, place):
    # One point at any ratio of FPR to TPR is the worst that an area can be made of.
    odds = low / (1 - low) * factor
    high = min(odds / (1 + odds), 0.9999)
    nodes = np.array(area_nodes(low, high))
    eta = 1 / (1 + np.exp(-(logit(low) + place * (logit(high) - logit(low)))))

    def precision(at):
        return 1 / (1 + scale * (1 - at) / at)

    found = BarycentricInterpolator(logit(nodes), precision(nodes))(logit(eta))
    assert found == pytest.approx(precision(eta), abs=1e-10)


def test_nodes_ascend_within_the_range():
    for low, high in RANGES:
        nodes = area_nodes(low, high)
        assert nodes == sorted(set(nodes))
        assert low < nodes[0] < nodes[-1] < high
    assert pl.Series(area_nodes(0.3, 0.7)).is_between(0.3, 0.7).all()
