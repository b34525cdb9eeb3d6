"""Parts of messages: values, names and options in readable form."""

import difflib
import json
import numbers
import os
import re
import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

_SHOWN = 5
#: Maximum number of characters of a value to show.
_LONG = 60
#: Types whose values are shown; of others, only the type is shown.
_TELLING = (bytes, numbers.Number, list, tuple, dict, set, os.PathLike)
#: Maximum number of bad files to name.
SHOWN_FILES = 50


def listed(items: Iterable[str], shown: int = _SHOWN) -> str:
    """Join the first few items, followed by the number of the others."""
    items = list(items)
    more = f" and {len(items) - shown:,} more" if len(items) > shown else ""
    return ", ".join(items[:shown]) + more


def either(words: Sequence[str]) -> str:
    """Join alternatives.

    >>> either(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def named_values(values: Mapping[str, object]) -> str:
    """Join names and values, such as those of a row.

    >>> named_values({"model": "a", "threshold": 0.5})
    "model 'a', threshold 0.5"
    """
    return ", ".join(f"{name} {value!r}" for name, value in values.items())


def quantity(count: float, noun: str) -> str:
    """Format a number with a noun.

    >>> quantity(1, "file"), quantity(1200, "file"), quantity(2.5, "alert")
    ('1 file', '1,200 files', '2.5 alerts')
    """
    number = f"{count:,}" if isinstance(count, int) else f"{count:,.15g}"
    return f"{number} {noun}{'' if count == 1 else 's'}"


def nearest_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name most similar to *name*; None if none is similar."""
    if not isinstance(name, str):
        return None
    close = difflib.get_close_matches(name.lower(), {k.lower(): k for k in known}, n=1, cutoff=0.6)
    return next((k for k in known if k.lower() == close[0]), None) if close else None


def files_among(names: Sequence[str], files: int) -> str:
    """Name some files of a source, with their number if the source has several files.

    >>> files_among(["a.csv"], 3), files_among(["a.csv"], 1)
    ("1 of 3 files: 'a.csv'", "'a.csv'")
    """
    named = listed(map(repr, names), SHOWN_FILES)
    return named if files == 1 else f"{len(names):,} of {quantity(files, 'file')}: {named}"


#: An option inside a message: its name, and its form in Python, on the command line and in a job file. The
#: marks are private-use characters, which ``repr`` always escapes.
_OPTION = re.compile("\ue000(.*?)\ue001(.*?)\ue002(.*?)\ue003(.*?)\ue004", re.DOTALL)

#: Job-file keys of the counting options; a tuple means that the value is a list.
_OF_COLUMNS = ("model", "label", "score", "fold", "repeat", "unit", "weight", "positive", "on_invalid")
_JOB_KEYS = {name: f"columns.{name}" for name in _OF_COLUMNS}
_JOB_KEYS |= {"on_changed": "source.on_changed", "segments": "segments.keys"}
# Not a key of the file, but an option of the commands that take a job file.
_JOB_KEYS["until"] = "--until"
_NO_VALUE = object()
#: Placeholder name of an option that every command line has.
_ANY = ""


class Option(NamedTuple):
    """An option in a message, alone or with an example value."""

    name: str
    value: object = _NO_VALUE

    def __str__(self) -> str:
        shell, key = f"--{self.name.replace('_', '-')}", _JOB_KEYS.get(self.name, self.name)
        forms = [self.name, shell, key]
        if self.value is not _NO_VALUE:
            toml = json.dumps([self.value] if self.name == "segments" else self.value, default=str)
            quoted = shlex.quote(str(self.value))
            forms = [f"{self.name}={self.value!r}", f"{shell} {quoted}", f"{key} = {toml}"]
        return _marked(self.name, *forms)


class Call(NamedTuple):
    """A remedy in a message: a call in Python, a command, and in a job file a key, or else the command."""

    call: str
    command: str
    key: str | None = None

    def __str__(self) -> str:
        return _marked(_ANY, self.call, self.command, self.key or self.command)


def _marked(name: str, in_python: str, on_command_line: str, in_job_file: str) -> str:
    return f"\ue000{name}\ue001{in_python}\ue002{on_command_line}\ue003{in_job_file}\ue004"


def first_line(error: BaseException) -> str:
    """Return the first line of an error of another library, or its type if the message is empty."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def short(value: object) -> str:
    """Return the repr of a value, shortened if long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses the repr of integers with thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def shown(value: object) -> str:
    """Describe a given value: its type, and the value itself if that is informative."""
    if value is None or isinstance(value, str):
        return short(value)
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    text = short(value) if isinstance(value, _TELLING) else "\n"
    return name if "\n" in text else f"{text} ({name})"


def in_python(text: str) -> str:
    """Return a message with its options in the form of Python."""
    return _OPTION.sub(r"\2", text)


def on_command_line(text: str, options: Container[str] | None = None) -> str:
    """Return a message with its options in the form of the command line, if the command has them.

    Parameters
    ----------
    text
        The message.
    options
        Options of the command; None means all.
    """

    def form(found: re.Match[str]) -> str:
        return found[3 if options is None or found[1] == _ANY or found[1] in options else 2]

    return _OPTION.sub(form, text)


def in_job_file(text: str) -> str:
    """Return a message with its options in the form of a job file."""
    return _OPTION.sub(r"\4", text)


def a_frame(name: str) -> str:
    """Name a kind of frame with its article.

    >>> a_frame("counts"), a_frame("areas")
    ('a counts frame', 'an areas frame')
    """
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} frame"
