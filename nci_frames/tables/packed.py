"""Rows of a chart -> columns, so that a page does not repeat field names and values for each mark."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def packed(rows: Sequence[Mapping[str, Any]], /) -> dict[str, Any]:
    """Return rows as columns; a column with few distinct values as these, and an index per row.

    Numbers have seven digits, which halves the page. They have more if rounding the seven digits further
    could differ from rounding the number itself.

    >>> packed([{"model": "boosted trees", "value": value} for value in (0.1, 0.2, 0.3)])["columns"]
    {'model': {'values': ['boosted trees'], 'places': [0, 0, 0]}, 'value': [0.1, 0.2, 0.3]}
    """
    fields = list(dict.fromkeys(field for row in rows for field in row))
    columns = {field: _column([row.get(field) for row in rows]) for field in fields}
    return {"count": len(rows), "columns": columns}


def _column(values: list[Any]) -> Any:
    first: dict[Any, int] = {}
    # Text distinguishes 0 from -0, and the type 1 from true, which are equal.
    keys = (_digits(value) if isinstance(value, float) else (value, type(value)) for value in values)
    places = [first.setdefault(key, len(first)) for key in keys]
    distinct = [float(key) if isinstance(key, str) else key[0] for key in first]
    plain, coded = [distinct[place] for place in places], {"values": distinct, "places": places}
    return min(plain, coded, key=lambda form: len(json.dumps(form, separators=(",", ":"))))


def _digits(value: float) -> str:
    for digits in (7, 8):
        text = f"{value:.{digits}g}"
        # Only a number that ends with 5 can lie midway between two shorter ones.
        if not text.partition("e")[0].endswith("5"):
            return text
    return repr(value)
