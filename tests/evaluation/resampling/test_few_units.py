"""Resampled logs of a class whose rows are those of few units: bounds, tests, and what a report shows."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.reporting.live import live_numbers
from tests.logs import in_buckets


def test_bounds_of_few_units_are_extended_to_the_band_of_the_rates():
    tp, size = np.zeros((2, 100), np.int64)
    tp[:8], size[:8] = [15, 11, 9, 14, 6, 12, 13, 10], 20
    counts = in_buckets(tp, size)
    found = nf.bootstrap(counts, metric="recall", units="bucket", repeats=50)
    rates = nf.compute_rates(counts, interval="wilson", units="bucket", level=0.95**0.5)
    assert found["interval"].item() == "band"
    assert found.select("lower", "upper").row(0) == rates.select("tpr_lower", "tpr_upper").row(0)
    # With as many rows of as many units each, resampling shows how much they vary.
    many = in_buckets(np.tile(tp[:8], 5), np.tile(size[:8], 5))
    assert nf.bootstrap(many, metric="recall", units="bucket", repeats=50)["interval"].item() == "percentile"


def test_models_are_not_compared_by_one_large_unit():
    size = np.full(40, 1)
    size[7] = 400
    better = in_buckets(np.minimum(size, 390), size)
    worse = in_buckets(size // 4, size).with_columns(model=pl.lit("b"))
    found = nf.compare_best(pl.concat([better, worse]), metric="recall", units="bucket", repeats=100)
    assert found["distinguishable"].to_list() == [None, None]
    assert found["reason"].unique().to_list() == [
        "fewer than 10 rows of a class, or buckets of equal size that have it"
    ]


def _few_units_of_positives(units: int) -> pl.DataFrame:
    """Two models; 120 positives of few users, 2,880 negatives of 288 others."""
    rng = np.random.default_rng(units)
    label = np.arange(3000) < 120
    unit = np.where(label, np.arange(3000) % units, units + np.arange(3000) % 288)
    parts = [
        pl.DataFrame({"model": model, "unit": unit, "label": label, "score": rng.normal(shift * label)})
        for model, shift in (("a", 2.0), ("b", 1.0))
    ]
    return nf.count_confusion(nf.unit_buckets(pl.concat(parts)), thresholds=[-1.0, 0.0, 1.0, 2.0])


@pytest.mark.thorough
def test_resampling_says_nothing_of_a_class_that_is_in_one_bucket():
    counts, options = _few_units_of_positives(1), {"prevalence": 0.1, "units": "bucket", "repeats": 200}
    why = "fewer than 10 buckets of equal size have rows of a class"
    for metric, threshold in (("f_beta", 1.0), ("f_beta", "own"), ("recall", 1.0), ("roc_auc", None)):
        best = nf.probability_best(counts, metric=metric, threshold=threshold, **options)
        assert best["probability"].null_count() == 2
        assert best["reason"].to_list() == [why] * 2
    found = nf.bootstrap(counts, metric=["precision", "recall"], threshold=1.0, **options)
    assert found.select("lower", "upper", "interval").null_count().row(0) == (4, 4, 4)
    area = nf.bootstrap(counts, metric="roc_auc", **options)
    assert area.select("lower", "upper", "interval").null_count().row(0) == (2, 2, 2)
    # Of rates that do not need the class there is something to say.
    fpr = nf.probability_best(counts, metric="fpr", threshold=1.0, **options)
    assert fpr["probability"].null_count() == 0
    assert fpr["reason"].null_count() == 2


@pytest.mark.thorough
def test_few_buckets_of_a_class_have_a_probability_and_a_doubt():
    options = {"metric": "f_beta", "threshold": 1.0, "prevalence": 0.1, "units": "bucket", "repeats": 200}
    few, many = (nf.probability_best(_few_units_of_positives(n), **options) for n in (5, 20))
    assert (few["probability"].null_count(), few["reason"].null_count()) == (0, 0)
    assert (many["probability"].null_count(), many["reason"].null_count()) == (0, 2)


@pytest.mark.thorough
def test_a_report_without_bounds_shows_none():
    counts = _few_units_of_positives(1)
    comparison = nf.compare_models(counts, prevalence=[0.01, 0.1], threshold=1.0, repeats=50)
    assert comparison.answer.select("lower", "upper").null_count().row(0) == (2, 2)
    sent = live_numbers(comparison)["answers"][0]["models"]["columns"]
    assert sent["lower"]["values"] == sent["upper"]["values"] == [None]
    assert not any("95 %" in line for line in answer_lines(comparison.said))
