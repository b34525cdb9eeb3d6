"""Cases of which the quick tests take the first ones."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_quick(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return all cases; those behind the first few are for `make test` alone."""
    every = list(cases)
    rest = (case if isinstance(case, tuple) else (case,) for case in every[quick:])
    return [*every[:quick], *(pytest.param(*case, marks=pytest.mark.thorough) for case in rest)]
