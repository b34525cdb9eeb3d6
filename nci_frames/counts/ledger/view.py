"""What a version of a ledger holds: its sources, its settings, its increments; all of it checked."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from nci_frames.base.errors import LedgerError
from nci_frames.base.messages import Call
from nci_frames.counts.ledger.entries import SourceState, source_states
from nci_frames.counts.ledger.table import LedgerTable, Snapshot

__all__ = ["View", "shown_path"]


def shown_path(path: str) -> str:
    """Return a path as a text that every table can hold."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


class View:
    """One generation of one version of a ledger."""

    def __init__(self, table: LedgerTable, snapshot: Snapshot, generation: str) -> None:
        self.table = table
        self.snapshot = snapshot
        self.generation = generation
        self._sources = table.rows(snapshot, "sources", generation)
        self._cells: tuple[pl.DataFrame, pl.DataFrame] | None = None

    @classmethod
    def newest(cls, table: LedgerTable, generation: str | None = None) -> "View":
        """Return the newest version; without a generation, that of the newest commit of logs with labels.

        Of a ledger that has no logs with labels, it is that of the newest commit.

        Raises
        ------
        LedgerError
            If there is no ledger, nothing in it, no such generation, or data is damaged.
        """
        snapshot = table.existing()
        views = [cls(table, snapshot, name) for name in snapshot.generations]
        if not views:
            msg = "the ledger has nothing in it yet"
            raise LedgerError(msg, where=repr(table.storage.uri), hint="append a source first")
        if generation is None:
            return max(views, key=lambda view: (view.has_labels, view.last_sequence))
        for view in views:
            if view.generation == generation:
                return view
        msg = "the ledger has no such generation"
        where, hint = (
            repr(table.storage.uri),
            f"{Call('generations()', 'nci-frames ledger generations')} lists them",
        )
        raise LedgerError(msg, where=where, found=repr(generation), hint=hint)

    @property
    def table_id(self) -> str:
        """What tells the ledger from any other, also from a later one in its place."""
        return str(self.snapshot.table.metadata().id)

    @property
    def last_sequence(self) -> int:
        """The newest commit of this generation."""
        return int(self._sources["ledger_sequence"].max() or 0)  # type: ignore[arg-type]

    def facts(self) -> dict[str, Any] | None:
        """Return the settings, the types of the keys, and the first commit; None if nothing was counted."""
        rows = self.table.rows(self.snapshot, "generations", self.generation).sort("ledger_sequence")
        if not len(rows):
            return None
        first = rows.row(0, named=True)
        return {**json.loads(first["ledger_entry"]), "sequence": first["ledger_sequence"]}

    @property
    def has_labels(self) -> bool:
        """Whether the logs have labels."""
        facts = self.facts()
        return facts is not None and json.loads(facts["settings"])["label"] is not None

    def states(self, *, as_of: str | int | None = None) -> dict[str, SourceState]:
        """Return what became of each source, up to the end of a run, up to a version, or up to now.

        Raises
        ------
        LedgerError
            If there is no such run or version.
        """
        if not isinstance(as_of, str):
            if as_of is not None and not 0 <= as_of <= self.snapshot.version:
                msg = "the ledger has no such version"
                where, hint = repr(self.table.storage.uri), f"its versions are 0 to {self.snapshot.version:,}"
                raise LedgerError(msg, where=where, found=f"{as_of:,}", hint=hint)
            return source_states(self._sources, until=as_of)
        run = pl.col("ledger_entry").str.json_path_match("$.run")
        last = self._sources.filter(run == as_of)["ledger_sequence"].max()
        if last is None:
            msg = "the ledger knows no such run"
            where, hint = (
                repr(self.table.storage.uri),
                f"{Call('sources()', 'nci-frames ledger sources')} names them",
            )
            raise LedgerError(msg, where=where, found=repr(as_of), hint=hint)
        return source_states(self._sources, until=int(last))  # type: ignore[arg-type]

    def entries(self) -> pl.DataFrame:
        """Return all that happened to the sources, as rows of the ledger."""
        return self._sources.select("ledger_source", "ledger_sequence", "ledger_entry")

    def cells(self, wanted: Mapping[str, SourceState]) -> pl.DataFrame:
        """Return the increments of sources, each checked against its control totals.

        Raises
        ------
        LedgerError
            If increments are missing or do not add up.
        """
        cells, blocks = self._blocks()
        schema = {"ledger_source": pl.String, "ledger_sequence": pl.Int64}
        owners = [(state.identity, state.counted_by) for state in wanted.values()]
        mine = pl.DataFrame(owners, schema=schema, orient="row")
        kept = blocks.join(mine, on=list(schema), how="semi")
        totals = kept.group_by("ledger_source").agg(pl.col("positives", "negatives", "cells").sum())
        found = {identity: tuple(values) for identity, *values in totals.iter_rows()}
        wrong = {}
        for state in wanted.values():
            expected = tuple(state.facts[name] for name in ("positives", "negatives", "cells"))
            if found.get(state.identity, (0, 0, 0)) != expected:
                wrong[shown_path(state.facts["path"])] = "its increments do not add up to its control totals"
        if wrong:
            raise self.table.storage.damaged(wrong)
        if len(kept) == len(blocks):
            return cells
        counts = blocks["block"].is_in(kept["block"].implode())
        return cells.filter(counts.gather(_blocks_of(cells)))

    def every_cell(self) -> pl.DataFrame:
        """Return the increments of all sources, also of those that count no longer."""
        return self._blocks()[0]

    def _blocks(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return all increments, and what each block of increments of one source adds up to.

        There are millions of increments and thousands of sources, and those of a source lie together.
        """
        if self._cells is None:
            rows = self.table.rows(self.snapshot, "counts", self.generation)
            rows = rows.drop("ledger_entry", strict=False)
            blocks = (
                rows.group_by(block=_blocks_of(rows))
                .agg(
                    pl.col("ledger_source", "ledger_sequence").first(),
                    pl.col("positives", "negatives").sum(),
                    cells=pl.len().cast(pl.Int64),
                )
                .sort("block")
            )
            self._cells = rows, blocks
        return self._cells


def _blocks_of(cells: pl.DataFrame) -> pl.Series:
    """Return which block of increments of one source and commit each row is in, from 0 on."""
    owner = ("ledger_source", "ledger_sequence")
    begins = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in owner)
    # The first row differs from the one before, which there is not.
    return cells.select(block=begins.cast(pl.Int64).cum_sum() - 1).to_series()
