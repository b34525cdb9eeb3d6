"""Jobs with logs without labels: counted in the ledger, their prevalence estimated, told or refused."""

import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.job_file.model import Job
from nci_frames.jobs.run import Run, run_job
from tests.small_jobs import ended, facts_of, job_text, latest, read_json, small_job, write_log

GRID = [number / 10 for number in range(10)]
JOB = job_text(
    name="traffic",
    thresholds=GRID,
    traffic={"path": "traffic/{date:%Y-%m-%d}/*.parquet"},
    segments={"keys": ["country"], "min_positives": 20},
    report={"prevalence": [0.05, 0.3], "beta": [1.0], "formats": ["json"], "tables": []},
)
#: Prevalence by country, in the labelled logs and in the traffic.
LABELLED = {"de": 0.3, "fr": 0.2}
FIELD = {"de": 0.1, "fr": 0.02}


def log(rows: int, etas: dict[str, float], seed: int, shift: dict[str, float] | None = None) -> pl.DataFrame:
    """Two models on the same rows; *shift* moves the scores of a country's positives up."""
    rng = np.random.default_rng(seed)
    country = rng.choice(list(etas), rows)
    label = rng.random(rows) < np.array([etas[name] for name in country])
    moved = np.array([(shift or {}).get(name, 0.0) for name in country])
    odd = rng.random(rows) < 0.5
    parts = []
    for model, skill in (("forest", 2.0), ("linear", 1.2)):
        logit = rng.normal(label * (skill + odd * moved), 1) - 1
        columns = {"label": label, "score": 1 / (1 + np.exp(-logit)), "country": country}
        parts.append(pl.DataFrame({"model": model, **columns}))
    return pl.concat(parts)


def write_traffic(folder: Path, night: int, frame: pl.DataFrame) -> Path:
    return write_log(folder / f"traffic/2026-03-0{night}/a.parquet", frame.drop("label"))


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """The second of two nights; the positives of fr score otherwise in its traffic."""
    folder = tmp_path_factory.mktemp("nights")
    file = small_job(folder, text=JOB)
    write_log(folder / "logs/2026-03-01/a.parquet", log(6000, LABELLED, 1))
    write_traffic(folder, 1, log(500, FIELD, 2))
    run_job(read_job(file))
    write_log(folder / "logs/2026-03-02/a.parquet", log(4000, LABELLED, 3))
    write_traffic(folder, 2, log(40_000, FIELD | {"fr": 0.3}, 4, {"fr": 6.0}))
    return folder, run_job(read_job(file))


def direct(folder: Path, by: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    known = nf.scan_predictions(folder / "logs", segments="country")
    seen = nf.scan_predictions(folder / "traffic/2026-03-02", segments="country", label=None)
    return (nf.count_confusion(known, thresholds=GRID, by=by), nf.count_scores(seen, thresholds=GRID, by=by))


@pytest.mark.thorough
def test_the_newest_traffic_is_estimated_overall_and_by_segment(nights):
    folder, outcome = nights
    found = pl.read_parquet(outcome.folder / "traffic_prevalence.parquet")
    for by, rows in (([], pl.col("segment").is_null()), (["country"], pl.col("segment").is_not_null())):
        wanted = nf.estimate_prevalence(*direct(folder, by))
        names = [name for name in wanted.columns if name in found.columns and name != "segment"]
        mine = found.filter(rows).sort("model", "segment").select(names)
        assert_frame_equal(mine, wanted.select(names), check_exact=True)
    of_de = found.filter(segment='{"country": "de"}', model="forest")
    assert of_de["prevalence"].item() == pytest.approx(0.1, abs=0.015)


@pytest.mark.thorough
def test_what_follows_from_the_prevalence_is_written(nights):
    folder, outcome = nights
    found = pl.read_parquet(outcome.folder / "traffic_values.parquet")
    known, seen = direct(folder, ["country"])
    rates = nf.compute_rates(known.filter(threshold=0.5), interval="wilson")
    metrics = ["precision", "f_beta", "pos_fraction"]
    wanted = nf.project_traffic(rates, nf.estimate_prevalence(known, seen), metrics=metrics)
    mine = found.filter(segment='{"country": "de"}').sort("model", "metric")
    names = ["model", "metric", "prevalence", "beta", "value", "lower", "upper"]
    wanted = wanted.filter(country="de").sort("model", "metric")
    assert_frame_equal(mine.select(names), wanted.select(names))
    assert mine["value"].null_count() == 0


@pytest.mark.thorough
def test_a_misfit_is_told_and_is_no_number(nights):
    _, outcome = nights
    found = pl.read_parquet(outcome.folder / "traffic_prevalence.parquet")
    refused = found.filter(segment='{"country": "fr"}')
    assert refused["prevalence"].null_count() == len(refused) == 2
    assert refused["reason"].str.contains("no mixture").all()
    values = pl.read_parquet(outcome.folder / "traffic_values.parquet").filter(segment='{"country": "fr"}')
    assert values["value"].null_count() == len(values) > 0
    # All rows together hold those of fr, so that no mixture fits them either.
    page = (outcome.folder / "history.html").read_text("utf-8")
    assert re.search(r"prevalence of the traffic</dt><dd>not estimated: the scores are no mixture", page)
    told = re.search(r'<tr><th scope="row">country = fr</th><td>forest</td><td class="number"></td>.*', page)
    assert "no mixture" in told[0]
    assert any("not estimated" in fact for fact in facts_of(outcome.folder).values())


@pytest.mark.thorough
def test_the_ledger_keeps_both_kinds_apart(nights):
    folder, outcome = nights
    ledger = nf.CountsLedger(folder / "ledger")
    known, _ = direct(folder, ["country"])
    assert_frame_equal(ledger.read(), known, check_exact=True)
    _, (_, settings, _) = read_job(folder / "job.toml").job.feeds
    every = nf.scan_predictions(folder / "traffic", segments="country", label=None)
    read = ledger.read(generation=settings.generation)
    assert_frame_equal(read, nf.count_scores(every, thresholds=GRID), check_exact=True)
    assert ledger.verify(files=True).is_empty()
    manifest = read_json(outcome.folder / "manifest.json")
    assert manifest["rows"]["counted"] == 2 * 10_000
    assert manifest["traffic"]["rows"]["counted"] == 2 * 40_000
    assert [file["event"] for file in manifest["traffic"]["files_seen"]] == ["known", "counted"]


@pytest.mark.long
def test_check_names_its_files_and_a_run_ends_at_a_bad_one(nights, tmp_path):
    folder = tmp_path / "job"
    shutil.copytree(nights[0], folder, ignore=shutil.ignore_patterns("ledger", "out"))
    write_traffic(folder, 2, log(3000, FIELD, 5))
    told = ended(0, "check", folder / "job.toml")
    assert "traffic:  2 (2 new)" in told.stdout
    assert "columns:  'score' (score), 'model' (model), 'country' (segments)" in told.stdout
    write_log(folder / "traffic/2026-03-02/b.parquet", pl.DataFrame({"model": ["forest"], "points": [0.5]}))
    assert re.search("failed: .*traffic/2026-03-02/b.parquet", ended(3, "check", folder / "job.toml").stdout)
    ended(3, "run", folder / "job.toml")
    ended(0, "run", folder / "job.toml", "--keep-going")
    run = latest(folder)
    page = (run / "history.html").read_text("utf-8")
    assert "traffic that could not be counted" in page
    assert re.search(r"prevalence of the traffic</dt><dd>0\.0\d+ \(0\.0\d+ to 0\.\d+\), by the scores", page)
    # The report is made at the prevalence of the traffic, too.
    whole = pl.read_parquet(run / "traffic_prevalence.parquet").filter(pl.col("segment").is_null())
    assert whole["prevalence"].median() in read_json(run / "report.json")["prevalence"]


def test_what_a_job_file_says_of_traffic():
    base = {
        "name": "x", "source": {"path": "x"}, "thresholds": [0.25, 0.5], "segments": {"keys": ["country"]},
        "columns": {"model": "m", "score": "s", "label": "y", "positive": "yes", "unit": "user"},
    }  # fmt: skip
    plain = Job.model_validate(base | {"traffic": {"path": "t"}})
    (_, known, _), (_, settings, _) = plain.feeds
    assert (settings.model, settings.score, settings.label, settings.positive) == ("m", "s", None, None)
    assert settings.thresholds == known.thresholds
    assert (settings.segments, settings.unit) == (("country",), None)
    assert settings.generation != known.generation
    other = base | {"traffic": {"path": "t", "segments": [], "columns": {"score": "p"}}}
    _, (_, settings, _) = Job.model_validate(other).feeds
    assert (settings.model, settings.score, settings.segments) == ("model", "p", ())


@pytest.mark.thorough
def test_segments_that_no_labelled_log_has_get_a_reason_and_no_values(tmp_path):
    file = small_job(tmp_path, text=JOB)
    write_log(tmp_path / "logs/2026-03-01/a.parquet", log(2000, LABELLED, 1))
    write_traffic(tmp_path, 1, log(500, {"it": 0.1}, 2))
    outcome = run_job(read_job(file))
    estimates, values = (
        pl.read_parquet(outcome.folder / f"traffic_{name}.parquet").drop_nulls("segment")
        for name in ("prevalence", "values")
    )
    assert estimates["segment"].unique().to_list() == ['{"country": "it"}']
    assert estimates["supported"].to_list() == [False, False]
    assert values.is_empty()
    write_traffic(tmp_path, 2, log(10, LABELLED, 3).clear())
    told = facts_of(run_job(read_job(file)).folder)["prevalence of the traffic"]
    assert told == "not estimated: its newest windows have no rows"
