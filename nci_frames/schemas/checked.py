"""What every public function checks first: that each argument is of the kind that its annotation says.

Annotations are the only statement of what a function takes: mypy reads them beforehand, ``@checked`` in each
call. Ranges of numbers, names of columns and contents of frames are checked by the functions.
"""

import contextlib
import functools
import inspect
import itertools
import numbers
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Option, nearest_name, shown
from nci_frames.schemas import FRAMES

__all__ = ["checked", "no_frame"]

P = ParamSpec("P")
R = TypeVar("R")

_MAKERS = {frame.name: frame.maker for frame in FRAMES}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of each call of *function* against its annotations.

    A number may be one of NumPy, and is passed on as one of Python; a list may be a tuple, an array or a
    Series. True is not a number.

    >>> @checked
    ... def share(part: float, *, of: float | Sequence[float] = 1.0) -> float:
    ...     return part
    >>> share("0.5")
    Traceback (most recent call last):
    ...
    nci_frames.base.errors.ParameterError: part must be a number
      found: '0.5'
      hint:  did you mean the number 0.5?

    Raises
    ------
    ParameterError
        In a call, if an argument is of another kind.
    SchemaError
        In a call, if an argument that must be a frame is none.
    """
    signature = inspect.signature(function)
    places: list[str] = []
    rest: str | None = None
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            places.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            rest = parameter.name

    @functools.cache
    def kinds() -> dict[str, _Kind]:
        # In the first call, since most functions of a module that is imported are not called.
        return {name: _kind(parameter.annotation) for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        known = kinds()
        names: Iterable[str] = places if rest is None else itertools.chain(places, itertools.repeat(rest))
        # Arguments too many, too few or unknown are left to the call: Python names them.
        for name, value in itertools.chain(zip(names, args, strict=False), kwargs.items()):
            kind = known.get(name)
            if kind is not None and not kind.takes(value):
                raise _refusal(name, kind, value)
        return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})  # type: ignore[arg-type]

    return call


#: What is passed on as it is, most of the time.
_OF_PYTHON = frozenset((float, int, str, bool, types.NoneType))


def _plain(value: object) -> object:
    """Return a number or string of NumPy, and a fraction, as one of Python; also in a list or dict.

    Arithmetic with a Float32 is in Float32, and one with an Int8 overflows beyond 127.

    >>> _plain(np.float32(0.5)), _plain([np.int8(100), 0.1]), _plain({"a": np.str_("b")})
    (0.5, [100, 0.1], {'a': 'b'})
    """
    kind = type(value)
    if kind in _OF_PYTHON:
        return value
    if isinstance(value, list | tuple) and kind in (list, tuple):
        return value if all(type(item) in _OF_PYTHON for item in value) else kind(map(_plain, value))
    if isinstance(value, dict) and kind is dict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    for of_python, others in _OTHERS:
        if isinstance(value, others):
            return of_python(value)
    return value


_OTHERS: tuple[tuple[Callable[[Any], object], type], ...] = (
    (bool, np.bool_),
    (str, np.str_),
    (int, numbers.Integral),
    (float, numbers.Real),
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What an annotation stands for: a test, and words for it."""

    takes: Callable[[Any], bool]
    one: str
    several: str
    #: The words that are taken.
    choices: tuple[str, ...] = ()
    #: What is in a list of it.
    item: "_Kind | None" = None
    number: bool = False
    text: bool = False
    frame: bool = False


def _refusal(name: str, kind: _Kind, value: Any) -> ParameterError | SchemaError:
    if kind.frame and not kind.text:
        return no_frame(name, value, kind.one, _MAKERS.get(name))
    place = None
    if kind.item and _is_list(value):
        place, value = next((i, item) for i, item in enumerate(value) if not kind.item.takes(item))
    where = None if place is None else f"position {place} of the list"
    what = f"{Option(name)} must be {kind.one}"
    return ParameterError(what, where=where, found=shown(value), hint=_hint(kind, value))


def no_frame(name: str, value: object, wanted: str, maker: str | None) -> SchemaError:
    """Return the error for an argument that must be a frame; *maker* makes frames of its kind."""
    kind = type(value)
    known = "path" if isinstance(value, str | os.PathLike) else kind.__module__.lstrip("_").split(".")[0]
    hint = {
        "path": "read a saved frame first, e.g. with polars.read_parquet",
        "pandas": "turn a pandas frame into a Polars frame with polars.from_pandas",
        "duckdb": "turn a relation into a Polars frame with its method pl()",
    }.get(known, f"make one with {maker}" if maker else None)
    if name == "predictions":
        hint = "open a log with scan_predictions(source)"
    elif name in ("counts", "rates") and isinstance(value, list | tuple):
        hint = f"add the counts frames of a {kind.__name__} with merge_counts(*frames)"
    return SchemaError(f"{name} must be {wanted}", found=shown(value), hint=hint)


def _hint(kind: _Kind, value: object) -> str | None:
    if not isinstance(value, str):
        return None
    if kind.item and kind.item.text:
        return f"did you mean the list [{value!r}]?"
    if kind.number:
        with contextlib.suppress(ValueError):
            return f"did you mean the number {float(value):g}?"
    close = nearest_name(value, kind.choices)
    return f"did you mean {close!r}?" if close else None


def _is_number(value: object) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_list(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, pl.Series) or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes)
    )


def _is_frame(value: object) -> bool:
    return isinstance(value, pl.DataFrame | pl.LazyFrame)


_FRAME = _Kind(_is_frame, "a Polars DataFrame or LazyFrame", "Polars frames", frame=True)
_PATH = _Kind(lambda value: isinstance(value, os.PathLike), "a path", "paths", text=True)
_SIMPLE: dict[object, _Kind] = {
    # The object of a method, or its class.
    inspect.Parameter.empty: _Kind(lambda _: True, "any value", "values"),
    Any: _Kind(lambda _: True, "any value", "values"),
    object: _Kind(lambda _: True, "any value", "values"),
    None: _Kind(lambda value: value is None, "None", "None"),
    types.NoneType: _Kind(lambda value: value is None, "None", "None"),
    float: _Kind(lambda value: type(value) is float or _is_number(value), "a number", "numbers", number=True),
    int: _Kind(lambda value: isinstance(value, numbers.Integral) and _is_number(value),
               "a whole number", "whole numbers", number=True),
    bool: _Kind(lambda value: isinstance(value, bool | np.bool_), "True or False", "truth values"),
    str: _Kind(lambda value: isinstance(value, str), "a string", "strings", text=True),
    Path: _PATH,
    os.PathLike[str]: _PATH,
    # One of several columns, such as a selector, has several values.
    pl.Expr: _Kind(
        lambda value: isinstance(value, pl.Expr) and not value.meta.has_multiple_outputs(),
        "a Polars expression of one column", "Polars expressions of one column",
    ),
    pl.DataFrame: _FRAME,
    pl.LazyFrame: _FRAME,
}  # fmt: skip


def _kind(annotation: Any) -> _Kind:
    """Return what an annotation stands for."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if isinstance(annotation, TypeVar):
        return _any_of(*map(_kind, annotation.__constraints__))
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _one_of(parts)
    return _COMPOUND[origin](*map(_kind, parts)) if origin else _instance_of(annotation)


def _one_of(words: tuple[str, ...]) -> _Kind:
    shown = f"one of {', '.join(map(repr, words))}" if len(words) > 1 else repr(words[0])
    return _Kind(lambda value: isinstance(value, str) and value in words, shown, shown, choices=words)


def _any_of(*kinds: _Kind) -> _Kind:
    tests = tuple(dict.fromkeys(kind.takes for kind in kinds))
    return _Kind(
        lambda value: any(test(value) for test in tests),
        _listed([kind.one for kind in kinds]),
        _listed([kind.several for kind in kinds]),
        tuple(choice for kind in kinds for choice in kind.choices),
        number=any(kind.number for kind in kinds),
        text=any(kind.text for kind in kinds),
        item=next((kind.item for kind in kinds if kind.item), None),
        # Where a number will do as well, a frame is not what was meant.
        frame=any(kind.frame for kind in kinds) and not any(kind.number for kind in kinds),
    )


def _list_of(item: _Kind) -> _Kind:
    return _Kind(
        lambda value: _is_list(value) and all(map(item.takes, value)),
        f"a list of {item.several}",
        f"lists of {item.several}",
        choices=item.choices,
        item=item,
    )


def _tuple_of(*items: _Kind) -> _Kind:
    words = f"{len(items)} {items[0].several}"
    return _Kind(
        lambda value: (
            _is_list(value)
            and len(value) == len(items)
            and all(item.takes(part) for item, part in zip(items, value, strict=True))
        ),
        f"a list of {words}",
        f"lists of {words}",
    )


def _dict_of(key: _Kind, value: _Kind) -> _Kind:
    words = f"from {key.several} to {value.several}"
    return _Kind(
        lambda given: (
            isinstance(given, Mapping)
            and all(map(key.takes, given))
            and all(map(value.takes, given.values()))
        ),
        f"a dict {words}",
        f"dicts {words}",
    )


def _instance_of(kind: type) -> _Kind:
    # Charts of Altair are of many classes, which no caller has in mind.
    module = kind.__module__.split(".")[0]
    one, several = ("an Altair chart", "Altair charts") if module == "altair" else (
        f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}", f"{kind.__name__}s"
    )  # fmt: skip
    # A class has the methods of its instances, so that it looks like one of a protocol.
    return _Kind(lambda value: isinstance(value, kind) and not isinstance(value, type), one, several)


def _listed(words: Sequence[str]) -> str:
    """Join the words, each once.

    >>> _listed(["a number", "a string", "None"])
    'a number, a string or None'
    """
    words = list(dict.fromkeys(words))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_COMPOUND: dict[Any, Callable[..., _Kind]] = {
    Union: _any_of,
    types.UnionType: _any_of,
    Sequence: _list_of,
    tuple: _tuple_of,
    Mapping: _dict_of,
}
