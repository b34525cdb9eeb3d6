"""What holds for the tests and for the examples in docstrings and docs alike."""

import pytest

from nci_frames.evaluation.metrics import registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Forget the metrics that a test registered, so that no test sees another's."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))  # noqa: SLF001
