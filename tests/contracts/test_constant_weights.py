"""Weights that are constant within each class change nothing but sums of weights."""

import inspect
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.fuzz.calls import calls, log
from tests.logs import SUMS

#: What these functions tell is of sums of weights, or of the prevalence of the log.
OF_SUMS = {"correct_partial_labels", "merge_counts", "pool_counts", "rank_segments"}
ROWS, UNITS = {"units": None}, {"units": "bucket"}
#: What else is asked, of counts at every score.
MORE: dict[str, list[dict[str, Any]]] = {
    "auc_interval": [{"method": "score"}, {"method": "delong"}],
    "bootstrap": [
        {"metric": metrics, "threshold": at} | units
        for metrics, at in ((["pr_auc", "roc_auc"], None), (["precision", "recall"], 0.5))
        for units in (ROWS, UNITS)
    ]
    # Supported, so that its bounds allow for unseen rows.
    + [{"metric": "pr_auc", "threshold": None, "prevalence": 0.4} | ROWS],
    "calibration_curve": [{}, {"bins": 4}],
    "certify_decision_map": [ROWS],
    "compare_best": [
        {"metric": "recall"} | ROWS,
        # The log supports the second, not the first.
        {"metric": "pr_auc", "threshold": None, "prevalence": [0.05, 0.3]} | ROWS,
        *({"metric": "f_beta", "threshold": "own"} | units for units in (ROWS, UNITS)),
    ],
    "compute_areas": [UNITS, *({"interval": "simultaneous"} | units for units in (ROWS, UNITS))],
    "compute_rates": [UNITS, *({"interval": interval} for interval in ("clopper_pearson", "jeffreys"))],
    "crossover_intervals": [{"metric": "pr_auc", "threshold": None}],
    "find_crossovers": [{"metric": "pr_auc"}],
    "lowest_supported_prevalence": [UNITS],
    "probability_best": [{"metric": "pr_auc", "threshold": None} | units for units in (ROWS, UNITS)],
    "subsample_study": [{"prevalence": 0.45}],
}


@cache
def exact(probable: bool, units: str | None) -> pl.DataFrame:
    """Return counts at every score, by bucket where units are named."""
    rows = log()
    if probable:
        rows = rows.with_columns(score=1 / (1 + (-pl.col("score")).exp()))
    scan = nf.unit_buckets(nf.scan_predictions(rows, unit="unit"), buckets=24)
    return nf.count_confusion(scan, thresholds="exact", by="bucket" if units else [])


def weighed(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of the same rows, where positives weigh 0.3 and negatives 7."""
    of_class = {0.3: ("fp", "tn"), 7.0: ("tp", "fn")}
    return pl.concat(
        counts.with_columns(**dict.fromkeys(others, pl.lit(0, pl.Int64)), weight=pl.lit(weight))
        for weight, others in of_class.items()
    )


#: These resample, which takes long.
DEAR = {"bootstrap", "certify_decision_map", "probability_best"}
TAKE_COUNTS = [call for call in calls().values() if call.takes == "counts" and call.of_frames]
CASES = [
    pytest.param(name, frames, more, marks=pytest.mark.thorough if name in DEAR else ())
    for name, frames, more in (
        *((call.name, call.frames, {}) for call in TAKE_COUNTS if call.name not in OF_SUMS),
        *((name, "exact", more) for name, asked in MORE.items() for more in asked),
        ("estimate_prevalence", calls()["estimate_prevalence"].frames, {}),
        *(("cross_fit", calls()["compute_rates"].frames, {"metric": m} | ROWS) for m in ("f_beta", "mcc")),
    )
]


@pytest.mark.parametrize(("name", "frames", "more"), CASES)
def test_weights_that_are_constant_within_classes_change_nothing(name, frames, more):
    frames = (exact(name.startswith("calibration"), more.get("units")),) if frames == "exact" else frames
    function, options = calls()[name].function, calls()[name].options | more
    if "prevalence" in inspect.signature(function).parameters and "crossover" not in name:
        # That of the log is one of the sums.
        options = {"prevalence": 0.02} | options
    counts, *rest = frames
    found, expected = (function(one, *rest, **options) for one in (weighed(counts), counts))
    kept = [column for column in expected.columns if column not in SUMS]
    assert_frame_equal(found.select(kept), expected.select(kept), rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("weight", [0.3, 1 / 3])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bootstrap", {"metric": "pr_auc", "prevalence": 0.3, "units": "bucket", "repeats": 50}),
        ("compute_rates", {"interval": "wilson", "units": "bucket"}),
    ],
)
def test_just_enough_rows_are_not_too_few_for_their_weights(name, options, weight):
    """Of 20 positives that weigh 0.3, sums of weights alone know 19.999999999999996."""
    rng = np.random.default_rng(5)
    label = np.repeat([True, False], [20, 60])
    score = 1 / (1 + np.exp(-rng.normal(label * 1.2, size=(2, 80))))
    rows = {"unit": np.arange(80), "label": label}
    scan = pl.concat(
        pl.DataFrame({"model": m, **rows, "score": s.round(2)}) for m, s in zip("ab", score, strict=True)
    )
    scan = nf.unit_buckets(scan, buckets=4000) if "units" in options else scan.drop("unit")
    found, expected = (
        getattr(nf, name)(nf.count_confusion(log), **options)
        for log in (scan.with_columns(weight=weight), scan)
    )
    kept = [column for column in expected.columns if column not in SUMS]
    assert_frame_equal(found.select(kept), expected.select(kept), rel_tol=1e-9, abs_tol=1e-12)
