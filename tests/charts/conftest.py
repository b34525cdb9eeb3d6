"""Settings of the tests of charts."""

import pytest
from altair.utils import schemapi


@pytest.fixture(autouse=True)
def unvalidated(request, monkeypatch):
    """Leave out the check against the schema of Vega-Lite, which takes longer than the chart itself.

    Each kind of chart is checked in ``test_drawn``.
    """
    if request.module.__name__ != "tests.charts.test_drawn":
        monkeypatch.setattr(schemapi.SchemaBase, "validate", lambda *_, **__: None)
