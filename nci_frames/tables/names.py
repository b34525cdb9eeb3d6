"""How terminals and charts write names from the data.

A terminal obeys control characters. A chart cannot hold two kinds of texts: XML, and so SVG, has no place
for most control characters, and the renderer of pictures aborts its process at one; and Vega keeps groups in
plain JavaScript objects, where a name such as ``constructor`` finds a property that every object has.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

#: The properties of every JavaScript object (ECMAScript, "Properties of the Object Prototype Object").
_OBJECT = (
    "__defineGetter__|__defineSetter__|__lookupGetter__|__lookupSetter__|__proto__|constructor|"
    "hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf"
)
#: What XML 1.0 cannot hold (its production 2, "Char"), and lone surrogates, which UTF-8 cannot hold either.
_NO_XML = "[^\\t\\n\\r\\x20-\\uD7FF\\uE000-\\uFFFD\\U00010000-\\U0010FFFF]"
#: What is written by its code, and what looks as if it were, lest two names become one.
_FOREIGN = re.compile(f"{_NO_XML}|⟨(?=[0-9a-f]*⟩)")
_UNDRAWABLE = re.compile(f"{_NO_XML}|\\A({_OBJECT})\\Z")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
#: As Polars writes it; no text of a frame has surrogates.
_EXCHANGED = rf"[^\t\n\r\x{{20}}-\x{{FFFD}}\x{{10000}}-\x{{10FFFF}}]|⟨[0-9a-f]*⟩|^({_OBJECT})$"

#: Where a specification holds data; elsewhere a text may be a word of the language or a colour.
_DATA = frozenset({"data", "datasets", "domain"})


def printable(text: str) -> str:
    r"""Write a name so that a terminal shows it and obeys nothing in it.

    >>> printable("a\x1b[31m\u202eb")
    'a�[31m�b'
    """
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def drawable(text: str) -> str:
    r"""Write a name so that a chart can hold it; different names stay different.

    >>> drawable("a\x1b[31m"), drawable("constructor"), drawable("random forest")
    ('a⟨1b⟩[31m', 'constructor⟨⟩', 'random forest')
    """
    return f"{text}⟨⟩" if re.fullmatch(_OBJECT, text) else _by_code(text)


def _by_code(text: str) -> str:
    return _FOREIGN.sub(lambda letter: f"⟨{ord(letter[0]):x}⟩", text)


def all_drawable(frame: pl.DataFrame) -> bool:
    """Say whether ``drawable`` leaves every text of a frame as it is."""
    found = frame.select(pl.col(pl.String).str.contains(_EXCHANGED).any())
    return not (found.width and any(found.row(0)))


def is_drawable(spec: object) -> bool:
    """Say whether every text of a Vega-Lite specification can be drawn as it is."""
    if isinstance(spec, Mapping):
        return all(map(is_drawable, spec.values()))
    if isinstance(spec, list | tuple):
        return all(map(is_drawable, spec))
    return not (isinstance(spec, str) and _UNDRAWABLE.search(spec))


def drawable_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Write every name in a Vega-Lite specification so that it can be drawn; see ``drawable``."""
    return with_texts(spec, lambda text, data: drawable(text) if data else _by_code(text))


def pictured_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Write letters beyond the first plane of Unicode by their code.

    Vega takes them for two letters each, and a label that it cuts between these ends the renderer.
    """
    return with_texts(spec, lambda text, _: _BEYOND.sub(lambda letter: f"⟨{ord(letter[0]):x}⟩", text))


def with_texts(spec: Mapping[str, Any], written: Callable[[str, bool], str]) -> dict[str, Any]:
    """Return a Vega-Lite specification with other texts; *written* is told whether one is in the data."""

    def walk(node: Any, data: bool) -> Any:
        if isinstance(node, Mapping):
            return {key: walk(part, data or key in _DATA) for key, part in node.items()}
        if isinstance(node, list | tuple):
            return [walk(part, data) for part in node]
        return written(node, data) if isinstance(node, str) else node

    return dict(walk(spec, data=False))
