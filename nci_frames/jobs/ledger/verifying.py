"""Whether a ledger, and the files that it was counted from, are as they were."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from nci_frames.base.errors import LedgerError, SourceError
from nci_frames.jobs.ledger.files import has_name, identify
from nci_frames.jobs.ledger.table import LedgerTable
from nci_frames.jobs.ledger.view import View, shown_path

#: What is damaged ("ledger" or "source"), where, and what was found.
Damage = tuple[str, str, str]


def find_damage(table: LedgerTable, *, files: bool) -> list[Damage]:
    """Return everything that is not as it was written; *files*: also in the files that were counted.

    Raises
    ------
    LedgerError
        If there is no ledger, or an object store is out of reach.
    """
    # Nothing else can be believed where the log is damaged, and no increments where a file is.
    damage = [("ledger", name, reason) for name, reason in table.storage.check_log().items()]
    damage += [("ledger", name, "its hash is missing") for name in table.storage.unrecorded()]
    if damage:
        return damage
    try:
        snapshot = table.snapshot()
    except LedgerError as error:
        if table.storage.local is None:
            raise  # it is out of reach, which is no damage
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
    """Look at the files that count."""
    for state in view.active():
        file = state.file
        if has_name(file.path):
            continue
        if not Path(file.path).exists():
            yield "source", shown_path(file.path), "it vanished"
            continue
        with contextlib.suppress(SourceError):
            if identify(file, view.settings) == state.identity:
                continue
        yield "source", shown_path(file.path), "its content is not what was counted"
