"""Targets that hold with confidence: against binomial tests one by one, and in simulated logs."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, norm

import nci_frames as nf
from tests.logs import unit_log

ETA, SHIFT = 0.05, 2.0


def draws(number: int, positives: int, negatives: int, rows: int = 1) -> pl.DataFrame:
    """Logs of one normal model, told apart by the model's name; each unit has so many equal rows."""
    return unit_log({f"{place}": SHIFT for place in range(number)}, (positives, negatives), times=rows)


def rates_of(log: pl.DataFrame) -> pl.DataFrame:
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
    rates = rates_of(draws(5, 60, 600))
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
    rates = rates_of(draws(200, 60, 600) if name != "precision" else draws(60, 100, 5000))
    assert missed(selected(rates, name, target, None), name, target) > 0.3
    found = selected(rates, name, target, 0.95)
    assert missed(found, name, target) <= 0.05 + 3 * (0.028 if name == "precision" else 0.015)
    assert found["threshold"].is_not_null().mean() > 0.9
    told = found.filter(pl.col("threshold").is_null())["reason"].unique().to_list()
    assert all(f"is known to have a {name} of" in reason and "confidence 0.95" in reason for reason in told)


@pytest.mark.long
def test_equal_rows_of_a_unit_count_once() -> None:
    log = draws(100, 40, 300, rows=20)
    counts = nf.count_confusion(nf.unit_buckets(log, buckets=64), thresholds="exact", by="bucket")
    apart = nf.compute_rates(counts, units="bucket", interval="wilson")
    naive = rates_of(log)
    shares = [missed(selected(rates, "fpr", 0.02, 0.95), "fpr", 0.02) for rates in (apart, naive)]
    assert shares[0] <= 0.05 + 3 * 0.022 < 0.15 < shares[1]


def test_a_budget_below_the_resolution_of_the_log_has_no_threshold() -> None:
    rates = rates_of(draws(3, 200, 2000))
    budget: dict[str, Any] = {"alerts": 50, "volume": 1_000_000, "prevalence": 1e-4}
    assert nf.select_operating_points(rates, **budget)["threshold"].null_count() == 0
    found = nf.select_operating_points(rates, confidence=0.95, **budget)
    assert found["threshold"].null_count() == found["tpr"].null_count() == 3
    reason = "no counted threshold is known to have a pos_fraction of at most 5e-05 with confidence 0.95"
    assert found["reason"].to_list() == [reason] * 3
