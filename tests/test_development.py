"""docs/development.md describes the project as it is."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nci_frames"
PAGE = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
TREE, LAYERS = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def drawn() -> list[Path]:
    """Return the paths of the tree: a name belongs to the line above it that is indented less."""
    paths: list[Path] = []
    above: list[tuple[int, Path]] = []
    for line in TREE.splitlines():
        indent = len(line) - len(line.lstrip())
        above = [(outer, path) for outer, path in above if outer < indent]
        path = (above[-1][1] if above else ROOT) / line.split()[0]
        above.append((indent, path))
        paths.append(path)
    return paths


def listed_tests() -> list[tuple[Path, list[str]]]:
    """Return the modules of the table of tests, each with the files that it names."""
    _, _, table = PAGE.partition("| in | modules | tested in |\n| --- | --- | --- |\n")
    rows, folder = [], ""
    for line in table.splitlines():
        place, modules, files = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|"))
        folder = place[0] if place else folder
        inside = Path(*folder.removeprefix("nci_frames").split("."))
        rows += [(inside / f"{module}.py", files) for module in modules]
    return rows


def test_the_tree_shows_every_subpackage_and_what_lies_beside_them() -> None:
    folders = {path.parent for path in PACKAGE.rglob("__init__.py")}
    beside = {path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"}
    assert sorted(drawn()) == sorted(folders | beside)


def test_the_layers_are_those_of_the_contracts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    assert LAYERS.splitlines() == [f"{c['containers'][0]}: {' > '.join(c['layers'])}" for c in contracts]


def test_every_path_that_is_named_exists() -> None:
    named = [word for word in re.findall(r"`([^`\s]+)`", PAGE) if "/" in word]
    assert len(named) > 40
    assert [word for word in named if not (ROOT / word).exists()] == []


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", PAGE))
    assert len(named) > 10
    assert named - targets == set()


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_a_test_file_of_its_name_or_a_line_that_says_where_it_is_tested(
    module: Path,
) -> None:
    alone = Counter(path.stem for path in MODULES)[module.stem] == 1
    named = alone and (ROOT / "tests" / f"test_{module.stem}.py").exists()
    assert named or module in dict(listed_tests()), (
        f"write tests/test_{module.stem}.py, or add it to the table"
    )


def test_no_test_file_imports_another_one() -> None:
    importing = re.compile(r"\b(?:from|import) (?:tests[.])?test_|from tests import [^\n]*\btest_")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 100
    assert [file.name for file in files if importing.search(file.read_text(encoding="utf-8"))] == []


def test_the_table_of_tests_names_what_exists_and_each_module_once() -> None:
    rows = listed_tests()
    assert len(rows) > 50
    assert [module for module, _ in rows if module not in MODULES] == []
    assert [module for module, times in Counter(module for module, _ in rows).items() if times > 1] == []
    assert [file for _, files in rows for file in files if not (ROOT / "tests" / file).exists()] == []
    assert all(files for _, files in rows)
