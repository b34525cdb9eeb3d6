"""Safe forms of names from the data for terminals, pages and charts.

A terminal interprets control characters. Two kinds of names break a chart: XML, and so SVG, excludes most
control characters, at which the renderer of pictures aborts; and Vega keeps groups in plain JavaScript
objects, where a name such as ``constructor`` finds a property that every object has.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

#: Properties of every JavaScript object (ECMAScript, "Properties of the Object Prototype Object").
_OBJECT = (
    "__defineGetter__|__defineSetter__|__lookupGetter__|__lookupSetter__|__proto__|constructor|"
    "hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf"
)
#: Characters excluded by XML 1.0 (production 2, "Char"), lone surrogates, which UTF-8 excludes, too, and
#: those that turn the direction of the text after them (Unicode Annex 9).
_NO_XML = "[^\\t\\n\\r\\x20-\\u2029\\u202F-\\u2065\\u206A-\\uD7FF\\uE000-\\uFFFD\\U00010000-\\U0010FFFF]"
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
#: Characters written by their code, and text that looks like such a code, so that names stay distinct.
_FOREIGN = re.compile(f"{_NO_XML}|⟨(?=[0-9a-f]*⟩)")
_UNDRAWABLE = re.compile(f"{_NO_XML}|\\A({_OBJECT})\\Z")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
#: The same pattern for Polars, whose strings have no surrogates.
_EXCHANGED = (
    r"[^\t\n\r\x{20}-\x{2029}\x{202F}-\x{2065}\x{206A}-\x{FFFD}\x{10000}-\x{10FFFF}]"
    rf"|⟨[0-9a-f]*⟩|^({_OBJECT})$"
)

#: Keys of a specification with data; elsewhere a string may be a keyword or a colour.
_DATA = frozenset({"data", "datasets", "domain"})


def printable(text: str) -> str:
    r"""Replace the control characters of a name, so that a terminal only shows it.

    >>> printable("a\x1b[31m\u202eb")
    'a�[31m�b'
    """
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def straight(text: str) -> str:
    r"""Encode the characters of a text that would turn the direction of the text after it.

    >>> straight("a\u202eb")
    'a⟨202e⟩b'
    """
    return _coded(_TURNING, text)


def drawable(text: str) -> str:
    r"""Encode a name so that it can be used in a chart; different names stay different.

    >>> drawable("a\x1b[31m"), drawable("constructor"), drawable("random forest")
    ('a⟨1b⟩[31m', 'constructor⟨⟩', 'random forest')
    """
    return f"{text}⟨⟩" if re.fullmatch(_OBJECT, text) else _coded(_FOREIGN, text)


def _coded(characters: re.Pattern[str], text: str) -> str:
    return characters.sub(lambda letter: f"⟨{ord(letter[0]):x}⟩", text)


def all_drawable(frame: pl.DataFrame) -> bool:
    """Return whether ``drawable`` leaves every string of a frame unchanged."""
    found = frame.select(pl.col(pl.String).str.contains(_EXCHANGED).any())
    return not (found.width and any(found.row(0)))


def is_drawable(spec: object) -> bool:
    """Return whether every string of a Vega-Lite specification can be drawn unchanged."""
    if isinstance(spec, Mapping):
        return all(map(is_drawable, spec.values()))
    if isinstance(spec, list | tuple):
        return all(map(is_drawable, spec))
    return not (isinstance(spec, str) and _UNDRAWABLE.search(spec))


def drawable_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Encode every name in a Vega-Lite specification with ``drawable``."""
    return with_texts(spec, lambda text, data: drawable(text) if data else _coded(_FOREIGN, text))


def pictured_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Write characters beyond the first plane of Unicode by their code.

    Vega treats each as two characters, and the renderer crashes if a label is cut between these.
    """
    return with_texts(spec, lambda text, _: _coded(_BEYOND, text))


def with_texts(spec: Mapping[str, Any], written: Callable[[str, bool], str]) -> dict[str, Any]:
    """Replace every string of a Vega-Lite specification by ``written(string, whether it is data)``."""

    def walk(node: Any, data: bool) -> Any:
        if isinstance(node, Mapping):
            return {key: walk(part, data or key in _DATA) for key, part in node.items()}
        if isinstance(node, list | tuple):
            return [walk(part, data) for part in node]
        return written(node, data) if isinstance(node, str) else node

    return dict(walk(spec, data=False))
