"""Scores that are no probabilities at thresholds for probabilities, and the other way round."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.run import run_job
from nci_frames.reporting.json import render_json
from tests.cases import first_quick
from tests.logs import unit_log
from tests.small_jobs import SMALL, call, ended, small_job, write_nights

GRIDS = {
    "uniform": nf.uniform_thresholds(101),
    "logit": nf.logit_thresholds(101),
    "inside": [0.1, 0.3, 0.5, 0.7, 0.9],
    "infinite ends": [-np.inf, 0.0, 0.25, 0.5, 0.75, 1.0, np.inf],
}


def logits(positives: float = 0.1) -> pl.DataFrame:
    log = unit_log({"a": 3.0}, 4000, share=positives, seed=7)
    return log.select("model", "label", "score", day=pl.col("unit") % 3)


def probabilities(log: pl.DataFrame) -> pl.DataFrame:
    return log.with_columns(score=1 / (1 + (4 - 6 * pl.col("score")).exp()))


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32], ids=str)
def test_logits_on_thresholds_for_probabilities_are_noticed(
    grid: list[float], dtype: type[pl.DataType]
) -> None:
    log = logits().with_columns(pl.col("score").cast(dtype))
    share = log.select(((pl.col("score") < -0.001) | (pl.col("score") >= 1.001)).mean()).item()
    told = rf"scores of model 'a' in the DataFrame are not probabilities \({share:.1%} of them lie below 0 or"
    with pytest.warns(nf.OutsideGridWarning, match=told):
        counts = nf.count_confusion(log, thresholds=grid)
    assert counts["threshold"].unique().sort().to_list() == grid


def test_only_the_models_that_are_concerned_are_named() -> None:
    both = pl.concat([logits(), probabilities(logits()).with_columns(model=pl.lit("b"))])
    with pytest.warns(nf.OutsideGridWarning, match=r"of model 'a' in"):
        nf.count_confusion(both, thresholds=nf.uniform_thresholds(101))
    with pytest.warns(
        nf.OutsideGridWarning, match=r"all scores of model 'b' in .* only 4 of 41 thresholds do"
    ):
        nf.count_confusion(both, thresholds=np.linspace(-6, 6, 41))


def test_rare_positives_beyond_1_are_noticed() -> None:
    log = probabilities(logits(positives=0.001)).with_columns(
        score=pl.when("label").then(pl.col("score") * 10).otherwise(pl.col("score"))
    )
    with pytest.warns(nf.OutsideGridWarning, match=r"model 'a'"):
        nf.count_confusion(log, thresholds=nf.uniform_thresholds(101))


@pytest.mark.parametrize("grid", first_quick(GRIDS.values()), ids=GRIDS)
def test_probabilities_raise_no_alarm(grid: list[float]) -> None:
    log = probabilities(logits())
    rounded = log.with_columns(score=pl.when(pl.col("score") > 0.5).then(1 + 1e-6).otherwise(-1e-6))
    for scores in (log, rounded, log.with_columns(score=0.0), log.with_columns(pl.col("score") * 1e-9)):
        nf.count_confusion(scores, thresholds=grid)
        nf.count_confusion(scores.with_columns(weight=2.0), thresholds=grid)


def test_deliberate_thresholds_raise_no_alarm() -> None:
    for thresholds in ([0.0, 0.5], "auto", "exact", np.linspace(-6, 6, 41), np.linspace(0, 6, 41)):
        nf.count_confusion(logits(), thresholds=thresholds)  # type: ignore[arg-type]


@pytest.mark.long
def test_a_comparison_of_logits_at_the_threshold_for_probabilities_says_so(tmp_path: Path) -> None:
    log = pl.concat([logits(), probabilities(logits()).with_columns(model=pl.lit("b"))])
    share = log.filter(model="a").select(((pl.col("score") < 0) | (pl.col("score") >= 1)).mean()).item()
    told = f"the scores of model 'a' are not probabilities ({share:.1%} of them lie below 0 or above 1)"
    for thresholds in ("exact", nf.auto_thresholds(also=[0.5])):
        counts = nf.count_confusion(log, thresholds=thresholds)
        with pytest.warns(nf.OutsideGridWarning, match=re.escape(told)) as caught:
            nf.compare_models(counts, prevalence=[0.01], repeats=2, question=nf.Question(threshold=0.5))
        assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
        # A threshold that nobody asked for is doubted in the report alone.
        comparison = nf.compare_models(counts, prevalence=[0.01], repeats=2)
        assert nf.compare_models(counts, prevalence=[0.01], threshold=1.5, repeats=2).off_scale is None
        probable = counts.filter(model="b")
        assert nf.compare_models(probable, prevalence=[0.01], repeats=2).off_scale is None
    (tmp_path / "logs").mkdir()
    log.write_parquet(tmp_path / "logs" / "log.parquet")
    assert comparison.off_scale is not None
    assert json.loads(render_json(comparison))["off_scale"] == comparison.off_scale
    options = ("-p", 0.01, "--format", "txt", "--out", tmp_path / "out")
    # Of an answer that is not at this threshold, only the charts and tables are.
    for asked, said in (([], False), (["--threshold", "0.5"], True)):
        done = call("report", tmp_path / "logs", *options, *asked)
        assert (comparison.off_scale in " ".join(done.output.split())) is said
        whole = " ".join((tmp_path / "out" / "report.txt").read_text().split())
        begin = "Check the threshold" if said else "Charts and tables at the default threshold"
        assert whole.count(f"{begin}: {comparison.off_scale}.") == 1
        assert "OutsideGridWarning" not in done.output


@pytest.mark.thorough
def test_a_ledger_says_of_which_file(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    good, bad = logs / "good.parquet", logs / "bad.parquet"
    probabilities(logits()).write_parquet(good)
    logits().write_parquet(bad)
    ledger = nf.CountsLedger(tmp_path / "ledger")
    grid = nf.uniform_thresholds(11)
    with pytest.warns(nf.OutsideGridWarning) as caught:
        appended = ledger.append([good, bad], thresholds=grid)
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    told = str(caught[0].message)
    assert told.startswith(f"the scores of model 'a' in {str(bad)!r} are not probabilities")
    assert appended["warning"].to_list() == [None, told]
    assert ledger.append([good, bad], thresholds=grid)["warning"].to_list() == [None, None]
    for command in (("append", tmp_path / "other", logs, "--thresholds", "uniform:11"),
                    ("rebuild", tmp_path / "other")):  # fmt: skip
        assert ended(0, "ledger", *command).stderr.splitlines() == [f"warning: {told}"]


def off_scale_night(folder: Path) -> None:
    (path,) = write_nights(folder / "logs", 1)
    pl.read_parquet(path).with_columns(score=(pl.col("score") - 0.45) * 40).write_parquet(path)


@pytest.mark.thorough
def test_a_scheduled_job_says_that_its_grid_is_off_the_scores(tmp_path: Path) -> None:
    off_scale_night(tmp_path)
    grid = SMALL.replace("[0.0, 0.25, 0.5, 0.75]", "[0.0, 0.2, 0.4, 0.5, 0.6, 0.8]")
    events = []
    job = read_job(small_job(tmp_path, text=grid))
    outcome = run_job(job, run="one", tell=lambda event, **facts: events.append((event, facts)))
    (note,) = outcome.arrived["note"]
    assert "the scores of model 'forest' in " in note
    assert "a.parquet' are not probabilities" in note
    assert next(facts["note"] for event, facts in events if event == "source") == note
    page = (outcome.folder / "history.html").read_text(encoding="utf-8")
    assert "a.parquet&#39; are not probabilities" in page
    (seen,) = json.loads((outcome.folder / "manifest.json").read_text())["files_seen"]
    assert seen["warning"] == note


@pytest.mark.long
def test_a_scheduled_job_says_that_it_judges_off_the_scale(tmp_path: Path) -> None:
    off_scale_night(tmp_path)
    events = []
    for extra in ("", "[report]\nthreshold = 2.0\n"):
        text = SMALL.replace("[0.0, 0.25, 0.5, 0.75]", '"exact"').replace("[report]\n", extra or "[report]\n")
        job = read_job(
            small_job(tmp_path / f"job{len(extra)}", text=text.replace('"logs', f'"{tmp_path}/logs'))
        )
        outcome = run_job(job, tell=lambda event, **facts: events.append((event, facts)))
        told = json.loads((outcome.folder / "report.json").read_text())["off_scale"]
        if extra:
            assert told is None
        else:
            assert "so 0.5 is hardly the threshold in use" in told
            assert ("doubtful threshold", {"why": told}) in events
            events.clear()
    assert "doubtful threshold" not in [event for event, _ in events]
