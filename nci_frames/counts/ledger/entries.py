"""Entries of a ledger: what happened to its sources, and what that makes of each."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

__all__ = ["SourceState", "entry_rows", "source_states"]


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


def entry_rows(entries: Iterable[tuple[str, Mapping[str, Any]]], sequence: int) -> pl.DataFrame:
    """Return entries, each an identity and its facts, as rows of the ledger."""
    rows = [(identity, sequence, json.dumps(facts, sort_keys=True)) for identity, facts in entries]
    schema = {"ledger_source": pl.String, "ledger_sequence": pl.Int64, "ledger_entry": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def source_states(rows: pl.DataFrame, *, until: int | None = None) -> dict[str, SourceState]:
    """Return what the entries make of each source, in the order in which the sources first came.

    The events are "counted" (anew, if it was counted before) and "retired": its rows count no longer.

    Parameters
    ----------
    rows
        The rows of the part "sources".
    until
        The last commit that is looked at; None looks at all.
    """
    states: dict[str, SourceState] = {}
    columns = rows.select("ledger_sequence", "ledger_source", "ledger_entry")
    ordered = columns.sort("ledger_sequence", maintain_order=True)
    for sequence, identity, entry in ordered.iter_rows():
        if until is not None and sequence > until:
            break
        facts = json.loads(entry)
        before = states.get(identity)
        counted = facts["event"] == "counted"
        counted_by = sequence if counted or before is None else before.counted_by
        states[identity] = SourceState(identity, counted, counted_by, sequence, facts)
    return states
