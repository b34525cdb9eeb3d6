"""docs/development.md describes the project as it is."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nci_frames"
PAGE = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
TREE, LAYERS = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


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


def test_the_tree_shows_every_subpackage_and_what_lies_beside_them():
    folders = {path.parent for path in PACKAGE.rglob("__init__.py")}
    beside = {path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"}
    assert sorted(drawn()) == sorted(folders | beside)


def test_the_layers_are_those_of_the_contracts():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    assert LAYERS.splitlines() == [f"{c['containers'][0]}: {' > '.join(c['layers'])}" for c in contracts]


def test_every_path_that_is_named_exists():
    named = [word for word in re.findall(r"`([^`\s]+)`", PAGE) if "/" in word]
    assert len(named) > 40
    assert [word for word in named if not (ROOT / word).exists()] == []


def test_every_target_of_make_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", PAGE))
    assert len(named) > 10
    assert named - targets == set()


def test_the_folders_of_the_tests_are_those_of_the_package():
    rooms = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    mirrored = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    assert {str(folder) for folder in mirrored - rooms} == {"benchmarks", "contracts", "docs", "fuzz"}


def test_no_test_file_imports_another_one():
    importing = re.compile(r"\b(?:from|import) (?:tests[.])?test_|from tests import [^\n]*\btest_")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 100
    assert [file.name for file in files if importing.search(file.read_text(encoding="utf-8"))] == []
