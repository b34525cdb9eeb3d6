"""Errors, warnings and help say word for word what ``tests/snapshots`` keeps."""

import itertools
from collections.abc import Iterator

import pytest

from tests.texts import FILES, pages_of_help, read, sources

KEPT = {file: read(file) for file in FILES}
#: Quick: every second text.
EVERY = [
    pytest.param(file, name, marks=[pytest.mark.thorough] * odd)
    for (file, (names, _)) in FILES.items()
    for name, odd in zip(names, itertools.cycle((0, 1)), strict=False)
]


@pytest.fixture(scope="module")
def among_sources() -> Iterator[None]:
    with sources():
        yield


@pytest.mark.usefixtures("among_sources")
@pytest.mark.parametrize(("file", "name"), EVERY)
def test_a_text_is_the_one_that_is_kept(file, name):
    _, text_of = FILES[file]
    assert text_of(name) == KEPT[file].get(name), "if this is what it should say, run `make snapshots`"


def test_the_help_of_every_command_is_kept():
    assert list(KEPT["help"]) == list(pages_of_help()), "run `make snapshots`"


def test_the_list_of_commands_cuts_no_line():
    texts = [text for name, text in KEPT["help"].items() if "Commands:" in (text or "")]
    assert len(texts) >= 2
    lines = [line for text in texts for line in text.partition("Commands:")[2].splitlines()]
    assert [line for line in lines if line.endswith("...")] == []
