"""benchmarks/peers.py evaluates one log alike with every package; docs/coming-from.md names what exists."""

import re
import runpy
from pathlib import Path

import pytest

import nci_frames as nf

ROOT = Path(__file__).parents[2]
PROGRAM = runpy.run_path(str(ROOT / "benchmarks" / "peers.py"))
PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_scikit_learn_and_duckdb_find_the_same_numbers(tmp_path):
    log = tmp_path / "log.parquet"
    PROGRAM["write_log"](log, 2_000)
    ours = PROGRAM["nci_frames"](str(log))
    assert sorted(ours) == ["forest", "linear"]
    for peer in ("scikit_learn", "duckdb"):
        found = PROGRAM[peer](str(log))
        for names in PROGRAM["WANTED"].values():
            assert PROGRAM["agreement"](found, ours, names) == "same"


def test_a_difference_and_a_missing_function_are_told():
    ours = {"a": {"roc_auc": 0.5, "pr_auc": 0.25}}
    assert PROGRAM["agreement"]({"a": {"roc_auc": 0.501}}, ours, ("roc_auc",)) == "0.001 off"
    assert PROGRAM["agreement"]({"a": {"roc_auc": 0.501}}, ours, ("pr_auc",)) == "no"


def test_the_page_names_every_peer_with_its_version():
    table = PAGE.partition("<!-- peers -->")[2].partition("<!-- /peers -->")[0]
    rows = re.findall(r"^\| (\S+) \d[\w.]* \|", table, re.MULTILINE)
    assert rows == list(PROGRAM["PEERS"])


def test_every_function_that_the_page_recommends_exists():
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)(?=[(`])", row[1])}
    assert len(named) > 30
    assert named - set(nf.__all__) - set(nf.metrics()["name"]) == set()
