"""Odd values as arguments of every public function: one at a time, then two."""

import inspect
import random
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.calls import Call, calls
from tests.fuzz.campaign import Campaign, Case, judged
from tests.fuzz.oddities import ODD_VALUES
from tests.fuzz.results import computed, wrong


def with_odd_value(call: Call, name: str, value: Any) -> Call:
    """Return a call with one of its arguments changed."""
    parameters = inspect.signature(call.function).parameters
    positional = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    place = positional.index(name) if name in positional else len(call.frames)
    if place < len(call.frames):
        frames = (*call.frames[:place], value, *call.frames[place + 1 :])
        return Call(call.name, frames, call.options, call.kind)
    if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
        return Call(call.name, (*call.frames, value), call.options, call.kind)
    return Call(call.name, call.frames, {**call.options, name: value}, call.kind)


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


SINGLE = Campaign("odd values", 21_500, 40, _single)
PAIR = Campaign("pairs of odd values", 3_000, 20, _pair)
