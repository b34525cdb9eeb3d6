"""Values -> JSON text that every reader of JSON takes."""

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: object, **form: Any) -> str:
    """Write values: infinities as words, NaN as null, dates as text; *form* is that of ``json.dumps``.

    >>> json_text({"value": [0.5, math.inf, math.nan], 1: (True, None)})
    '{"value": [0.5, "infinity", null], "1": [true, null]}'
    """
    return json.dumps(_plain(value), allow_nan=False, **form)


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isnan(value):
                return None
            return value if math.isfinite(value) else "infinity" if value > 0 else "-infinity"
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return str(value)
