"""One version of a ledger: its sources, settings and counts, with checks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.messages import Call
from nci_frames.counting.logs.reading import kept_keys
from nci_frames.counts.increments import counts_of
from nci_frames.counts.scores_as_counts import counts_as_scores
from nci_frames.jobs.ledger.files import SourceFile, Window
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.jobs.ledger.table import LedgerTable, Snapshot, dtype_of
from nci_frames.schemas import WEIGHT

_SOURCES: dict[str, Any] = {
    **dict.fromkeys(("source", "path"), pl.String),
    "active": pl.Boolean,
    **dict.fromkeys(("event", "run"), pl.String),
    **dict.fromkeys(("sequence", "bytes", "rows", "counted", "dropped"), pl.Int64),
    **dict.fromkeys(("positives", "negatives"), pl.Int64),
    **dict.fromkeys(("window_start", "window_end"), pl.Datetime("us", "UTC")),
}


def shown_path(path: str) -> str:
    """Return a path as a valid string for any table."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of a source after its entries."""

    identity: str
    #: Whether its rows count.
    active: bool
    #: Commit with its increments.
    counted_by: int
    #: Commit of its last entry.
    sequence: int
    #: Facts of its last entry, including control totals.
    facts: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Path when it was counted."""
        return str(self.facts["path"])

    @property
    def file(self) -> SourceFile:
        """The counted file."""
        return SourceFile(self.path, tuple(sorted(self.facts["keys"].items())), self.window)

    @property
    def window(self) -> Window | None:
        """Its window of time."""
        start, end = self.facts["window_start"], self.facts["window_end"]
        return None if start is None else (datetime.fromisoformat(start), datetime.fromisoformat(end))

    def inside(self, window: Window | None) -> bool:
        """Return whether its window begins inside another one; None contains everything."""
        own = self.window
        return window is None or (own is not None and window[0] <= own[0] < window[1])

    def left(self, at: Mapping[str, str]) -> bool:
        """Return whether its file is no longer at its path; *at* are the contents of paths, by path."""
        return at.get(self.path, self.identity) != self.identity or not Path(self.path).exists()

    def moved(self, file: SourceFile, run: str) -> dict[str, Any]:
        """Return the facts with which a run notes its new path, with the window of that path, if any."""
        start, end = (time.isoformat() for time in file.window) if file.window else (None, None)
        window = {"window_start": start, "window_end": end} if start else {}
        return {**self.facts, **window, "path": file.path, "run": run, "counted_by": self.counted_by}

    def retired(self, run: str) -> tuple[str, dict[str, Any]]:
        """Return the entry with which a run excludes its rows."""
        return self.identity, {**self.facts, "event": "retired", "run": run}


def entry_rows(entries: Iterable[tuple[str, Mapping[str, Any]]], sequence: int) -> pl.DataFrame:
    """Return entries (identity and facts) as rows of the ledger."""
    rows = [(identity, sequence, json.dumps(facts, sort_keys=True)) for identity, facts in entries]
    schema = {"ledger_source": pl.String, "ledger_sequence": pl.Int64, "ledger_entry": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def source_states(rows: pl.DataFrame) -> dict[str, SourceState]:
    """Return the state of each source after its entries, in the order of arrival.

    The events are "counted" (again, if it was counted before) and "retired": its rows no longer count.
    """
    states: dict[str, SourceState] = {}
    columns = rows.select("ledger_sequence", "ledger_source", "ledger_entry")
    for sequence, identity, entry in columns.sort("ledger_sequence", maintain_order=True).iter_rows():
        facts = json.loads(entry)
        before = states.get(identity)
        counted = facts["event"] == "counted"
        # A file that was moved keeps its increments.
        now = facts.get("counted_by", sequence)
        counted_by = now if counted or before is None else before.counted_by
        states[identity] = SourceState(identity, counted, counted_by, sequence, facts)
    return states


class View:
    """One generation of one version of a ledger."""

    def __init__(self, table: LedgerTable, snapshot: Snapshot, generation: str) -> None:
        self.table = table
        self.snapshot = snapshot
        self.generation = generation
        entries = table.rows(self.files("sources"))
        #: All entries of the sources, as rows of the ledger.
        self.entries = entries.select("ledger_source", "ledger_sequence", "ledger_entry")

    @classmethod
    def newest(cls, table: LedgerTable, generation: str | None = None) -> "View":
        """Return the newest version; the default generation is that of the newest commit of labelled logs.

        In a ledger without labelled logs, it is that of the newest commit.

        Raises
        ------
        LedgerError
            If there is no ledger, it is empty, the generation does not exist, or data are damaged.
        """
        snapshot = table.existing()
        views = [cls(table, snapshot, name) for name in snapshot.generations]
        if not views:
            raise table.lacks("the ledger has nothing in it yet", hint="append a source first")
        wanted = [view for view in views if generation in (None, view.generation)]
        if wanted:
            return max(
                wanted,
                key=lambda view: (view.settings.label is not None, view.entries["ledger_sequence"].max()),
            )
        hint = f"{Call('generations()', 'nci-frames ledger generations')} lists them"
        raise table.lacks("the ledger has no such generation", repr(generation), hint)

    @property
    def table_id(self) -> str:
        """Unique identifier of the ledger, which differs also from a later ledger in the same place."""
        return str(self.snapshot.table.metadata().id)

    @property
    def begun(self) -> bool:
        """Whether anything was counted with the settings of the generation."""
        return not self.entries.is_empty()

    @cached_property
    def made(self) -> dict[str, Any]:
        """The settings of its sources, if there are any, and the first commit with them."""
        rows = self.table.rows(self.files("generations")).sort("ledger_sequence")
        first = rows.row(0, named=True)
        return {**json.loads(first["ledger_entry"]), "sequence": first["ledger_sequence"]}

    @cached_property
    def settings(self) -> CountingSettings:
        """The settings of the generation."""
        try:
            return CountingSettings.from_json(self.made["settings"])
        except TypeError as error:
            msg = "the ledger has settings that this version does not know"
            hint = "install a newer nci_frames"
            raise self.table.lacks(msg, f"generation {self.generation!r}: {error}", hint) from error

    @cached_property
    def dtypes(self) -> dict[str, pl.DataType]:
        """The types of keys and scores with these settings; none before anything was counted."""
        found = {key: dtype_of(text) for key, text in self.made["dtypes"].items()} if self.begun else {}
        # Keys without a value are stored as strings.
        return {key: pl.String() if dtype == pl.Null else dtype for key, dtype in found.items()}

    def states(self, *, as_of: str | int | None = None) -> dict[str, SourceState]:
        """Return the state of each source after a run, at a version, or now.

        Raises
        ------
        LedgerError
            If the run or version does not exist.
        """
        until: Any = as_of
        if isinstance(as_of, str):
            run = pl.col("ledger_entry").str.json_path_match("$.run")
            until = self.entries.filter(run == as_of)["ledger_sequence"].max()
            if until is None:
                hint = f"{Call('sources()', 'nci-frames ledger sources')} names them"
                raise self.table.lacks("the ledger knows no such run", repr(as_of), hint)
        elif as_of is not None and not 0 <= as_of <= self.snapshot.version:
            hint = f"its versions are 0 to {self.snapshot.version:,}"
            raise self.table.lacks("the ledger has no such version", f"{as_of:,}", hint)
        then = self.entries if until is None else self.entries.filter(pl.col("ledger_sequence") <= until)
        return source_states(then)

    def counts(
        self, *, by: str | Sequence[str] | None, window: Window | None, as_of: str | int | None = None
    ) -> pl.DataFrame:
        """Return the counts of the active sources, as ``CountsLedger.read`` does."""
        states = [state for state in self.active(as_of) if state.inside(window)]
        if as_of is not None:
            self._need_kept(states)
        return self._counts(by, states)

    def _need_kept(self, states: Iterable[SourceState]) -> None:
        """Refuse states whose increments ``compact`` has deleted."""
        kept = {(state.identity, state.counted_by) for state in self.active()}
        kept |= set(self.every_cell.select("ledger_source", "ledger_sequence").unique().rows())
        for state in states:
            if state.facts["cells"] and (state.identity, state.counted_by) not in kept:
                msg = "the ledger was compacted since, and rows of that time are gone"
                hint = "only what counts now can be read"
                raise self.table.lacks(msg, repr(shown_path(state.path)), hint)

    def shared(self, *, as_of: int, by: Sequence[str], windows: Sequence[Window | None]) -> pl.DataFrame:
        """Return the counts of rows that are active both now and at an earlier version.

        Parameters
        ----------
        as_of
            The earlier version.
        by
            The keys.
        windows
            Windows that must all contain the rows.

        Returns
        -------
        A counts frame; a group without such rows is absent.
        """
        then = {(state.identity, state.counted_by) for state in self.active(as_of)}
        both = (state for state in self.active() if (state.identity, state.counted_by) in then)
        return self._counts(by, (state for state in both if all(map(state.inside, windows))))

    def sources(self) -> pl.DataFrame:
        """Return the sources of the ledger, in the order of arrival."""
        rows = []
        for state in self.states().values():
            facts = {**state.facts, "source": state.identity, "active": state.active}
            facts |= {"sequence": state.sequence, "path": shown_path(state.path)}
            facts["dropped"] = sum(facts["dropped"].values())
            facts["window_start"], facts["window_end"] = state.window or (None, None)
            rows.append([facts[column] for column in _SOURCES])
        return pl.DataFrame(rows, schema=_SOURCES, orient="row")

    def files(self, part: str) -> tuple[str, ...]:
        """Return the data files of a part."""
        return self.snapshot.files.get((part, self.generation), ())

    def active(self, as_of: str | int | None = None) -> list[SourceState]:
        """Return the sources that are active, or were so at an earlier version."""
        return [state for state in self.states(as_of=as_of).values() if state.active]

    def _counts(self, by: str | Sequence[str] | None, states: Iterable[SourceState]) -> pl.DataFrame:
        keys = ["model", *kept_keys(self.settings.keys[1:], by)]
        if self.settings.weight is not None and WEIGHT not in keys:
            # Functions that take counts sum over the weights.
            keys.append(WEIGHT)
        typed = [pl.col(key).cast(self.dtypes[key]) for key in keys]
        cells = self.cells(states).select(*typed, "threshold", "positives", "negatives")
        counts = counts_of(cells, keys, self.settings.thresholds)
        return counts_as_scores(counts) if self.settings.label is None else counts

    def cells(self, wanted: Iterable[SourceState]) -> pl.DataFrame:
        """Return the increments of sources, each checked against its control totals.

        Raises
        ------
        LedgerError
            If increments are missing or do not add up.
        """
        states = list(wanted)
        schema = {"ledger_source": pl.String, "ledger_sequence": pl.Int64}
        owners = [(state.identity, state.counted_by) for state in states]
        owned = pl.DataFrame(owners, schema=schema, orient="row")
        mine = self.every_cell.join(owned, on=list(schema), how="semi")
        sums = mine.group_by("ledger_source").agg(pl.col("positives", "negatives").sum(), cells=pl.len())
        found = {identity: tuple(values) for identity, *values in sums.iter_rows()}
        wrong = [
            shown_path(state.path)
            for state in states
            if found.get(state.identity, (0, 0, 0))
            != tuple(state.facts[name] for name in ("positives", "negatives", "cells"))
        ]
        if wrong:
            why = "its increments do not add up to its control totals"
            raise self.table.storage.damaged(dict.fromkeys(wrong, why))
        return mine

    @cached_property
    def every_cell(self) -> pl.DataFrame:
        """The increments of all sources, including retired ones."""
        found = self.table.rows(self.files("counts")).drop("ledger_entry", strict=False)
        # If every row was dropped, there is no file, which would have the columns of the keys.
        return found.with_columns(pl.lit(None).alias(key) for key in {*self.settings.keys} - {*found.columns})
