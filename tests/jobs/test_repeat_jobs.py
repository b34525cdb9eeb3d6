"""Jobs whose logs have the repeats of a cross-validation: report, gates and scenarios average over them."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint

import nci_frames as nf
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.run import Run, run_job
from tests.logs import repeated_log
from tests.oracles import areas_of_repeats
from tests.small_jobs import job_text, read_json, small_job, write_log

pytestmark = pytest.mark.long

FOUND = {"metric": "recall", "value_threshold": {"lower": 0.1}}
KEYS: dict[str, Any] = {
    "name": "repeats",
    "thresholds": "exact",
    "columns": {"repeat": "again", "fold": "fold"},
    "segments": {"keys": ["half"], "min_positives": 20},
    "scenarios": {"rare": 0.05},
    "report": {
        "prevalence": [0.2],
        "beta": [1.0],
        "threshold": 1.5,
        "formats": ["json"],
        "tables": ["parquet"],
    },
    "gates": [
        {"name": "area", "metric": "roc_auc", "value_threshold": {"lower": 0.1}},
        {"name": "area stays", "metric": "roc_auc", "change_threshold": {"absolute": 0.2}},
        {"name": "finds", "min_positives": 40} | FOUND,
        {"name": "enough", "min_positives": 100} | FOUND,
    ],
}
BY_UNITS = {"columns": KEYS["columns"] | {"unit": "unit"}, "buckets": 64}
JOBS = {"with units": job_text(**KEYS | BY_UNITS), "rows": job_text(**KEYS)}


def rows() -> pl.DataFrame:
    return (
        repeated_log()
        .rename({"repeat": "again"})
        .with_columns(half=pl.when(pl.col("unit") % 20 == 0).then(pl.lit("few")).otherwise(pl.lit("most")))
    )


def wilson(rate: Any, size: int) -> Any:
    """The interval of a rate of one repeat."""
    return proportion_confint(rate * size, size, method="wilson")


@pytest.fixture(scope="module", params=JOBS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run]:
    """A run of a job; with units, the second on the same log."""
    folder = tmp_path_factory.mktemp("job")
    write_log(folder / "logs/2026-03-01/a.parquet", rows())
    file = read_job(small_job(folder, text=JOBS[request.param]))
    if request.param == "with units":
        run_job(file)
    return request.param, run_job(file)


def test_areas_of_gates_are_means_over_the_repeats(ran):
    kind, outcome = ran
    found = outcome.verdicts.filter(gate="area").sort("model")
    by_hand = [float(np.mean(areas_of_repeats("roc_auc", model, None))) for model in ("a", "b")]
    assert found["value"].to_list() == pytest.approx(by_hand, abs=1e-12)
    assert (found["lower"] < found["value"]).all()
    assert (found["value"] < found["upper"]).all()
    stays = outcome.verdicts.filter(gate="area stays")
    # All rows are those of the run before, where there was one.
    told = (0.0, "pass") if kind == "with units" else (None, "undecided")
    assert stays.select("difference", "verdict").rows() == [told] * 2


def test_repeats_are_no_further_rows(ran):
    kind, outcome = ran
    positives = int(repeated_log().filter(repeat="r0", model="a")["label"].sum())
    for name, verdict in (("finds", "pass"), ("enough", "undecided")):
        found = outcome.verdicts.filter(gate=name)
        assert found["positives"].to_list() == [3 * positives] * 2
        assert found["verdict"].to_list() == [verdict] * 2
    assert 40 < positives < 100 < 3 * positives
    finds = outcome.verdicts.filter(gate="finds")
    assert finds["model"].to_list() == ["a", "b"]
    for row in finds.iter_rows(named=True):
        lower, upper = wilson(row["value"], positives)
        if kind == "rows":
            assert (row["lower"], row["upper"]) == pytest.approx((lower, upper), abs=1e-9)
        assert row["upper"] - row["lower"] > 0.999 * (upper - lower)
    values = pl.read_parquet(outcome.folder / "scenarios.parquet").filter(metric="precision")
    assert values["model"].to_list() == ["a", "b"]
    for row in values.iter_rows(named=True):
        cells = repeated_log().filter(model=row["model"])
        said = cells["score"] >= 1.5
        tpr, fpr = (wilson(said.filter(cells["label"] == value).mean(), size) for value, size in
                    ((True, positives), (False, 240 - positives)))  # fmt: skip
        bounds = [0.05 * a / (0.05 * a + 0.95 * b) for a, b in zip(tpr, fpr[::-1], strict=True)]
        if kind == "rows":
            assert [row["lower"], row["upper"]] == pytest.approx(bounds, abs=1e-6)
        assert row["upper"] - row["lower"] > 0.999 * (bounds[1] - bounds[0])


def test_the_report_is_that_of_a_comparison_by_repeats(ran):
    kind, outcome = ran
    read = nf.scan_predictions(rows(), repeat="again", fold="fold", segments="half", unit="unit")
    keys = ["repeat", "fold", "half"]
    if kind == "with units":
        read, keys = nf.unit_buckets(read, buckets=64), [*keys, "bucket"]
    counts = nf.count_confusion(read if "bucket" in keys else read.drop("unit"), thresholds="exact", by=keys)
    expected = nf.compare_models(
        counts, prevalence=[0.05, 0.2], beta=[1.0], threshold=1.5, repeat="repeat", fold="fold"
    )
    for name in ("areas", "best"):
        table = pl.read_parquet(outcome.folder / f"tables/{name}.parquet")
        columns = ["model", "prevalence", "value", "std", "rank"]
        assert table.select(columns).equals(getattr(expected, name).select(columns)), name
    content = read_json(outcome.folder / "report.json")
    assert content["questions"]["spread"]["rows"]
    # Of 12 units of "few", three times, some 3 positives: fewer than 20, also if repeats were rows.
    points = pl.read_parquet(outcome.folder / "tables/segment_points.parquet")
    assert points["half"].unique().sort().to_list() == ["most", "other"]
