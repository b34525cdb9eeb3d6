"""One append: what is new is counted and committed, until no other writer comes first."""

import random
import time

import polars as pl

from nci_frames.base.errors import ConflictError
from nci_frames.jobs.ledger.appending import Item, Work
from nci_frames.jobs.ledger.entries import entry_rows
from nci_frames.jobs.ledger.key_types import stored_type, to_stored
from nci_frames.jobs.ledger.table import CommitFailedError, LedgerTable
from nci_frames.jobs.ledger.tidying import gather_if_many
from nci_frames.jobs.ledger.view import View

__all__ = ["append"]

_TRIES = 100


def append(table: LedgerTable, work: Work, *, keep_going: bool) -> pl.DataFrame:
    """Count and commit the new files of *work*, and return what became of each file.

    Raises
    ------
    NciFramesError
        If a file cannot be counted; without *keep_going* nothing is then committed.
    ConflictError
        If other writers always come first.
    OutputError
        If the ledger cannot be written.
    """
    for attempt in range(_TRIES):
        try:
            return _append(table, work, keep_going=keep_going)
        except CommitFailedError:
            # Somebody else was first: look at what is left to do. The pause keeps the two apart.
            time.sleep(random.uniform(0, min(0.01 * 2**attempt, 1.0)))  # noqa: S311
    msg = "other writers of the ledger always came first"
    raise ConflictError(msg, where=repr(table.storage.uri), found=f"{_TRIES} tries", hint="run it again")


def _append(table: LedgerTable, work: Work, *, keep_going: bool) -> pl.DataFrame:
    snapshot = table.snapshot() or table.create()
    view = View(table, snapshot, work.settings.generation)
    work.compare(view.states())
    work.count(view.made)
    work.refuse(keep_going=keep_going)
    for batch in work.batches():
        view = _commit(view, work, batch)
    gather_if_many(view)
    return work.report()


def _commit(view: View, work: Work, batch: list[Item]) -> View:
    """Commit what was counted of some files, and return the ledger after that."""
    table = view.table
    counted = [item.counts for item in batch if item.counts is not None]
    dtypes = view.made.dtypes if view.made else counted[0].dtypes
    keys = work.settings.keys
    stored = {key: stored_type(dtypes[key], key) for key in keys}
    snapshot = table.with_columns(view.snapshot, stored)
    sequence = snapshot.version + 1
    entries = [entry for item in batch for entry in item.entries(work)]
    parts = {"sources": entry_rows(entries, sequence)}
    if view.made is None:
        types = {key: str(dtype) for key, dtype in dtypes.items()}
        made = {"settings": work.settings.to_json(), "dtypes": types}
        parts["generations"] = entry_rows([("", made)], sequence)
    cells = [
        one.increments.with_columns(
            *(to_stored(key, dtypes[key]) for key in keys),
            ledger_source=pl.lit(one.identity),
            ledger_sequence=pl.lit(sequence, pl.Int64),
        )
        for one in counted
        if len(one.increments)
    ]
    if cells:
        parts["counts"] = pl.concat(cells)
    transactions = [f"{view.generation}:{identity}" for identity, _ in entries]
    metadata = {"run": work.run, "sources": len(batch), "generation": view.generation}
    table.commit(snapshot, view.generation, parts, transactions, metadata)
    for item in batch:
        item.done = True
    return View(table, table.existing(), view.generation)
