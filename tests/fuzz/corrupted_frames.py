"""Counts and rates that are changed by chance: what no log has must be refused, and order must not matter."""

import random
from collections.abc import Callable

import polars as pl

from tests.fuzz.calls import calls
from tests.fuzz.campaign import Campaign, Case, judged
from tests.fuzz.corruptions import CELLS, is_valid
from tests.fuzz.results import computed, wrong

Change = Callable[[pl.DataFrame, random.Random], pl.DataFrame]


def _other_value(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    name = draw.choice([n for n, dtype in frame.schema.items() if dtype.is_numeric()])
    old = frame[name].to_list()
    row = draw.randrange(len(old))
    first = old[row] or 0
    odd = [None, -1, 0, first + 1, first - 1, first * 2, 2**40]
    if frame.schema[name].is_float():
        odd += [float("nan"), float("inf"), -float("inf"), first + 1e-3]
    old[row] = draw.choice(odd)
    return frame.with_columns(pl.Series(name, old, frame.schema[name], strict=False))


def _other_group(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    name = draw.choice([n for n, dtype in frame.schema.items() if dtype == pl.String and n != "resolution"])
    old = frame[name].to_list()
    old[draw.randrange(len(old))] = draw.choice([None, "", *old])
    return frame.with_columns(pl.Series(name, old, pl.String))


def _swapped(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    one, other = draw.sample(CELLS, 2)
    return frame.with_columns(pl.col(one).alias(other), pl.col(other).alias(one))


def _row_again(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return pl.concat([frame, frame[draw.randrange(len(frame))]])


def _rows_gone(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame[sorted(draw.sample(range(len(frame)), draw.randint(1, len(frame))))]


def _shuffled(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame[draw.sample(range(len(frame)), len(frame))]


def _as_weights(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame.with_columns(pl.col(CELLS).cast(pl.Float64) * draw.choice([1.0, 0.5, 0.1]))


def _falsely_sorted(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame.with_columns(pl.col(draw.choice(["model", "threshold", "tp"])).set_sorted())


CHANGES: tuple[Change, ...] = (
    _other_value,
    _other_value,
    _other_group,
    _swapped,
    _row_again,
    _rows_gone,
    _shuffled,
    _as_weights,
    _falsely_sorted,
)


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} frame {number}")
    call = draw.choice([call for call in calls().values() if call.takes in ("counts", "rates")])
    changes = [draw.choice(CHANGES) for _ in range(draw.randint(1, 3))]
    frame = call.frames[0]
    for change in changes:
        frame = change(frame, draw)
    label = f"{call.name}: {', '.join(change.__name__.strip('_') for change in changes)}"

    def attempt() -> str | None:
        result = computed(call.function(frame, *call.frames[1:], **call.options))
        if not is_valid(frame):
            return "no error"
        if set(changes) <= {_shuffled, _falsely_sorted} and isinstance(result, pl.DataFrame):
            usual = computed(call())
            return None if result.equals(usual) else "another result for rows in another order"
        return wrong(call.name, result)

    return Case(label, lambda _folder: judged(attempt))


CAMPAIGN = Campaign("randomly changed frames", 3_000, 20, _case)
