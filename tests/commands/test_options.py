"""What can be asked of a report is stated once: options of commands and keys of a job file come from it."""

import dataclasses
import json
import tomllib
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from nci_frames.base.errors import OutputError
from nci_frames.commands.cli import main
from nci_frames.jobs import report
from nci_frames.jobs.job_file.loading import job_schema
from nci_frames.options.report import ReportOptions, SegmentOptions
from nci_frames.options.setting import Setting
from tests.small_jobs import KEYS, SMALL, ended, facts_of, read_json, small_job, write_nights

QUESTIONS = ('at = "2%"\ncost = [200, "1/5", 8]', 'alerts = 50\nvolume = "2k"\nmetric = "mcc"')


@pytest.mark.parametrize("table", [ReportOptions, SegmentOptions])
def test_every_setting_is_an_option_and_a_key(table):
    keys = json.loads(job_schema())["$defs"]["Report" if table is ReportOptions else "Segments"]
    for command in ("report", *(["demo"] if table is ReportOptions else [])):
        options = {param.name: param for param in main.get_command(None, command).params}
        for field in dataclasses.fields(table):
            if (command, field.name) == ("demo", "title"):
                continue
            option = options[field.name]
            assert option.help == keys["properties"][field.name]["description"]
            assert option.type is Setting.of(table, field.name).kind


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(ReportOptions)])
def test_every_option_of_a_report_is_in_the_template_of_jobs_and_on_its_page(field):
    template = Path(report.__file__).with_name("job.toml").read_text(encoding="utf-8")
    assert f"{field} = " in template, f"show {field!r} in [report] of nci_frames/jobs/job.toml"
    page = Path(__file__).parents[2] / "docs" / "report.md"
    option = f"`--{Setting.of(ReportOptions, field).flag or field} "
    assert option in page.read_text(encoding="utf-8"), "say in docs/report.md what it does"


@pytest.mark.long
@pytest.mark.parametrize("asked", QUESTIONS)
def test_a_job_and_the_command_answer_alike(tmp_path, asked):
    write_nights(tmp_path / "logs", 2)
    text = SMALL.replace("0.25, 0.5", "0.25, 0.35, 0.5")
    job = small_job(tmp_path, text=text.replace("tables = []", 'tables = ["parquet"]') + asked)
    ended(0, "run", job, "--run-id", "one")
    options = ["--thresholds", "0,0.25,0.35,0.5,0.75", "-p", "1%,1/10", "-b", "1", "--format", "json"]
    for name, value in tomllib.loads(asked).items():
        options += [f"--{name}", ":".join(map(str, value)) if isinstance(value, list) else value]
    ended(0, "report", tmp_path / "logs", *options, "--out", tmp_path / "command")
    folders = tmp_path / "out/runs/one", tmp_path / "command"
    of_job, of_command = (read_json(folder / "report.json") for folder in folders)
    for part in ("question", "answer", "questions"):
        assert of_job[part] == of_command[part]
    for name in ("answer", "answer_winners"):
        one, other = (pl.read_parquet(folder / f"tables/{name}.parquet") for folder in folders)
        assert_frame_equal(one, other)


@pytest.mark.long
def test_what_a_job_writes_besides(tmp_path):
    write_nights(tmp_path / "logs", 1)
    (tmp_path / "field.csv").write_text("country,prevalence,share\nat,0.01,0.4\nde,0.1,0.6\n")
    text = SMALL.replace("[0.01, 0.1]", '"field.csv"').replace('["json"]', '["txt", "json"]')
    text = text.replace("tables = []", 'tables = ["csv"]\ncharts = ["json"]')
    job = small_job(tmp_path, KEYS, text)
    ended(0, "run", job, "--run-id", "one")
    run = tmp_path / "out/runs/one"
    assert {"answer", "counts", "field_projection"} <= {path.stem for path in (run / "tables").iterdir()}
    assert "p3" in {path.stem for path in (run / "charts").iterdir()}
    assert "Choose forest" in (run / "report.txt").read_text()
    assert facts_of(run)["models"] == "1"


def test_the_answer_is_told_before_a_file_is_written(tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OutputError("the disk is full")

    monkeypatch.setattr(report, "write_form", full)
    done = ended(4, "report", *write_nights(tmp_path, 1), "-p", "0.1", "-b", "1", "--out", tmp_path / "out")
    assert "Choose forest" in done.output


@pytest.mark.long
def test_a_report_is_asked_by_a_job_file(tmp_path):
    write_nights(tmp_path / "logs", 1)
    (tmp_path / "field.csv").write_text("country,prevalence\nat,0.01\nde,0.1\n")
    (tmp_path / "asked.toml").write_text(
        'thresholds = [0, "1/4", 0.5, 0.75]\n[columns]\nscores = { other = "score" }\npositive = 1\n'
        '[segments]\nkeys = ["country"]\n[report]\nalerts = "1/2"\nvolume = "1k"\nthreshold = 0.35\n'
        'prevalence = "field.csv"\nformats = ["json"]\ntables = []\n'
    )
    out, asked = tmp_path / "report", tmp_path / "asked.toml"
    ended(0, "report", tmp_path / "logs", "--config", asked, "--alerts", "50", "--out", out)
    told = read_json(out / "report.json")
    assert told["question"]["alerts"] == 50  # an option that is given comes before the file
    assert told["question"]["volume"] == 1000
    # The four of the file, and that of the question.
    assert facts_of(out)["thresholds"] == "5, as asked"
    assert {row["model"] for row in told["answer"]} == {"other"}
    assert {row["segment"]["country"] for row in told["segments"]} == {"at", "de"}
    assert {file.name for file in out.iterdir()} == {"manifest.json", "report.json"}


def test_a_job_file_is_refused_for_more_than_two_classes_by_its_own_name(tmp_path):
    (tmp_path / "asked.toml").write_text('[report]\nmetric = "accuracy"\n')
    told = ended(2, "report", tmp_path, "--classes", "--config", tmp_path / "asked.toml").output
    assert "--config is an option of reports on two classes" in told


def test_a_report_that_would_not_fit_into_memory_is_refused_before_it_is_made(tmp_path, monkeypatch):
    rows = pl.DataFrame({"model": "a", "label": [0, 1] * 500, "score": [i / 1000 for i in range(1000)]})
    rows.with_columns(shop=pl.int_range(1000) % 5).write_parquet(tmp_path / "log.parquet")
    command = ["report", tmp_path / "log.parquet", "--segments", "shop", "--out", tmp_path / "out"]
    command += ["--format", "json", "--prevalence", "0.1", "--beta", "1"]
    # Enough to count the rows.
    monkeypatch.setattr("nci_frames.base.memory.machine_memory", lambda: 5e5)
    told = " ".join(ended(2, *command).output.split())
    assert "the result takes 0.000384 GB, and the limit is 0.00025 GB" in told
    assert "1,000 rows of counts, 5 groups by model, shop" in told
    assert "take fewer --segments or --thresholds" in told
    assert not (tmp_path / "out").exists()
