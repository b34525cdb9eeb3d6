"""docs/honesty.md and the program that writes its table say the same."""

import ast
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import nci_frames as nf

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "benchmarks"
PAGE = (ROOT / "docs" / "honesty.md").read_text(encoding="utf-8")


def rows(table: str) -> list[list[str]]:
    """Return the cells of a Markdown table without its head."""
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.strip().splitlines()[2:]
    ]


def claimed() -> list[list[str]]:
    return rows(PAGE.partition("## Claims and assumptions\n\n")[2].partition("\n\n")[0])


def simulated() -> list[list[str]]:
    return rows(PAGE.partition("<!-- coverage: begin -->\n")[2].partition("<!-- coverage: end -->")[0])


@pytest.fixture(scope="module")
def program() -> SimpleNamespace:
    """Return benchmarks/coverage.py, which has the name of another package."""
    sys.path.insert(0, str(PROGRAMS))
    try:
        return SimpleNamespace(**runpy.run_path(str(PROGRAMS / "coverage.py"), run_name="coverage_of_claims"))
    finally:
        sys.path.remove(str(PROGRAMS))


def templates() -> list[re.Pattern[str]]:
    """Return the texts of the programs, with anything in place of what they fill in."""
    found = set()
    for path in PROGRAMS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                parts = [node.value]
            else:
                continue
            if sum(len(part) for part in parts if part is not None) >= 12:
                found.add("".join(".+" if part is None else re.escape(part) for part in parts))
    return [re.compile(pattern) for pattern in found]


@pytest.mark.thorough
def test_every_claim_of_the_table_is_one_that_the_program_measures():
    known = templates()
    lines = simulated()
    assert len(lines) > 50
    # Texts that are added up are known by their first part.
    assert [claim for claim, *_ in lines if not any(pattern.match(claim) for pattern in known)] == []
    assert all(re.fullmatch(r"-?\d+\.\d{3} ± \d+\.\d{3}", seen) for *_, seen in lines)


def test_every_function_that_claims_something_is_simulated():
    source = "".join(path.read_text(encoding="utf-8") for path in PROGRAMS.glob("*.py"))
    called = set(re.findall(r"\bnf\.(\w+)\(", source))
    functions = [
        name
        for first, claim, *_ in claimed()
        for name in re.findall(r"^`(\w+)", first)
        if hasattr(nf, name) and not re.search("those of the functions here|no test", claim)
    ]
    assert len(functions) > 15
    assert sorted(set(functions) - called) == []


def test_where_the_page_promises_a_number_it_is_reached():
    """Within four standard errors, but for the claims of which the page says that they fail."""
    fails = ('"delong', '"newcombe', '"wald', '"logit', "20 + 2")
    wrong = []
    for claim, where, promised, seen in simulated():
        value, error = (float(number) for number in seen.split(" ± "))
        known = any(word in claim + where for word in fails)
        least = re.fullmatch(r"(?:>= )?(0\.[89]\d*)", promised)
        most = re.fullmatch(r"(?:<=? )?(0\.0\d*)", promised)
        assert least or most or promised.startswith("none"), promised
        if least and not known and value + 4 * error < float(least[1]):
            wrong.append((claim, where, promised, seen))
        if most and value - 4 * error > float(most[1]):
            wrong.append((claim, where, promised, seen))
    assert wrong == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["accuracy", "predictive_values", "planning"])
def test_the_program_prints_the_lines_of_the_page(name, program):
    (claim,) = [claim for claim in program.CLAIMS if claim.__name__ == name]
    lines = [[cell.strip() for cell in seen.line.strip("| ").split(" | ")] for seen in claim(0.01)]
    page = [line[:3] for line in simulated()]
    assert lines
    assert [line[:3] for line in lines if line[:3] not in page] == []


def test_every_group_of_claims_has_a_name_of_its_own(program):
    names = [claim.__name__ for claim in program.CLAIMS]
    assert len(set(names)) == len(names) > 15
    assert program.PAGE == ROOT / "docs" / "honesty.md"
    assert PAGE.count(program.START) == PAGE.count(program.END) == 1
