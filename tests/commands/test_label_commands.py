"""From a log to rows to label to a report, as docs/labelling.md says."""

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

import nci_frames as nf
from tests.logs import unit_log
from tests.small_jobs import ended, read_json

PAGE = Path(__file__).parents[2] / "docs" / "labelling.md"


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """A log without labels, the labels that somebody would give, and an old test set."""
    monkeypatch.chdir(tmp_path)
    rows = unit_log({"a": 3.0}, 40_000, share=0.01)
    rows.select("model", "score", "unit").write_parquet("traffic.parquet")
    unit_log({"a": 3.0}, (300, 3700), seed=1).drop("unit").write_parquet("labelled.parquet")
    return rows


def commands():
    lines = re.findall(r"^\$ (nci-frames .*)$", PAGE.read_text(), re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.long
def test_the_commands_of_the_page(logs):
    plan, draw, report = commands()
    told = ended(0, *plan).output
    assert "plan of twice the budget" in told
    drawn = ended(0, *draw).output
    assert "400 rows to label" in drawn
    assert "report them with --weight weight" in " ".join(drawn.split())
    rows = pl.read_csv("to-label.csv")
    assert rows.columns == ["model", "score", "unit", "stratum", "weight"]
    scan = nf.scan_predictions("traffic.parquet", label=None)
    assert rows.equals(nf.draw_labels(scan, pl.read_csv("labels-plan.csv"), seed=7).collect())
    labelled = rows.join(logs.select("unit", "label"), on="unit", maintain_order="left")
    labelled.write_csv("labelled.csv")
    ended(0, *report)
    told = read_json(Path("nci-report/report.json"))
    assert told["answer"]
    # Flagged rows are known by design; found positives and all positives are estimated without bias.
    flagged, weight = pl.col("score") >= 2.5, pl.col("weight")
    assert labelled.filter(flagged)["weight"].sum() == pytest.approx((logs["score"] >= 2.5).sum())
    found = labelled.filter("label").select((weight * flagged).sum() / weight.sum()).item()
    assert 0 < found < 1
    assert found == pytest.approx(logs.filter("label").select(flagged.mean()).item(), abs=0.25)


def test_two_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = unit_log({"new": 0.0, "old": 0.0}, 2000, alike=0.9).drop("label")
    log.with_columns(score=1 / (1 + (-pl.col("score")).exp())).write_parquet("log.parquet")
    told = ended(0, "plan-labels", "log.parquet", "-n", "50", "--metric", "recall", "--compare", "new,old",
                "--threshold", "new=0.6,old=0.5", "--unit", "unit", "-o", "plan.parquet").output  # fmt: skip
    assert "both" in told
    assert "at confidence 0.95, if the scores are probabilities" in told
    draw = ("draw-labels", "log.parquet", "plan.parquet", "--unit", "unit", "-o", "rows.parquet")
    assert "100 rows" in ended(0, *draw).output
    drawn = pl.read_parquet("rows.parquet")
    assert drawn.group_by("unit").len()["len"].unique().to_list() == [2]


@pytest.mark.thorough
def test_a_pilot_of_rows_needs_no_units_that_must_be_named_otherwise(logs):
    asked = ("-n", "50", "--metric", "recall", "--threshold", "2.5", "--pilot", "labelled.parquet")
    told = ended(0, "plan-labels", "traffic.parquet", *asked, "--units", "--unit", "unit").output
    assert "half-widths to expect" in told
    assert "if the scores are probabilities" not in told
    assert pl.read_csv("labels-plan.csv")["labels"].sum() == 50
    told = ended(3, "plan-labels", "traffic.parquet", *asked, "--units").output
    assert "no column of units was named" in told
    assert "name the column with --unit unit" in told


def test_plan_compares(monkeypatch):
    told = ended(0, "plan", "--compare", "recall", "--tpr", "0.8,0.7", "--correlation", "0.5").output
    assert re.search(r"paired\W+153\W", told)
    # Names of columns break between words.
    monkeypatch.setenv("COLUMNS", "80")
    rates = ("--tpr", "0.8,0.7", "--fpr", "0.01,0.02", "--prevalence", "0.001", "--correlation", "0.5")
    assert ended(0, "plan", "--compare", "recall", *rates).stdout.split().count("discordant_") == 2


@pytest.mark.thorough
def test_no_output_replaces_a_log_or_the_plan(logs):
    asked = ("--budget", "50", "--metric", "recall", "--threshold", "2.5", "--pilot", "labelled.parquet")
    ended(0, "plan-labels", "traffic.parquet", *asked)
    draw = ("draw-labels", "traffic.parquet", "labels-plan.csv")
    before = {
        name: Path(name).read_bytes() for name in ("traffic.parquet", "labelled.parquet", "labels-plan.csv")
    }
    for command, out in (
        (("plan-labels", "traffic.parquet", *asked), "traffic.parquet"),
        (("plan-labels", "*.parquet", *asked), "plan.parquet"),
        (("plan-labels", "traffic.parquet", *asked), "labelled.parquet"),
        (draw, "./traffic.parquet"),
        (draw, "labels-plan.csv"),
    ):
        assert "the output lies among the sources" in ended(2, *command, "--out", out).output
    assert {name: Path(name).read_bytes() for name in before} == before
