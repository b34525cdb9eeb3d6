"""Odd values as arguments of every public function: one at a time, then two."""

import inspect
import random
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.fuzz.calls import Call, calls
from tests.fuzz.campaign import Campaign, Case, judged
from tests.fuzz.results import computed, wrong

ODD_VALUES: dict[str, Any] = {
    "None": None,
    "True": True,
    "-1": -1,
    "0": 0,
    "2**63": 2**63,
    "1e308": 1e308,
    "-1.5": -1.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "empty text": "",
    "number as text": "0.05",
    "misspelt metric": "f1",
    "an area": "roc_auc",
    "selected": "selected",
    "emoji": "💥\x1b[31m",
    "bytes": b"0.5",
    "complex": 1 + 2j,
    "empty list": [],
    "list with None": [None],
    "list of texts": ["a", "b"],
    "nested list": [[0.1, 0.2], [0.3]],
    "pair": (0.5, 0.1),
    "dict": {"a": 1},
    "set": {0.5},
    "array": np.array([0.1, np.nan]),
    "matrix": np.ones((2, 2)),
    "expression": pl.col("nothing"),
    "series": pl.Series("s", [0.1, None]),
    "frame": pl.DataFrame({"x": [1]}),
    "empty frame": pl.DataFrame(),
    "date": date(2026, 1, 1),
    "path": Path("nowhere.parquet"),
    "type": int,
    "function": len,
    "object": object(),
    "frames": [pl.DataFrame({"x": [1]})] * 2,
    "pandas": pl.DataFrame({"x": [1]}).to_pandas(),
    "lazy frame": pl.LazyFrame({"a": [1]}),
    "generator": iter([0.5]),
    "numpy number": np.float64(0.5),
    "numpy whole number": np.int64(3),
    "numpy texts": np.array(["a"]),
    "series of texts": pl.Series(["a"]),
    "series of whole numbers": pl.Series([1, 2]),
    "list with a negative": [-1.0, 2.0],
    "tiny": 1e-300,
    "thousands of digits": 10**5000,
    "a key": "fold",
}


def with_odd_value(call: Call, name: str, value: Any) -> Call:
    """Return a call with one of its arguments changed."""
    parameters = inspect.signature(call.function).parameters
    positional = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    place = positional.index(name) if name in positional else len(call.frames)
    if place < len(call.frames):
        frames = (*call.frames[:place], value, *call.frames[place + 1 :])
        return Call(call.name, frames, call.options)
    if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
        return Call(call.name, (*call.frames, value), call.options)
    return Call(call.name, call.frames, {**call.options, name: value})


@cache
def singles(seed: int) -> list[tuple[str, str, str]]:
    """Return function, argument and odd value of every call with a single one, in an order of the seed."""
    every = [
        (name, argument, odd)
        for name, call in calls().items()
        for argument, parameter in inspect.signature(call.function).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
        for odd in ODD_VALUES
    ]
    random.Random(seed).shuffle(every)
    return every


def _tried(call: Call, odd: dict[str, str]) -> Case:
    label = f"{call.name}({', '.join(f'{name}=<{value}>' for name, value in odd.items())})"

    def run(_folder: Path) -> str | None:
        changed = call
        for name, value in odd.items():
            changed = with_odd_value(changed, name, ODD_VALUES[value])
        return judged(lambda: wrong(call.name, computed(changed())), tuple(odd))

    return Case(label, run)


def _single(seed: int, number: int) -> Case:
    every = singles(seed)
    name, argument, odd = every[number % len(every)]
    return _tried(calls()[name], {argument: odd})


def _pair(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} pair {number}")
    call = draw.choice(list(calls().values()))
    parameters = inspect.signature(call.function).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    chosen = draw.sample(names, min(2, len(names)))
    return _tried(call, {name: draw.choice(list(ODD_VALUES)) for name in chosen})


SINGLE = Campaign("odd values", 32_000, 40, _single)
PAIR = Campaign("pairs of odd values", 3_000, 20, _pair)
