"""Surfaces in contingency space and how they warp: closed forms, a plain sum, and the slides' classifiers."""

import inspect

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from tests.cases import first_quick

FINITE = sorted(
    row["name"]
    for row in nf.metrics().filter(kind="point").iter_rows(named=True)
    if np.isfinite(row["lower"]) and np.isfinite(row["upper"]) and hasattr(nf, row["name"])
)


def accuracy_volume(r: float) -> float:
    return abs(r - 1) / (6 * (r + 1))


def precision_volume(r: float) -> float:
    return 0.5 - ((1 - r**2) / 2 * np.log(1 + r) + r**2 / 2 * np.log(r) + r / 2) / r


@pytest.mark.parametrize("ratio", first_quick([1.5, 4, 49, 999, 1e6], 2))
def test_closed_forms(ratio):
    found = nf.imbalance_sensitivity(["accuracy", "precision"], ratios=ratio)["sensitivity"].to_list()
    assert found == pytest.approx([accuracy_volume(ratio), precision_volume(ratio)], abs=1e-6)
    # With the majority on the other side: accuracy is symmetric, and precision gains what 1 - precision lost.
    turned = nf.imbalance_sensitivity(["accuracy", "npv"], ratios=1 / ratio)["sensitivity"].to_list()
    assert turned == pytest.approx([accuracy_volume(ratio), precision_volume(ratio)], abs=1e-6)


@pytest.fixture(scope="module")
def volumes() -> pl.DataFrame:
    points = [name for name in nf.metrics().filter(kind="point")["name"] if hasattr(nf, name)]
    return nf.imbalance_sensitivity(points, ratios=[0.1, 20])


@pytest.mark.long
@pytest.mark.parametrize("ratio", [0.1, 20])
def test_every_metric_of_finite_range_equals_a_plain_sum(volumes, ratio):
    side = 500
    middle = (np.arange(side) + 0.5) / side
    grid = pl.DataFrame({"tpr": np.repeat(middle, side), "fpr": np.tile(middle, side), "beta": 1.0})
    found = volumes.filter(pl.col("metric").is_in(FINITE), ratio=ratio)
    assert found["metric"].to_list() == FINITE
    ranges = {row["name"]: (row["lower"], row["upper"]) for row in nf.metrics().iter_rows(named=True)}
    surfaces = [
        grid.with_columns(prevalence=pl.lit(eta)).select(getattr(nf, name)().alias(name) for name in FINITE)
        for eta in (0.5, 1 / (1 + ratio))
    ]
    for name, sensitivity in found.select("metric", "sensitivity").iter_rows():
        lower, upper = ranges[name]
        plain = (surfaces[0][name] - surfaces[1][name]).abs().mean() / (upper - lower)
        # The middle of a cell is off by its square; beside a corner where a metric jumps, by more.
        assert sensitivity == pytest.approx(plain, abs=2e-5), name
        assert 0 <= sensitivity <= 1


@pytest.mark.long
def test_which_metrics_do_not_depend_on_the_class_balance(volumes):
    agnostic = set(volumes.filter(sensitivity=0.0, ratio=20)["metric"])
    assert agnostic > {"recall", "fpr", "youden_j", "g_mean", "diagnostic_odds_ratio", "precision_gain"}
    # They are those that take no prevalence.
    takes = {name: inspect.signature(getattr(nf, name)).parameters for name in volumes["metric"]}
    assert agnostic == {name for name, parameters in takes.items() if "prevalence" not in parameters}
    # As the paper orders them: precision most, then F1, accuracy, and HSS halved into [0, 1].
    order = ["precision", "f_beta", "accuracy", "hss", "recall", "tss"]
    found = nf.imbalance_sensitivity(order, ratios=[2, 3])
    by_metric = dict(found.filter(ratio=2).select("metric", "sensitivity").iter_rows())
    values = [by_metric[name] for name in ["precision", "f_beta", "accuracy", "hss", "recall", "youden_j"]]
    assert values == sorted(values, reverse=True)
    assert values[-2:] == [0, 0]


def test_ranges_without_end_and_metrics_of_ones_own():
    found = nf.imbalance_sensitivity(["expected_cost", "lr_plus"], ratios=9)
    assert found["sensitivity"].to_list() == [None, 0]
    # ∫∫ |0.4·(1-TPR) - 0.4·FPR| = 0.4/3
    plain = nf.imbalance_sensitivity("expected_cost", ratios=9, rescale=False)
    assert plain["sensitivity"].item() == pytest.approx(0.4 / 3, abs=1e-6)
    name = "twice_the_fraction"
    nf.register_metric(name, 2 * nf.pos_fraction(), range=(0, 2))
    both = nf.imbalance_sensitivity([name, "pos_fraction"], ratios=9)["sensitivity"].to_list()
    assert both[0] == pytest.approx(both[1], abs=1e-6)
    # The class balance of a surface is that of its log, too.
    observed = (pl.col("tpr") * pl.col("observed_prevalence")).alias("found")
    by_log = nf.imbalance_sensitivity(observed, ratios=9, rescale=False)
    assert by_log["sensitivity"].item() == pytest.approx(0.4 / 2, abs=1e-6)


def test_a_surface_has_the_metric_at_every_place():
    surface = nf.metric_surface("f_beta", ratio=49, resolution=11, beta=2)
    assert surface.columns == ["tpr", "tnr", "value"]
    assert len(surface) == 121
    assert surface.equals(surface.sort("tpr", "tnr"))
    tpr, tnr = surface["tpr"], surface["tnr"]
    tp, fp, fn = 0.02 * tpr, 0.98 * (1 - tnr), 0.02 * (1 - tpr)
    assert surface["value"].to_list() == pytest.approx((5 * tp / (5 * tp + 4 * fn + fp)).to_list())
    assert nf.metric_surface("precision", resolution=2)["value"].to_list() == [0.0, None, 0.5, 1.0]


def test_the_special_classifiers_of_the_slides():
    counts = pl.concat(
        nf.expected_counts(tpr=tpr, fpr=1 - tnr, positives=100, negatives=300, model=model)
        for model, tpr, tnr in (
            ("perfect", 1, 1),
            ("worst", 0, 0),
            ("ultra-liberal", 1, 0),
            ("ultra-conservative", 0, 1),
        )
    )
    names = ["recall", "fpr", "precision", "f_beta", "accuracy"]
    table = nf.project_rates(nf.compute_rates(counts), metrics=names, prevalence="observed")
    wide = table.pivot(on="metric", index="model", values="value").select("model", *names)
    found = {model: tuple(values) for model, *values in wide.iter_rows()}
    # The slides' accuracy of the ultra-liberal is P/(P+N), not 0; by counts, an F1 without hits is 0.
    assert found == {
        "perfect": (1.0, 0.0, 1.0, 1.0, 1.0),
        "worst": (0.0, 1.0, 0.0, 0.0, 0.0),
        "ultra-liberal": (1.0, 1.0, 0.25, pytest.approx(2 * 100 / (2 * 100 + 300)), 0.25),
        "ultra-conservative": (0.0, 0.0, None, 0.0, 0.75),
    }
