"""What makes tests quick: the first ones of many cases, and characters without a look at a codec."""

from collections.abc import Iterable
from typing import Any

import hypothesis.strategies as st
import pytest

#: All characters of UTF-8. By default Hypothesis asks the codec for each of a million, which takes seconds.
CHARACTERS = st.characters(exclude_categories=["Cs"])


def first_quick(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return all cases; those behind the first few are for `make test` alone."""
    every = list(cases)
    rest = (case if isinstance(case, tuple) else (case,) for case in every[quick:])
    return [*every[:quick], *(pytest.param(*case, marks=pytest.mark.thorough) for case in rest)]
