"""DeLong's intervals and paired test against the sums over all pairs of a positive and a negative."""

from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.logs import exact_counts, random_log, unit_log

Z95 = 1.959963984540054


def over_all_pairs(label: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas and their covariances, by eqs. 3-5 of DeLong et al.: each pair of rows is looked at."""
    structural = []
    for score in scores:
        gap = score[label][:, None] - score[~label][None, :]
        structural.append((gap > 0) + 0.5 * (gap == 0))
    psi = np.stack(structural)
    area = psi.mean(axis=(1, 2))
    m, n = psi.shape[1:]
    covariance = np.zeros((len(scores), len(scores)))
    for axis, rows in ((2, m), (1, n)):
        centred = psi.mean(axis=axis) - area[:, None]
        covariance += np.einsum("ai,bi->ab", centred, centred) / (rows - 1) / rows
    return area, covariance


labelled = st.lists(
    st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=60
).filter(lambda rows: 2 <= sum(row[0] for row in rows) <= len(rows) - 2)


@given(labelled)
def test_equal_to_the_sums_over_all_pairs(rows):
    label = np.array([row[0] for row in rows])
    scores = np.array([row[1:] for row in rows], float).T
    area, covariance = over_all_pairs(label, scores)
    for mine, score, variance in zip(area, scores, covariance.diagonal(), strict=True):
        counts = exact_counts(label.tolist(), score.tolist())
        row = nf.auc_interval(counts, method="delong").row(0, named=True)
        assert row["value"] == pytest.approx(mine, abs=1e-12)
        assert row["std_error"] == pytest.approx(np.sqrt(variance), abs=1e-12)
        assert row["lower"] == pytest.approx(max(0, mine - Z95 * np.sqrt(variance)), abs=1e-12)
        assert row["upper"] == pytest.approx(min(1, mine + Z95 * np.sqrt(variance)), abs=1e-12)
        assert row["reason"].startswith("fewer than 50 positives")
    log = pl.DataFrame({"unit": np.arange(len(label)), "label": label, "a": scores[0], "b": scores[1]})
    scan = nf.scan_predictions(log, scores={"a": "a", "b": "b"}, unit="unit")
    row = nf.compare_auc(scan).row(0, named=True)
    assert (row["auc_a"], row["auc_b"]) == pytest.approx(tuple(area), abs=1e-12)
    assert row["difference"] == pytest.approx(area[0] - area[1], abs=1e-12)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert row["std_error"] ** 2 == pytest.approx(variance, abs=1e-12)


def test_binned_scores_are_those_of_the_bins():
    log = random_log(2000)
    thresholds = [-1.0, 0.0, 0.4, 1.5]
    table = nf.auc_interval(nf.count_confusion(log, thresholds=thresholds, by=[]), method="delong")
    assert table["model"].to_list() == ["forest", "linear"]
    for model, value, error in table.select("model", "value", "std_error").rows():
        mine = log.filter(model=model)
        binned = np.digitize(mine["score"].to_numpy(), thresholds)
        area, covariance = over_all_pairs(mine["label"].to_numpy(), binned[None])
        assert (value, error) == pytest.approx((area[0], np.sqrt(covariance[0, 0])), abs=1e-12)


def test_newcombes_interval_solves_his_equation():
    """Method 5 of Newcombe (2006), by the equation as it is printed."""
    log = random_log(2000)
    table = nf.auc_interval(nf.count_confusion(log, by=[]), method="newcombe", level=0.9)
    assert table["model"].to_list() == ["forest", "linear"]
    for row in table.iter_rows(named=True):
        mine = log.filter(model=row["model"])
        m, n = mine["label"].sum(), (~mine["label"]).sum()
        rows = (m + n) / 2 - 1
        for bound in (row["lower"], row["upper"]):
            terms = 1 + rows * (1 - bound) / (2 - bound) + rows * bound / (1 + bound)
            deviation = 1.6448536269514722 * np.sqrt(bound * (1 - bound) / (m * n) * terms)
            assert abs(bound - row["value"]) == pytest.approx(deviation, rel=1e-9)
        assert row["lower"] < row["value"] < row["upper"]
        assert row["reason"] is None


def test_the_score_interval_takes_the_larger_variance():
    rng = np.random.default_rng(4)
    label = np.repeat([True, False], [200, 4000])
    wide = pl.DataFrame({"model": "wide", "label": label, "score": rng.normal(label, 1 + 2 * label)})
    even = pl.DataFrame({"model": "even", "label": label, "score": rng.normal(label, 1)})
    counts = nf.count_confusion(pl.concat([wide, even]))
    found = {
        method: nf.auc_interval(counts, method=method).sort("model")
        for method in ("score", "newcombe", "delong", "delong_logit")
    }
    errors = {method: table["std_error"].to_numpy() for method, table in found.items()}
    assert errors["score"] == pytest.approx(np.maximum(errors["newcombe"], errors["delong"]), rel=1e-12)
    assert errors["delong"][1] > 1.3 * errors["newcombe"][1]
    width = {method: (table["upper"] - table["lower"]).to_numpy() for method, table in found.items()}
    assert width["score"][1] == pytest.approx(width["delong"][1], rel=0.05)
    assert (errors["delong_logit"] == errors["delong"]).all()


def test_the_logit_interval_by_hand():
    counts = nf.count_confusion(random_log(2000), by=[])
    plain, logit = (nf.auc_interval(counts, method=m) for m in ("delong", "delong_logit"))
    assert len(plain) == 2
    for one, other in zip(plain.iter_rows(named=True), logit.iter_rows(named=True), strict=True):
        area = one["value"]
        half = Z95 * one["std_error"] / (area * (1 - area))
        wanted = [1 / (1 + np.exp(-np.log(area / (1 - area)) - side * half)) for side in (-1, 1)]
        assert (other["lower"], other["upper"]) == pytest.approx(wanted, rel=1e-12)


def test_classes_that_are_separated_entirely():
    counts = exact_counts([True] * 60 + [False] * 60, [1.0] * 60 + [0.0] * 60)
    for method in ("score", "newcombe"):
        row = nf.auc_interval(counts, method=method).row(0, named=True)
        assert (row["value"], row["upper"], row["reason"]) == (1, 1, None)
        assert 0.9 < row["lower"] < 1
    row = nf.auc_interval(counts, method="delong_logit").row(0, named=True)
    assert (row["lower"], row["std_error"], row["upper"]) == (None, None, None)
    assert "separated completely" in row["reason"]
    row = nf.auc_interval(counts, method="delong").row(0, named=True)
    assert (row["lower"], row["std_error"], row["upper"]) == (1, 0, 1)
    assert "the interval has no width" in row["reason"]
    tied = exact_counts([True] * 60 + [False] * 60, [0.5] * 120)
    assert "no width" in nf.auc_interval(tied, method="delong")["reason"].item()
    assert nf.auc_interval(tied)["reason"].item() is None


def test_p_values_of_a_normal_law():
    table = nf.compare_auc(unit_log({"a": 1.5, "b": 1.0, "c": 0.5}, 300, share=0.4), level=0.9)
    assert table.select("model_a", "model_b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    for row in table.iter_rows(named=True):
        assert row["z"] == row["difference"] / row["std_error"]
        assert row["p_value"] == pytest.approx(float(mpmath.erfc(abs(row["z"]) / mpmath.sqrt(2))), rel=1e-12)
        half = 1.6448536269514722 * row["std_error"]
        assert (row["lower"], row["upper"]) == pytest.approx(
            (row["difference"] - half, row["difference"] + half)
        )


def paired(**columns: Any) -> pl.DataFrame:
    base = {"model": ["a"] * 4 + ["b"] * 4, "unit": [1, 2, 3, 4] * 2, "label": [0, 0, 1, 1] * 2}
    return pl.DataFrame({**base, "score": [0.1, 0.4, 0.35, 0.8, 0.2, 0.3, 0.6, 0.7], **columns})


def test_identical_models_are_never_different():
    table = nf.compare_auc(paired(score=[0.1, 0.4, 0.35, 0.8] * 2))
    found = table.select("difference", "std_error", "z", "p_value", "lower", "upper")
    assert found.row(0) == (0, 0, None, 1, 0, 0)


def test_groups_put_together_and_logs_without_a_pair():
    log = pl.concat([paired(day=1), paired(day=2, score=np.linspace(0, 1, 8))])
    # Put together, a row is known by its unit and its day.
    together = nf.compare_auc(log, by=[])
    label = np.tile([False, False, True, True], 2)
    a, b = (log.filter(model=model)["score"].to_numpy() for model in "ab")
    area, _ = over_all_pairs(label, np.stack([a, b]))
    assert together.select("auc_a", "auc_b").row(0) == pytest.approx(tuple(area))
    assert nf.compare_auc(paired().filter(model="a")).is_empty()


def test_too_few_rows():
    counts = exact_counts([True, False, False], [0.3, 0.2, 0.4])
    one = nf.auc_interval(counts, method="delong")
    assert one.select("value", "std_error", "lower", "reason").row(0) == (
        0.5, None, None, "fewer than two positives",
    )  # fmt: skip
    assert nf.auc_interval(counts)["lower"].item() < 0.1
    none = exact_counts([True, True], [0.3, 0.2])
    for method, reason in (("delong", "fewer than two negatives"), ("score", "no negatives")):
        row = nf.auc_interval(none, method=method).row(0, named=True)
        assert (row["value"], row["lower"], row["reason"]) == (None, None, reason)
    row = nf.compare_auc(paired(label=[1] * 8)).row(0, named=True)
    assert [row[name] for name in ("auc_a", "difference", "std_error", "p_value", "lower")] == [None] * 5


@pytest.mark.parametrize("method", ["score", "delong"])
def test_weights_do_not_round_an_area_to_more_than_1(method):
    label = np.repeat([True, False], [2, 10])
    log = pl.DataFrame({"model": "a", "label": label, "score": label + np.arange(12) / 50})
    counts = [nf.count_confusion(one) for one in (log, log.with_columns(weight=0.3))]
    assert_frame_equal(*(nf.auc_interval(one, method=method) for one in counts))


@pytest.mark.parametrize("method", ["score", "delong"])
def test_the_interval_allows_for_scores_between_the_thresholds_of_a_grid(method):
    label = np.random.default_rng(4).random(20_000) < 0.2
    score = 0.1 + 0.2 * label
    log = pl.DataFrame({"model": "a", "label": label, "score": score})
    grid, exact = (
        nf.auc_interval(nf.count_confusion(log, thresholds=at), method=method).row(0, named=True)
        for at in ([0.0, 0.5, 1.0], "exact")
    )
    assert (grid["value"], exact["value"]) == (0.5, 1)
    assert grid["lower"] == 0
    assert grid["upper"] == 1
