"""Verification of a ledger, and of its source files."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from nci_frames.base.errors import LedgerError, SourceError
from nci_frames.jobs.ledger.files import NAMED, identify
from nci_frames.jobs.ledger.table import LedgerTable
from nci_frames.jobs.ledger.view import View, shown_path

#: Damaged part ("ledger" or "source"), place, and finding.
Damage = tuple[str, str, str]


def find_damage(table: LedgerTable, *, files: bool) -> list[Damage]:
    """Return all damage of the ledger, and, with *files*, of the source files.

    Raises
    ------
    LedgerError
        If there is no ledger, or an object store is unreachable.
    """
    # With a damaged log, nothing else can be checked; with a damaged file, no increments.
    damage = [("ledger", name, reason) for name, reason in table.storage.check_log().items()]
    damage += [("ledger", name, "its hash is missing") for name in table.storage.unrecorded()]
    if damage:
        return damage
    try:
        snapshot = table.snapshot()
    except LedgerError as error:
        if table.storage.local is None:
            raise  # an unreachable store is not damage
        return [("ledger", table.storage.uri, error.found or error.what)]
    if snapshot is None:
        raise table.absent()
    for names in snapshot.files.values():
        for name in names:
            try:
                table.storage.read(name)
            except LedgerError as error:
                damage.append(("ledger", name, error.found or error.what))
    if damage:
        return damage
    for generation in snapshot.generations:
        view = View(table, snapshot, generation)
        try:
            view.cells(view.active())
        except LedgerError as error:
            damage.append(("ledger", f"generation {generation}", error.found or error.what))
        damage += _of_files(view) if files else ()
    return damage


def _of_files(view: View) -> Iterator[Damage]:
    """Check the active source files."""
    for state in view.active():
        file = state.file
        if file.path.startswith(NAMED):
            continue
        if not Path(file.path).exists():
            yield "source", shown_path(file.path), "it vanished"
            continue
        with contextlib.suppress(SourceError):
            if identify(file, view.settings) == state.identity:
                continue
        yield "source", shown_path(file.path), "its content is not what was counted"
