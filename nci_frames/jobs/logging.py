"""What happens during a run, told line by line on standard error: for people, or as JSON."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import click
import polars as pl

#: Called with what happens: an event, and facts about it.
Tell = Callable[..., object]


def teller(form: str) -> Tell:
    """Return a function that tells an event and its facts.

    Values are written as JSON or as ``ascii`` writes them, so that no name can write to the terminal or begin
    a line of its own.

    Parameters
    ----------
    form
        "json" (an object a line) or "text".
    """

    def tell(event: str, **facts: object) -> None:
        time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        told = {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in facts.items()
        }
        if form == "json":
            line = json.dumps({**told, "event": event, "timestamp": time, "level": "info"}, default=str)
        else:
            line = f"{time} {event} " + " ".join(f"{name}={_value(value)}" for name, value in told.items())
        click.echo(line, err=True)

    return tell


def tell_rows(tell: Tell, event: str, rows: pl.DataFrame) -> None:
    """Tell an event of each row of a table, with the values that are known."""
    for row in rows.iter_rows(named=True):
        tell(event, **{name: value for name, value in row.items() if value is not None})


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else ascii(value)
