"""The command line as a user meets it: in a process of its own where it matters, with real logs.

What it says of wrong arguments is in ``tests/snapshots``.
"""

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.folders import publishing
from nci_frames.files.save_chart import CHART_KINDS
from nci_frames.files.save_table import TABLE_KINDS
from nci_frames.options.report import ReportOptions
from nci_frames.options.setting import Setting
from nci_frames.reporting.terminal import print_comparison
from nci_frames.reporting.write import REPORT_KINDS
from tests.cases import first_quick
from tests.comparisons import comparison, printed
from tests.hostile import NAMES
from tests.logs import random_log
from tests.processes import in_python
from tests.small_jobs import call, ended, facts_of, read_json

#: The quickest report, where its form is not what is tested.
QUICK = ("-p", "0.1", "-b", "1", "--format", "json")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.parquet"
    random_log(400).write_parquet(path)
    return path


@pytest.mark.long
def test_a_report_in_a_process_of_its_own(log, tmp_path):
    out = tmp_path / "out"
    options = ["--segments", "country", "--fold", "fold", "--prevalence", "1e-4:0.5:log:10"]
    # The encoding has neither a box nor a letter of the tables.
    done = in_python(
        "from nci_frames.__main__ import main; main()",
        *("report", log, *options, "--beta", "0.25:4:log:5", "--verbose", "--out", out),
        PYTHONPROFILEIMPORTTIME="1",
        PYTHONIOENCODING="ascii",
    )
    assert done.returncode == 0
    told = done.stderr.splitlines()
    assert [line for line in told if not line.startswith("import time:")] == []
    imported = {line.rpartition("|")[2].strip() for line in told}
    assert "scipy.special" in imported
    assert not {"pandas", "scipy.stats", "sklearn"} & imported
    assert "PR-AUC over prevalence" in done.stdout
    assert "forest" in done.stdout
    assert f"400 predictions counted; report: {out}/report.html" in done.stdout
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "report.html", "tables"]
    tables = {path.stem for path in (out / "tables").iterdir()}
    assert tables > {"counts", "answer", "segment_ranks", "shifts", "folds", "fold_areas"}
    areas = pl.read_parquet(out / "tables/areas.parquet")
    assert areas.filter(metric="pr_auc")["prevalence"].n_unique() == 10
    assert 'id="spec-folds"' in (out / "report.html").read_text()


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "kinds"), [("formats", REPORT_KINDS), ("tables", TABLE_KINDS), ("charts", CHART_KINDS)]
)
def test_every_format_can_be_asked_for(name, kinds):
    assert tuple(Setting.of(ReportOptions, name).kind.choices) == kinds


@pytest.mark.long
def test_hostile_names_pass_through_every_format_that_is_asked_for(tmp_path):
    names = [*filter(None, NAMES), "\u202eevil\u2066", "\ue000option=1\ue001--option 1\ue002"]
    rows = len(names) + 1
    place = pl.int_range(8 * rows)
    log = pl.DataFrame(
        {"model": [name for name in names[:8] for _ in range(rows)], "=country|<b>": [*names, None] * 8}
    )
    log = log.with_columns(label=place % 3 == 0, score=place % 7 / 7)
    log.write_parquet(tmp_path / "log.parquet")
    out = tmp_path / "out"
    # Formats are named in one option, or in several.
    done = ended(
        0, "report", tmp_path / "log.parquet", "--out", out, "--segments", "=country|<b>", "-p", "0.01,0.1",
        "-b", "1,2", "--title", "a title", "--format", "md, json", "--format", "html,md", "--tables", "csv",
        "--tables", "md,parquet", "--charts", "json",
    )  # fmt: skip
    assert {letter for letter in done.output if not letter.isprintable()} == {"\n"}
    assert f"{8 * rows} predictions counted; report: {out}/report.md" in done.output
    tables, charts = ({Path(file).stem for file in written(out / kind)} for kind in ("tables", "charts"))
    assert tables > {"counts", "answer", "answer_winners", "points", "areas", "decisions"}
    assert "rates" not in tables  # those of the counts, and larger
    assert charts > {"p3", "value", "f-prevalence", "f-beta", "pr-auc", "decisions", "roc"}
    files = {f"tables/{name}.{kind}" for name in tables for kind in ("csv", "md", "parquet")}
    files |= {f"charts/{name}.json" for name in charts} | {"report.html", "report.md", "report.json"}
    assert written(out) == files | {"manifest.json"}
    assert (out / "report.md").read_text().startswith("# a title\n")
    assert "<script>alert" not in (out / "report.md").read_text()
    assert sorted(read_json(out / "report.json")["models"]) == sorted(names[:8])
    assert facts_of(out)["rows counted"] == str(8 * rows)
    table = (out / "tables/segment_points.csv").read_bytes().decode()
    header, *lines = csv.reader(io.StringIO(table, newline=""))
    assert "'=country|<b>" in header
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "@", "\t", "\r"))]


@pytest.mark.thorough
@pytest.mark.parametrize("width", first_quick([40, 200]))
def test_short_names_have_room_in_every_table(width):
    models = {"a": (0.82, 0.012), "b": (0.64, 0.004)}
    compared = comparison(models, prevalence=(0.01, 0.1), beta=(1.0,))
    lines = printed(print_comparison, compared, width=width, questions=()).splitlines()
    rows = [line for line in lines if line.startswith("│")]
    assert {line[1:3] for line in rows} == {"a ", "b "}
    assert len(rows) == 2 * sum(line.startswith("┃model") for line in lines) > 0
    assert all("…" not in line and len(line) <= width for line in lines)
    # Each of these letters takes two columns of a terminal.
    compared = comparison({"森林モデル": (0.82, 0.012)}, prevalence=(0.01, 0.1), beta=(1.0,))
    lines = printed(print_comparison, compared, width=80, questions=()).splitlines()
    assert sum(line.startswith("│森林モデル │") for line in lines) == 3


@pytest.mark.thorough
def test_long_names_that_begin_alike_are_told_apart_at_80_columns():
    models = {
        f"gradient boosted trees, depth 6, learning rate 0.{i}, on all columns": (0.5, 0.01 * (i + 1))
        for i in range(3)
    }
    text = printed(print_comparison, comparison(models), width=80, questions=())
    assert max(map(len, text.splitlines())) <= 80
    joined = "".join(line.split("│")[1].strip(" ") for line in text.splitlines() if line.count("│") > 2)
    for name in models:
        assert joined.replace(" ", "").count(name.replace(" ", "")) == 5


@pytest.mark.parametrize("source", ["log.parquet", ".", "*.parquet", "**/*.parquet"])
def test_a_report_is_not_written_over_its_log(log, source):
    before = log.read_bytes()
    done = ended(2, "report", str(log.parent / source), "--out", str(log.parent))
    assert "the output lies among the sources, or holds one of them" in done.output
    assert [path.name for path in log.parent.iterdir()] == ["log.parquet"]
    assert log.read_bytes() == before


@pytest.mark.long
def test_a_disk_that_fills_up_is_an_error_without_a_traceback(log, tmp_path):
    """The folder that is checked before counting has room; the report then has not."""
    code = """
import resource, sys
from nci_frames.base import folders
from nci_frames.commands.cli import main
folders._LEAST_BYTES = 1000
# Python would keep bytecode that is cut off at the limit, for every process after this one.
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
main(sys.argv[2:])
"""
    out = tmp_path / "out"
    done = in_python(code, "2_000", "report", log, "--out", out, *QUICK)
    assert done.returncode == 4, done.stderr
    assert "error: the output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [log.name]


@pytest.mark.thorough
def test_one_column_per_model(tmp_path):
    log = pl.DataFrame({"y": ["bad", "ok", "ok"], "f": [0.9, 0.2, 0.3], "g": [0.1, 0.2, 0.3]})
    log.write_parquet(tmp_path / "w.parquet")
    # Without a name of its own a model has that of its column.
    done = ended(
        0, "report", tmp_path / "w.parquet", "--label", "y", "--positive", "bad", "--scores", "forest=f",
        "--scores", "g", "--verbose", "--out", tmp_path / "out", *QUICK,
    )  # fmt: skip
    assert re.search(r"\bforest\b", done.output)
    assert re.search(r"\bg\b", done.output)
    assert "6 predictions counted" in done.output
    # The prevalence is estimated of such logs, too.
    known = pl.DataFrame({"label": [0] * 40 + [1] * 40, "f": [0.2] * 30 + [0.8] * 20 + [0.9] * 30})
    known.write_parquet(tmp_path / "known.parquet")
    known.drop("label").write_parquet(tmp_path / "traffic.parquet")
    logs = tmp_path / "known.parquet", tmp_path / "traffic.parquet"
    done = ended(0, "estimate", *logs, "--scores", "forest=f")
    assert re.search(r"forest.*0\.5", done.output)
    for place in logs:
        pl.read_parquet(place).with_columns(year=2026).write_parquet(place)
    assert "2026" in ended(0, "estimate", *logs, "--scores", "forest=f", "--segments", "year").output


@pytest.mark.thorough
def test_dropped_rows_are_reported(tmp_path):
    log = pl.DataFrame({"model": "a", "label": [1, 0, None], "score": [0.9, 0.1, 0.5]})
    log.write_parquet(tmp_path / "log.parquet")
    options = ["--on-invalid", "drop", "--out", str(tmp_path / "out"), *QUICK]
    done = ended(0, "report", str(tmp_path / "log.parquet"), *options)
    assert "warning: rows dropped from '" in done.output
    assert "log.parquet': 1 (label is null)" in done.output
    log.with_columns(label=None).write_parquet(tmp_path / "log.parquet")
    done = ended(3, "report", str(tmp_path / "log.parquet"), *options, "--unit", "model")
    assert "error: no row of the log is a valid prediction" in done.output
    assert "found: 3 dropped: label is null" in done.output


@pytest.mark.thorough
def test_a_bad_log_leaves_an_older_report_alone(log, tmp_path):
    """How each kind of bad log ends is kept as a text."""
    out = tmp_path / "out"
    with publishing(out) as folder:
        (folder / "report.html").write_text("older")
    for bad in ("1", "2"):
        random_log(20).drop("score").write_parquet(tmp_path / f"bad{bad}.parquet")
        done = ended(3, "report", tmp_path / "*.parquet", "--out", out)
        assert f"bad{bad}.parquet" in done.output
        assert "missing column 'score'" in done.output
    assert written(out) == {"report.html", "manifest.json"}
    assert (out / "report.html").read_text() == "older"


@pytest.mark.thorough
def test_a_plan_says_how_many_rows_are_needed():
    done = ended(0, "plan", "--delta", "0.1", "--tpr", "0.6", "--fpr", "0.001")
    assert "required rows, at confidence 0.95 of each rate" in done.output
    (exact,) = (line for line in done.output.splitlines() if "exact" in line)
    assert [part.strip() for part in exact.strip("│").split("│")][1:3] == ["269", "402,778"]
    one, pair = (call("plan", "--half-width", width).output for width in ("0.05", "0.05,0.05"))
    assert one == pair
    assert "381" in one
    # What a test set supports.
    size = ["--positives", "100", "--negatives", "10000", "--tpr", "0.6"]
    done = ended(0, "plan", *size, "--fpr", "0.001")
    assert "lowest prevalence at which the test set supports precision" in done.output
    assert "0.004149" in done.output
    none = ended(0, "plan", *size, "--fpr", "0")
    assert "the half-width of FPR" in none.output


@pytest.mark.thorough
def test_no_name_and_no_path_can_steer_the_terminal(tmp_path):
    evil = "\x1b[2J\u202ex\u200b"
    log = pl.DataFrame({"model": ["\x1b[2J[red]x[/red]"] * 2, "label": [1, 0], "score": [0.9, 0.1]})
    log.write_parquet(tmp_path / "log.parquet")
    done = ended(0, "report", tmp_path / "log.parquet", "-v", "--out", tmp_path / evil, *QUICK)
    assert "[red]x[/red]" in done.output
    assert "\ufffd[2J\ufffdx\ufffd/report.json" in done.output.replace("\n", "")
    failed = ended(3, "report", tmp_path / "log.parquet", "--score", evil, "--out", tmp_path / "out")
    for output in (done.output, failed.output):
        assert not {letter for letter in output if not letter.isprintable()} - {"\n"}


def test_counts_in_a_file_are_those_of_the_library(log, tmp_path):
    out = tmp_path / "new" / "counts.parquet"
    told = ended(0, "count", log, "--segments", "country", "--thresholds", "0.2,0.5", "--out", out).output
    expected = nf.count_confusion(nf.scan_predictions(log, segments="country"), thresholds=[0.2, 0.5])
    assert_frame_equal(pl.read_parquet(out), expected)
    assert "".join(told.split()).endswith(f"written:{out}({len(expected)}rows)")
    ended(0, "count", log, "--unit", "country", "--out", out)
    buckets = nf.unit_buckets(nf.scan_predictions(log, unit="country"))
    assert_frame_equal(pl.read_parquet(out), nf.count_confusion(buckets))
