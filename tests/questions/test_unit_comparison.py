"""Comparisons and reports of logs with units: rows of a unit are kept together everywhere."""

import json
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.logs.units import unit_sizes
from nci_frames.evaluation.arrays.few_thresholds import at_thresholds, near_threshold
from nci_frames.jobs import counting_units
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.segment_lines import segment_lines
from nci_frames.reporting.json import render_json
from nci_frames.reporting.markdown import render_markdown
from tests.cases import first_quick
from tests.logs import unit_log
from tests.small_jobs import ended

OPTIONS: dict[str, Any] = {
    "prevalence": [0.001, 0.05, 0.5], "beta": [0.5, 1.0], "repeats": 50,
    "threshold": 1.0, "segments": "country",
}  # fmt: skip


def log(times: int = 2, units: int = 400) -> pl.DataFrame:
    """Two models that score each unit several times, in two countries that say nothing."""
    rows = unit_log({"a": 1.6, "b": 1.2}, units, times=times, noise=0.3, digits=2, seed=4)
    return rows.with_columns(
        country=pl.when(pl.col("unit") % 2 == 1).then(pl.lit("x")).otherwise(pl.lit("y"))
    )


def counted(thresholds: Any = "exact") -> pl.DataFrame:
    return nf.count_confusion(nf.unit_buckets(log(), buckets=64), thresholds=thresholds)


@pytest.mark.parametrize("thresholds", ["exact", [-0.5, 0.31, 1.0, 2.0]])
def test_counts_at_thresholds_that_are_no_score_of_a_bucket(thresholds):
    rows = nf.unit_buckets(log(), buckets=64).collect()
    counts = nf.pool_counts(counted(thresholds), over="country")
    points = pl.DataFrame({"model": ["a", "a", "b"], "threshold": [0.31, 1.0, 2.0]})
    found = at_thresholds(counts, points, "bucket")
    expected = pl.concat(
        nf.count_confusion(rows.filter(model=model), thresholds=[at], by="bucket").select(found.columns)
        for model, at in points.rows()
    )
    order = ["model", "bucket", "threshold"]
    assert_frame_equal(found.sort(order), expected.sort(order))


@pytest.mark.thorough
def test_every_table_draws_units():
    counts = counted()
    compared = nf.compare_models(counts, **OPTIONS)
    by_unit = nf.pool_counts(counts, over="country")
    assert compared.buckets == counts["bucket"].n_unique()
    bounds = ["tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper"]
    expected = nf.compute_rates(by_unit, interval="wilson", units="bucket")
    at_one = (
        compared.points.join(expected, on=["model", "tp", "fp"], how="left").unique("model").sort("model")
    )
    for name in bounds:
        assert at_one[name].equals(at_one[f"{name}_right"], null_equal=False)
    fitted = nf.cross_fit(by_unit, prevalence=OPTIONS["prevalence"], beta=OPTIONS["beta"], units="bucket")
    order = ["model", "prevalence", "beta"]
    assert_frame_equal(
        compared.best.sort(order).select(*order, "value"), fitted.sort(order).select(*order, "value")
    )
    asked = {"prevalence": OPTIONS["prevalence"], "repeats": 50, "units": "bucket"}
    best = nf.probability_best(by_unit, metric="pr_auc", **asked)
    assert_frame_equal(compared.certainty.filter(metric="pr_auc"), best)
    at = nf.probability_best(by_unit, metric="f_beta", threshold=1.0, **asked)
    assert_frame_equal(compared.certainty.filter(metric="f_beta"), at, check_row_order=False)
    shifts = nf.check_projection(counts, over="country", units="bucket")
    assert_frame_equal(compared.shifts.drop("key"), shifts)
    place = compared.answer.select("threshold", "prevalence").row(0, named=True)
    ranks = nf.rank_segments(counts, segments="country", units="bucket", **place)
    assert compared.segment_ranks.equals(ranks)


@pytest.mark.thorough
def test_values_are_those_of_all_rows_together():
    compared = nf.compare_models(counted(), **OPTIONS)
    by_rows = nf.compare_models(nf.pool_counts(counted(), over="bucket"), **OPTIONS)
    assert by_rows.buckets is None
    # Which values the log supports depends on what its rows are worth.
    for name in ("areas", "area_nodes", "segment_areas", "segment_sizes", "undefined"):
        one, other = (
            getattr(tables, name).drop("supported", "reason", strict=False) for tables in (compared, by_rows)
        )
        assert_frame_equal(one, other)
    for name, start in (("decisions", "lambda_start"), ("winners", "start")):
        one, other = (
            getattr(tables, name)
            .group_by(pl.struct("model", "threshold").rle_id().alias("run"), maintain_order=True)
            .agg(pl.col(start, "model", "threshold").first())
            for tables in (compared, by_rows)
        )
        assert_frame_equal(one, other)
    plain = ["model", "threshold", "metric", "prevalence", "beta", "value", "rank"]
    assert_frame_equal(compared.projection.select(plain), by_rows.projection.select(plain))
    wider = compared.points["tpr_upper"] - compared.points["tpr_lower"]
    assert (wider > by_rows.points["tpr_upper"] - by_rows.points["tpr_lower"]).all()


def few() -> Comparison:
    return nf.compare_models(nf.count_confusion(nf.unit_buckets(log(), buckets=10)), **OPTIONS)


@pytest.mark.long
def test_few_buckets_have_no_intervals_and_no_tests(tmp_path):
    compared = few()
    assert compared.buckets == 10
    assert compared.points.select("tpr_lower", "fpr_upper").null_count().row(0) == (2, 2)
    assert compared.certainty is compared.best_certainty is compared.shifts is None
    assert "optimistic" not in compared.best.columns
    said = "There are 10 groups of units. Intervals and tests need 20"
    assert said in render_markdown(compared).replace("\\", "")
    assert said in json.loads(render_json(compared))["questions"]["independence"]["sentences"][0]
    page = nf.write_report(compared, tmp_path / "report.html").read_text(encoding="utf-8")
    assert said in page.replace("\\", "")
    assert "evaluated on the rows that chose it" in page
    assert "have weights" not in page


def test_units_are_counted():
    sizes = unit_sizes(nf.scan_predictions(log(3, 500), unit="unit"))
    assert (sizes.units, sizes.rows, sizes.estimated) == (500, 3.0, False)


def test_units_of_a_large_log_are_counted_in_a_sample(monkeypatch):
    monkeypatch.setattr("nci_frames.counting.logs.units._MANY_ROWS", 10)
    sizes = unit_sizes(nf.scan_predictions(log(1, 40_000), unit="unit"))
    assert sizes.units == pytest.approx(40_000, rel=0.15)
    assert (sizes.rows, sizes.estimated) == (1.0, True)


@pytest.mark.thorough
@pytest.mark.parametrize("exact", [True, False])
def test_a_large_log_is_counted_in_passes_and_compared_alike(exact, monkeypatch):
    scan = nf.scan_predictions(log(), unit="unit", segments="country")
    wish = "exact" if exact else nf.auto_thresholds(also=[1.0])
    once = counting_units.count_for_comparison(scan, wish, ["country"])
    assert once.by_unit is once.count_segments is None
    monkeypatch.setattr(counting_units, "EXACT_IN_PARTS", 10)
    passes = counting_units.count_for_comparison(scan, wish, ["country"])
    assert {"bucket", "country"} - {*passes.tally.counts.columns} == {"bucket"}
    assert {"bucket", "country"} - {*passes.by_unit.columns} == {"country"}
    one = nf.compare_models(once.tally.counts, **OPTIONS)
    two = Comparison(
        passes.tally.counts, unit_counts=passes.by_unit, count_segments=passes.count_segments, **OPTIONS
    )
    assert one.buckets == two.buckets
    # What the rows are worth is found from all thresholds, which are fewer on a grid.
    other = ("resolution", "effective_positives", "effective_negatives")
    for name in ("points", "segment_points", "certainty", "projection")[: 4 if exact else 1]:
        columns = [c for c in getattr(one, name).columns if c not in other]
        assert_frame_equal(getattr(one, name).select(columns), getattr(two, name).select(columns))
    of_parts = ["country", "value", "due_to_rates", "due_to_rates_lower", "due_to_rates_upper"]
    if exact:
        assert_frame_equal(one.segment_ranks.select(of_parts), two.segment_ranks.select(of_parts))
    assert two.segment_ranks["shift_p_value"].null_count() == 0
    # Each key alone is taken from the same pass, and another question has thresholds of its own.
    asked = two.asking(alerts=20, volume=200)
    assert {*asked.segment_points["threshold"]} != {*two.segment_points["threshold"]}
    assert asked.segment_points["tpr_lower"].null_count() == 0


@pytest.mark.thorough
def test_a_large_log_with_weights_is_compared_alike():
    weighed = log().with_columns(weight=1 + pl.col("unit") % 3)
    scan = nf.scan_predictions(weighed, unit="unit", weight="weight", segments="country")
    counts = nf.count_confusion(nf.unit_buckets(scan, buckets=64), thresholds="exact")
    assert {"bucket", "weight"} <= {*counts.columns}
    apart = nf.count_confusion(scan.drop("unit"), thresholds="exact")
    one, two = nf.compare_models(counts, **OPTIONS), nf.compare_models(apart, unit_counts=counts, **OPTIONS)
    for name in ("answer", "segment_points", "segment_ranks"):
        assert_frame_equal(getattr(one, name), getattr(two, name))


@pytest.mark.thorough
def test_too_many_segments_are_shown_without_tests_and_the_buckets_stay_many(monkeypatch):
    monkeypatch.setattr(counting_units, "EXACT_IN_PARTS", 10)
    scan = nf.scan_predictions(log(), unit="unit", segments="country")
    grid = [-0.5, 0.31, 1.0, 2.0]
    monkeypatch.setattr(counting_units, "MOST_COUNTS", 1)
    # A log that is not too long is counted by segments and buckets at every score, however many these are.
    found = counting_units.count_for_comparison(scan, "exact", ["country"])
    assert {"bucket", "country"} <= {*found.tally.counts.columns}
    monkeypatch.setattr(counting_units, "MOST_BY_BUCKET", 10)
    found = counting_units.count_for_comparison(scan, grid, ["country"])
    assert "country" not in found.by_unit.columns
    assert found.count_segments is None
    # Of fewer than 91 a bound would allow for a common kind of units that the log may lack.
    assert found.by_unit["bucket"].n_unique() > 91
    compared = nf.compare_models(found.tally.counts, unit_counts=found.by_unit, **OPTIONS)
    assert compared.segment_points["tpr_lower"].null_count() == len(compared.segment_points)
    assert compared.points["tpr_lower"].null_count() == 0
    assert compared.shifts is None
    (line,) = segment_lines(compared)
    assert line.startswith("Segments: not compared with the rest. There are too many segments to count each")
    assert line in render_markdown(compared).replace("\\", "")


@pytest.mark.long
def test_the_command_line_keeps_units_together(tmp_path):
    file = tmp_path / "log.parquet"
    log().write_parquet(file)
    given = f"report {file} --prevalence 0.01,0.2 --beta 1 --threshold 1 --format md".split()
    for option, said in (
        ([], "No unit was named, so rows are taken as independent."),
        (["--unit", "unit"], "Intervals and tests resample whole units, never single rows:"),
    ):
        result = ended(0, *given, *option, "--out", tmp_path / "out")
        assert said in " ".join(result.output.split())
        page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
        assert said in page.replace("\\", "")
        assert ("| units | 400, with 2 rows of a model each |" in page) == bool(option)


@pytest.mark.parametrize("threshold", first_quick([0.31, 9.0, -9.0, 0.995], 2))
@pytest.mark.parametrize("thresholds", ["exact", [-0.5, 0.31, 1.0, 2.0]])
def test_rows_near_a_threshold_have_the_points_of_all(thresholds, threshold):
    counts = nf.count_confusion(log().drop("unit"), thresholds=thresholds, by=["country"])
    few = near_threshold(counts, threshold)
    assert few.height <= 4 * few.select("model", "country").n_unique() <= counts.height
    points, of_all = (
        nf.select_operating_points(nf.compute_rates(frame), threshold=threshold) for frame in (few, counts)
    )
    assert_frame_equal(points, of_all)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"metric": "recall", "threshold": 1.0}, "all rows of a class are of one unit"),
        ({"alerts": 100, "volume": 1000}, "all rows of a class are of one unit"),
        ({}, "thresholds are judged on other rows, or units, than chose them"),
    ],
)
def test_positives_of_one_user_tell_nothing_of_others_and_it_is_said(asked, told):
    rows = log().drop("country").with_columns(unit=pl.when("label").then(-1).otherwise("unit"))
    counts = nf.count_confusion(nf.unit_buckets(rows, buckets=64), thresholds="exact")
    answer = nf.compare_models(counts, question=nf.Question(**asked), repeats=50).answer
    assert answer["value"].is_null().any() == (not asked)
    assert not answer["supported"].any()
    assert answer["lower"].null_count() == 2
    assert answer["reason"].str.starts_with(told).all()
