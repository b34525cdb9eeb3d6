"""Values within the repeats of a cross-validation and their means: tables, resampled logs, comparisons."""

import json
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.jobs import counting_units
from nci_frames.jobs.report import run_report
from nci_frames.options.report import ReportOptions
from nci_frames.questions.how_sure import read_independence
from tests.logs import repeated_log
from tests.oracles import areas_of_repeats

ETAS = [0.02, 0.2, 0.5]


def counted(by: list[str], thresholds: Any = "exact", rows: pl.DataFrame | None = None) -> pl.DataFrame:
    bucketed = nf.unit_buckets(repeated_log() if rows is None else rows, buckets=64)
    return nf.count_confusion(bucketed, thresholds=thresholds, by=by)


OPTIONS: dict[str, Any] = {"prevalence": ETAS, "beta": [1.0], "threshold": 1.5, "repeats": 40}


@cache
def compared(*, units: bool = True) -> nf.Comparison:
    counts = counted(["repeat", "fold", *(["bucket"] if units else [])])
    return nf.compare_models(counts, repeat="repeat", fold="fold", **OPTIONS)


@pytest.mark.thorough
def test_areas_are_taken_within_each_repeat_and_averaged():
    areas = nf.average_over(nf.compute_areas(counted(["repeat"]), prevalence=ETAS), over="repeat")
    assert len(areas) == 2 * (len(ETAS) + 1)
    for row in areas.iter_rows(named=True):
        each = areas_of_repeats(row["metric"], row["model"], row["prevalence"])
        assert row["value"] == pytest.approx(np.mean(each), abs=1e-12)
        assert row["std"] == pytest.approx(np.std(each, ddof=1), abs=1e-12)
        assert (row["repeats"], row["skipped"]) == (3, 0)
    # The scores of the repeats have different scales, so all rows together are another thing.
    together = nf.compute_areas(counted([]), prevalence=ETAS)
    assert (areas["value"] - together["value"]).abs().min() > 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("units", [True, False])
def test_answers_average_over_repeats_like_the_report(units):
    tables = compared(units=units)

    def ask(**options: Any) -> pl.DataFrame:
        models = tables.asking(prevalence=0.2, **options).answer
        return models.sort("model")

    area = ask(metric="pr_auc")
    for model, value in area.select("model", "value").iter_rows():
        assert value == pytest.approx(np.mean(areas_of_repeats("pr_auc", model, 0.2)), abs=1e-12)
    own, fixed = ask(), ask(threshold=1.5)
    best = tables.best.filter(prevalence=0.2, beta=1.0).sort("model")
    names = ["model", "value", "lower", "upper", "rank", "supported"]
    # The model that the log chose has a lower bound that holds for the chosen one.
    both = [table.with_columns(lower=pl.when(pl.col("rank") > 1).then("lower")) for table in (own, best)]
    assert_frame_equal(*(table.select(names) for table in both))
    assert (own["lower"] <= best["lower"]).all()
    at = tables.projection.filter(metric="f_beta", prevalence=0.2, beta=1.0).sort("model")
    both = [table.with_columns(lower=pl.when(pl.col("rank") > 1).then("lower")) for table in (fixed, at)]
    assert_frame_equal(*(table.select(names) for table in both))
    for table in (area, own, fixed):
        # Rows of repeats belong to units; without these nothing can be drawn or told.
        told = table.filter(pl.col("rank") > 1)["distinguishable"]
        assert told.null_count() == (0 if units else len(told))
    assert area["lower"].null_count() == (0 if units else 2)
    if units:
        assert (area["lower"] < area["value"]).all()
        assert (area["value"] < area["upper"]).all()


@pytest.mark.thorough
def test_the_range_in_which_a_model_leads_is_that_of_the_averages():
    winners = compared().asking(prevalence=0.2).answer_winners
    best = compared().best.filter(rank=1, beta=1.0).sort("prevalence")
    leaders = dict(best.select("prevalence", "model").iter_rows())
    assert len(leaders) == len(ETAS)
    assert dict(winners.select("start", "model").iter_rows()) == leaders


def test_values_that_are_undefined_or_absent_are_skipped_and_counted():
    table = pl.DataFrame(
        {
            "model": [*"aaabcc"], "repeat": [*"123112"], "threshold": 0.5,
            "metric": "precision", "prevalence": 0.1, "beta": pl.Series([None] * 6, dtype=pl.Float64),
            "value": [0.2, None, 0.6, None, 1.0, np.inf], "supported": [True, False, True, None, True, True],
            "reason": [None, "why", None, None, None, None],
        }
    )  # fmt: skip
    found = nf.average_over(table.lazy(), over=["repeat"])
    assert found.drop("model", "threshold", "metric", "prevalence", "beta").rows() == [
        (0.4, pytest.approx(np.std([0.2, 0.6], ddof=1)), 2, 1, False, "why"),
        (None, None, 0, 3, None, None),
        (np.inf, None, 2, 1, True, None),
    ]


def test_a_mean_of_which_one_value_lacks_a_bound_has_no_bound():
    table = pl.DataFrame(
        {
            "model": [*"aabb"], "repeat": [*"1212"], "threshold": 0.5, "metric": "recall", "prevalence": None,
            "beta": None, "value": [0.9, 0.1, 0.9, None], "lower": [0.8, None, 0.8, None],
            "upper": [0.95, 0.2, 0.95, None],
        },
        schema_overrides={"prevalence": pl.Float64, "beta": pl.Float64},
    )  # fmt: skip
    found = nf.average_over(table, over="repeat").select("value", "lower", "upper")
    assert found.rows() == [(0.5, None, pytest.approx(0.575)), (0.9, 0.8, 0.95)]


def test_values_are_averaged_at_each_threshold():
    grid = nf.compute_rates(counted(["repeat"], [0.5, 1.5]))
    each = nf.average_over(nf.project_rates(grid, metrics="recall", prevalence=0.1), over="repeat")
    assert each.select("model", "threshold", "repeats").rows() == [
        (model, at, 3) for model in "ab" for at in (0.5, 1.5)
    ]
    # The recall at a threshold is the mean over the repeats, and so that of all rows together.
    pooled = nf.compute_rates(counted([], [0.5, 1.5]))
    assert each["value"].to_list() == pytest.approx(pooled["tpr"].to_list(), abs=1e-12)
    own = nf.select_operating_points(nf.compute_rates(counted(["repeat"])), metric="youden_j")
    chosen = nf.average_over(nf.project_rates(own, metrics="recall", prevalence=0.1), over="repeat")
    assert chosen["threshold"].to_list() == [None, None]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("metric", "options"), [("pr_auc", {}), ("f_beta", {"threshold": 1.5}), ("roc_auc", {})]
)
def test_resampled_logs_draw_units_with_all_their_repeats(metric, options):
    counts = counted(["repeat", "bucket"])
    found = nf.probability_best(
        counts, metric=metric, prevalence=0.2, units="bucket", over="repeat", repeats=30, **options
    )
    # Each repeat for itself has the same draws of buckets, since they do not depend on the models.
    each = [
        nf.probability_best(part.drop("repeat"), metric=metric, prevalence=0.2, units="bucket", repeats=30,
                            **options)
        for part in counts.partition_by("repeat")
    ]  # fmt: skip
    means = np.mean([table["value"].to_numpy() for table in each], axis=0)
    assert found["value"].to_numpy() == pytest.approx(means, abs=1e-12)
    assert found.columns == each[0].columns
    assert "repeat" not in found.columns


@pytest.mark.thorough
def test_own_best_thresholds_are_chosen_and_judged_within_each_repeat():
    best = compared().best
    fitted = nf.cross_fit(counted(["repeat", "bucket"]), prevalence=ETAS, units="bucket")
    wanted = (
        fitted.group_by("model", "prevalence")
        .agg(pl.col("value", "optimistic").mean(), std=pl.col("value").std())
        .sort("model", "prevalence")
    )
    found = best.select("model", "prevalence", "value", "optimistic", "std").sort("model", "prevalence")
    assert_frame_equal(found, wanted, check_column_order=False)


@pytest.mark.thorough
def test_folds_show_their_spread():
    comparison = compared()
    assert comparison.fold_areas is not None
    assert comparison.folds is not None
    areas = nf.compute_areas(counted(["repeat", "fold"]), prevalence=list(comparison.main_prevalences))
    wanted = areas.group_by("model", "metric", "prevalence").agg(
        pl.col("value").mean(), pl.col("value").std().alias("std"), repeats=pl.len().cast(pl.Int64)
    )
    found = comparison.fold_areas.select(wanted.columns)
    assert_frame_equal(found, wanted, check_row_order=False)
    assert set(found["repeats"]) == {12}
    assert set(comparison.folds["folds"]) == {12}


def test_without_units_bounds_are_those_of_one_repeat_and_there_are_no_tests():
    comparison = compared(units=False)
    assert comparison.certainty is comparison.contenders is comparison.best_certainty is None
    assert len(comparison.points) == 2
    for row in comparison.points.iter_rows(named=True):
        hits, rows = row["tp"] / 3, row["positives"] / 3
        z = 1.959963984540054
        middle = (hits + z * z / 2) / (rows + z * z)
        half = z / (rows + z * z) * np.sqrt(hits * (rows - hits) / rows + z * z / 4)
        assert (row["tpr_lower"], row["tpr_upper"]) == pytest.approx((middle - half, middle + half))
    told = read_independence(comparison)
    assert "3 repeats" in told
    assert "no unit" in told.lower()


@pytest.mark.thorough
def test_repeats_are_no_further_rows_of_the_log():
    """A log whose repeats are copies of the first says what the first says."""
    first = repeated_log(1)
    copies = pl.concat([first.with_columns(repeat=pl.lit(f"r{place}")) for place in range(3)])
    once = nf.compare_models(counted(["bucket"], rows=first), **OPTIONS)
    thrice = nf.compare_models(counted(["repeat", "bucket"], rows=copies), repeat="repeat", **OPTIONS)
    assert_frame_equal(thrice.support, once.support)
    shared = ("model", "metric", "prevalence", "value", "lower", "upper", "supported", "reason", "rank")
    for name in ("areas", "projection", "area_nodes"):
        columns = [column for column in shared if column in getattr(once, name).columns]
        assert_frame_equal(getattr(thrice, name).select(columns), getattr(once, name).select(columns))
    bounds = ["tpr", "tpr_lower", "tpr_upper", "fpr", "fpr_lower", "fpr_upper"]
    assert_frame_equal(thrice.points.select(bounds), once.points.select(bounds))
    assert_frame_equal(thrice.certainty, once.certainty)


@pytest.mark.thorough
def test_rows_scored_several_times_are_found_without_a_key_of_repeats(tmp_path):
    repeated_log().drop("fold").write_parquet(tmp_path / "log.parquet")
    options = ReportOptions(prevalence=(0.2,), beta=(1.0,), threshold=1.5, formats=("json",))
    source, out = str(tmp_path / "log.parquet"), tmp_path / "out"
    comparison, _ = run_report(source, out, options, columns={"unit": "unit"})
    assert comparison.unit_rows == 3
    content = json.loads((tmp_path / "out/report.json").read_text("utf-8"))
    (said,) = content["questions"]["independence"]["sentences"]
    assert "Every unit has 3 rows of each model" in said
    assert "n is the number of units, not of rows" in said


def test_units_with_unequal_rows_or_labels_are_no_repeats():
    one = (pl.col("unit") == 3) & (pl.col("repeat") == "r0")
    other_label = pl.when(one).then(~pl.col("label")).otherwise("label").alias("label")
    for rows, repeated in (
        (repeated_log(), 3),
        (repeated_log(1), None),
        (repeated_log().slice(1), None),
        (repeated_log().with_columns(other_label), None),
    ):
        scan = nf.scan_predictions(rows, unit="unit", repeat="repeat")
        assert counting_units.unit_sizes(scan).repeated == repeated


@pytest.mark.thorough
def test_a_large_log_is_counted_by_repeats_and_buckets_in_a_pass_of_its_own(monkeypatch, tmp_path):
    repeated_log().write_parquet(tmp_path / "log.parquet")
    monkeypatch.setattr(counting_units, "EXACT_IN_PARTS", 1)
    predictions = nf.scan_predictions(tmp_path / "log.parquet", repeat="repeat", fold="fold", unit="unit")
    found = counting_units.count_for_comparison(
        predictions, nf.auto_thresholds(prevalence=[0.1], also=[1.5]), []
    )
    assert {"repeat", "bucket"} <= set(found.by_unit.columns)
    comparison = nf.compare_models(found.tally.counts, unit_counts=found.by_unit, repeat="repeat", **OPTIONS)
    assert comparison.certainty is not None
    value = comparison.areas.filter(metric="pr_auc")["value"].to_list()
    assert value == pytest.approx(compared().areas.filter(metric="pr_auc")["value"].to_list(), abs=0.02)
