"""What holds for the tests and for the examples in docstrings and docs alike."""

import gc
from pathlib import Path

import pytest

from nci_frames.evaluation.metrics import registry

CHARTS, REPORTING = (Path(__file__).parent / "nci_frames" / room for room in ("charts", "reporting"))


def pytest_collection_finish():
    """Leave what was imported out of all later collections of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave long examples out of the quick tests: those of pages, and of what draws or writes a report."""
    for item in items:
        long = item.path.suffix == ".md" or item.path.is_relative_to(CHARTS)
        if long or item.path.is_relative_to(REPORTING):
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Forget the metrics that a test registered, so that no test sees another's."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))  # noqa: SLF001
