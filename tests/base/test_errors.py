"""Messages, exit codes, and options that are named as the caller knows them."""

import pickle
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base import errors
from nci_frames.base.messages import Call, Option
from tests.small_jobs import call, ended

DOCS = Path(__file__).parents[2] / "docs"


def subclasses(kind: type[nf.NciFramesError]) -> list[type[nf.NciFramesError]]:
    return [kind, *(sub for child in kind.__subclasses__() for sub in subclasses(child))]


def test_every_page_has_the_same_exit_codes():
    meanings = re.findall(r"^(\d+) +([\w ]*\w)", errors.__doc__ or "", re.MULTILINE)
    assert [int(code) for code, _ in meanings] == [0, 1, 2, 3, 4, 5, 10, 11, 130]
    page = (DOCS / "frames.md").read_text()
    help_text = re.sub(r"\s+", " ", call("--help").output)
    for code, meaning in meanings:
        assert f"| {code} | {meaning}" in page
        assert f"{code} {meaning}" in help_text
    for kind in subclasses(nf.NciFramesError)[1:]:
        assert re.search(rf"`{kind.__name__}`.*\| {kind.exit_code} \|", page)


@pytest.mark.parametrize(
    ("option", "in_python", "on_command_line", "in_job_file"),
    [
        (Option("positive", 1), "positive=1", "--positive 1", "columns.positive = 1"),
        (
            Option("on_invalid", "drop"),
            "on_invalid='drop'",
            "--on-invalid drop",
            'columns.on_invalid = "drop"',
        ),
        (
            Option("positive", "it's; rm -rf"),
            'positive="it\'s; rm -rf"',
            "--positive 'it'\"'\"'s; rm -rf'",
            'columns.positive = "it\'s; rm -rf"',
        ),
        (Option("segments", "at"), "segments='at'", "--segments at", 'segments.keys = ["at"]'),
        (Option("half_width"), "half_width", "--half-width", "half_width"),
        (Call("sources()", "nci-frames ledger sources"), "sources()", *["nci-frames ledger sources"] * 2),
    ],
)
def test_an_option_is_named_as_the_caller_knows_it(option, in_python, on_command_line, in_job_file):
    error = nf.NciFramesError("what", where="here", found="this", hint=f"say {option} or {option}")
    assert str(error).splitlines()[-1] == f"  hint:  say {in_python} or {in_python}"
    assert error.hint == f"say {in_python} or {in_python}"
    assert error.for_command_line().splitlines()[-1] == f"  hint:  say {on_command_line} or {on_command_line}"
    assert error.for_job_file().splitlines()[-1] == f"  hint:  say {in_job_file} or {in_job_file}"
    assert error.at("there").for_job_file() == error.for_job_file().replace(" here", " there")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301
    both = errors.SourceError.all_of([error, nf.NciFramesError("else", hint=error._marked_parts["hint"])])
    assert str(both).count(in_python) == 4
    assert both.for_command_line().count(on_command_line) == 4


def test_the_same_problem_of_several_files_is_told_once():
    column = errors.SchemaError("missing column", where="'a'", found="others", hint="name it")
    other = errors.SourceError("unreadable", where="'b'")
    nowhere = [nf.NciFramesError("what"), nf.NciFramesError("what")]
    same = [column, column.at("'c'"), column.at("'d'")]
    told = errors.SourceError.all_of(same)
    assert type(told) is errors.SchemaError
    assert str(told) == "missing column\n  where: 3 files: 'a', 'c', 'd'\n  found: others\n  hint:  name it"
    several = str(errors.SourceError.all_of([column, other, *same[1:], *nowhere]))
    assert several.startswith(
        "the files of the source have 4 problems\n1. missing column\n  where: 3 files: "
    )
    assert "\n2. unreadable\n  where: 'b'\n3. what\n4. what" in several


def test_a_name_from_data_is_no_option():
    name = "\ue000a\ue001a=1\ue002--a 1\ue003a = 1\ue004"
    error = nf.SchemaError.missing_column(name, "score", "here", [])
    assert "--a" in str(error)
    assert str(error).splitlines()[0] == error.for_command_line().splitlines()[0]


def test_hints_name_only_options_that_the_command_has():
    error = nf.NciFramesError("what", hint=f"say {Option('on_invalid', 'drop')} or {Option('fold', 'f')}")
    assert error.for_command_line({"on_invalid"}).endswith("say --on-invalid drop or fold='f'")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("ledger append LEDGER log.parquet --keep-going", "skip these rows with --on-invalid drop"),
        ("run job.toml", 'skip these rows with columns.on_invalid = "drop"'),
        ("check score.toml", "did you mean 'score'? name the column with columns.score"),
    ],
)
def test_messages_name_what_the_caller_has(tmp_path, monkeypatch, arguments, told):
    """Those with a time or a folder in them; the others are in ``tests/snapshots``."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"model": "a", "label": [1, 0, None], "score": 0.5}).write_parquet("log.parquet")
    job = 'name = "x"\nthresholds = [0.5, 0.6]\n[source]\npath = "log.parquet"\n'
    Path("job.toml").write_text(job)
    Path("score.toml").write_text(f'{job}[columns]\nscore = "scor"\n')
    assert told in ended(3, *arguments.split()).output


def test_a_command_names_one_thing_in_the_singular(tmp_path):
    ledger, log, out = (str(tmp_path / name) for name in ("ledger", "log.parquet", "counts.csv"))
    pl.DataFrame({"model": ["a"], "label": [True], "score": [0.5]}).write_parquet(log)
    ended(0, "ledger", "append", ledger, log, "--thresholds", "0.5")
    assert call("ledger", "read", ledger, "--out", out).stdout == f"written: {out} (1 row)\n"
    (tmp_path / "job.toml").write_text('name = "x"\nthresholds = [0.5]\n[source]\npath = "log.parquet"\n')
    assert "counted:  at 1 threshold, generation" in call("check", tmp_path / "job.toml").stdout


@pytest.mark.parametrize(
    "command",
    [
        "estimate LOGS TRAFFIC",
        pytest.param("report LOGS --format md --out OUT", marks=pytest.mark.thorough),
        "ledger append LEDGER LOGS",
    ],
)
@pytest.mark.filterwarnings("default")
@pytest.mark.long
def test_a_warning_is_a_line_of_the_command(tmp_path, command):
    label = pl.Series([True, False] * 20)
    log = pl.DataFrame({"model": "a", "label": label, "score": np.linspace(0.1, 0.9, 40)})
    places = {name: tmp_path / name for name in ("LOGS", "TRAFFIC", "OUT", "LEDGER")}
    places["LOGS"].mkdir()
    percent = log.with_columns(pl.col("score") * 100)
    (percent if command.startswith("ledger") else log).write_parquet(places["LOGS"] / "a.parquet")
    log.write_parquet(places["LOGS"] / "_b.parquet")
    log.drop("label").write_parquet(tmp_path / "TRAFFIC.parquet")
    places["TRAFFIC"] = tmp_path / "TRAFFIC.parquet"
    for name, place in places.items():
        command = command.replace(name, str(place))
    told = ended(0, *command.split()).stderr.splitlines()
    assert told
    assert [line for line in told if not line.startswith("warning: ")] == []


def test_a_working_directory_that_is_gone_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "the working directory is gone" in ended(2, "report", "log.parquet").output
