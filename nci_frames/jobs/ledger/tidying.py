"""What changes a ledger without counting anything: sources that count no longer, small files gathered."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from deltalake.exceptions import CommitFailedError

from nci_frames.base.errors import ConflictError
from nci_frames.base.messages import Call
from nci_frames.jobs.ledger.view import SourceState, View, entry_rows

#: Commits after which their files are gathered.
MANY_FILES = 50


def retire(view: View, identities: Sequence[str], run: str) -> None:
    """Let the rows of sources count no longer, each named by its identity or by the beginning of it.

    Raises
    ------
    LedgerError
        If there is no such source, or there are several.
    ConflictError
        If another writer came first.
    """
    states = view.states()
    named = dict.fromkeys(_identity(view, states, given) for given in identities)
    entries = [states[identity].retired(run) for identity in named if states[identity].active]
    if entries:
        parts = {"sources": entry_rows(entries, view.snapshot.version + 1)}
        with _alone(view):
            view.table.commit(view.snapshot, view.generation, parts, {"run": run})


def _identity(view: View, states: Mapping[str, SourceState], given: str) -> str:
    """Return the only source that begins so."""
    found = [given] if given in states else [known for known in states if given and known.startswith(given)]
    if len(found) == 1:
        return found[0]
    msg = "the ledger has several such sources" if found else "the ledger has no such source"
    hint = f"{Call('sources()', 'nci-frames ledger sources')} lists them"
    raise view.table.lacks(msg, repr(given), hint)


def compact(view: View) -> int:
    """Gather the small files of a generation, and shorten the log; return how many files were gathered.

    Increments that count no longer are dropped.

    Raises
    ------
    LedgerError
        If the ledger is damaged.
    ConflictError
        If another writer came first.
    """
    active = view.active()
    gathered: dict[str, pl.DataFrame] = {}
    if len(view.files("counts")) > 1 or len(active) < len(view.states()):
        gathered["counts"] = view.cells(active)
    if len(view.files("sources")) > 1:
        gathered["sources"] = view.entries
    replaced = _gather(view, gathered)
    now = view.table.existing().files
    view.table.storage.clean_up({name for names in now.values() for name in names})
    return replaced


def gather_if_many(view: View) -> None:
    """Gather the files of a generation once they are many, so that a night takes as long after a year.

    Nothing is dropped or deleted: who reads an older version still finds its files.
    """
    if len(view.files("sources")) >= MANY_FILES:
        # Another writer that comes first has its own reasons; the next commit gathers.
        with contextlib.suppress(ConflictError):
            _gather(view, {"counts": view.every_cell, "sources": view.entries})


def _gather(view: View, parts: Mapping[str, pl.DataFrame]) -> int:
    """Put rows in the place of the files of their parts, and shorten the log; return how many files."""
    replaced = [name for part in parts for name in view.files(part)]
    if replaced:
        with _alone(view):
            view.table.commit(view.snapshot, view.generation, parts, {"run": "compact"}, replaced)
    view.table.checkpoint()
    return len(replaced)


@contextlib.contextmanager
def _alone(view: View) -> Iterator[None]:
    """Tell a lost race as a conflict."""
    try:
        yield
    except CommitFailedError as error:
        msg = "another writer of the ledger came first"
        raise ConflictError(msg, where=repr(view.table.storage.uri), hint="run it again") from error
