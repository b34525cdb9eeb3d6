"""Parts of messages: values, names and options as a reader may see them."""

import difflib
import numbers
import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "SHOWN_FILES",
    "Option",
    "in_python",
    "listed",
    "nearest_name",
    "on_command_line",
    "short",
    "shown",
]

_SHOWN = 5
#: More characters of a value are not shown.
_LONG = 60
#: Values of other types are shown by their type alone.
_TELLING = (bytes, numbers.Number, list, tuple, dict, set, os.PathLike)
#: Bad files are named up to this many.
SHOWN_FILES = 50


def listed(items: Iterable[str], shown: int = _SHOWN) -> str:
    """Join the first few items, and say how many more there are."""
    items = list(items)
    more = f" and {len(items) - shown} more" if len(items) > shown else ""
    return ", ".join(items[:shown]) + more


def nearest_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most like *name*; None if none is."""
    if not isinstance(name, str):
        return None
    close = difflib.get_close_matches(name.lower(), {k.lower(): k for k in known}, n=1, cutoff=0.6)
    return next((k for k in known if k.lower() == close[0]), None) if close else None


#: An option inside a message: these marks are of Unicode's private use, which ``repr`` never shows.
_OPTION = re.compile("\ue000(.*?)\ue001(.*?)\ue002", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Option:
    """An option to be named in a message, with a value that it could have."""

    name: str
    value: object

    def __str__(self) -> str:
        return f"\ue000{self.name}={self.value!r}\ue001{self._on_command_line()}\ue002"

    def _on_command_line(self) -> str:
        return f"--{self.name.replace('_', '-')} {shlex.quote(str(self.value))}"


def short(value: object) -> str:
    """Return the repr of a value, or the beginning of it."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits has none
        return "a number of thousands of digits"
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def shown(value: object) -> str:
    """Return what was given: its type, and the value if that says something."""
    if value is None or isinstance(value, str):
        return short(value)
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    text = short(value) if isinstance(value, _TELLING) else "\n"
    return name if "\n" in text else f"{text} ({name})"


def in_python(text: str) -> str:
    """Return a message with its options as they are given in Python."""
    return _OPTION.sub(r"\1", text)


def on_command_line(text: str) -> str:
    """Return a message with its options as they are given on the command line."""
    return _OPTION.sub(r"\2", text)
