"""What holds for the tests and for the examples in docstrings and docs alike."""

import gc

import pytest

from nci_frames.evaluation.metrics import registry


def pytest_collection_finish():
    """Leave what was imported out of all later collections of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave the pages of the documentation out of the quick tests: their examples are long."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Forget the metrics that a test registered, so that no test sees another's."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))  # noqa: SLF001
