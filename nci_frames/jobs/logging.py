"""What happens during a run, told line by line on standard error: for people, or as JSON."""

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl
import structlog

#: Called with what happens: an event, and facts about it.
Tell = Callable[..., object]


def teller(form: str) -> Tell:
    """Return a function that tells an event and its facts.

    Values are written as JSON or as ``repr`` writes them, so that no name can write to the terminal or begin
    a line of its own.

    Parameters
    ----------
    form
        "json" (an object a line) or "text".
    """
    render: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=True, default=str) if form == "json" else _as_text
    )
    logger = structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr),
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.add_log_level,
            render,
        ],
        wrapper_class=structlog.BoundLogger,
    )

    def tell(event: str, **facts: object) -> None:
        logger.info(event, **{name: _plain(value) for name, value in facts.items()})

    return tell


def tell_rows(tell: Tell, event: str, rows: pl.DataFrame) -> None:
    """Tell an event of each row of a table, with the values that are known."""
    for row in rows.iter_rows(named=True):
        tell(event, **{name: value for name, value in row.items() if value is not None})


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _as_text(_: object, __: str, facts: dict[str, Any]) -> str:
    time, event = facts.pop("timestamp"), facts.pop("event")
    facts.pop("level")
    return f"{time} {event} " + " ".join(f"{name}={_value(value)}" for name, value in facts.items())


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ascii(value)
