"""Settings of the tests. What they import is imported by the process that hands out the tests, too."""

import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.browsing import ARGUMENTS

# The machines that run the tests are shared, so how long an example took says nothing.
settings.register_profile(
    "shared",
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    # A change is judged on the same examples each time; everyone else searches for new ones.
    derandomize="CI" in os.environ,
)
settings.register_profile("quick", settings.get_profile("shared"), max_examples=4, database=None)
settings.register_profile("nightly", settings.get_profile("shared"), max_examples=200)
settings.register_profile("long", settings.get_profile("shared"), max_examples=1000)
settings.load_profile("shared")


# What is imported and collected stays: looking through it for garbage would take seconds.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def unvalidated(request):
    """Leave out the check against the schema of Vega-Lite, which takes longer than the chart itself.

    Each kind of chart is checked in ``test_drawn``.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith("test_drawn"):
            patch.setattr("altair.utils.schemapi.SchemaBase.validate", lambda *_, **__: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def two_threads():
    """Work that the package divides among threads is divided, also where Polars has one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polars.thread_pool_size", lambda: 2)
        yield


@pytest.fixture
def public_path(tmp_path):
    """A folder that every user of the machine may enter: pytest makes them for its own user alone."""
    for folder in (tmp_path, *tmp_path.parents):
        if Path(tempfile.gettempdir()) in folder.parents:
            folder.chmod(0o755)
    return tmp_path


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium: run `make browser`")
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()
