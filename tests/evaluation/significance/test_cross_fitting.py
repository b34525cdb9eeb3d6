"""Thresholds chosen on one half and judged on the other: against brute force and the truth."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.resampling.few_rows import steps_of_positives
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.resampling.samplers import counted_groups, halves
from tests.logs import counts_at, random_log, unit_log


def log_of_two(units: int = 150) -> pl.DataFrame:
    return unit_log({"a": 1.5, "b": 0.7}, units, share=0.2, times=2, noise=1.0, digits=1, seed=4)


def values_of(metric: str, tp: Any, fp: Any, rows: tuple[int, int], eta: float, beta: float) -> Floats:
    """Return the metric at each threshold; NaN where it is undefined."""
    points = pl.DataFrame({"tpr": np.asarray(tp) / rows[0], "fpr": np.asarray(fp) / rows[1]})
    points = points.with_columns(prevalence=pl.lit(eta), beta=pl.lit(beta))
    return (
        points.select(getattr(nf, metric)().cast(pl.Float64).fill_null(float("nan"))).to_series().to_numpy()
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("metric", "sign"), [("f_beta", 1), ("youden_j", 1), ("error_rate", -1), ("precision", 1)]
)
@pytest.mark.parametrize("units", [None, "bucket"])
def test_against_brute_force(metric, sign, units):
    scan = nf.unit_buckets(log_of_two(), buckets=40)
    counts = nf.count_confusion(scan, by=[] if units is None else "bucket")
    etas, betas = [0.001, 0.2, 1.0], [0.5, 1.0]
    found = nf.cross_fit(
        counts, metric=metric, prevalence=etas, beta=betas, repeats=3, seed=7, units=units
    ).sort("model")
    logs = Resampling(units, repeats=3, seed=7)
    several = list(counted_groups(whole_counts(counts), logs))
    assert len(several) == 2
    for given in several:
        mine = found.filter(model=given.histogram.group["model"].item())
        assert set(mine["prevalence"]) in ({None}, set(etas))
        # For F-beta some bins are merged, which draws other halves; else one above all scores is added.
        merged = metric == "f_beta"
        cuts = steps_of_positives(given.histogram) if merged else [*given.histogram.thresholds, np.inf]
        group = given.coarser(cuts)
        whole = group.histogram
        rows = int(whole.positives.sum()), int(whole.negatives.sum())
        for row in mine.iter_rows(named=True):
            eta, beta = row["prevalence"] or 0.5, row["beta"] or 1.0
            values = []
            for positives, negatives in halves(group, logs):
                sides = [(positives, negatives), (whole.positives - positives, whole.negatives - negatives)]
                judged = np.zeros(2)
                for one, other in (sides, sides[::-1]):
                    size = int(one[0].sum()), int(one[1].sum())
                    flagged = (np.cumsum(one_class)[:-1] for one_class in one)
                    tried = sign * values_of(metric, *flagged, size, eta, beta)
                    place = int(np.nanargmax(tried))
                    # Of thresholds that differ by rounding only, any may be chosen.
                    alike = np.flatnonzero(tried >= tried[place] - 1e-12)
                    place = int(alike[0])
                    judged += [np.cumsum(other[0])[place], np.cumsum(other[1])[place]]
                values.append(values_of(metric, *judged[:, None], rows, eta, beta).item())
            assert row["value"] == pytest.approx(np.nanmean(values), abs=1e-12)
            flagged = (np.cumsum(of_class)[:-1] for of_class in (whole.positives, whole.negatives))
            best = sign * values_of(metric, *flagged, rows, eta, beta)
            assert sign * row["optimistic"] == pytest.approx(np.nanmax(best))


@pytest.mark.parametrize("units", [None, "bucket"])
def test_halves_are_halves(units):
    counts = nf.count_confusion(
        nf.unit_buckets(log_of_two(151), buckets=40), thresholds=[0.0, 1.0], by=units or []
    )
    logs = Resampling(units, repeats=20, seed=1)
    first, second = counted_groups(whole_counts(counts), logs)
    for (p, n), (q, m) in zip(halves(first, logs), halves(second, logs), strict=True):
        assert (p <= first.histogram.positives).all()
        assert (n >= 0).all()
        if units is None:
            assert (p.sum(), n.sum()) == (
                first.histogram.positives.sum() // 2,
                first.histogram.negatives.sum() // 2,
            )
        else:
            # Both models have scored the same rows of the same units.
            assert (p.sum(), n.sum()) == (q.sum(), m.sum())


@pytest.mark.thorough
def test_rows_that_are_repeated_leak_unless_their_unit_is_known():
    """Every row three times: halves of rows have the same rows, halves of units do not."""
    log = random_log(200).select("label", "score").with_row_index("unit").with_columns(model=pl.lit("a"))
    thrice = pl.concat([log] * 3).with_columns(pl.col("unit").cast(pl.Int64))
    counts = nf.count_confusion(nf.unit_buckets(thrice, buckets=200))
    once = nf.cross_fit(nf.count_confusion(nf.unit_buckets(log.cast({"unit": pl.Int64}), buckets=200)),
                        prevalence=0.01, repeats=100, units="bucket")  # fmt: skip
    by_unit = nf.cross_fit(counts, prevalence=0.01, repeats=100, units="bucket")
    by_row = nf.cross_fit(nf.pool_counts(counts, over="bucket"), prevalence=0.01, repeats=100)
    assert by_unit["value"].item() == pytest.approx(once["value"].item())
    assert by_unit["optimistic"].item() == pytest.approx(by_row["optimistic"].item())
    assert by_row["value"].item() > by_unit["value"].item()


def test_too_few_rows_have_a_reason():
    log = pl.DataFrame({"model": "a", "label": [1, 0, 0], "score": [0.9, 0.1, 0.2]})
    row = nf.cross_fit(nf.count_confusion(log), prevalence=0.1).row(0, named=True)
    assert (row["value"], row["optimistic"], row["repeats"]) == (None, 1.0, 0)
    assert row["reason"] == "a class has fewer than two rows"
    # Rows are counted, not their weights.
    units = pl.concat([log] * 9).with_columns(unit=pl.int_range(27), weight=pl.lit(0.2))
    found = nf.cross_fit(nf.count_confusion(nf.unit_buckets(units)), prevalence=0.1, units="bucket")
    assert found["reason"].item() is None
    none = pl.DataFrame({"model": "a", "label": [0, 0, 0], "score": [0.9, 0.1, 0.2]})
    row = nf.cross_fit(nf.count_confusion(none), prevalence=0.1).row(0, named=True)
    assert (row["value"], row["optimistic"], row["threshold"]) == (None, None, None)


def test_rows_that_all_have_weights_of_their_own_are_split():
    log = random_log(300).filter(model="forest").select("model", "label", "score")
    alike, apart = (
        nf.cross_fit(nf.count_confusion(log.with_columns(weight=weight)), prevalence=0.1, repeats=50)
        for weight in (pl.lit(2.0), 2 + pl.int_range(pl.len()) / 1e6)
    )
    assert apart["repeats"].item() == 50
    assert apart["value"].item() == pytest.approx(alike["value"].item(), abs=0.05)


def test_precision_without_a_positive_decision_is_undefined():
    counts = counts_at(0, 0, 5, 7, threshold=9.0)
    row = nf.cross_fit(counts, metric="precision", prevalence=0.1).row(0, named=True)
    assert (row["value"], row["repeats"]) == (None, 0)
    assert row["reason"] == "undefined in every half"


@pytest.mark.parametrize("weight", [None, 2.0])
def test_a_threshold_above_all_scores_is_a_candidate_of_exact_counts(weight):
    """Where positives are rare, no positive decision at all is cheaper than a constant score."""
    log = pl.DataFrame({"model": "a", "label": [1] * 20 + [0] * 80, "score": 0.3})
    log = log if weight is None else log.with_columns(weight=pl.lit(weight))
    counts = nf.count_confusion(nf.scan_predictions(log, weight=None if weight is None else "weight"))
    cost, asked = nf.expected_cost(c_fp=5, c_fn=200), {"prevalence": 1e-4}
    fitted = nf.cross_fit(counts, metric=cost, **asked).row(0, named=True)
    point = nf.select_operating_points(nf.compute_rates(counts), metric=cost, **asked)
    assert fitted["threshold"] == point["threshold"].item() == np.inf
    assert fitted["value"] == pytest.approx(200e-4) == fitted["optimistic"]
    best = nf.compare_best(counts, metric=cost, threshold="own", repeats=100, **asked)
    assert best["value"].item() == pytest.approx(200e-4)
    # On a grid, other scores may lie above the highest threshold.
    grid = counts.drop("resolution")
    assert nf.cross_fit(grid, metric=cost, **asked)["threshold"].item() == pytest.approx(0.3)
