"""What a ledger says: counts of its sources, the sources, the settings."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from nci_frames.counting.logs.reading import kept_keys
from nci_frames.counts.increments import counts_of
from nci_frames.counts.ledger.entries import SourceState
from nci_frames.counts.ledger.table import LedgerTable
from nci_frames.counts.ledger.view import View, shown_path
from nci_frames.jobs.ledger.appending import log_file_of, settings_of
from nci_frames.jobs.ledger.sources import Window

__all__ = ["counts_in", "generations_in", "sources_in"]

_SOURCES: dict[str, Any] = {
    "source": pl.String,
    "path": pl.String,
    "active": pl.Boolean,
    "event": pl.String,
    "run": pl.String,
    "sequence": pl.Int64,
    "bytes": pl.Int64,
    "rows": pl.Int64,
    "counted": pl.Int64,
    "dropped": pl.Int64,
    "positives": pl.Int64,
    "negatives": pl.Int64,
    "window_start": pl.Datetime("us", "UTC"),
    "window_end": pl.Datetime("us", "UTC"),
}
_GENERATIONS: dict[str, Any] = {"generation": pl.String, "settings": pl.String, "sequence": pl.Int64}


def counts_in(
    view: View, *, by: str | Sequence[str] | None, window: Window | None, as_of: str | None
) -> pl.DataFrame:
    """Return the counts of the sources that count, as ``CountsLedger.read`` does."""
    made = settings_of(view)
    keys = ["model", *kept_keys(made.settings.keys[1:], by)]
    states = view.states(as_of=as_of).values()
    wanted = {state.identity: state for state in states if state.active and _inside(state, window)}
    rows = view.cells(wanted).select(
        *(pl.col(key).cast(made.dtypes[key]) for key in keys), "threshold", "positives", "negatives"
    )
    return counts_of(rows, keys, made.settings.thresholds)


def sources_in(view: View) -> pl.DataFrame:
    """Return the sources that a ledger knows, in the order in which they came."""
    rows = []
    for state in view.states().values():
        facts = {**state.facts, "source": state.identity, "active": state.active}
        facts |= {"sequence": state.sequence, "path": shown_path(state.facts["path"])}
        facts["dropped"] = sum(facts["dropped"].values())
        facts["window_start"], facts["window_end"] = log_file_of(state).window or (None, None)
        rows.append([facts[column] for column in _SOURCES])
    return pl.DataFrame(rows, schema=_SOURCES, orient="row")


def generations_in(table: LedgerTable) -> pl.DataFrame:
    """Return the settings by which a ledger holds counts, the oldest first."""
    snapshot = table.snapshot()
    names = sorted(name for part, name in (snapshot.files if snapshot else ()) if part == "generations")
    facts = [(name, View.newest(table, name).facts() or {}) for name in names]
    rows = [(name, known["settings"], known["sequence"]) for name, known in facts]
    return pl.DataFrame(rows, schema=_GENERATIONS, orient="row").sort("sequence")


def _inside(state: SourceState, window: Window | None) -> bool:
    if window is None:
        return True
    own = log_file_of(state).window
    return own is not None and window[0] <= own[0] < window[1]
