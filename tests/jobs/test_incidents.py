"""What fails since which run: against a walk over the verdicts, and told by real runs."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nci_frames.jobs.gates.judge import VERDICTS
from nci_frames.jobs.incidents import incidents
from nci_frames.jobs.job_file.gates import Gate
from tests.small_jobs import RECALL, ended, latest, read_json, small_job, write_night

GATE = {"name": "finds", "metric": "recall", "value_threshold": {"lower": 0.6}, "owner": "ann", "tags": ["x"]}
OWNED = RECALL + 'window = "last"\nowner = "ann@bank.example"\ntags = ["cards", "night"]\n'


def history(verdicts: list[str]) -> pl.DataFrame:
    rows = [
        {"run": f"r{at}", "sequence": at, "gate": "finds", "kind": "value_threshold", "verdict": verdict}
        | {"model": "forest", "metric": "recall", "value": 0.5, "limit_lower": 0.6}
        for at, verdict in enumerate(verdicts)
    ]
    return pl.DataFrame(rows, schema={"run": pl.String, "sequence": pl.Int64, **VERDICTS})


@given(st.lists(st.sampled_from(["pass", "fail", "undecided"]), min_size=1, max_size=12))
def test_an_incident_lasts_from_its_first_failure_to_the_run_that_passes(verdicts):
    since = ended_since = None
    for at, verdict in enumerate(verdicts):
        ended_since = since if verdict == "pass" else None
        if verdict == "pass":
            since = None
        elif verdict == "fail" and since is None:
            since = f"r{at}"
    found = incidents(history(verdicts), f"r{len(verdicts) - 1}", [Gate.model_validate(GATE)])
    told = [] if since is None else [("failing", since)]
    told += [] if ended_since is None else [("resolved", ended_since)]
    assert found.select("state", "since_run").rows() == told
    assert set(found["owner"]) <= {"ann"}


def test_each_promise_has_an_incident_of_its_own():
    rows = history(["fail", "fail"])
    both = pl.concat([rows, rows.with_columns(segment=pl.lit('{"country": "at"}')), rows.tail(1)])
    gone = rows.with_columns(gate=pl.lit("gone"))
    found = incidents(pl.concat([both, gone]), "r1", [Gate.model_validate(GATE)])
    assert found["segment"].to_list() == [None, '{"country": "at"}']


def test_a_gate_that_asks_for_another_metric_begins_a_new_incident():
    rows = history(["fail", "fail", "fail"])
    other = rows.with_columns(metric=pl.when(sequence=2).then(pl.lit("precision")).otherwise("metric"))
    assert incidents(rows, "r2", [Gate.model_validate(GATE)])["since_run"].to_list() == ["r0"]
    found = incidents(other, "r2", [Gate.model_validate(GATE)])
    assert found.select("metric", "since_run").rows() == [("precision", "r2")]


@pytest.mark.long
def test_a_summary_says_what_fails_since_when_and_what_is_resolved(tmp_path):
    job = small_job(tmp_path, OWNED)
    summaries = []
    for night, (hits, code) in enumerate(((0.9, 0), (0.2, 10), (0.9, 0)), start=1):
        write_night(tmp_path / f"logs/2026-03-0{night}/a.parquet", 400, hits, seed=night)
        line = ended(code, "run", job, "--run-id", f"n{night}").stdout.strip()
        summaries.append(read_json(latest(tmp_path) / "summary.json"))
        text = (latest(tmp_path) / "summary.txt").read_text().splitlines()
        assert text[0] == summaries[-1]["line"] == line
        if night == 2:
            assert text[1].startswith("FAILING since run n2: finds: forest, all rows: recall 0.")
            assert text[1].endswith("promised ≥ 0.6; owner ann@bank.example [cards, night]")
        if night == 3:
            assert text[1].startswith("RESOLVED in run n3, failed since run n2: finds: forest")
    found = [[(row["state"], row["since_run"]) for row in summary["incidents"]] for summary in summaries]
    assert found == [[], [("failing", "n2")], [("resolved", "n2")]]
    assert [summaries[1][key] for key in ("job", "run", "verdict")] == ["small", "n2", "fail"]
