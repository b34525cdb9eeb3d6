"""Runs that are logged to MLflow, in a file store; skipped where the extra ``mlflow`` is not installed."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nci_frames.commands.cli import main
from tests.small_jobs import small_job, write_night, write_nights

GATE = '[[gates]]\nname = "finds: most?"\nmetric = "recall"\nvalue_threshold = { lower = 0.5 }\n'

pytestmark = pytest.mark.filterwarnings("ignore")


def test_runs_are_logged_once_with_their_verdicts_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="no MLflow: pip install 'nci_frames[mlflow]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (tmp_path / "mlruns").as_uri()
    write_nights(tmp_path / "logs", 1)
    output = f'[output]\nmlflow = {{ uri = "{store}" }}\n'
    job = small_job(tmp_path, GATE + output)
    first = CliRunner().invoke(main, ["run", str(job), "--run-id", "monday"])
    assert first.exit_code == 0, first.output
    write_night(tmp_path / "logs" / "2026-03-02" / "a.parquet", 400, 0.1)
    assert CliRunner().invoke(main, ["run", str(job), "--run-id", "tuesday"]).exit_code == 10
    client = mlflow.MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name("small")
    tuesday, monday = client.search_runs([experiment.experiment_id])
    assert (monday.info.run_name, monday.data.tags["verdict"]) == ("monday", "pass")
    assert (tuesday.info.run_name, tuesday.data.tags["verdict"]) == ("tuesday", "fail")
    name = "finds_ most_/forest"
    assert 0.7 < monday.data.metrics[name] < 0.9
    assert monday.data.metrics[f"{name} lower"] < monday.data.metrics[name]
    assert client.get_metric_history(tuesday.info.run_id, name)[0].step == 2
    files = {file.path for file in client.list_artifacts(monday.info.run_id)}
    assert {"manifest.json", "report.json", "verdicts.json", "history.html"} <= files


def test_an_mlflow_that_does_not_answer_is_exit_4_after_the_run_is_published(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="no MLflow: pip install 'nci_frames[mlflow]'")
    write_nights(tmp_path / "logs", 1)
    (tmp_path / "file").write_text("")
    job = small_job(tmp_path, f'[output]\nmlflow = {{ uri = "file://{tmp_path}/file/below" }}\n')
    ended = CliRunner().invoke(main, ["run", str(job)])
    assert ended.exit_code == 4
    assert "the run is published, but MLflow did not take it" in ended.output
    assert (tmp_path / "out" / "latest.json").exists()


def test_without_the_package_it_says_which_extra_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    write_nights(tmp_path / "logs", 1)
    job = small_job(tmp_path, "[output]\nmlflow = {}\n")
    ended = CliRunner().invoke(main, ["run", str(job)])
    assert ended.exit_code == 2
    assert "nci_frames[mlflow]" in ended.output
    assert not (tmp_path / "out").exists()
