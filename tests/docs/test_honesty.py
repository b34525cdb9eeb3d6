"""docs/honesty.md and the program that writes its tables say the same."""

import itertools
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import nci_frames as nf

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "benchmarks"
SOURCE = (PROGRAMS / "coverage.py").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "honesty.md").read_text(encoding="utf-8")


class Cell(NamedTuple):
    claim: str
    condition: str
    promised: str
    share: float
    error: float


def rows(table: str) -> list[list[str]]:
    """Return the cells of a Markdown table without the line below its head."""
    head, _, *body = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines())
    return [head, *body]


def claimed() -> list[str]:
    """Return the functions that the page names at the beginning of a claim."""
    claims = PAGE.partition("## Claims and assumptions\n\n")[2].partition("\n## ")[0]
    return re.findall(r"^- `(\w+)", claims, re.MULTILINE)


def simulated() -> list[Cell]:
    """Return the cells of all tables; nothing is promised of those in italics."""
    tables = PAGE.partition("<!-- coverage: begin -->\n")[2].partition("<!-- coverage: end -->")[0]
    found = []
    for table in (block for block in tables.split("\n\n") if block.startswith("|")):
        (_, *claims), (_, *promises), *body = rows(table)
        for where, *cells in body:
            for claim, promised, cell in zip(claims, promises, cells, strict=True):
                if cell:
                    share, error = map(float, cell.strip("*").split(" ± "))
                    found.append(Cell(claim, where, "none" if cell[0] == "*" else promised, share, error))
    return found


@pytest.fixture(scope="module")
def program() -> SimpleNamespace:
    """Return benchmarks/coverage.py, which has the name of another package."""
    sys.path.insert(0, str(PROGRAMS))
    try:
        return SimpleNamespace(**runpy.run_path(str(PROGRAMS / "coverage.py"), run_name="coverage_of_claims"))
    finally:
        sys.path.remove(str(PROGRAMS))


def test_every_function_that_claims_something_is_simulated():
    source = "".join(path.read_text(encoding="utf-8") for path in PROGRAMS.glob("*.py"))
    called = set(re.findall(r"\bnf\.(\w+)\(", source))
    functions = {name for name in claimed() if hasattr(nf, name)}
    assert len(functions) > 15
    assert functions - called == set()


#: Where the page says that a promise is not kept.
FAILS = ('"delong', '"newcombe', '"wald', '"logit', "20 + 2")


def broken(promised: str, share: float, error: float) -> bool:
    """Say whether a share is beyond what was promised by more than chance."""
    least = re.fullmatch(r"(?:>= )?(0\.[89]\d*)", promised)
    most = re.fullmatch(r"(?:<=? )?(0\.0\d*)", promised)
    assert least or most or promised == "none", promised
    lower, upper = (least or ["", "-inf"])[1], (most or ["", "inf"])[1]
    return share + error < float(lower) or share - error > float(upper)


def test_where_the_page_promises_a_number_it_is_reached():
    """Within four standard errors."""
    assert len(simulated()) > 50
    wrong = [cell for cell in simulated() if broken(cell.promised, cell.share, 4 * cell.error)]
    assert [cell for cell in wrong if not any(word in cell.claim + cell.condition for word in FAILS)] == []


#: A claim that trains a lot is left to `make coverage`.
SLOWEST = {"trained_folds"}
#: The share of the logs that is drawn here: of few logs more of them, so that a wrong interval shows.
SHARES = {"traffic": 0.7, "own_thresholds": 0.15, "maps": 0.1, "best": 0.07}
SHARES |= {"budgets": 0.5, "targets_of_precision": 0.15, "first_models": 0.1, "traffic_of_many": 0.2}
SHARES |= {"rare_rows": 0.3, "faulty_units": 1.0, "segments_of_units": 0.025, "champions": 0.1}
#: So many lines of these promise something; the logs of those behind them are left to `make coverage`.
PROMISES = {"best": 8, "champions": 1, "own_thresholds": 6, "shifts": 2}
NAMES = re.findall(r"\b(?:rates|models|chosen)\.(\w+)", SOURCE)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOWEST])
def test_what_the_page_promises_is_kept_in_some_logs_drawn_anew(name, program):
    """The lines of one promise, alone and together, within three standard errors; others draw more logs."""
    (claim,) = [claim for claim in program.CLAIMS if claim.__name__ == name]
    page, alike = {cell[:3] for cell in simulated()}, {}
    for seen in itertools.islice(claim(SHARES.get(name, 0.03)), PROMISES.get(name)):
        assert (seen.claim, seen.condition, seen.promised) in page
        if not any(word in seen.claim + seen.condition for word in FAILS):
            alike.setdefault((seen.claim, seen.promised), []).append((seen.share, seen.standard_error))
    lines = ((promised, [line]) for (_, promised), found in alike.items() for line in found)
    for promised, found in (*lines, *((promised, found) for (_, promised), found in alike.items())):
        share, error = np.mean([share for share, _ in found]), np.linalg.norm([error for _, error in found])
        assert not broken(promised, share, 3 * error / len(found)), (promised, found)


def test_every_group_of_claims_has_a_name_of_its_own(program):
    names = [claim.__name__ for claim in program.CLAIMS]
    assert len(set(names)) == len(names) > 15
    assert program.PAGE == ROOT / "docs" / "honesty.md"
    assert PAGE.count(program.START) == PAGE.count(program.END) == 1
