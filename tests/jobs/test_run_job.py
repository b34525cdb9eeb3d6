"""Runs of a job: what is counted, judged, published and told."""

import base64
import json
import re
import shutil
from datetime import UTC, datetime
from hashlib import sha256
from html import unescape
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as read_plain

import nci_frames as nf
from nci_frames.base.folders import changed_files
from nci_frames.jobs.counted_files import count_files
from nci_frames.jobs.history import changes_since
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.publishing import Shelf
from tests.hostile import NAMES
from tests.logs import counts_at
from tests.small_jobs import KEYS, RECALL, SMALL, call, ended, latest, small_job, write_night, write_nights


@pytest.mark.thorough
@pytest.mark.parametrize(("windows", "until"), [(None, None), (1, None), (2, None), (1, 3), (None, 3)])
def test_what_is_said_of_the_data_is_of_the_rows_that_are_reported(tmp_path, windows, until):
    write_nights(tmp_path / "logs", 3)
    write_night(tmp_path / "undated" / "a.parquet", 50, 0.8, seed=9)
    text = SMALL.replace("path = ", 'path = ["undated", ').replace('parquet"\n', 'parquet"]\n')
    file = read_job(small_job(tmp_path, text=text))
    before = None if until is None else datetime(2026, 3, until, tzinfo=UTC)
    feed = file.job.feeds[0]._replace(windows=windows)
    count_files(file, feed, until=None)
    counts = count_files(file, feed, until=before)
    reported = counts.by([], "all").filter(threshold=0.5)
    rows = sum(reported.select(pl.sum_horizontal("tp", "fp", "fn", "tn")).to_series())
    facts = dict(counts.facts())
    assert facts["rows counted"] == f"{rows:,}"
    dated = min(windows or 3, (until or 4) - 1)
    assert facts["windows"].startswith(f"{dated}, the newest from 2026-03-0{(until or 4) - 1} 00:00")
    # The file without a date belongs to no window, so only a report of all rows has it.
    files = dated + (windows is None and until is None)
    assert facts["sources"] == f"{files}, of which 0 new"


@pytest.mark.long
def test_init_check_run_with_the_example(tmp_path):
    job = tmp_path / "nightly" / "job.toml"
    ended(0, "init", job.parent, "--example")
    assert len(list(job.parent.glob("logs/*/*.parquet"))) == 5
    ended(2, "init", job.parent)
    # Fewer numbers, so that the test is quick.
    text = job.read_text().replace('"1e-4:0.5:round"', "[0.01, 0.1]").replace("lin:9", "lin:2")
    job.write_text(text.replace('"logit:501"', '"uniform:11"'))
    checked = ended(0, "check", job)
    assert "files:    5 (5 new)" in checked.stdout
    assert "windows:  5, from 2026-03-01 00:00 to 2026-03-06 00:00 UTC" in checked.stdout
    assert not (job.parent / "ledger").exists()
    ran = ended(0, "run", job)
    assert re.match(r"nightly 000001-\d{8}T\d{6}Z: PASS \(\d+ passed, 0 failed", ran.stdout)
    assert len(ran.stdout.splitlines()) == 1
    folder = latest(job.parent)
    report = (folder / "report.html").read_text()
    assert '<section id="gates"' in report
    assert "1 run so far" in report
    assert "data:image/svg+xml" not in report
    assert call("check", job).stdout.startswith("files:    5 (5 known)")


def test_init_does_not_replace_what_is_there(tmp_path):
    log = write_nights(tmp_path / "nightly" / "logs", 1)[0]
    before = log.read_bytes()
    refused = ended(2, "init", tmp_path / "nightly", "--example")
    assert "there are logs already" in refused.output
    assert log.read_bytes() == before


@pytest.mark.long
def test_check_finds_columns_that_are_none_and_changed_files(tmp_path):
    paths = write_nights(tmp_path / "logs", 2)
    job = small_job(tmp_path, '[columns]\nlabel = "truth"\n')
    checked = ended(3, "check", job)
    told = f"failed: 2 files ({str(paths[0])!r}, {str(paths[1])!r}): missing column 'truth' (the label)"
    assert checked.stdout.count("failed:") == checked.stdout.count(told) == 1
    job = small_job(tmp_path, '[columns]\nlabel = "country"\n')
    ended(3, "check", job)
    # A table of texts in place of Parquet, in one of the files.
    job = small_job(tmp_path, text=SMALL.replace("*.parquet", "*"))
    (tmp_path / "logs" / "2026-03-02" / "b.csv").write_text("model,label,points\na,1,0.5\n")
    checked = call("check", job)
    assert (checked.exit_code, checked.stdout.count("failed:")) == (3, 1)
    (tmp_path / "logs" / "2026-03-02" / "b.csv").unlink()
    ended(0, "check", job)
    assert not (tmp_path / "ledger").exists()
    ended(0, "run", job)
    write_night(paths[0], 50, 0.8, seed=9)
    assert "changed: " in ended(3, "check", job).stdout
    kept = job.read_text().replace("[source]", '[source]\non_changed = "keep"')
    ended(0, "check", small_job(tmp_path, text=kept))


def test_a_job_names_the_key_for_logs_with_a_column_for_each_model(tmp_path):
    log = tmp_path / "logs" / "2026-03-01" / "a.parquet"
    log.parent.mkdir(parents=True)
    pl.DataFrame({"label": [0, 1], "p_forest": [0.2, 0.8]}).write_parquet(log)
    told = ended(3, "check", small_job(tmp_path)).output
    assert 'name the score column of each with columns.scores = { "<model>" = "<column>" }' in told
    assert "--scores" not in told


@pytest.mark.long
def test_the_verdict_sets_the_exit_code_and_what_was_good_is_kept(tmp_path):
    write_nights(tmp_path / "logs", 1)
    gate = RECALL + 'window = "last"\nundecided = "fail"\n'
    job = small_job(tmp_path, gate)
    ended(0, "run", job, "--run-id", "good")
    write_night(tmp_path / "logs" / "2026-03-02" / "a.parquet", 200, 0.3)
    failed = ended(10, "run", job, "--run-id", "bad")
    assert "FAIL (0 passed, 1 failed, 0 undecided); finds: forest recall" in failed.stdout
    write_night(tmp_path / "logs" / "2026-03-03" / "a.parquet", 40, 0.6)
    small_job(tmp_path, gate, SMALL.replace('["json"]', '["html", "md"]'))
    ended(11, "run", job, "--run-id", "open")
    pointer = json.loads((tmp_path / "out" / "latest.json").read_text())
    assert (pointer["run"], pointer["verdict"], pointer["last_good"]["run"]) == ("open", "undecided", "good")
    history = pl.read_parquet(latest(tmp_path) / "history.parquet")
    assert history["run"].to_list() == ["good", "bad", "open"]
    assert history["verdict"].to_list() == ["pass", "fail", "undecided"]
    assert history["window_start"].dt.day().to_list() == [1, 2, 3]
    page = (latest(tmp_path) / "history.html").read_text()
    assert "What changed since the last good run" in page
    assert "with that of the last good run, at threshold 0.5." in page
    assert "as it is counted now, at threshold 0.5." in page
    assert ">rows read</th>" in page  # also those that on_invalid = "drop" left out
    assert page.count("data:image/svg+xml") == 3  # the trend of the gate; recall and FPR by date
    # The page of the report has the verdicts and the trend as well, and leads to the rest.
    report = (latest(tmp_path) / "report.html").read_text()
    assert 'Run open: <span class="undecided">undecided</span>, by 1 undecided.' in report
    assert "3 runs so far; the last good one is good." in report
    assert '<a href="history.html">The history</a>' in report
    assert report.count("data:image/svg+xml") == 1
    # So has the Markdown form, in the same words.
    text = (latest(tmp_path) / "report.md").read_text().replace("\\", "")
    assert "Run open: **undecided**, by 1 undecided.\n3 runs so far; the last good one is good." in text
    (cells,) = re.findall(r'<th scope="row">finds</th>(.*?)</tr>', report)
    shown = [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", cells)]
    assert shown[-1] == "the bounds contain the limit"
    assert f"| finds | {' | '.join(shown)} |" in text
    # Each trend has its data beside it, the same on both pages.
    (data,) = re.findall(r'download="trend-1.csv" href="data:text/csv;base64,([^"]+)"', report)
    assert data in page
    trend = pl.read_csv(base64.b64decode(data))
    assert trend["run"].to_list() == ["good", "bad", "open"]
    assert trend["value"].to_list() == pytest.approx(history["value"].to_list(), abs=1e-12)
    # Retention keeps the last good run, however old.
    small_job(tmp_path, gate + "\n[output]\nkeep = 1\n")
    ended(11, "run", job, "--run-id", "again")
    assert sorted(path.name for path in (tmp_path / "out" / "runs").iterdir()) == ["again", "good"]
    # The name of a run that was deleted stays taken.
    ended(5, "run", job, "--run-id", "bad")
    schema = json.loads((Path(__file__).parents[2] / "docs" / "verdicts.schema.json").read_text())
    jsonschema.validate(json.loads((latest(tmp_path) / "verdicts.json").read_text()), schema)


def test_changes_are_split_into_class_balance_and_model():
    """The same rates with half of the share of positives: all of the change is class balance."""
    good, now = (nf.compute_rates(counts_at(40, rows // 10, 50, rows, model="forest")) for rows in (100, 200))
    assert changes_since(None, now) is changes_since(good.drop("threshold"), now) is None
    # A night without rows was the newest one.
    assert changes_since(good.clear(), now) is None
    assert changes_since(good, now.clear()).is_empty()
    # A key with another type has other segments.
    assert changes_since(good.with_columns(tier=pl.lit("a")), now.with_columns(tier=1)) is None
    # Another threshold in the job file is no change of the model.
    assert changes_since(good.with_columns(threshold=0.25), now) is None
    split = changes_since(good, now)
    assert split["metric"].to_list() == ["precision", "f_beta"]
    row = split.row(0, named=True)
    assert (row["reference_value"], row["value"]) == (0.8, pytest.approx(2 / 3))
    assert row["due_to_rates"] == pytest.approx(0, abs=1e-12)


def test_a_run_that_cannot_be_deleted_is_not_said_to_be(tmp_path):
    for number, name in enumerate("abc"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "manifest.json").write_text(json.dumps({"sequence": number}))
    # Something is in the place to which the run is moved first.
    (tmp_path / "runs" / ".a.new").touch()
    assert Shelf(tmp_path).retire(1, set()) == ["b"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [".a.new", "a", "c"]


@pytest.mark.long
def test_a_run_is_published_whole_and_one_at_a_time(tmp_path):
    write_nights(tmp_path / "logs", 1)
    job = small_job(tmp_path)
    ended(0, "run", job, "--run-id", "a")
    with Shelf(tmp_path / "out").locked():
        busy = ended(5, "run", job)
    assert "another run that writes here has not ended" in busy.output
    # A kill came between the name of a run and the pointer: it is built again.
    pointer = (tmp_path / "out" / "latest.json").read_bytes()
    ended(0, "run", job, "--run-id", "b")
    (tmp_path / "out" / "latest.json").write_bytes(pointer)
    ended(0, "run", job, "--run-id", "b")
    ended(5, "run", job, "--run-id", "b")
    ended(2, "run", job, "--run-id", "../b")
    ended(2, "run", job, "--run-id", "")
    # One bit of a file of the latest run ends the next one.
    assert changed_files(latest(tmp_path)) == []
    history = latest(tmp_path) / "history.parquet"
    content = bytearray(history.read_bytes())
    content[len(content) // 2] ^= 1
    history.write_bytes(content)
    assert changed_files(latest(tmp_path)) == ["history.parquet"]
    assert "history.parquet" in ended(3, "run", job).output


@pytest.mark.parametrize("place", ["out", "ledger"])
def test_a_file_in_place_of_the_output_or_of_the_ledger_ends_the_run(tmp_path, place):
    write_nights(tmp_path / "logs", 1)
    (tmp_path / place).write_text("a file")
    ended(4, "run", small_job(tmp_path))


@pytest.mark.long
def test_scenarios_are_reported_for_each_segment(tmp_path):
    paths = write_nights(tmp_path / "logs", 2)
    (tmp_path / "markets.csv").write_text("country,prevalence\nde,0.02\nuk,0.05\n")
    scenarios = '[scenarios]\nEU = 0.001\nmarkets = { by = "country", table = "markets.csv" }\n'
    ended(0, "run", small_job(tmp_path, KEYS + scenarios))
    table = pl.read_parquet(latest(tmp_path) / "scenarios.parquet")
    counted = nf.count_confusion(nf.scan_predictions(paths, segments="country"), thresholds=[0.5])
    for scenario, eta, cells in (
        ("EU", 0.001, nf.pool_counts(counted, over="country").row(0, named=True)),
        ("markets", 0.02, counted.filter(country="de").row(0, named=True)),
    ):
        hits, alarms = (cells[a] / (cells[a] + cells[b]) for a, b in (("tp", "fn"), ("fp", "tn")))
        precision = eta * hits / (eta * hits + (1 - eta) * alarms)
        row = table.filter(scenario=scenario, model="forest", metric="precision").row(0, named=True)
        assert row["prevalence"] == eta
        assert row["value"] == pytest.approx(precision)
        assert row["lower"] < precision < row["upper"]
    told = table.filter(pl.col("model").is_null(), metric="precision")
    assert told.select("segment", "prevalence", "reason").rows() == [
        ('{"country": "at"}', None, "the scenario has no prevalence for it"),
        ('{"country": "uk"}', 0.05, "no row of the log is of it"),
    ]
    page = (latest(tmp_path) / "history.html").read_text()
    assert "prevalence by country: de 0.02, uk 0.05" in page
    assert re.search(r'<th scope="row">markets</th><td>country = de</td>', page)
    report = json.loads((latest(tmp_path) / "report.json").read_text())
    assert "scenario EU" in json.dumps(report["facts"])


@pytest.mark.long
def test_a_change_of_the_job_file_is_none_of_the_model_nor_of_the_files(tmp_path):
    """Precision at 0.5, then recall at 0.6, which is counted anew: neither better, nor late."""
    write_nights(tmp_path / "logs", 2)
    gate = '[[gates]]\nname = "no worse"\nundecided = "fail"\nchange_threshold = { absolute = 0.3 }\n'
    job = small_job(tmp_path, gate + 'metric = "precision"\n')
    ended(0, "run", job)
    ended(0, "run", job)
    assert pl.read_parquet(latest(tmp_path) / "verdicts.parquet")["verdict"].item() == "pass"
    small_job(tmp_path, gate + 'metric = "recall"\nthreshold = 0.6\n')
    ended(0, "run", job)
    told = pl.read_parquet(latest(tmp_path) / "verdicts.parquet").select("verdict", "reason").row(0)
    assert told == ("undecided", "the gate had metric precision, threshold 0.5 in the last good run")
    assert pl.read_parquet(latest(tmp_path) / "arrivals.parquet")["arrival"].to_list() == ["new", "new"]
    ended(0, "run", job)
    assert pl.read_parquet(latest(tmp_path) / "verdicts.parquet")["verdict"].item() == "pass"
    # Four runs, of which two were about recall.
    (data,) = re.findall(
        r'download="trend-1.csv" href="data:text/csv;base64,([^"]+)"',
        (latest(tmp_path) / "history.html").read_text(),
    )
    assert pl.read_csv(base64.b64decode(data))["value"].to_list() == [pytest.approx(0.8, abs=0.2)] * 2


@pytest.mark.long
def test_a_history_of_an_earlier_version_is_read(tmp_path):
    write_nights(tmp_path / "logs", 1)
    job = small_job(tmp_path, RECALL)
    ended(0, "run", job)
    run = latest(tmp_path)
    history, manifest = run / "history.parquet", json.loads((run / "manifest.json").read_text())
    pl.read_parquet(history).drop("difference", "rival").write_parquet(history)
    manifest["files"]["history.parquet"]["sha256"] = sha256(history.read_bytes()).hexdigest()
    (run / "unusual.parquet").unlink()
    del manifest["files"]["unusual.parquet"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    write_nights(tmp_path / "logs", 2)
    ended(0, "run", job)
    assert pl.read_parquet(latest(tmp_path) / "history.parquet")["run"].n_unique() == 2


@pytest.mark.parametrize(
    ("source", "output", "code"),
    [
        ("logs", 'folder = "logs/out"', 2),
        ("logs/{date:%Y-%m-%d}", 'folder = "logs/2026-03-02/out"', 2),
        ("logs/{date:%Y-%m-%d}/**/*.parquet", 'ledger = "logs/2026-03-01/ledger"', 2),
        ("logs/*/*.parquet", 'folder = "."', 0),
        ("logs/{date:%Y-%m-%d}/*.parquet", 'folder = "logs"\nledger = "logs/ledger"', 0),
    ],
)
def test_the_next_run_must_not_find_the_output(tmp_path, source, output, code):
    write_nights(tmp_path / "logs", 1)
    text = SMALL.replace("logs/{date:%Y-%m-%d}/*.parquet", source)
    job = small_job(tmp_path, f"\n[output]\n{output}\n", text=text)
    ran = ended(code, "check", job)
    if code == 2:
        assert "lies among the sources" in ran.stderr
        assert call("run", job).stderr == ran.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml", "logs"]


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("job.toml", 4, "would replace a file that no run wrote"),
        ("logs/2026-03-01/a.parquet", 4, "would replace a file that no run wrote"),
        ("logs", 2, "must be a file"),
        ("job.toml/job.prom", 4, "Not a directory"),
    ],
)
def test_metrics_replace_only_metrics(tmp_path, command, place, code, told):
    write_nights(tmp_path / "logs", 1)
    job = small_job(tmp_path, f'\n[output]\nmetrics_file = "{place}"\n')
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    ran = call(command, job)
    assert (ran.exit_code, told in ran.stderr) == (code, True)
    # Nothing is counted.
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.long
def test_logs_and_metrics_for_machines(tmp_path):
    write_nights(tmp_path / "logs", 2)
    job = small_job(tmp_path, RECALL + '\n[output]\nmetrics_file = "metrics/job.prom"\n')
    ran = call("run", job, "--log-format", "json")
    events = [json.loads(line) for line in ran.stderr.splitlines()]
    told = ["run started", "source", "source", "gate", "run published"]
    assert [event["event"] for event in events] == told
    assert {*events[0]} == {"job", "run", "sequence", "event", "timestamp", "level"}
    assert (events[1]["arrival"], events[1]["rows"]) == ("new", 200)
    text = (tmp_path / "metrics" / "job.prom").read_text()
    for read in (text_string_to_metric_families, read_plain):
        found = [sample for family in read(text) for sample in family.samples]
        samples = {
            (one.name, one.labels.get("event") or one.labels.get("verdict")): one.value for one in found
        }
        assert samples["nci_frames_job_files", "counted"] == 2
        assert samples["nci_frames_job_rows_counted", None] == 400
        assert samples["nci_frames_job_verdicts", "pass"] == 1
        success = samples["nci_frames_job_last_success_timestamp_seconds", None]
        # The values that gates were judged on, with their bounds.
        values = {one.name: one for one in found if "gate_" in one.name}
        verdict = pl.read_parquet(latest(tmp_path) / "verdicts.parquet").row(0, named=True)
        told = {"job": "small", "gate": "finds", "model": "forest", "metric": "recall", "segment": ""}
        for name in ("value", "lower", "upper"):
            sample = values[f"nci_frames_job_gate_{name}"]
            assert sample.value == pytest.approx(verdict[name])
            # That of each night would be another time series.
            assert sample.labels == told | {"prevalence": "observed"}
    assert "threshold" not in text
    # A failure leaves the last success as it was.
    write_night(tmp_path / "logs" / "2026-03-03" / "a.parquet", 5000, 0.1)
    ended(10, "run", job)
    text = (tmp_path / "metrics" / "job.prom").read_text()
    again = {s.name: s.value for f in text_string_to_metric_families(text) for s in f.samples}
    assert again["nci_frames_job_last_success_timestamp_seconds"] == success
    assert again["nci_frames_job_last_run_timestamp_seconds"] >= success
    # In one order, whatever the run.
    shutil.copy(job, tmp_path / "logs" / "2026-03-03" / "b.parquet")
    ended(10, "run", job, "--keep-going")
    assert re.findall('event="([a-z]+)"', (tmp_path / "metrics" / "job.prom").read_text()) == [
        "failed",
        "known",
    ]


def outside(folder: Path) -> set[Path]:
    """What there is outside the places that a job writes to."""
    return {path for path in folder.rglob("*") if not re.search("job/(out|ledger)", str(path))}


@pytest.mark.long
def test_hostile_names_are_text_everywhere(tmp_path):
    names = [*NAMES[:4], "../../escape", "a" * 4096, "\u202eright to left"]
    rows = pl.DataFrame({"label": [0, 1, 1, 0], "score": [0.2, 0.9, 0.8, 0.6]})
    log = pl.concat(
        rows.with_columns(pl.lit(name).alias(key) for key in ("model", "country")) for name in names
    )
    log.write_parquet(tmp_path / "job/logs/2026-03-01/a.parquet", mkdir=True)
    gate = RECALL.replace("finds", "x</script><b>\\u001b[31m") + 'segments = ["country"]\n'
    job = small_job(tmp_path / "job", KEYS + gate)
    before = outside(tmp_path)
    ran = ended(0, "run", job)
    assert outside(tmp_path) == before
    assert "\x1b" not in ran.output
    assert "\u202e" not in ran.stdout
    assert len(ran.stdout.splitlines()) == 1
    page = (latest(tmp_path / "job") / "history.html").read_text()
    assert "<b>" not in page
    assert "<script" not in page
    assert "\u202e" not in page
    history = pl.read_parquet(latest(tmp_path / "job") / "history.parquet")
    assert set(history["model"]) == set(names)


@pytest.mark.parametrize("name", ["out", "ledger"])
def test_a_check_says_that_the_output_cannot_be_written(tmp_path, monkeypatch, name):
    job = small_job(tmp_path)
    write_nights(tmp_path / "logs", 1)
    ended(0, "check", job)
    (tmp_path / name).mkdir()
    # The superuser may write everywhere.
    monkeypatch.setattr("os.access", lambda path, _: not str(path).endswith(name))
    said = ended(4, "check", job).output
    assert f"no right to write into the folder {str(tmp_path / name)!r}" in said
