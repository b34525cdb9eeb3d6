"""The job file: what it may say, what is refused and how; and the dates in the paths of logs."""

import json
import random
import tomllib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.jobs.job_file.loading import job_schema, read_job
from nci_frames.jobs.job_file.windows import check_template, find_windows
from nci_frames.jobs.run import plan_job
from tests.small_jobs import KEYS, SMALL, job_text, small_job, write_nights

ROOT = Path(__file__).parents[3]
GATE = SMALL + '[[gates]]\nname = "a"\n'
SHARE = "sequential = true\nvalue_threshold = {lower = 0.5}\n"
TEMPLATE = (ROOT / "nci_frames" / "jobs" / "job.toml").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_published_schema_is_current_and_takes_the_template():
    published = (ROOT / "docs" / "job.schema.json").read_text(encoding="utf-8")
    assert published == job_schema(), "run `make api`"
    schema = json.loads(published)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(TEMPLATE), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(TEMPLATE) | {"gatess": []}, schema)


def test_the_template_is_a_job(tmp_path):
    job = read_job(small_job(tmp_path, text=TEMPLATE)).job
    assert job.counting_settings().keys == ["model", "country"]
    assert 0.5 in job.counting_settings().thresholds
    assert job.gates[0].name == "forest finds most"


@pytest.mark.parametrize(
    ("metric", "of_class"),
    [
        ("recall", "positives"),
        ("sensitivity", "positives"),
        ("fpr", "negatives"),
        ("false_alarm_rate", "negatives"),
    ],
)
def test_sequential_gates_take_any_name_of_a_rate(tmp_path, metric, of_class):
    job = small_job(tmp_path, text=GATE + SHARE + f'metric = "{metric}"\n')
    assert read_job(job).job.gates[0].of_class == of_class


def test_a_variable_that_is_not_utf8_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("TITLE", "\udcff")
    job = small_job(tmp_path, text=SMALL.replace("[report]", '[report]\ntitle = "${TITLE}"'))
    with pytest.raises(nf.ParameterError, match="the variable TITLE of the environment must be a text"):
        read_job(job)


def test_numbers_may_be_written_as_texts(tmp_path):
    numbers = {
        "scenarios": {"EU": 0.0002, "m": {"by": "country", "prevalence": {"at": 0.01}}},
        "segments": {"keys": ["country"], "min_positives": 20},
        "report": {"cost": [2000, 0.2, 20]},
        "gates": [
            {"name": "a", "metric": "precision", "threshold": 0.25, "beta": 2, "level": 0.9}
            | {"prevalence": 0.0005, "min_positives": 2000, "value_threshold": {"lower": 0.1, "upper": 0.5}},
            {"name": "b", "change_threshold": {"relative": 0.2}},
            {"name": "c", "champion": {"model": "forest", "prevalence": [0.001]}},
        ],
    }
    texts = {"0.0002": "1/5000", "0.01": "1%", "20": "0.02k", "0.25": "1/4", "0.9": "90%", "2000": "2k"}
    texts |= {"2": "2", "0.0005": "0.05%", "0.1": "1/10", "0.5": "50%", "0.2": "20%", "0.001": "1/1000"}
    written = json.loads(json.dumps(numbers), parse_float=texts.__getitem__, parse_int=texts.__getitem__)
    jobs = [read_job(small_job(tmp_path, text=job_text(name="x", **keys))).job for keys in (numbers, written)]
    assert jobs[0] == jobs[1]
    assert isinstance(jobs[1].gates[0].min_positives, int)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_prevalences_from_a_table(tmp_path, ending):
    table = pl.DataFrame({"country": ["01", "de"], "prevalence": [0.001, 0.02], "note": ["x", None]})
    getattr(table, f"write_{ending}")(tmp_path / f"markets.{ending}")
    scenario = KEYS + f'[scenarios]\nm = {{ by = "country", table = "markets.{ending}" }}\n'
    file = read_job(small_job(tmp_path, scenario))
    scenarios = file.job.model_dump()["scenarios"]
    assert scenarios == {"m": {"by": "country", "prevalence": {"01": 0.001, "de": 0.02}, "table": None}}


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(nf.ParameterError, match="not TOML"):
        read_job(small_job(tmp_path, text="a = " + "[" * 5000))
    (tmp_path / "job.toml").write_bytes(b"\xff\xfe")
    # A folder stands for the job.toml in it.
    with pytest.raises(nf.ParameterError, match="not UTF-8"):
        read_job(tmp_path)


def test_variables_of_the_environment_never_end_up_in_messages(tmp_path, monkeypatch):
    monkeypatch.setenv("KEY_OF_STORE", "hunter2")
    options = '[output]\nstorage_options = {key = "${KEY_OF_STORE}"}\n'
    file = read_job(small_job(tmp_path, options))
    assert file.job.output.storage_options == {"key": "hunter2"}
    assert "hunter2" not in file.text
    with pytest.raises(nf.ParameterError, match=r"\$\{KEY_OF_STORE\}") as told:
        read_job(small_job(tmp_path, '[output]\nkeep = "${KEY_OF_STORE}"\nfolder = 3\n'))
    assert "hunter2" not in str(told.value)


@pytest.mark.thorough
@pytest.mark.parametrize("mutations", [150, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutated_files_are_jobs_or_told_why_not(tmp_path, mutations):
    chance = random.Random(0)  # noqa: S311
    jobs = 0
    for _ in range(mutations):
        content = bytearray(TEMPLATE.encode())
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(len(content))
            kind = chance.randrange(4)
            if kind == 0:
                content[place] = chance.randrange(256)
            elif kind == 1:
                del content[place : place + chance.randrange(1, 20)]
            elif kind == 2:
                content[place:place] = content[chance.randrange(len(content)) :][: chance.randrange(1, 30)]
            else:
                content[place:place] = chance.choice(
                    (b'"', b"[", b"=", b"\x00", b"1e999", b"{", b"\n", b"nan")
                )
        (tmp_path / "job.toml").write_bytes(content)
        try:
            read_job(tmp_path / "job.toml").job.counting_settings()
            jobs += 1
        except nf.ParameterError:
            continue
    assert 0 < jobs < mutations


def test_windows_are_half_open_days_and_hours_in_utc(tmp_path):
    write_nights(tmp_path, 4)
    (tmp_path / "2026-02-31").mkdir()
    paths = [f"{tmp_path}/{{date:%Y-%m-%d}}/*.parquet"]
    found, _ = find_windows(paths)
    starts = [file.window[0] for file in found if file.window]
    assert starts == [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 5)]
    assert {file.window[1] - file.window[0] for file in found if file.window} == {timedelta(days=1)}
    # So many windows would begin before the first year.
    assert find_windows(paths, lookback=1_000_000) == (found, [])
    late, older = find_windows(paths, lookback=1)
    assert older == found[:2]
    assert [Path(file.path).parent.name for file in late] == ["2026-03-03", "2026-03-04"]
    # After an outage no window is left out.
    second = datetime(2026, 3, 2, tzinfo=UTC)
    assert find_windows(paths, lookback=0, counted=second) == (found[1:], found[:1])
    assert find_windows(paths, lookback=0, counted=second + timedelta(days=9)) == (found[3:], found[:3])
    before, _ = find_windows(paths, until=datetime(2026, 3, 3, tzinfo=UTC))
    assert [Path(file.path).parent.name for file in before] == ["2026-03-01", "2026-03-02"]
    assert check_template("a/{date:%Y/%m/%d/%H}/x") == timedelta(hours=1)
    assert check_template("a/*.parquet") is None


def test_dates_beside_globs_and_in_names(tmp_path):
    for name in ("x[1] 2026-03-01 b.parquet", "sub/deep/x[1] 2026-03-02 c.parquet"):
        source = write_nights(tmp_path / "source", 1)[0]
        target = tmp_path / "logs" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    found, _ = find_windows([f"{tmp_path}/logs/**/x[[]1] {{date:%Y-%m-%d}} ?.parquet"])
    days = [file.window[0].date() for file in found if file.window]
    assert days == [date(2026, 3, 1), date(2026, 3, 2)]


def test_a_folder_of_a_job_is_no_glob(tmp_path):
    odd, other = tmp_path / "job[1]", tmp_path / "job1"
    for folder in (odd, other):
        write_nights(folder / "logs", 1)
    for path in ("logs/{date:%Y-%m-%d}/*.parquet", "logs/*/*.parquet", "logs"):
        (planned,) = plan_job(read_job(small_job(odd, text=job_text(name="x", source={"path": path}))))
        assert planned.files["path"].to_list() == [str(odd / "logs/2026-03-01/a.parquet")]


@pytest.mark.parametrize(
    "change",
    [
        'metric = "fpr"\nchange_threshold = {relative = 20}',  # it may be 21 times as large
        'metric = "mcc"\nchange_threshold = {absolute = 1.5}',  # from 1 to -1
        'metric = "mcc"\nchange_threshold = {relative = 1.5}',
        'metric = "recall"\nchange_threshold = {relative = 1}',
    ],
)
def test_a_limit_that_a_change_could_exceed_is_taken(tmp_path, change):
    assert read_job(small_job(tmp_path, text=f"{GATE}{change}\n")).job.gates[0].change_threshold
