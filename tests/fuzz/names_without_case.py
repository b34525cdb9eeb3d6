"""Columns whose names differ by case alone, which a database takes for one: refused, or counted rightly."""

import random
from pathlib import Path

import duckdb
import polars as pl

import nci_frames as nf
from tests.fuzz.campaign import Campaign, Case, judged
from tests.logs import random_log

_NAMES = ("model", "label", "score", "threshold", "invalid", "tp", "key", "country", "count", "fold", "null")


def _written(name: str, draw: random.Random) -> str:
    return draw.choice([name, name.upper(), name.capitalize(), name.lower()])


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} case {number}")
    roles = {
        role: _written(role if draw.random() < 0.5 else draw.choice(_NAMES), draw)
        for role in ("model", "label", "score")
    }
    segments = [_written(draw.choice(_NAMES), draw) for _ in range(draw.choice([0, 1, 1, 2]))]
    log = random_log(60, seed=number)

    def count(_folder: Path) -> str | None:
        names = [*roles.values(), *segments]
        # A table of a database has no two such columns.
        if len({name.lower() for name in names}) < len(names):
            return None
        columns = {name: log[role] for role, name in roles.items()}
        columns |= {name: log["country" if place else "fold"] for place, name in enumerate(segments)}
        table, grid = pl.DataFrame(columns), [-0.5, 0.0, 0.5]
        sql = nf.counting_sql("log", thresholds=grid, dialect="duckdb", segments=segments, **roles)  # type: ignore[arg-type]
        with duckdb.connect() as connection:
            connection.register("log", table.to_arrow())
            found = nf.read_counts(connection.sql(sql).pl(), thresholds=grid)
        scan = nf.scan_predictions(table, segments=segments, **roles)  # type: ignore[arg-type]
        expected = nf.count_confusion(scan, thresholds=grid)
        order = ["model", *segments, "threshold"]
        same = found.sort(order).equals(expected.sort(order).cast(dict(found.schema)))
        return None if same else "the database counts otherwise"

    label = ", ".join([*(f"{role}={name}" for role, name in roles.items()), *segments])
    return Case(label, lambda folder: judged(lambda: count(folder)))


CAMPAIGN = Campaign("names without case", 600, 30, _case)
