"""Kinds of values of command options and job-file keys, and their parsing."""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from nci_frames.base.arguments import grid_numbers, number_of


@dataclass(eq=False)
class Kind(click.ParamType[Any]):
    """Parser of a value from the command line or from TOML."""

    name: str
    #: Raises ValueError for an invalid value; returns parsed values unchanged.
    read: Callable[[Any], Any]
    #: JSON Schema of the value in a job file.
    schema: Mapping[str, Any]
    #: The allowed words, if the value is a list of words.
    choices: Sequence[str] = ()

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return the allowed words, if there are any."""
        return f"[{'|'.join(self.choices)}],..." if self.choices else super().get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the value of an option."""
        try:
            return self.read(value)
        except ValueError as error:
            told = str(error)
            self.fail(told if repr(value) in told else f"{told} (found {value!r})", param, ctx)


def number(
    allowed: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    open_ends: bool = False,
    whole: bool = False,
) -> Kind:
    """Return the kind of one number; *allowed* describes its range in errors."""
    low, high = ("exclusiveMinimum", "exclusiveMaximum") if open_ends else ("minimum", "maximum")
    ends = {key: end for key, end in ((low, least), (high, most)) if math.isfinite(end)}

    def read(value: Any) -> float:
        found = as_number(value)
        within = least < found < most if open_ends else least <= found <= most
        if not within or (whole and not found.is_integer()):
            raise ValueError(f"{found:.10g} must be {allowed}{_percent(found, most)}")
        return int(found) if whole else found

    return Kind("number", read, {"type": ["number", "string"], **ends})


def grid(allowed: str, *, most: float = math.inf, files: bool = False) -> Kind:
    """Return the kind of several numbers from 0 to *most*: ``0.001,1/200``, ``start:stop:round``, or a list.

    With *files*, the value may also be the path of a CSV or Parquet file.
    """
    ends = {"minimum": 0} | ({"maximum": most} if math.isfinite(most) else {})

    def read(value: Any) -> tuple[float, ...] | Path:
        if files and isinstance(value, Path):
            return value
        if isinstance(value, str):
            if files and value.lower().endswith((".csv", ".parquet")):
                return Path(value)
            numbers = grid_numbers(value)
        elif isinstance(value, list | tuple):
            numbers = [as_number(item) for item in value]
        else:
            raise ValueError("input should be a list or a text such as 0.001,0.01 or 1e-4:0.5:round")
        if not numbers:
            raise ValueError("input should have at least one number")
        for found in numbers:
            if not 0 <= found <= most:
                raise ValueError(f"{found:.10g} must be {allowed}{_percent(found, most)}")
        return tuple(numbers)

    schema = _several({"type": ["number", "string"], **ends}, 1)
    return Kind("grid or file" if files else "grid", read, schema)


def words(*choices: str, least: int = 0) -> Kind:
    """Return the kind of a list of distinct words out of *choices*: ``html,md``, or a list."""

    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, str | list | tuple):
            raise ValueError("input should be a list")
        given = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
        for word in given:
            if word not in choices:
                raise ValueError(f"{word!r} is not one of {', '.join(map(repr, choices))}")
        if len(given) < least:
            raise ValueError(f"input should have at least {least} of {', '.join(choices)}")
        return tuple(dict.fromkeys(given))

    return Kind("words", read, _several({"enum": list(choices)}, least), choices=choices)


def _several(item: Mapping[str, Any], least: int) -> dict[str, Any]:
    """Return the schema of a list, or of a string that is parsed as a list."""
    return {"type": ["array", "string"], "items": item, "minItems": least}


def as_number(value: Any) -> float:
    """Return a number, parsed if it is a string such as ``1/5000``, ``0.02%``, ``2k`` or ``1M``.

    Raises
    ------
    ValueError
        If it is not a number.
    """
    if isinstance(value, str):
        return number_of(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("input should be a number, or a text such as 1/5000, 0.02%, 2k or 1M")
    return float(value)


def named_numbers(text: str, form: str) -> dict[str, float]:
    """Return the numbers of a string such as ``cat=0.1,dog=0.9`` by name.

    Raises
    ------
    ValueError
        If a part is not a name with a number, or a name is given twice; *form* is the expected form.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, separator, number = (piece.strip() for piece in part.rpartition("="))
        if not separator:
            raise ValueError(f"{part!r} is no name with a number: write {form}")
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = as_number(number)
    return found


def _percent(found: float, most: float) -> str:
    return f"; did you mean {found / 100:g}?" if most == 1 < found <= 100 else ""


def _costs(value: Any) -> tuple[float, ...]:
    parts = value.split(":") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or len(parts) not in (2, 3):
        raise ValueError("write what a miss and a false alarm cost, and perhaps a review: 200:5 or 200:5:8")
    return tuple(as_number(part) for part in parts)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("input should be a text")
    return value


def _moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M:%S"):
        with contextlib.suppress(ValueError):
            return datetime.strptime(value, form).replace(tzinfo=UTC)
    raise ValueError(f"{value!r} is not a date: write 2026-03-01, or 2026-03-01T13 for an hour")


def _value(value: Any) -> str | float | bool:
    """Parse a data value: a number, a Boolean, or a string; single quotes force a string."""
    if not isinstance(value, str):
        return value  # type: ignore[no-any-return]
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for kind in (int, float):
        # Python reads "1_0" as a number, and databases do not.
        with contextlib.suppress(ValueError):
            return value if "_" in value else kind(value)
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value


#: Cost of a missed positive, of a false alarm and, optionally, of the review of an alert: ``200:5:8``.
COSTS = Kind(
    "missed:false[:review]",
    _costs,
    _several({"type": ["number", "string"], "minimum": 0}, 2) | {"maxItems": 3},
)
#: Probabilities strictly between 0 and 1: confidence levels, prevalences.
INSIDE = number("between 0 and 1, both excluded", least=0, most=1, open_ends=True)
ROWS = number("a whole number >= 0", least=0, whole=True)
BETA = number(">= 0", least=0)
TEXT = Kind("text", _text, {"type": "string"})
#: Start of a day or an hour in UTC.
MOMENT = Kind("date", _moment, {"type": "string"})
#: A number, ``true`` or ``false``, or any other string.
VALUE = Kind("value", _value, {})
