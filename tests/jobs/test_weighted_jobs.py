"""A job whose logs are down-sampled: all positives, and one negative in a hundred with weight 100."""

from pathlib import Path

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.jobs.counting_units import MOST_COUNTS, affordable
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.run import run_job
from tests.logs import unit_log
from tests.small_jobs import ended, facts_of, job_text, latest, read_json, small_job, write_log

JOB = job_text(
    name="rare",
    thresholds=[n / 4 for n in range(25)],
    source={"path": "log.parquet"},
    report={"prevalence": [0.001, 0.01], "threshold": 2.0, "at": 0.01, "formats": ["json"], "tables": []},
    gates=[
        {"name": "recall", "metric": "recall", "value_threshold": {"lower": 0.5}},
        {"name": "precision", "metric": "precision", "prevalence": 0.01, "min_positives": 100}
        | {"value_threshold": {"lower": 0.05, "upper": 0.9}},
        {"name": "drop", "metric": "pr_auc", "prevalence": 0.01, "change_threshold": {"relative": 0.3}},
        {"name": "champion", "champion": {"model": "b", "prevalence": [0.01]}},
    ],
)
WEIGHED = '\n[columns]\nweight = "weight"\n'


def full_log(rows: int = 60_000) -> pl.DataFrame:
    positives = rows // 150
    return unit_log({"a": 2.0, "b": 3.5}, (positives, rows - positives), seed=1).drop("unit")


def down_sampled(log: pl.DataFrame, one_in: int = 100) -> pl.DataFrame:
    """Keep every positive, and one negative in so many, with this weight."""
    kept = log.filter(pl.col("label") | (pl.int_range(pl.len()).over("model", "label") % one_in == 0))
    return kept.with_columns(weight=pl.when("label").then(1.0).otherwise(float(one_in)))


def run(folder: Path, log: pl.DataFrame, text: str, times: int = 2) -> tuple[pl.DataFrame, dict[str, object]]:
    """Run a job, twice so that the second run has one to compare with."""
    write_log(folder / "log.parquet", log)
    file = read_job(small_job(folder, text=text))
    for _ in range(times):
        outcome = run_job(file)
    return outcome.verdicts, read_json(latest(folder) / "report.json")


def test_a_job_without_its_column_of_weights_is_told_the_key(tmp_path: Path) -> None:
    write_log(tmp_path / "log.parquet", full_log(600))
    told = ended(3, "run", small_job(tmp_path, WEIGHED, JOB)).stderr
    assert "name the column with columns.weight = " in told


@pytest.mark.long
def test_a_down_sampled_log_gives_the_report_and_verdicts_of_the_full_one(tmp_path: Path) -> None:
    log = full_log()
    whole, asked = run(tmp_path / "full", log, JOB)
    verdicts, told = run(tmp_path / "few", down_sampled(log), JOB + WEIGHED)
    assert verdicts["verdict"].to_list() == whole["verdict"].to_list()
    assert set(verdicts.filter(gate="champion")["verdict"]) == {"pass"}
    joined = verdicts.join(whole, on=["gate", "model"], suffix="_whole")
    assert joined.height == verdicts.height
    for row in joined.drop_nulls("lower").iter_rows(named=True):
        assert row["lower"] <= row["value_whole"] <= row["upper"], row["gate"]
    # Recall is that of the same positives; the rows say how many there are in the traffic.
    recall = joined.filter(gate="recall")
    assert recall["value"].to_list() == recall["value_whole"].to_list()
    assert recall["lower"].to_list() == pytest.approx(recall["lower_whole"].to_list(), rel=1e-9)
    assert recall["positives"].to_list() == recall["positives_whole"].to_list()
    assert recall["negatives"].to_list() == pytest.approx(recall["negatives_whole"].to_list(), rel=0.01)
    assert (joined.filter(gate="drop")["difference"] == 0).all()
    for one, other in zip(told["answer"], asked["answer"], strict=True):  # type: ignore[call-overload]
        assert one["model"] == other["model"]
        assert one["lower"] <= other["value"] <= one["upper"]
        assert one["distinguishable"] == other["distinguishable"]


@pytest.mark.long
def test_few_positives_of_several_weights_are_told_with_what_they_are_worth(tmp_path: Path) -> None:
    heavy = pl.int_range(pl.len()) % 7 == 0
    log = full_log(3_000).with_columns(weight=pl.when(heavy).then(50.0).otherwise(1.0))
    verdicts, _ = run(tmp_path / "few", log, JOB + WEIGHED, times=1)
    for reason in verdicts.filter(gate="precision")["reason"]:
        assert "independent ones, fewer than 100" in reason


@pytest.mark.thorough
def test_a_report_of_too_many_weights_says_what_the_rows_are_worth(tmp_path: Path) -> None:
    log = full_log(6_000).filter(model="a").with_columns(weight=1 + pl.int_range(pl.len()) % 1500 / 7)
    log.write_parquet(tmp_path / "log.parquet")
    asked = ["--weight", "weight", "--prevalence", "0.01", "--threshold", "1", "--thresholds", "uniform:11"]
    ended(0, "report", tmp_path / "log.parquet", *asked, "--format", "json", "--out", tmp_path / "out")
    weights = (log.filter(label=label)["weight"] for label in (True, False))
    worth = [f"{weight.sum() ** 2 / (weight**2).sum():,.0f}" for weight in weights]
    told = f"its positives are worth {worth[0]} rows of one weight (Kish), its negatives {worth[1]};"
    assert facts_of(tmp_path / "out")["more than 1,000 weights"].startswith(told)


def test_the_weights_of_a_log_count_among_the_groups_by_buckets() -> None:
    log = full_log(300).with_columns(weight=1.0 + pl.int_range(pl.len()) % 40)
    counts = nf.count_confusion(log, thresholds=[0.0])
    thresholds = MOST_COUNTS // (2 * 40 * 96)
    assert affordable(counts, [], [], thresholds) == ([], 96)
    assert affordable(nf.pool_counts(counts, over="weight"), [], [], thresholds) == ([], 256)
