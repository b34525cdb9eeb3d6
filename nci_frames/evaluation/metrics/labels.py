"""The label of a metric in a table: its name, and the settings of the call in brackets."""

import re
from collections.abc import Mapping

_CALLED = re.compile(r"(\w+)\((.+)\)")


def label_of(name: str, settings: Mapping[str, float]) -> str:
    """Return the label of a metric called with settings; different settings always have different labels.

    >>> label_of("expected_cost", {"c_fp": 1.0, "c_fn": 1 / 3})
    'expected_cost(c_fp=1, c_fn=0.3333333333333333)'
    """
    # repr is the shortest text that is read back as the same number.
    told = (f"{key}={repr(float(value)).removesuffix('.0')}" for key, value in settings.items())
    return f"{name}({', '.join(told)})" if settings else name


def settings_of(label: str) -> tuple[str, dict[str, float]] | None:
    """Return the name and the settings that make a label; None if it has no settings.

    >>> settings_of("expected_cost(c_fp=1, c_fn=20)")
    ('expected_cost', {'c_fp': 1.0, 'c_fn': 20.0})
    """
    called = _CALLED.fullmatch(label)
    if called is None:
        return None
    settings: dict[str, float] = {}
    for part in called[2].split(","):
        key, _, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            return None
        if key.strip() in settings:
            return None
        settings[key.strip()] = number
    return called[1], settings
