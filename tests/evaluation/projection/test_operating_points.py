"""Operating points by every criterion, against a plain search; and the cost paper's fixed TPR."""

from functools import cache
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from scipy.stats import binom, norm

import nci_frames as nf
from tests.cases import first_quick
from tests.logs import counts_at, random_log, small_logs, unit_log

LOG = random_log(2000, values=60)
GRID = [-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5]


def rates_of(log: pl.DataFrame, thresholds: Any = "exact") -> pl.DataFrame:
    return nf.compute_rates(nf.count_confusion(log, thresholds=thresholds))


@cache
def rates_of_all(exact: bool) -> pl.DataFrame:
    return rates_of(LOG, "exact" if exact else GRID)


def groups(frame: pl.DataFrame, keys: list[str]) -> list[pl.DataFrame]:
    return frame.sort(*keys, "threshold").partition_by(keys, maintain_order=True)


def said(rates: pl.DataFrame, eta: float) -> pl.Series:
    return eta * rates["tpr"] + (1 - eta) * rates["fpr"]


ETA = 0.05


def serves(rates: pl.DataFrame, name: str, target: float) -> pl.Series:
    if name == "tpr":
        return rates["tpr"] >= target
    if name == "fpr":
        return rates["fpr"] <= target
    if name == "pos_fraction":
        return said(rates, ETA) <= target
    return (ETA * rates["tpr"] >= target * said(rates, ETA)) & (said(rates, ETA) > 0)


@pytest.mark.thorough
@pytest.mark.parametrize("thresholds", ["exact", GRID])
@pytest.mark.parametrize("name", ["tpr", "fpr", "pos_fraction", "precision"])
@pytest.mark.parametrize("target", first_quick([0.0, 0.8, 0.1, 1.0], 2))
def test_targets_are_met_by_the_best_point_that_meets_them(name: str, target: float, thresholds: Any) -> None:
    rates = rates_of_all(thresholds == "exact")
    eta = {"prevalence": ETA} if name in ("pos_fraction", "precision") else {}
    found = nf.select_operating_points(rates, **{name: target}, **eta)  # type: ignore[arg-type]
    keys = ["model", "fold", "country"]
    for group, point in zip(groups(rates, keys), found.iter_rows(named=True), strict=True):
        possible = group.filter(serves(group, name, target))
        never = (thresholds == "exact" and name in ("fpr", "pos_fraction")) or (target == 0 and name == "tpr")
        if possible.is_empty() and not (never and thresholds == "exact"):
            assert point["tpr"] is None
            assert f"no counted threshold has a {name} of" in point["reason"]
            continue
        assert point["reason"] is None
        if name == "tpr":
            best = possible["fpr"].min() if target > 0 or thresholds != "exact" else 0.0
            assert point["fpr"] == best
            assert point["tpr"] >= target
        else:
            assert point["tpr"] == (possible["tpr"].max() if len(possible) else 0.0)
            if len(possible):
                assert point["fpr"] == possible.filter(tpr=point["tpr"])["fpr"].min()


@pytest.mark.thorough
@given(
    log=small_logs(),
    name=st.sampled_from(
        ["f_beta", "accuracy", "precision", "fpr", "mcc", "npv", "lr_plus", "diagnostic_odds_ratio"]
    ),
)
def test_the_best_of_a_metric_is_the_best(log: pl.DataFrame, name: str) -> None:
    rates = rates_of(log, [-1.0, 0.0, 0.3, 0.7])
    eta = {} if name in ("fpr", "lr_plus", "diagnostic_odds_ratio") else {"prevalence": 0.2}
    found = nf.select_operating_points(rates, metric=name, **eta)  # type: ignore[arg-type]
    values = nf.project_rates(rates, metrics=name, prevalence=0.2)
    keys = ["model", "segment", "day"]
    best = values.group_by(keys).agg(pl.col("value").min() if name == "fpr" else pl.col("value").max())
    chosen = found.join(values, on=[*keys, "threshold"], how="left", nulls_equal=True).join(
        best, on=keys, how="left", nulls_equal=True, suffix="_best"
    )
    equal = (pl.col("value") == pl.col("value_best")) | (
        (pl.col("value") / pl.col("value_best") - 1).abs() < 1e-14
    )
    assert chosen.select(equal.all()).item()
    assert (chosen["reason"].is_null() == chosen["value"].is_not_null()).all()
    # Of equally good ones the highest threshold.
    as_good = values.join(best, on=keys, nulls_equal=True, suffix="_best").filter(equal)
    highest = as_good.group_by(keys).agg(pl.col("threshold").max())
    both = found.join(highest, on=keys, nulls_equal=True, suffix="_highest")
    assert both["threshold"].to_list() == both["threshold_highest"].to_list()


def test_values_that_differ_by_rounding_are_equally_good() -> None:
    assert 0.8 - 0.7 > 0.2 - 0.1
    rates = nf.compute_rates(counts_at([8, 2], [7, 1], 10, 10, model="a", threshold=[0.3, 0.6]))
    assert nf.select_operating_points(rates, metric="youden_j")["threshold"].item() == 0.6
    # At (0.6, 0.2) and at (0.8, 0.4).
    assert (0.4**2 + (1 - 0.8) ** 2) ** 0.5 < (0.2**2 + (1 - 0.6) ** 2) ** 0.5
    rates = nf.compute_rates(counts_at([8, 6], [4, 2], 10, 10, model="a", threshold=[0.3, 0.6]))
    assert nf.select_operating_points(rates, metric="distance")["threshold"].item() == 0.6


@pytest.mark.parametrize("interpolate", [False, True])
def test_a_point_that_is_not_attained_has_the_observed_prevalence(interpolate: bool) -> None:
    counts = counts_at(
        [5, 4, 0], [3, 2, 0], [10, 10, 0], [20, 20, 0], model=[*"aab"], threshold=[0.5, 0.7, 0.5]
    )
    rates = nf.compute_rates(counts)
    found = nf.select_operating_points(rates, precision=0.99, prevalence="observed", interpolate=interpolate)
    assert found["reason"].null_count() == 0
    assert found.select("model", "threshold", "tpr", "observed_prevalence", "prevalence").rows() == [
        ("a", None, None, None, 10 / 30),
        ("b", None, None, None, None),  # it has no rows
    ]


def test_several_prevalences_and_the_distance_from_the_corner() -> None:
    rates = rates_of(LOG, GRID).filter(fold="1", country="at")
    etas = [0.001, 0.5]
    found = nf.select_operating_points(rates, metric=nf.f_beta(beta=2), prevalence=etas)
    assert found.select("model", "prevalence").rows() == [(m, e) for m in ("forest", "linear") for e in etas]
    for eta in etas:
        alone = nf.select_operating_points(rates, metric="f_beta", beta=2, prevalence=eta)
        assert found.filter(prevalence=eta).equals(alone)
    distance = nf.select_operating_points(rates, metric="distance")
    for group, point in zip(groups(rates, ["model"]), distance.iter_rows(named=True), strict=True):
        lengths = np.hypot(group["fpr"], 1 - group["tpr"])
        assert np.hypot(point["fpr"], 1 - point["tpr"]) == pytest.approx(lengths.min())


@pytest.mark.thorough
@given(
    log=small_logs(),
    name=st.sampled_from(["tpr", "fpr", "pos_fraction", "precision"]),
    target=st.sampled_from([0.0, 0.05, 0.5, 0.83, 1.0]),
)
def test_interpolated_points_meet_the_target_on_the_polyline(
    log: pl.DataFrame, name: str, target: float
) -> None:
    rates = rates_of(log)
    eta = {"prevalence": ETA} if name in ("pos_fraction", "precision") else {}
    found = nf.select_operating_points(rates, **{name: target}, interpolate=True, **eta)  # type: ignore[arg-type]
    keys = ["model", "segment", "day"]
    for group, point in zip(groups(rates, keys), found.iter_rows(named=True), strict=True):
        if group["tpr"][0] is None or group["fpr"][0] is None:
            continue
        tpr = np.array([0.0, *group["tpr"].reverse(), 1.0])
        fpr = np.array([0.0, *group["fpr"].reverse(), 1.0])
        if point["tpr"] is None:
            assert name == "precision"
            assert not serves(pl.DataFrame({"tpr": tpr, "fpr": fpr}), name, target).any()
            continue
        assert point["threshold"] is None
        assert point["tp"] is None
        # It lies on a segment: the cross product with one of them is zero.
        along, up = np.diff(fpr), np.diff(tpr)
        on_line = np.abs(up * (point["fpr"] - fpr[:-1]) - along * (point["tpr"] - tpr[:-1])).min()
        assert on_line < 1e-12
        value = {
            "tpr": point["tpr"],
            "fpr": point["fpr"],
            "pos_fraction": ETA * point["tpr"] + (1 - ETA) * point["fpr"],
            "precision": target,
        }[name]
        assert value == pytest.approx(target, abs=1e-12)
        if name == "precision":
            right = ETA * point["tpr"]
            total = right + (1 - ETA) * point["fpr"]
            assert right >= target * total - 1e-12


def test_an_infinite_score_and_the_threshold_above_every_score_are_told_apart() -> None:
    log = pl.DataFrame({"model": "a", "label": [False, True, True], "score": [0.0, float("inf"), 1.0]})
    rates = rates_of(log)
    assert nf.select_operating_points(rates, threshold=float("inf"))["tp"].item() == 1
    assert nf.select_operating_points(rates, tpr=0, interpolate=True)["tpr"].item() == 0
    assert nf.select_operating_points(rates, pos_fraction=0, prevalence=0.5)["tp"].item() == 0


@pytest.mark.parametrize("interpolate", [False, True])
def test_heavy_rows_support_no_lower_prevalence_than_light_ones(interpolate):
    counts = counts_at([3, 20], [0, 20], 30, 200, model="a", threshold=[0.9, 0.5])
    asked = {"pos_fraction": 0.06, "prevalence": 0.001, "interpolate": interpolate}
    light, heavy = (
        nf.select_operating_points(nf.compute_rates(of_rows), **asked)
        for of_rows in (counts, counts.with_columns(weight=100.0))
    )
    assert light["supported"].to_list() == heavy["supported"].to_list() == [False]


@pytest.mark.parametrize("interpolate", [False, True])
def test_a_group_without_a_class_says_so(interpolate):
    """Of every target, even one that any threshold meets."""
    counts = counts_at([0, 5], [3, 0], [0, 9], [9, 0], model="a", segment=["no p", "no n"], threshold=0.5)
    rates = nf.compute_rates(counts.with_columns(resolution=pl.lit("exact")))
    for target in ({"fpr": 1.0}, {"pos_fraction": 1.0, "prevalence": 0.5}):
        found = nf.select_operating_points(rates, **target, interpolate=interpolate)
        assert found.select("tpr", "fpr").rows() == [(None, None)] * 2
        assert found["reason"].to_list() == ["there are no negatives", "there are no positives"]
    found = nf.select_operating_points(rates, tpr=0.6, interpolate=interpolate)
    assert found["reason"].to_list()[1] == "there are no positives"


def test_a_point_that_is_exactly_on_its_target_meets_it_whatever_rounding_does() -> None:
    models, rows, flagged = 200, 10, 3
    label = np.random.default_rng(5).random((models, rows)) < 0.4
    label[:, :2] = True, False
    log = pl.DataFrame(
        {
            "model": np.repeat([f"{model:03}" for model in range(models)], rows),
            "label": label.ravel(),
            "score": np.tile(np.arange(rows, dtype=np.float64), models),
        }
    )
    rates = rates_of(log)
    hits = label[:, ::-1].cumsum(axis=1)
    budget = nf.select_operating_points(rates, alerts=flagged, volume=rows, prevalence="observed")
    assert budget["tp"].to_list() == hits[:, flagged - 1].tolist()
    precise = nf.select_operating_points(rates, precision=0.6, prevalence="observed")
    # In whole numbers, 5 tp >= 3 alerts.
    meets = 5 * hits >= 3 * np.arange(1, rows + 1)
    assert precise["tp"].fill_null(0).to_list() == np.where(meets, hits, 0).max(axis=1).tolist()


@pytest.mark.parametrize("thresholds", ["exact", [-0.5, 0.2, 0.7]], ids=str)
def test_each_model_may_have_a_threshold_of_its_own(thresholds: Any) -> None:
    rates = nf.compute_rates(nf.count_confusion(random_log(300), thresholds=thresholds))
    wanted = {"forest": 0.2, "linear": 0.7}
    each = pl.concat(
        nf.select_operating_points(rates.filter(model=model), threshold=threshold)
        for model, threshold in wanted.items()
    )
    assert_frame_equal(nf.select_operating_points(rates, threshold=wanted), each)
    lacking = nf.select_operating_points(rates, threshold=wanted | {"linear": 9.5})
    assert (lacking.filter(model="linear")["reason"].null_count() == 0) == (thresholds != "exact")
    assert lacking.filter(model="forest")["reason"].drop_nulls().is_empty()


@given(log=small_logs(), eta=st.floats(1e-6, 1), units=st.booleans())
@pytest.mark.long
def test_a_point_is_supported_where_its_precision_is(log, eta, units):
    """A few negatives say nothing of a budget or a precision at a low prevalence, and TPR needs none."""
    rates = rates_of(log)
    if units:
        rates = rates.with_columns(
            effective_positives=pl.col("positives") / 2, effective_negatives=pl.col("negatives") * 40.0
        )
    points = nf.select_operating_points(rates, pos_fraction=0.9, prevalence=eta)
    known = points.filter(pl.col("tpr").is_not_null())
    projected = nf.project_rates(known, metrics="precision", prevalence="selected")
    # Among positives alone, a point without alerts is known, and its precision is undefined.
    told = projected["value"].is_not_null() | (eta < 1)
    assert known["supported"].filter(told).to_list() == projected["supported"].filter(told).to_list()
    assert points["supported"].is_null().to_list() == points["tpr"].is_null().to_list()
    assert "supported" not in nf.select_operating_points(points, tpr=0.5).columns


def test_a_precision_that_200_negatives_cannot_tell_is_not_supported():
    rates = nf.compute_rates(counts_at(50, 0, 100, 200))
    points = nf.select_operating_points(rates, precision=0.9, prevalence=[0.1, 0.2, 0.25])
    # 25/(25 + 200·0.5)
    assert points["supported"].to_list() == [False, True, True]
    assert points["reason"].null_count() == 3


SHIFT = 2.0


def draws(number: int, positives: int, negatives: int) -> pl.DataFrame:
    """Logs of one normal model, told apart by the model's name."""
    return unit_log({f"{place}": SHIFT for place in range(number)}, (positives, negatives))


def drawn_rates(log: pl.DataFrame) -> pl.DataFrame:
    return nf.compute_rates(nf.count_confusion(log.drop("unit"), thresholds="exact"))


def missed(points: pl.DataFrame, name: str, target: float) -> float:
    """Return the share of logs whose threshold misses the target in the population."""
    threshold = points["threshold"].to_numpy()
    tpr, fpr = norm.sf(threshold - SHIFT), norm.sf(threshold)
    said = ETA * tpr + (1 - ETA) * fpr
    with np.errstate(invalid="ignore"):
        kept = {
            "tpr": tpr >= target,
            "fpr": fpr <= target,
            "pos_fraction": said <= target,
            "precision": ETA * tpr >= target * said,
        }[name]
    return float((~kept & ~np.isnan(threshold)).mean())


def selected(rates: pl.DataFrame, name: str, target: float, confidence: float | None) -> pl.DataFrame:
    eta: dict[str, Any] = {"prevalence": ETA} if name in ("pos_fraction", "precision") else {}
    return nf.select_operating_points(rates, confidence=confidence, **{name: target}, **eta)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "rate", "hits", "rows"), [("fpr", "fpr", "fp", 600), ("tpr", "tpr", "tp", 60)]
)
def test_each_threshold_is_a_binomial_test(name: str, rate: str, hits: str, rows: int) -> None:
    rates = drawn_rates(draws(5, 60, 600))
    target = {"fpr": 0.02, "tpr": 0.8}[name]
    found = selected(rates, name, target, 0.9)
    for group, point in zip(rates.partition_by("model"), found.iter_rows(named=True), strict=True):
        hit = group[hits].to_numpy()
        # How probable so few false positives, or so many true ones, are where the target is just met.
        likely = binom.cdf(hit, rows, target) if name == "fpr" else binom.sf(hit - 1, rows, target)
        sure = group.filter(pl.Series(likely <= 0.1))
        best = (
            sure["threshold"].max()
            if name == "tpr"
            else sure.filter(tpr=sure["tpr"].max())["threshold"].max()
        )
        assert point["threshold"] == best
        assert point[rate] == group.filter(threshold=best)[rate].item()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "target"), [("fpr", 0.02), ("tpr", 0.8), ("pos_fraction", 0.04), ("precision", 0.4)]
)
def test_a_target_with_confidence_is_seldom_missed(name: str, target: float) -> None:
    """With 200 logs the standard error of a share of 0.05 is 0.015, with 60 it is 0.028."""
    rates = drawn_rates(draws(200, 60, 600) if name != "precision" else draws(60, 100, 5000))
    assert missed(selected(rates, name, target, None), name, target) > 0.3
    found = selected(rates, name, target, 0.95)
    assert missed(found, name, target) <= 0.05 + 3 * (0.028 if name == "precision" else 0.015)
    assert found["threshold"].is_not_null().mean() > 0.9
    told = found.filter(pl.col("threshold").is_null())["reason"].unique().to_list()
    assert all(f"is known to have a {name} of" in reason and "this confidence" in reason for reason in told)


@pytest.mark.parametrize(("name", "target"), [("fpr", 0.02), ("tpr", 0.8), ("pos_fraction", 0.04)])
def test_rows_of_units_count_for_what_they_are_worth(name: str, target: float) -> None:
    rates = drawn_rates(draws(5, 60, 600))
    counts = pl.col("tp", "fp", "fn", "tn", "positives", "negatives")
    four = rates.with_columns(counts * 4, effective_positives=60.0, effective_negatives=600.0)
    found, wanted = (selected(some, name, target, 0.95)["threshold"].to_list() for some in (four, rates))
    assert found == wanted != selected(four.drop("^effective.*$"), name, target, 0.95)["threshold"].to_list()


def test_a_budget_below_the_resolution_of_the_log_has_no_threshold() -> None:
    rates = drawn_rates(draws(3, 200, 2000))
    budget: dict[str, Any] = {"alerts": 50, "volume": 1_000_000, "prevalence": 1e-4}
    assert nf.select_operating_points(rates, **budget)["threshold"].null_count() == 0
    found = nf.select_operating_points(rates, confidence=0.95, **budget)
    assert found["threshold"].null_count() == found["tpr"].null_count() == 3
    reason = "no counted threshold is known to have a pos_fraction of at most 5e-05 with this confidence"
    assert found["reason"].to_list() == [reason] * 3


@pytest.mark.parametrize(("tp", "fp", "prevalence"), [([8, 4], [3, 0], 0.0), ([0, 0], [3, 2], 1.0)])
def test_a_point_without_precision_reaches_none(tp, fp, prevalence):
    """At prevalence 0 without false positives, or at 1 without true ones, no row is predicted positive."""
    rates = nf.compute_rates(counts_at(tp, fp, 10, 10, threshold=[0.2, 0.5]))
    values = nf.project_rates(rates, metrics="precision", prevalence=prevalence)["value"]
    assert values.drop_nulls().max() in (None, 0.0)
    found = nf.select_operating_points(rates, precision=0.1, prevalence=prevalence)
    assert found.select("threshold", "reason").row(0) == (
        None,
        "no counted threshold has a precision of at least 0.1",
    )


@pytest.mark.parametrize("column", ["fn", "tn", "positives", "negatives"])
def test_whole_numbers_of_rows_may_be_of_either_type(column: str) -> None:
    rates = nf.compute_rates(nf.count_confusion(LOG))
    found = nf.select_operating_points(rates.with_columns(pl.col(column).cast(pl.Float64)), tpr=0.5)
    assert_frame_equal(found, nf.select_operating_points(rates, tpr=0.5), check_dtypes=False)


@pytest.mark.parametrize("weight", [1e-4, 1.0, 50.0])
def test_weights_of_any_scale_find_the_same_point_with_confidence(weight: float) -> None:
    """The bounds of precision hold at as many thresholds as there are rows, not at their sum of weights."""
    rng = np.random.default_rng(1)
    label = rng.random(600) < 0.3
    log = pl.DataFrame({"model": "a", "label": label, "score": rng.normal(1.5 * label).round(1)})
    found = [
        nf.select_operating_points(nf.compute_rates(counts), precision=0.15, prevalence=0.1, confidence=0.9)
        for counts in (
            nf.count_confusion(some, thresholds="exact")
            for some in (log, log.with_columns(weight=pl.lit(weight)))
        )
    ]
    assert found[0]["threshold"].to_list() == found[1]["threshold"].to_list() != [None]
