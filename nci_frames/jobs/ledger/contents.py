"""What a ledger says: counts of its sources, the sources, the settings."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from nci_frames.counting.logs.reading import kept_keys
from nci_frames.counts.increments import counts_of
from nci_frames.counts.ledger.entries import SourceState
from nci_frames.counts.ledger.table import LedgerTable
from nci_frames.counts.ledger.view import View, shown_path
from nci_frames.counts.scores_as_counts import counts_as_scores
from nci_frames.jobs.ledger.appending import file_of, settings_of
from nci_frames.jobs.ledger.sources import Window

__all__ = ["Contents", "generations_in"]

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


class Contents:
    """What one version of a ledger says of one generation."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._made = settings_of(view)

    @property
    def version(self) -> int:
        """The version of the Delta table."""
        return self._view.snapshot.version

    @property
    def table_id(self) -> str:
        """What tells the ledger from any other, also from a later one in its place."""
        return self._view.table_id

    def counts(
        self, *, by: str | Sequence[str] | None, window: Window | None, as_of: str | int | None = None
    ) -> pl.DataFrame:
        """Return the counts of the sources that count, as ``CountsLedger.read`` does."""
        keys, cells = self._increments(by, self._active(window, as_of))
        return self._table(keys, cells)

    def shared(self, *, as_of: int, by: Sequence[str], windows: Sequence[Window | None]) -> pl.DataFrame:
        """Return the counts of rows that count now and did so before, too.

        Parameters
        ----------
        as_of
            The version before.
        by
            The keys.
        windows
            Windows that the rows must all be in.

        Returns
        -------
        A counts frame; a group without such rows is absent.
        """
        now, then = ({s.identity: s for s in self._active(None, at)} for at in (None, as_of))
        both = [
            state
            for identity, state in now.items()
            if identity in then
            and then[identity].counted_by == state.counted_by
            and all(_inside(state, window) for window in windows)
        ]
        keys, cells = self._increments(by, both)
        return self._table(keys, cells)

    def sources(self) -> pl.DataFrame:
        """Return the sources that the ledger knows, in the order in which they came."""
        rows = []
        for state in self._view.states().values():
            facts = {**state.facts, "source": state.identity, "active": state.active}
            facts |= {"sequence": state.sequence, "path": shown_path(state.facts["path"])}
            facts["dropped"] = sum(facts["dropped"].values())
            facts["window_start"], facts["window_end"] = file_of(state).window or (None, None)
            rows.append([facts[column] for column in _SOURCES])
        return pl.DataFrame(rows, schema=_SOURCES, orient="row")

    def _table(self, keys: list[str], increments: pl.DataFrame) -> pl.DataFrame:
        counts = counts_of(increments, keys, self._made.settings.thresholds)
        return counts_as_scores(counts) if self._made.settings.label is None else counts

    def _active(self, window: Window | None, as_of: str | int | None) -> list[SourceState]:
        states = self._view.states(as_of=as_of).values()
        return [state for state in states if state.active and _inside(state, window)]

    def _increments(
        self, by: str | Sequence[str] | None, states: Iterable[SourceState]
    ) -> tuple[list[str], pl.DataFrame]:
        """Return the kept keys, and the increments of sources in the types that their logs had."""
        keys = ["model", *kept_keys(self._made.settings.keys[1:], by)]
        rows = self._view.cells({state.identity: state for state in states})
        typed = [pl.col(key).cast(self._made.dtypes[key]) for key in keys]
        return keys, rows.select(*typed, "threshold", "positives", "negatives")


def generations_in(table: LedgerTable) -> pl.DataFrame:
    """Return the settings by which a ledger holds counts, the oldest first."""
    snapshot = table.existing()
    views = [View(table, snapshot, name) for name in snapshot.generations]
    found = [(view.generation, view.facts()) for view in views]
    rows = [(name, facts["settings"], facts["sequence"]) for name, facts in found if facts is not None]
    return pl.DataFrame(rows, schema=_GENERATIONS, orient="row").sort("sequence")


def _inside(state: SourceState, window: Window | None) -> bool:
    if window is None:
        return True
    own = file_of(state).window
    return own is not None and window[0] <= own[0] < window[1]
