"""The first check of every public function: each argument has the type that its annotation names.

Annotations alone state what a function accepts: mypy reads them statically, ``@checked`` in each call. The
functions themselves check ranges of numbers, names of columns and contents of frames.
"""

import contextlib
import functools
import inspect
import itertools
import numbers
import os
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_level, check_seed
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.forks import refuse_after_fork
from nci_frames.base.messages import Option, either, nearest_name, shown
from nci_frames.schemas import FRAMES
from nci_frames.schemas.frame import within

__all__ = ["checked", "no_frame"]

P = ParamSpec("P")
R = TypeVar("R")

_MAKERS = {frame.name: frame.maker for frame in FRAMES}

#: Arguments that have one range in every function.
_RANGES: dict[str, Callable[[Any], None]] = {"level": check_level, "seed": check_seed}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of each call of *function* against its annotations, and the range of some.

    NumPy numbers are accepted and passed on as Python numbers. A list may also be a tuple, an array or a
    Series. True is not a number. ``documented`` fills in the shared parts of the docstring.

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
        In a call, if an argument has the wrong type, *level* or *seed* is out of its range, or the process
        was forked after Polars had run.
    SchemaError
        In a call, if an argument that must be a frame is not one.
    """
    signature = inspect.signature(function)

    @functools.wraps(documented(function))
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_after_fork()
        given: Mapping[str, Any] = {}
        with contextlib.suppress(TypeError):  # too many or unknown arguments: Python's own error names them
            given = signature.bind_partial(*args, **kwargs).arguments
        for name, value in given.items():
            parameter = signature.parameters[name]
            for item in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
                if not _fits(item, parameter.annotation):
                    raise _refusal(name, parameter.annotation, item)
            if name in _RANGES:
                _RANGES[name](_plain(value))
        with within():
            return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})  # type: ignore[arg-type]

    return call


#: Types of most arguments, which are passed on unchanged.
_OF_PYTHON = frozenset((float, int, str, bool, types.NoneType))


def _plain(value: object) -> object:
    """Return NumPy numbers and strings, and fractions, as Python objects; also inside a list or dict.

    Otherwise arithmetic with a Float32 would be in Float32, and with an Int8 would overflow beyond 127.

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


def _refusal(name: str, kind: Any, value: Any) -> ParameterError | SchemaError:
    kinds = _alternatives(kind)
    # If a number or a path is accepted too, the caller did not mean a frame.
    if _FRAMES.intersection(kinds) and not {*_NUMBERS, *_TEXTS}.intersection(kinds):
        return no_frame(name, value, _words(kind), _MAKERS.get(name))
    item = next((get_args(one)[0] for one in kinds if get_origin(one) is Sequence), None)
    where = None
    if item is not None and _is_list(value):
        place, value = next((i, part) for i, part in enumerate(value) if not _fits(part, item))
        where = f"position {place} of the list"
    items = () if item is None else _alternatives(item)
    hint = _hint(value, kinds, items) if isinstance(value, str) else None
    what = f"{Option(name)} must be {_words(kind)}"
    return ParameterError(what, where=where, found=shown(value), hint=hint)


def _hint(value: str, kinds: tuple[Any, ...], items: tuple[Any, ...]) -> str | None:
    """Suggest what a string was meant to be, given the accepted types and the types of list items."""
    if _TEXTS.intersection(items):
        return f"did you mean the list [{value!r}]?"
    if _NUMBERS.intersection(kinds):
        with contextlib.suppress(ValueError):
            return f"did you mean the number {float(value):g}?"
    words = [word for one in (*kinds, *items) if get_origin(one) is Literal for word in get_args(one)]
    close = nearest_name(value, words)
    return f"did you mean {close!r}?" if close else None


def no_frame(name: str, value: object, wanted: str, maker: str | None) -> SchemaError:
    """Return the error for an argument that must be a frame; *maker* is a call that makes such a frame."""
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
    return isinstance(value, pl.Series | Sequence) and not isinstance(value, str | bytes)


_NUMBERS = frozenset((float, int))
_TEXTS = frozenset((str, Path, os.PathLike[str]))
_FRAMES = frozenset((pl.DataFrame, pl.LazyFrame))
#: ``self`` and ``cls`` have no annotation.
_ANYTHING = frozenset((inspect.Parameter.empty, Any, object))

#: Annotations that accept more than their instances.
_CLASSES: dict[Any, Any] = {
    bool: (bool, np.bool_),
    Path: os.PathLike,
    os.PathLike[str]: os.PathLike,
    **dict.fromkeys(_FRAMES, tuple(_FRAMES)),
}

#: Singular and plural of each type in messages.
_WORDS: dict[Any, tuple[str, str]] = {
    **dict.fromkeys(_ANYTHING, ("any value", "values")),
    types.NoneType: ("None", "None"),
    float: ("a number", "numbers"),
    int: ("a whole number", "whole numbers"),
    bool: ("True or False", "truth values"),
    str: ("a string", "strings"),
    Path: ("a path", "paths"),
    os.PathLike[str]: ("a path", "paths"),
    pl.Expr: ("a Polars expression of one column", "Polars expressions of one column"),
    **dict.fromkeys(_FRAMES, ("a Polars DataFrame or LazyFrame", "Polars frames")),
}


@functools.cache
def _alternatives(kind: Any) -> tuple[Any, ...]:
    """Return the types that an annotation accepts."""
    if isinstance(kind, TypeVar):
        parts = kind.__constraints__
    elif get_origin(kind) in (Union, types.UnionType):
        parts = get_args(kind)
    else:
        return (kind,)
    return tuple(itertools.chain.from_iterable(map(_alternatives, parts)))


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value matches an annotation."""
    return any(_is_one(value, one) for one in _alternatives(kind))


def _is_one(value: Any, kind: Any) -> bool:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin in (Sequence, tuple):
        if not _is_list(value) or (origin is tuple and len(value) != len(parts)):
            return False
        return all(map(_fits, value, parts if origin is tuple else itertools.repeat(parts[0])))
    if origin is Mapping:
        keys, values = parts
        return isinstance(value, Mapping) and all(
            _fits(k, keys) and _fits(v, values) for k, v in value.items()
        )
    if kind in _NUMBERS:
        return _is_number(value) and (kind is float or isinstance(value, numbers.Integral))
    # A class has the methods of its instances, so it would pass as an instance of a protocol. An expression
    # of several columns, such as a selector, has several values.
    wrong = isinstance(value, type) or (isinstance(value, pl.Expr) and value.meta.has_multiple_outputs())
    return kind in _ANYTHING or (isinstance(value, _CLASSES.get(kind, kind)) and not wrong)


def _words(kind: Any, *, several: bool = False) -> str:
    """Describe an annotation in words, each alternative once.

    >>> _words(float | Literal["observed"] | Sequence[float] | None)
    "a number, 'observed', a list of numbers or None"
    """
    return either(list(dict.fromkeys(_word(one, several) for one in _alternatives(kind))))


def _word(kind: Any, several: bool) -> str:
    if kind in _WORDS:
        return _WORDS[kind][several]
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"one of {', '.join(map(repr, parts))}" if len(parts) > 1 else repr(parts[0])
    if origin in (Sequence, tuple):
        number = f"{len(parts)} " if origin is tuple else ""
        return f"{'lists' if several else 'a list'} of {number}{_words(parts[0], several=True)}"
    if origin is Mapping:
        keys, values = (_words(part, several=True) for part in parts)
        return f"{'dicts' if several else 'a dict'} from {keys} to {values}"
    # Callers do not know the many chart classes of Altair.
    name = "Altair chart" if kind.__module__.split(".")[0] == "altair" else kind.__name__
    return f"{name}s" if several else f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
