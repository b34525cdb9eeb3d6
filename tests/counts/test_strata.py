"""Weights with few values are strata: whole rows by weight, added in any order, and multiplied last."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.metrics import average_precision_score, roc_auc_score

import nci_frames as nf
from tests.cases import first_quick

CELLS = ["tp", "fp", "fn", "tn"]


def weighted_log(
    seed: int, rows: int = 300, weights: tuple[float, ...] = (0.3, 1.0, 7.7, 100.0)
) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    score = rng.random(rows).round(int(rng.integers(1, 4)))
    return pl.DataFrame({
        "model": rng.choice(["a", "b"], rows), "country": rng.choice(["at", "de"], rows), "score": score,
        "label": rng.random(rows) < score, "weight": rng.choice(weights, rows),
    })  # fmt: skip


def brute_force(log: pl.DataFrame, threshold: float) -> tuple[float, ...]:
    """Return tp, fp, fn, tn as sums of weights."""
    hit, label = (log["score"] >= threshold).to_numpy(), log["label"].to_numpy()
    weight = log["weight"].to_numpy()
    return tuple(
        float(weight[mask].sum()) for mask in (hit & label, hit & ~label, ~hit & label, ~hit & ~label)
    )


@pytest.mark.parametrize("thresholds", ["exact", [0.2, 0.5, 0.9], "auto"])
def test_counts_are_whole_rows_of_each_weight(thresholds: Any) -> None:
    log = weighted_log(0)
    counts = nf.count_confusion(log, thresholds=thresholds)
    assert counts.columns[:3] == ["model", "country", "weight"]
    assert counts.schema["weight"] == pl.Float64
    assert all(counts.schema[cell] == pl.Int64 for cell in CELLS)
    for (weight,), own in log.partition_by("weight", as_dict=True).items():
        alone = nf.count_confusion(
            own.drop("weight"), thresholds="exact" if thresholds == "auto" else thresholds
        )
        assert_frame_equal(counts.filter(weight=weight).drop("weight"), alone)


@pytest.mark.thorough
@pytest.mark.parametrize("wide", first_quick([True, False]))
@pytest.mark.parametrize("thresholds", first_quick(["exact", [0.2, 0.5]]), ids=str)
def test_weights_that_are_none_are_found_wherever_they_stand(thresholds: Any, wide: bool) -> None:
    good = weighted_log(3).sort("model").with_columns(other=1 - pl.col("score"))
    scores = {"scores": {"a": "score", "b": "other"}} if wide else {}

    def scan(log: pl.DataFrame, on_invalid: Any = "raise") -> pl.LazyFrame:
        return nf.scan_predictions(log, weight="weight", segments="country", on_invalid=on_invalid, **scores)

    expected = nf.count_confusion(scan(good), thresholds=thresholds)
    for values in ([None, float("nan")], [float("nan"), None], [-1.0], [float("inf"), -float("inf"), None]):
        bad = good[-1:].select(pl.exclude("weight")).join(pl.DataFrame({"weight": values}), how="cross")
        # Among the first rows, of a group that there is, and after all others.
        for log in (pl.concat([bad, good], how="diagonal"), pl.concat([good, bad], how="diagonal")):
            rows = len(values) * (2 if wide else 1)
            with pytest.raises(nf.InvalidRowsError, match=f"{rows} .*: weight is not a finite number >= 0"):
                nf.count_confusion(scan(log), thresholds=thresholds)
            with pytest.warns(nf.InvalidRowsWarning, match=f"dropped from the DataFrame: {rows} "):
                assert_frame_equal(nf.count_confusion(scan(log, "drop"), thresholds=thresholds), expected)


@given(seed=st.integers(0, 10**6), exact=st.booleans())
def test_sums_and_rates_are_those_of_the_rows(seed: int, exact: bool) -> None:
    log = weighted_log(seed)
    counts = nf.count_confusion(log, thresholds="exact" if exact else [0.0, 0.25, 0.5, 2.0], by=[])
    rates = nf.compute_rates(counts)
    assert "weight" not in rates.columns
    assert_frame_equal(
        rates.select(nf.pool_counts(counts, over="weight").columns), nf.pool_counts(counts, over="weight")
    )
    for row in rates.iter_rows(named=True):
        tp, fp, fn, tn = brute_force(log.filter(model=row["model"]), row["threshold"])
        assert [row[cell] for cell in CELLS] == pytest.approx([tp, fp, fn, tn], rel=1e-12, abs=1e-300)
        assert (row["tpr"], row["fpr"]) == pytest.approx((tp / (tp + fn), fp / (fp + tn)), rel=1e-12)
        assert row["observed_prevalence"] == pytest.approx((tp + fn) / (tp + fp + fn + tn), rel=1e-12)


@pytest.mark.thorough
@given(seed=st.integers(0, 10**6))
def test_areas_are_those_of_the_rows(seed: int) -> None:
    log = weighted_log(seed)
    counts = nf.count_confusion(log, thresholds="exact", by=[])
    areas = nf.compute_areas(counts, prevalence=[0.01, 0.4])
    for row in areas.iter_rows(named=True):
        own = log.filter(model=row["model"])
        label, score, weight = (own[name].to_numpy() for name in ("label", "score", "weight"))
        if row["metric"] == "roc_auc":
            expected = roc_auc_score(label, score, sample_weight=weight)
        else:
            moved = np.where(
                label,
                weight * row["prevalence"] / weight[label].sum(),
                weight * (1 - row["prevalence"]) / weight[~label].sum(),
            )
            expected = average_precision_score(label, score, sample_weight=moved)
        assert row["value"] == pytest.approx(expected, rel=1e-12)
        assert row["lower"] == row["value"] == row["upper"]


@pytest.mark.parametrize("weights", [[-0.0, 0.0], [0.0, -0.0]])
def test_zero_is_one_weight_without_a_sign(weights: list[float]) -> None:
    weight = [*weights, 1.0]
    log = pl.DataFrame({"model": "a", "label": [0, 1, 1], "score": [0.1, 0.2, 0.3], "weight": weight})
    counts = nf.count_confusion(log, thresholds=[0.2])
    assert counts.select("weight", *CELLS).rows() == [(0.0, 1, 0, 0, 1), (1.0, 1, 0, 0, 0)]
    assert not np.signbit(counts["weight"].to_numpy()).any()


def test_more_than_a_thousand_weights_are_summed() -> None:
    log = weighted_log(5, rows=1002).with_columns(weight=1.0 + pl.int_range(pl.len()), model=pl.lit("a"))
    few = log.with_columns(weight=pl.col("weight").clip(upper_bound=1000.0))
    assert nf.count_confusion(few, thresholds=[0.5], by=[])["weight"].n_unique() == 1000
    many = nf.count_confusion(log, thresholds=[0.5], by=[])
    assert "weight" not in many.columns
    assert many.select(CELLS).row(0) == pytest.approx(brute_force(log, 0.5), rel=1e-12)
    with pytest.raises(nf.ParameterError, match="sums of weights"):
        nf.compute_rates(many, interval="wilson")


@pytest.mark.thorough
def test_a_source_that_is_read_once_is_not_summed_in_part() -> None:
    log = weighted_log(5, rows=200_000).with_columns(weight=1.0 + pl.int_range(pl.len()))
    given = [log]
    once = pl.defer(lambda: given.pop() if given else log[:100], schema=log.schema)
    with pytest.raises(nf.SourceError):
        nf.count_confusion(nf.scan_predictions(once, weight="weight"), thresholds=[0.5])


def test_no_rows_have_no_sums() -> None:
    counts = nf.count_confusion(weighted_log(0), thresholds=[0.5]).clear()
    assert nf.pool_counts(counts, over="weight").is_empty()
    assert nf.compute_rates(counts).is_empty()
