"""What changed between two logs: the class balance, the model, or both."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.jobs.two_logs import change_lines, compare_logs
from tests.cases import first_quick
from tests.small_jobs import KEYS, SMALL, ended, small_job, write_nights

GRID = [0.2, 0.4, 0.5, 0.6, 0.8]


def written(path: Path, *, prevalence: float, hits: float, seed: int = 0, rows: int = 4000) -> str:
    """A log in which *hits* of the positives and a tenth of the negatives score above a half."""
    rng = np.random.default_rng(seed)
    label = np.arange(rows) < prevalence * rows
    above = rng.random(rows) < np.where(label, hits, 0.1)
    score = np.where(above, 0.6, 0.3) + rng.random(rows) / 10
    frame = pl.DataFrame({"model": "forest", "label": label.astype(int), "score": score})
    frame.with_columns(user=pl.int_range(rows), country=pl.lit("at")).write_parquet(path)
    return str(path)


def changed(before: str, after: str, **more):
    return compare_logs(before, after, metrics=["precision"], threshold=0.5, thresholds=GRID, **more)


@pytest.mark.parametrize("unit", [None, pytest.param("user", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    ("prevalence", "hits", "moved"),
    first_quick([(0.05, 0.8, []), (0.2, 0.6, ["positive"]), (0.05, 0.6, ["positive"])]),
)
def test_the_class_balance_and_the_model_are_told_apart(tmp_path, unit, prevalence, hits, moved):
    before = written(tmp_path / "a.parquet", prevalence=0.2, hits=0.8)
    after = written(tmp_path / "b.parquet", prevalence=prevalence, hits=hits, seed=1)
    (found,) = changed(before, after, unit=unit)
    row = found.parts.row(0, named=True)
    told = []
    for path, name in ((before, "reference_value"), (after, "value")):
        flagged = pl.read_parquet(path).filter(pl.col("score") >= 0.5)
        assert row[name] == pytest.approx(flagged["label"].mean())
        told.append(row[name])
    assert row["due_to_prevalence"] + row["due_to_rates"] == pytest.approx(told[1] - told[0])
    assert found.shifts.filter("distinguishable")["class"].to_list() == moved
    assert abs(row["due_to_prevalence"]) > 0.1 if prevalence < 0.2 else row["due_to_prevalence"] == 0


def test_what_cannot_be_compared_is_said_of_the_two_logs(tmp_path):
    before = written(tmp_path / "a.parquet", prevalence=0.2, hits=0.8, rows=200)
    after = written(tmp_path / "b.parquet", prevalence=0.0, hits=0.8, rows=200)
    said = [line for found in changed(before, after) for line in change_lines(found)]
    assert said[1].endswith(": the metric is undefined after the change")
    assert said[2] == "  scores of positives cannot be compared: one of the logs has fewer than 10 positives"


def test_of_few_units_the_command_asks_for_more_units(tmp_path):
    """It makes 256 buckets, so that more of these would not help."""
    log = tmp_path / "log.parquet"
    written(log, prevalence=0.2, hits=0.8, rows=200)
    pl.read_parquet(log).with_columns(user=pl.col("user") % 12).write_parquet(log)
    told = ended(2, "compare", log, log, "--unit", "user").output
    assert "20 are needed" in told
    assert "give logs with more units" in told


def test_a_model_of_one_log_alone_is_said_to_be_so(tmp_path):
    paths = [written(tmp_path / f"{name}.parquet", prevalence=0.2, hits=0.8, rows=200) for name in "ab"]
    pl.read_parquet(paths[1]).with_columns(model=pl.lit("new")).write_parquet(paths[1])
    said = [line for found in changed(*paths) for line in change_lines(found)]
    assert said[1].endswith(": the model is only in the log after the change")
    assert said[2:] == ["forest: only in the log before the change"]


def test_no_p_value_is_said_to_be_zero(tmp_path):
    paths = [written(tmp_path / f"{name}.parquet", prevalence=0.2, hits=0.8, rows=20_000) for name in "ab"]
    moved = pl.read_parquet(paths[1]).with_columns(score=pl.col("score") / 10)
    moved.write_parquet(paths[1])
    said = [line for found in changed(*paths) for line in change_lines(found)]
    assert sum("p < 1e-300" in line for line in said) == 2
    assert not any("p = 0)" in line for line in said)


def test_the_scores_are_told_if_all_values_are_defined_also_with_weights(tmp_path):
    paths = [written(tmp_path / f"{name}.parquet", prevalence=0.2, hits=0.8, rows=400) for name in "ab"]
    plain = ended(0, "compare", *paths).output
    assert plain.startswith("At threshold 0.5, each log at its own prevalence:\nforest: prevalence ")
    assert [line.split()[2] for line in plain.splitlines()[-2:]] == ["positives", "negatives"]
    weighted = pl.read_parquet(paths[1]).with_columns(
        w=pl.when(pl.col("label") == 1).then(4.0).otherwise(1.0)
    )
    weighted.write_parquet(paths[1])
    pl.read_parquet(paths[0]).with_columns(w=pl.lit(1.0)).write_parquet(paths[0])
    assert "forest: prevalence 0.200 → 0.500" in ended(0, "compare", *paths, "--weight", "w").output


def test_logs_whose_columns_do_not_fit_together_are_refused(tmp_path):
    before, after = (written(tmp_path / f"{name}.parquet", prevalence=0.2, hits=0.8) for name in "ab")
    other = pl.read_parquet(after).with_columns(country=pl.lit(43), w=pl.int_range(4000) / 100)
    other.write_parquet(after)
    told = ended(3, "compare", before, after, "--segments", "country").stderr
    assert "column 'country' has different types" in told
    assert "String, Int32" in told
    pl.read_parquet(before).with_columns(w=pl.lit(1.0)).write_parquet(before)
    for paths in ((before, after), (after, before)):
        assert "these counts are sums of weights" in ended(2, "compare", *paths, "--weight", "w").stderr


@pytest.mark.long
def test_runs_reports_and_counts_stand_for_their_logs(tmp_path):
    write_nights(tmp_path / "logs", 2)
    job = small_job(tmp_path, KEYS, SMALL.replace("tables = []", ""))
    ended(0, "run", job, "--until", "2026-03-02", "--run-id", "one")
    ended(0, "run", job, "--run-id", "two")
    counts, report = tmp_path / "counts.parquet", tmp_path / "report"
    ended(0, "ledger", "read", tmp_path / "ledger", "--until", "2026-03-02", "-o", counts)
    first, both = tmp_path / "logs/2026-03-01", tmp_path / "logs"
    asked = ("--thresholds", "0,0.25,0.5,0.75", "-s", "country")
    ended(0, "report", first, *asked, "--format", "json", "-o", report)
    expected = ended(0, "compare", first, both, *asked).output
    assert "forest: prevalence 0.250 → 0.250" in expected
    for before in (tmp_path / "out/runs/one", counts, report):
        assert ended(0, "compare", before, tmp_path / "out", "-s", "country").output == expected


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"run": "one", "sequence": 1}',
        '{"run": "one", "path": "runs/one"}',
        '{"run": "one", "path": "runs/one", "sequence": 1, "last_good": {"run": "one"}}',
    ],
)
def test_a_damaged_pointer_of_a_job_is_said_to_be(tmp_path, text):
    write_nights(tmp_path / "logs", 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/latest.json").write_text(text)
    for command in (("compare", tmp_path / "out", tmp_path / "out"), ("run", small_job(tmp_path))):
        told = ended(3, *command).stderr
        assert "the pointer to the latest run cannot be read" in told
        assert repr(str(tmp_path / "out/latest.json")) in told


@pytest.mark.thorough
def test_counts_on_different_grids_are_compared_where_both_were_counted(tmp_path):
    before, after = (
        written(tmp_path / f"{name}.parquet", prevalence=0.2, hits=hits)
        for name, hits in (("a", 0.8), ("b", 0.6))
    )
    paths = []
    for path, grid in ((before, [0.1, *GRID]), (after, [*GRID, 0.9]), (after, "exact")):
        paths.append(tmp_path / f"counts{len(paths)}.parquet")
        nf.count_confusion(nf.scan_predictions(path), thresholds=grid, by=[]).write_parquet(paths[-1])
    (direct,), (shared,) = changed(before, after), changed(*map(str, paths[:2]))
    assert shared.parts.equals(direct.parts)
    assert shared.shifts.equals(direct.shifts)
    with pytest.raises(nf.ParameterError, match=r"different thresholds(.|\n)*--thresholds exact"):
        changed(str(paths[0]), str(paths[2]))
