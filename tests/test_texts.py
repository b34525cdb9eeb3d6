"""Errors, warnings, help and values are word for word what ``tests/snapshots`` keeps."""

from collections.abc import Iterator

import pytest

from tests.cases import first_quick
from tests.texts import FILES, pages_of_help, read, sources

KEPT = {file: read(file) for file in FILES}


@pytest.fixture(scope="module")
def among_sources() -> Iterator[None]:
    with sources():
        yield


def check_kept(file: str, first: int, step: int) -> None:
    """Compare some of the texts of a file."""
    names, text_of = FILES[file]
    told = {name: text_of(name) for name in names[first::step]}
    kept = {name: KEPT[file].get(name) for name in told}
    assert told == kept, "if this is what it should say, run `make snapshots`"


@pytest.mark.usefixtures("among_sources")
@pytest.mark.parametrize("file", ["help", "errors-charts", "errors-command-line"])
def test_texts_are_those_that_are_kept(file):
    check_kept(file, 0, 1)


@pytest.mark.usefixtures("among_sources")
@pytest.mark.parametrize("first", first_quick(range(4), 2))
def test_errors_of_python_are_those_that_are_kept(first):
    check_kept("errors-python", first, 4)


@pytest.mark.parametrize("first", range(16))
def test_values_are_those_that_are_kept(first):
    check_kept("values", first, 16)


@pytest.mark.thorough
def test_tables_of_a_run_are_those_that_are_kept():
    check_kept("values-of-a-run", 0, 1)


def test_the_help_of_every_command_is_kept():
    assert list(KEPT["help"]) == list(pages_of_help()), "run `make snapshots`"


def test_the_list_of_commands_cuts_no_line():
    texts = [text for name, text in KEPT["help"].items() if "Commands:" in (text or "")]
    assert len(texts) >= 2
    lines = [line for text in texts for line in text.partition("Commands:")[2].splitlines()]
    assert [line for line in lines if line.endswith("...")] == []
