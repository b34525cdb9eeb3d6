"""The public names are sorted by room, and the page of the API is what `make api` would write."""

import re
import runpy
from pathlib import Path

import pytest

import nci_frames as nf

API = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "api.py"))
STUB = API["STUB"].read_text(encoding="utf-8")


def test_the_stub_is_sorted_by_room():
    assert API["sorted_stub"](STUB) == STUB, "run `make api`"


def test_the_page_is_what_the_docstrings_say():
    assert API["page"](STUB) == API["PAGE"].read_text(encoding="utf-8"), "run `make api`"


def test_every_public_name_is_on_the_page_once_with_a_summary():
    first, rest = API["page"](STUB).split("## All, by subpackage")
    assert first.count("| `") == len(API["FIRST"])
    rows = [re.split(r"(?<!\\)\|", line) for line in rest.splitlines() if line.startswith("| `")]
    assert sorted(row[1].strip(" `") for row in rows) == sorted(nf.__all__)
    assert all(row[2].strip().endswith((".", ":")) for row in rows)


def test_a_name_in_the_wrong_place_is_moved_to_its_room():
    *rest, last = STUB.splitlines()
    assert "errors" in last
    assert API["sorted_stub"]("\n".join([last, *rest])) == STUB


def test_a_metric_that_the_stub_lacks_is_added():
    line = "from .evaluation.metrics.agreement import accuracy as accuracy\n"
    assert line in STUB
    assert API["sorted_stub"](STUB.replace(line, "")) == STUB


def test_the_tables_of_metrics_are_those_of_the_registry_with_what_each_means():
    page = API["METRICS"].read_text(encoding="utf-8")
    assert API["with_metrics"](page) == page, "run `make api`"
    lacking = API["with_metrics"](re.sub(r"(?m)^\| `(mcc|roc_auc)` .*\n", "", page))
    assert "| `mcc` |  | (TPR-FPR)·√(eta·(1-eta) / (POSfrac·(1-POSfrac))) | |" in lacking
    assert "| `roc_auc` |  | ∫ TPR dFPR | `compute_areas(counts, prevalence=...)` | |" in lacking
    unsaid = re.findall(r"(?m)^\| `(\w+)` .*\| \|$", page)
    assert unsaid == [], "say in the last cell of the row in docs/metrics.md what it means"


def test_a_room_that_is_not_listed_is_named():
    with pytest.raises(LookupError, match=r"cellar\.wine has public names: add its room"):
        API["sorted_stub"](STUB + "from .cellar.wine import red as red\n")
