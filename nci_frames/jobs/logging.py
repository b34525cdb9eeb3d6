"""Log of a run on standard error, one line per event, as text or JSON."""

from collections.abc import Callable
from datetime import UTC, datetime

import click
import polars as pl

from nci_frames.base.json_text import json_text

#: Function called with an event and its facts.
Tell = Callable[..., object]


def teller(form: str) -> Tell:
    """Return a function that logs an event and its facts.

    Values are written as JSON or with ``ascii``, so that no name can control the terminal or begin a new
    line.

    Parameters
    ----------
    form
        "json" (one object per line) or "text".
    """

    def tell(event: str, **facts: object) -> None:
        time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        told = {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in facts.items()
        }
        if form == "json":
            line = json_text({**told, "event": event, "timestamp": time, "level": "info"})
        else:
            line = f"{time} {event} " + " ".join(f"{name}={_value(value)}" for name, value in told.items())
        click.echo(line, err=True)

    return tell


def tell_rows(tell: Tell, event: str, rows: pl.DataFrame) -> None:
    """Log an event for each row of a table, with its values that are not null."""
    for row in rows.iter_rows(named=True):
        tell(event, **{name: value for name, value in row.items() if value is not None})


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else ascii(value)
