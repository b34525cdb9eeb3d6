"""What holds for the tests and for the examples in docstrings and docs alike."""

import gc
from importlib import import_module
from pathlib import Path

import pytest

ROOMS = ("charts", "files", "jobs/labelling.py", "questions", "reporting")
LONG = [Path(__file__).parent / "nci_frames" / room for room in ROOMS]

# Hardly anything of what is imported and collected is garbage.
gc.set_threshold(50_000)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for no examples in the docstrings of test files, which each worker would search."""
    found = yield
    tests = file_path.name.startswith("test_")
    return [collector for collector in found if not tests or type(collector) is pytest.Module]


def pytest_collection_finish():
    """Leave what was imported out of all later collections of garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items):
    """Leave long examples out of the quick tests: those of pages, and of what draws or writes a report.

    Files that open a page take longest, then that of the kept texts: they come first, so that no worker
    waits for one at the end.
    """
    for item in (item for item in items if isinstance(item, pytest.DoctestItem)):
        if item.path.suffix == ".md" or any(item.path.is_relative_to(room) for room in LONG):
            item.add_marker(pytest.mark.thorough)
    yield
    opened = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(key=lambda item: (item.path not in opened, item.path.name != "test_texts.py"))


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Forget the metrics that a test registered, so that no test sees another's."""
    registry = import_module("nci_frames.evaluation.metrics.registry")
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))  # noqa: SLF001
