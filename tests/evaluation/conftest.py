"""Functions behind the public ones run as in a public call, where undefined values are no warnings."""

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def undefined_values_are_no_warnings() -> Iterator[None]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        yield
