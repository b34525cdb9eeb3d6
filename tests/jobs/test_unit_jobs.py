"""Jobs whose logs have units: counts by buckets in the ledger, whole units in intervals, report and gates."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.jobs.counted_files import count_files
from nci_frames.jobs.gates.judge import judge_gates
from nci_frames.jobs.gates.measure import measure
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.run import run_job
from nci_frames.jobs.scenario_values import scenario_values
from nci_frames.jobs.small_segments import small_segments
from nci_frames.jobs.traffic import traffic_tables
from nci_frames.options.report import SegmentOptions
from nci_frames.questions.units import Pools
from tests.cases import first_quick
from tests.logs import unit_log
from tests.small_jobs import gate_job, job_text, read_json, small_job, write_log

UNITS = job_text(
    name="units",
    buckets=40,
    columns={"unit": "user"},
    segments={"keys": ["country"], "min_positives": 10},
    report={"prevalence": [0.05, 0.3], "beta": [1.0], "formats": ["json"], "tables": ["parquet"]},
    gates=[
        {"name": "finds", "metric": "recall", "value_threshold": {"lower": 0.1}},
        {"name": "area", "metric": "roc_auc", "value_threshold": {"lower": 0.1}},
    ],
)


def night(seed: int, times: int = 4) -> pl.DataFrame:
    """Two models; each user has several rows with nearly one score."""
    log = unit_log({"forest": 1.6, "linear": 1.1}, 240, times=times, noise=0.05, seed=seed)
    return log.select(
        "model",
        "label",
        user=pl.format("u{}", "unit"),
        score=1 / (1 + (0.5 - pl.col("score")).exp()),
        country=pl.when(pl.col("unit") % 40 == 0).then(pl.lit("at")).otherwise(pl.lit("de")),
    )


def write(folder: Path, nights: int = 2) -> list[Path]:
    paths = [folder / f"logs/2026-03-0{number + 1}/a.parquet" for number in range(nights)]
    return [write_log(path, night(number)) for number, path in enumerate(paths)]


def direct(paths: list[Path], by: list[str]) -> pl.DataFrame:
    predictions = nf.scan_predictions(paths, unit="user", segments="country")
    thresholds = [0.0, 0.25, 0.5, 0.75]
    return nf.count_confusion(nf.unit_buckets(predictions, buckets=40), thresholds=thresholds, by=by)


@pytest.mark.long
def test_a_job_with_a_unit_draws_whole_units(tmp_path):
    paths = write(tmp_path)
    outcome = run_job(read_job(small_job(tmp_path, text=UNITS)))
    buckets = direct(paths, ["bucket"])
    # The gates: bounds of so many independent rows as the buckets are worth, and of resampled buckets.
    wanted = nf.compute_rates(buckets, interval="wilson", units="bucket").filter(threshold=0.5)
    alone = nf.compute_rates(nf.pool_counts(buckets, over="bucket"), interval="wilson").filter(threshold=0.5)
    found = outcome.verdicts.filter(gate="finds").sort("model")
    assert found["lower"].to_list() == pytest.approx(wanted["tpr_lower"].to_list(), abs=1e-12)
    width = found["upper"] - found["lower"]
    # About the root of four rows, and more: 40 unequal buckets know the variance, and may lack other units.
    assert (width / (alone["tpr_upper"] - alone["tpr_lower"])).to_list() == pytest.approx([3.0, 3.0], rel=0.2)
    area = nf.bootstrap(buckets, metric="roc_auc", units="bucket", repeats=400)
    drawn = outcome.verdicts.filter(gate="area").sort("model")
    assert drawn.select("value", "lower", "upper").rows() == area.select("value", "lower", "upper").rows()
    # The report: the tables of a comparison by buckets, small segments put together there, too.
    content = read_json(outcome.folder / "report.json")
    told = "Intervals and tests resample whole units, never single rows: 40 groups of units"
    assert told in content["questions"]["independence"]["sentences"][0]
    compared = nf.compare_models(buckets, prevalence=[0.05, 0.3], beta=[1.0], threshold=0.5)
    tables = outcome.folder / "tables"
    for name in ("points", "certainty"):
        assert pl.read_parquet(tables / f"{name}.parquet").equals(getattr(compared, name)), name
    assert "other" in pl.read_parquet(tables / "segment_points.parquet")["country"]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write(tmp_path_factory.mktemp("nights"))


@pytest.mark.parametrize("metric", first_quick(["recall", "roc_auc"]))
def test_too_few_buckets_have_no_bounds(paths, metric):
    few = direct(paths, ["bucket"]).filter(pl.col("bucket") < 19)
    (gate,) = gate_job({"metric": metric, "value_threshold": {"lower": 0.1}}).gates
    found = measure(few, gate, "observed", threshold=0.5)
    assert found["value"].null_count() == 0
    assert found["lower"].null_count() == found["upper"].null_count() == 2


def judged(rows: list[Path], **gate: Any) -> list[dict[str, Any]]:
    def by(keys: Any, _: str) -> pl.DataFrame:
        return direct(rows, list(keys))

    return judge_gates(gate_job(gate, columns={"unit": "user"}), by, None).to_dicts()


@pytest.mark.thorough
def test_evidence_of_rows_counts_as_that_of_units(paths, tmp_path):
    def evidence(rows: list[Path]) -> str:
        told = judged(rows, sequential=True, value_threshold={"lower": 0.5}, models=["forest"])
        return re.search(r"for the promise 10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", told[0]["reason"])[1]

    once = tmp_path / "once.parquet"
    night(0, times=1).write_parquet(once)
    four = tmp_path / "four.parquet"
    pl.concat([night(0, times=1)] * 4).write_parquet(four)
    assert evidence([four]) == evidence([once])


@pytest.mark.thorough
def test_segments_and_champions_are_judged_by_units(paths):
    rows = judged(paths, segments=["country"], value_threshold={"lower": 0.2})
    buckets = direct(paths, ["country", "bucket"])
    wanted = nf.compute_rates(buckets, interval="wilson", units="bucket").filter(threshold=0.5)
    assert [row["lower"] for row in rows] == pytest.approx(wanted["tpr_lower"].to_list(), abs=1e-12)
    lead = judged(paths, champion={"model": "forest", "prevalence": [0.3]}, metric="f_beta")
    assert lead[0]["lower"] < lead[0]["value"] < lead[0]["upper"]


def test_min_positives_of_a_gate_counts_independent_rows(paths):
    """Of each user there are four rows of nearly one score: some 580 positives are worth a quarter."""
    plain = {"value_threshold": {"lower": 0.2}, "models": ["forest"]}
    (row,) = judged(paths, **plain, min_positives=60)
    assert (row["verdict"], row["reason"]) == ("pass", None)
    positives = row["positives"]
    (row,) = judged(paths, **plain, min_positives=positives // 2)
    assert row["verdict"] == "undecided"
    words = rf"{positives} positives, worth ([\d.]+) independent ones, fewer than .*"
    told = re.fullmatch(words, row["reason"])
    assert float(told[1]) == pytest.approx(positives / 4, rel=0.5)


@pytest.mark.thorough
def test_min_positives_of_segments_count_independent_rows(paths):
    counts = direct(paths, ["country", "bucket"])
    alone = nf.pool_counts(counts, over="bucket")

    def small(rows: pl.DataFrame, least: int, by_unit: pl.DataFrame | None = None) -> list[str]:
        found = small_segments(rows, ["country"], SegmentOptions(min_negatives=least), by_unit)
        return sorted(found.segments["country"])

    negatives = alone.filter(threshold=0.0, model="forest", country="de")["fp"].item()
    assert small(alone, negatives) == ["at"]
    for rows, by_unit in ((counts, None), (alone, counts)):
        assert small(rows, negatives // 2, by_unit) == ["at", "de"]
        assert small(rows, negatives // 8, by_unit) == ["at"]
        assert not small(rows, 1, by_unit)


@pytest.mark.thorough
def test_scenarios_draw_whole_units(paths):
    prevalence = {"de": 0.1, "at": 0.2}
    scenarios = {"EU": 0.05, "by": {"by": "country", "prevalence": prevalence}}
    job = gate_job({"value_threshold": {"lower": 0.1}}, columns={"unit": "user"}, scenarios=scenarios)
    found = scenario_values(job, lambda keys: direct(paths, list(keys)))
    for name, keys in (("EU", []), ("by", ["country"])):
        buckets = direct(paths, [*keys, "bucket"])
        rates = nf.compute_rates(buckets, interval="wilson", units="bucket").filter(threshold=0.5)
        eta = pl.col("country").replace_strict(prevalence) if keys else pl.lit(0.05)
        how = {"metrics": "precision", "prevalence": "selected", "band": True}
        wanted = nf.project_rates(rates.with_columns(prevalence=eta), **how).sort(*keys, "model")
        mine = found.filter(scenario=name, metric="precision")
        for bound in ("value", "lower", "upper"):
            assert mine[bound].to_list() == pytest.approx(wanted[bound].to_list(), abs=1e-12)
    some = pl.col("bucket") < 19
    few = scenario_values(job, lambda keys: direct(paths, list(keys)).filter(some))
    assert few["lower"].null_count() == len(few)
    assert set(few.drop_nulls("value")["reason"]) == {"fewer than 20 buckets of units have rows"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("times", "told"), [(4, r"by units a row is worth 0\.[1-4]\d* of one: too narrow"), (1, None)]
)
def test_bounds_of_traffic_that_are_too_narrow_are_told(tmp_path, times, told):
    for place, seed in (("logs", 1), ("traffic", 2)):
        write_log(tmp_path / place / "2026-03-01/a.parquet", night(seed, times=times))
    text = UNITS + '[traffic]\npath = "traffic/{date:%Y-%m-%d}/*.parquet"\n'
    file = read_job(small_job(tmp_path, text=text))
    counted = [count_files(file, feed, until=None) for feed in file.job.feeds]
    facts = dict(traffic_tables(file.job, file.job.traffic, *counted).facts())
    doubt = facts.get("bounds of the prevalence of the traffic")
    assert doubt is None if told is None else re.search(told, doubt)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_rows_of_a_constant_score_are_worth_as_many_independent_ones(share):
    """All units are alike: rounding alone made their variance."""
    rng = np.random.default_rng(0)
    log = pl.DataFrame({"model": "a", "label": rng.random(300) < share, "score": 0.5})
    scan = nf.scan_predictions(log.with_columns(unit=pl.int_range(300) % 40), unit="unit")
    counts = nf.count_confusion(nf.unit_buckets(scan, buckets=64), thresholds=[0.25, 0.5, 0.75])
    assert Pools(counts, ()).worth(()).rows() == [("a", 1.0, 1.0)]
