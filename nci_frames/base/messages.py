"""Parts of messages: values, names and options as a reader may see them."""

import difflib
import json
import numbers
import os
import re
import shlex
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

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


def quantity(count: float, noun: str) -> str:
    """Write a number of things.

    >>> quantity(1, "file"), quantity(1200, "file"), quantity(2.5, "alert")
    ('1 file', '1,200 files', '2.5 alerts')
    """
    number = f"{count:,}" if isinstance(count, int) else f"{count:,.15g}"
    return f"{number} {noun}{'' if count == 1 else 's'}"


def nearest_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most like *name*; None if none is."""
    if not isinstance(name, str):
        return None
    close = difflib.get_close_matches(name.lower(), {k.lower(): k for k in known}, n=1, cutoff=0.6)
    return next((k for k in known if k.lower() == close[0]), None) if close else None


def files_among(names: Sequence[str], files: int) -> str:
    """Name some of the files of a source, and how many they are if it has several.

    >>> files_among(["a.csv"], 3), files_among(["a.csv"], 1)
    ("1 of 3 files: 'a.csv'", "'a.csv'")
    """
    named = listed(map(repr, names), SHOWN_FILES)
    return named if files == 1 else f"{len(names):,} of {quantity(files, 'file')}: {named}"


#: An option inside a message: its name, and how it is written in Python, on the command line and in a job
#: file. The marks are of Unicode's private use, which ``repr`` never shows.
_OPTION = re.compile("\ue000(.*?)\ue001(.*?)\ue002(.*?)\ue003(.*?)\ue004", re.DOTALL)

#: Where the options of counting stand in a job file; a tuple: their values are in a list.
_JOB_KEYS = {
    **{
        name: f"columns.{name}"
        for name in ("model", "label", "score", "fold", "repeat", "unit", "positive", "on_invalid")
    },
    "on_changed": "source.on_changed",
    "segments": "segments.keys",
    # No key of the file, but an option of the commands that take one.
    "until": "--until",
}
_NO_VALUE = object()
#: In place of a name: every command line has it.
_ANY = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option to be named in a message, alone or with a value that it could have."""

    name: str
    value: object = _NO_VALUE

    def __str__(self) -> str:
        shell, key = f"--{self.name.replace('_', '-')}", _JOB_KEYS.get(self.name, self.name)
        forms = [self.name, shell, key]
        if self.value is not _NO_VALUE:
            toml = json.dumps([self.value] if self.name == "segments" else self.value, default=str)
            forms = [
                f"{self.name}={self.value!r}",
                f"{shell} {shlex.quote(str(self.value))}",
                f"{key} = {toml}",
            ]
        return _marked(self.name, *forms)


@dataclass(frozen=True, slots=True)
class Call:
    """What a reader can do about it: a call in Python, or a command."""

    call: str
    command: str

    def __str__(self) -> str:
        return _marked(_ANY, self.call, self.command, self.command)


def _marked(name: str, in_python: str, on_command_line: str, in_job_file: str) -> str:
    return f"\ue000{name}\ue001{in_python}\ue002{on_command_line}\ue003{in_job_file}\ue004"


def first_line(error: BaseException) -> str:
    """Return what an error of another library says first; its type, if it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


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
    return _OPTION.sub(r"\2", text)


def on_command_line(text: str, options: Container[str] | None = None) -> str:
    """Return a message with its options as they are given on the command line, if it has them.

    Parameters
    ----------
    text
        The message.
    options
        The options of the command; None stands for all.
    """

    def form(found: re.Match[str]) -> str:
        return found[3 if options is None or found[1] == _ANY or found[1] in options else 2]

    return _OPTION.sub(form, text)


def in_job_file(text: str) -> str:
    """Return a message with its options as they are written in a job file."""
    return _OPTION.sub(r"\4", text)
