"""Differences between segments against counting them out, averages against scikit-learn."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from polars.testing import assert_frame_equal
from sklearn.metrics import f1_score, precision_score, recall_score

import nci_frames as nf
from tests.logs import counts_at, random_log

COUNTS = nf.count_confusion(random_log(900), thresholds=[-0.5, 0.0, 0.5])
RATES = nf.compute_rates(nf.pool_counts(COUNTS, over="fold"))


def cells(*rows: tuple[str, int, int, int, int]) -> pl.DataFrame:
    """Rates of one operating point per segment."""
    schema = ["country", "tp", "fp", "fn", "tn"]
    counts = pl.DataFrame(rows, schema=schema, orient="row").with_columns(model=pl.lit("a"), threshold=0.5)
    return nf.compute_rates(counts)


count = st.integers(0, 60)
segment = st.tuples(count, count, count, count).filter(lambda c: c[0] + c[2] > 0 and c[1] + c[3] > 0)


@pytest.mark.long
@settings(max_examples=30)
@given(
    here=segment,
    there=segment,
    metric=st.sampled_from(["precision", "f_beta", "accuracy", "pos_fraction", "recall"]),
)
def test_parts_sum_to_the_whole_and_change_sign_with_the_reference(here, there, metric):
    rates = cells(("at", *there), ("de", *here))
    parts = ["difference", "due_to_prevalence", "due_to_rates"]
    one = nf.decompose_difference(rates, metric=metric, over="country", reference="at")
    other = nf.decompose_difference(rates, metric=metric, over="country", reference="de")
    for found, turned in zip(one.select(parts).row(0), other.select(parts).row(0), strict=True):
        assert (found is None) == (turned is None)
        assert found is None or found == pytest.approx(-turned, abs=1e-14)
    difference, prevalence, of_rates = one.select(parts).row(0)
    if one["reason"].item() is None:
        assert prevalence + of_rates == pytest.approx(difference, abs=1e-14)
        tpr0, tpr1, fpr0, fpr1 = (*rates["tpr"], *rates["fpr"])
        if (tpr0, fpr0) == (tpr1, fpr1):
            assert of_rates == 0
        if rates["observed_prevalence"].n_unique() == 1 or metric == "recall":
            assert prevalence == 0
    else:
        assert prevalence is None
        assert of_rates is None


def test_every_segment_period_and_threshold_is_compared_with_its_like():
    table = nf.decompose_difference(
        RATES.sample(fraction=1, shuffle=True, seed=2).lazy(),
        metric=nf.f_beta(beta=2),
        over="country",
        reference="de",
    )
    assert table.select("model", "country", "threshold").rows() == [
        (model, country, threshold)
        for model in ("forest", "linear")
        for country in (None, "at")
        for threshold in (-0.5, 0.0, 0.5)
    ]
    assert table["beta"].unique().to_list() == [2.0]
    assert table["reference"].unique().to_list() == ["de"]
    values = nf.project_rates(RATES, metrics=nf.f_beta(beta=2), prevalence="observed")
    de = values.filter(country="de")["value"].to_list()
    assert table.filter(country="at")["reference_value"].to_list() == de
    assert table.filter(country="at")["value"].to_list() == values.filter(country="at")["value"].to_list()
    # The segment that is null is the first in order, and so the reference unless another is named.
    unnamed = nf.decompose_difference(RATES, metric="recall", over="country")
    assert unnamed["reference"].unique().item() is None


def test_operating_points_are_compared_at_the_thresholds_that_they_have():
    points = cells(("at", 40, 5, 10, 45), ("de", 12, 16, 8, 64)).with_columns(threshold=pl.Series([0.3, 0.7]))
    table = nf.decompose_difference(points, metric="precision", over="country")
    assert table.select("threshold", "reason").rows() == [(0.7, None)]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("at", 0, 0, 5, 5), ("de", 1, 1, 1, 1)], "the metric is undefined in the reference"),
        ([("at", 1, 1, 1, 1), ("de", 0, 0, 5, 5)], "the metric is undefined in the segment"),
        (
            [("at", 0, 0, 5, 5), ("de", 0, 0, 5, 5)],
            "the metric is undefined in the segment and in the reference",
        ),
        ([("at", 1, 0, 1, 0), ("de", 0, 1, 0, 1)], "the metric is undefined for the rates of one"),
    ],
)
def test_reasons(rows, reason):
    rates = cells(*rows)
    # A rate that is undefined but not needed for precision at its own prevalence is 0.
    rates = rates.with_columns(pl.col("tpr", "fpr").fill_null(0.0))
    table = nf.decompose_difference(rates, metric="precision", over="country")
    assert table["reason"].item().startswith(reason)
    assert table.select("due_to_prevalence", "due_to_rates").row(0) == (None, None)


def test_an_infinite_metric_has_no_parts():
    rates = cells(("at", 4, 1, 1, 4), ("de", 4, 0, 1, 5))
    ratio = (pl.col("tpr") / pl.col("fpr")).alias("ratio")
    table = nf.decompose_difference(rates, metric=ratio, over="country")
    assert table.select("metric", "value", "reason").row(0) == ("ratio", math.inf, "the metric is infinite")
    assert table.select("due_to_prevalence", "due_to_rates").row(0) == (None, None)


def test_a_segment_without_a_partner():
    rates = RATES.filter((pl.col("country") != "at") | (pl.col("threshold") > 0))
    table = nf.decompose_difference(rates, metric="recall", over="country", reference="at")
    lonely = table.filter(pl.col("reason").is_not_null())
    assert lonely["threshold"].unique().sort().to_list() == [-0.5, 0.0]
    assert lonely["reason"].unique().to_list() == ["the reference has no such operating point"]
    assert table.filter(threshold=0.5)["difference"].null_count() == 0


def test_parts_at_prevalences_known_otherwise():
    """The column prevalence takes the place of the observed one: TPR .8, FPR .1 and TPR .6, FPR .2."""
    rates = cells(("at", 40, 5, 10, 45), ("de", 12, 16, 8, 64))
    known = rates.with_columns(prevalence=pl.Series([0.1, 0.3]))
    found = nf.decompose_difference(known, metric="accuracy", over="country", prevalence="selected")
    row = found.row(0, named=True)
    assert (row["prevalence"], row["reference_prevalence"]) == (0.3, 0.1)
    assert row["value"] == pytest.approx(0.3 * 0.6 + 0.7 * 0.8)
    assert row["reference_value"] == pytest.approx(0.1 * 0.8 + 0.9 * 0.9)
    assert row["due_to_prevalence"] == pytest.approx(0.2 * (-0.1 - 0.2) / 2)
    assert row["due_to_rates"] == pytest.approx(0.2 * -0.2 + 0.8 * -0.1)
    observed = nf.decompose_difference(rates, metric="accuracy", over="country")
    assert_frame_equal(nf.decompose_difference(known, metric="accuracy", over="country"), observed)
    same = known.with_columns(prevalence="observed_prevalence")
    again = nf.decompose_difference(same, metric="accuracy", over="country", prevalence="selected")
    assert_frame_equal(again, observed)
    points = nf.select_operating_points(RATES, metric="f_beta", prevalence=0.2)
    parts = nf.decompose_difference(points, metric="f_beta", over="country", prevalence="selected")
    assert set(parts["due_to_prevalence"].drop_nulls()) == {0.0}


def test_averages_equal_scikit_learn():
    """Segments as the labels of a multilabel problem: scikit-learn's macro, micro and weighted averages."""
    rng = np.random.default_rng(3)
    truth = rng.random((400, 4)) < [0.5, 0.2, 0.05, 0.3]
    said = rng.random((400, 4)) < np.where(truth, 0.7, 0.1)
    log = pl.DataFrame(
        {
            "model": "a",
            "country": np.repeat(["at", "de", "fr", "it"], 400),
            "label": truth.T.ravel(),
            "score": said.T.ravel().astype(float),
        }
    )
    rates = nf.compute_rates(nf.count_confusion(log, thresholds=[0.5]))
    found = nf.roll_up(rates, over="country", metrics=["precision", "recall", "f_beta"])
    scores: dict[str, Any] = {"precision": precision_score, "recall": recall_score, "f_beta": f1_score}
    for row in found.iter_rows(named=True):
        wanted = scores[row["metric"]](truth, said, average=row["average"])
        assert row["value"] == pytest.approx(wanted, rel=1e-12)
        assert (row["segments"], row["skipped"], row["threshold"]) == (4, 0, 0.5)
    pool = found.filter(average="micro", metric="precision")["prevalence"].item()
    assert pool == pytest.approx(truth.mean())
    assert found.filter(pl.col("average") != "micro", metric="precision")["prevalence"].null_count() == 2


def test_micro_is_the_pool_and_a_common_prevalence_is_written_down():
    found = nf.roll_up(
        RATES.lazy(), over=["country"], metrics=["precision", "f_beta"], prevalence=[0.01, 0.1], beta=[1, 2]
    )
    pool = nf.compute_rates(nf.pool_counts(COUNTS, over=["fold", "country"]))
    wanted = nf.project_rates(pool, metrics=["precision", "f_beta"], prevalence=[0.01, 0.1], beta=[1, 2])
    assert_frame_equal(found.filter(average="micro").select(wanted.columns), wanted)
    macro = found.filter(average="macro").select(wanted.columns)
    segments = nf.project_rates(RATES, metrics=["precision", "f_beta"], prevalence=[0.01, 0.1], beta=[1, 2])
    mean = segments.group_by(wanted.columns[:-3]).agg(pl.mean("value")).sort(wanted.columns[:-3])
    assert_frame_equal(macro.drop("supported", "reason"), mean)
    told = segments.group_by(wanted.columns[:-3]).agg(pl.col("supported").all()).sort(wanted.columns[:-3])
    assert macro["supported"].to_list() == told["supported"].to_list()
    assert found.equals(found.sort(found.columns[:6]))


def test_rows_of_weight_a_hundred_support_a_pool_as_so_many_rows():
    counts = counts_at([60, 80], [3, 2], 100, 1000, model="a", segment=[1, 2])
    none = {name: pl.lit(0, pl.Int64) for name in ("tp", "fn", "fp", "tn")}
    weighted = pl.concat(
        counts.with_columns(weight=pl.lit(weight), **{cell: none[cell] for cell in cells})
        for weight, cells in ((1.0, ("fp", "tn")), (100.0, ("tp", "fn")))
    )
    asked = {"over": "segment", "metrics": "precision", "prevalence": [0.01, 0.2]}
    plain, same = (nf.roll_up(nf.compute_rates(of), **asked) for of in (counts, weighted))
    assert_frame_equal(same, plain)
    assert plain.filter(average="micro")["supported"].to_list() == [False, True]
    # In one segment a row stands for a hundred: 1,000 and 1,000 rows are worth 1,020 (Kish).
    thinned = counts.with_columns(weight=pl.when(segment=2).then(100.0).otherwise(1.0))
    told = nf.roll_up(nf.compute_rates(thinned), **asked | {"prevalence": [0.02, 0.05]})
    assert told.filter(average="micro")["supported"].to_list() == [False, True]


def test_undefined_segments_are_skipped_and_counted():
    rates = cells(("at", 40, 5, 10, 45), ("de", 0, 0, 8, 64), ("fr", 0, 3, 0, 7))
    rates = rates.with_columns(threshold=pl.Series([0.3, 0.5, 0.7]))
    found = nf.roll_up(rates, over="country", metrics=["precision", "recall"])
    rows = {(r["metric"], r["average"]): r for r in found.iter_rows(named=True)}
    assert rows["precision", "macro"]["value"] == pytest.approx(40 / 45)
    assert (rows["precision", "macro"]["segments"], rows["precision", "macro"]["skipped"]) == (1, 2)
    assert rows["recall", "macro"]["value"] == pytest.approx(0.4)
    assert rows["recall", "weighted"]["value"] == pytest.approx(40 / 58)
    assert rows["recall", "micro"]["value"] == pytest.approx(40 / 58)
    assert found["threshold"].null_count() == len(found)
    nobody = nf.roll_up(rates.filter(country="fr"), over="country", metrics="recall")
    assert nobody["value"].null_count() == 3


def test_averages_that_are_undefined_are_not_called_supported():
    """Without positives in the traffic there is no TPR of the mix, and nothing to weight by."""
    counts = counts_at([60, 80], [30, 20], 100, 100, model="a", segment=[1, 2])
    field = pl.DataFrame({"segment": [1, 2], "prevalence": 0.0, "share": [1.0, 3.0]})
    found = nf.roll_up(nf.compute_rates(counts), over="segment", metrics="recall", prevalence=field)
    assert found.select("average", "value", "supported").rows() == [
        ("macro", pytest.approx(0.7), True),
        ("micro", None, False),
        ("weighted", None, False),
    ]
    assert found["reason"].to_list() == [None, "the value is undefined", "the value is undefined"]


def test_averages_of_an_expression_that_hides_the_prevalence_are_not_called_supported():
    rates = cells(("at", 40, 5, 10, 45), ("de", 8, 8, 8, 64))
    found = nf.roll_up(rates, over="country", metrics=pl.col("tpr").alias("found"))
    assert found["supported"].to_list() == [None] * 3
    assert found["reason"].null_count() == 0
