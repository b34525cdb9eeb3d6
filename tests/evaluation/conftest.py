"""Functions behind the public ones run as in a public call, where undefined values are no warnings."""

from collections.abc import Iterator

import pytest

from nci_frames.schemas import undefined_is_nan


@pytest.fixture(autouse=True)
def undefined_values_are_no_warnings() -> Iterator[None]:
    with undefined_is_nan():
        yield
