"""Entries of a ledger: what happened to its sources, and what that makes of each."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from nci_frames.base.arguments import check_utf8
from nci_frames.jobs.ledger.files import SourceFile, Window


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source as its entries leave it."""

    identity: str
    #: Whether its rows count.
    active: bool
    #: The commit that holds its increments.
    counted_by: int
    #: The commit of its last entry.
    sequence: int
    #: The facts of its last entry, control totals among them.
    facts: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Where it was when it was counted."""
        return str(self.facts["path"])

    @property
    def file(self) -> SourceFile:
        """The file that it was counted from."""
        return SourceFile(self.path, tuple(sorted(self.facts["keys"].items())), self.window)

    @property
    def window(self) -> Window | None:
        """The window of time that it belongs to."""
        start, end = self.facts["window_start"], self.facts["window_end"]
        return None if start is None else (datetime.fromisoformat(start), datetime.fromisoformat(end))

    def inside(self, window: Window | None) -> bool:
        """Say whether its own window begins within another; None holds everything."""
        own = self.window
        return window is None or (own is not None and window[0] <= own[0] < window[1])

    def retired(self, run: str) -> tuple[str, dict[str, Any]]:
        """Return the entry by which a run lets its rows count no longer."""
        return self.identity, {**self.facts, "event": "retired", "run": run}


def entry_rows(entries: Iterable[tuple[str, Mapping[str, Any]]], sequence: int) -> pl.DataFrame:
    """Return entries, each an identity and its facts, as rows of the ledger."""
    rows = [(identity, sequence, json.dumps(facts, sort_keys=True)) for identity, facts in entries]
    schema = {"ledger_source": pl.String, "ledger_sequence": pl.Int64, "ledger_entry": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def source_states(rows: pl.DataFrame) -> dict[str, SourceState]:
    """Return what the entries make of each source, in the order in which the sources first came.

    The events are "counted" (anew, if it was counted before) and "retired": its rows count no longer.
    """
    states: dict[str, SourceState] = {}
    columns = rows.select("ledger_sequence", "ledger_source", "ledger_entry")
    for sequence, identity, entry in columns.sort("ledger_sequence", maintain_order=True).iter_rows():
        facts = json.loads(entry)
        before = states.get(identity)
        counted = facts["event"] == "counted"
        counted_by = sequence if counted or before is None else before.counted_by
        states[identity] = SourceState(identity, counted, counted_by, sequence, facts)
    return states


def run_name(run: str | None) -> str:
    """Return the name of a run; without one the time."""
    name = run or datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    check_utf8("run", name)
    return name
