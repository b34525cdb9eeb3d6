"""Maintenance of a ledger without counting: retire sources, merge small files."""

import contextlib
from collections.abc import Mapping, Sequence

import polars as pl
from deltalake.exceptions import CommitFailedError

from nci_frames.base.errors import ConflictError
from nci_frames.base.messages import Call
from nci_frames.jobs.ledger.view import SourceState, View, entry_rows

#: Number of commits after which their files are merged.
MANY_FILES = 50


def retire(view: View, identities: Sequence[str], run: str) -> None:
    """Exclude the rows of sources, each named by its identity or a unique prefix of it.

    Raises
    ------
    LedgerError
        If no source, or more than one, matches.
    ConflictError
        If another writer commits first.
    """
    states = view.states()
    named = dict.fromkeys(_identity(view, states, given) for given in identities)
    entries = [states[identity].retired(run) for identity in named if states[identity].active]
    if entries:
        parts = {"sources": entry_rows(entries, view.snapshot.version + 1)}
        _commit(view, parts, run)


def _identity(view: View, states: Mapping[str, SourceState], given: str) -> str:
    """Return the only source with a given prefix."""
    found = [given] if given in states else [known for known in states if given and known.startswith(given)]
    if len(found) == 1:
        return found[0]
    msg = "the ledger has several such sources" if found else "the ledger has no such source"
    hint = f"{Call('sources()', 'nci-frames ledger sources')} lists them"
    raise view.table.lacks(msg, repr(given), hint)


def compact(view: View) -> int:
    """Merge the small files of a generation, and shorten the log; return the number of merged files.

    Increments that no longer count are deleted.

    Raises
    ------
    LedgerError
        If the ledger is damaged.
    ConflictError
        If another writer commits first.
    """
    active = view.active()
    gathered: dict[str, pl.DataFrame] = {}
    several, retired = len(view.files("counts")) > 1, len(active) < len(view.states())
    counts = view.cells(active) if several or retired else view.every_cell.clear()
    if several or (retired and len(counts) < len(view.every_cell)):
        gathered["counts"] = counts
    if len(view.files("sources")) > 1:
        gathered["sources"] = view.entries
    replaced = _gather(view, gathered)
    view.table.clean_up()
    return replaced


def gather_if_many(view: View) -> None:
    """Merge the files of a generation once there are many, so that runs do not become slower over time.

    Nothing is deleted: readers of an older version still find its files.
    """
    if len(view.files("sources")) >= MANY_FILES:
        # If another writer commits first, the next commit merges.
        with contextlib.suppress(ConflictError):
            _gather(view, {"counts": view.every_cell, "sources": view.entries})


def _gather(view: View, parts: Mapping[str, pl.DataFrame]) -> int:
    """Replace the files of parts by rows, and shorten the log; return the number of files."""
    replaced = [name for part in parts for name in view.files(part)]
    if replaced:
        _commit(view, parts, "compact", replaced)
    view.table.checkpoint()
    return len(replaced)


def _commit(view: View, parts: Mapping[str, pl.DataFrame], run: str, replaced: Sequence[str] = ()) -> None:
    """Commit rows once; a lost race is a ConflictError."""
    try:
        view.table.commit(view.snapshot, view.generation, parts, {"run": run}, replaced)
    except CommitFailedError as error:
        msg = "another writer of the ledger came first"
        raise ConflictError(msg, where=repr(view.table.storage.uri), hint="run it again") from error
