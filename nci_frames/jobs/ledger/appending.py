"""Append to a ledger: find new files, count them, and commit the counts."""

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import polars as pl
from deltalake.exceptions import CommitFailedError

from nci_frames.base.arguments import check_utf8
from nci_frames.base.errors import ConflictError, InvalidRowsError, NciFramesError, SchemaError, SourceError
from nci_frames.base.messages import SHOWN_FILES, Option, listed, quantity
from nci_frames.jobs.ledger.counting import SourceCounts, check_columns, count_file
from nci_frames.jobs.ledger.files import SourceFile, identify
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.jobs.ledger.table import LedgerTable, stored_type, to_stored
from nci_frames.jobs.ledger.tidying import gather_if_many
from nci_frames.jobs.ledger.view import SourceState, View, entry_rows, shown_path

OnChanged = Literal["raise", "keep", "recount"]

#: Maximum number of attempts if other writers commit first.
_TRIES = 100

_APPENDED: dict[str, Any] = {
    **dict.fromkeys(("path", "source", "event"), pl.String),
    **dict.fromkeys(("rows", "counted", "dropped"), pl.Int64),
    **dict.fromkeys(("reason", "warning"), pl.String),
}


def run_name(run: str | None) -> str:
    """Return the name of a run, by default the time."""
    name = run or datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    check_utf8("run", name)
    return name


def by_reason(files: pl.DataFrame) -> Iterator[tuple[str, str, str | None]]:
    """Group files by event and reason: yield the event, the files in words, and the reason."""
    for event, reason, paths in files.group_by("event", "reason", maintain_order=True).agg("path").rows():
        several = f"{len(paths):,} files ({listed(map(repr, paths))})"
        yield event, repr(paths[0]) if len(paths) == 1 else several, reason


def refused(appended: pl.DataFrame, on_changed: OnChanged) -> pl.DataFrame:
    """Return the files of an append, or of its plan, that stop it unless ``keep_going``."""
    events = ["failed", *(["changed"] if on_changed == "raise" else [])]
    return appended.filter(pl.col("event").is_in(events))


class Item:
    """A file to append."""

    def __init__(self, file: SourceFile, settings: CountingSettings) -> None:
        self.file = file
        self.identity = ""
        #: "counted", "recounted", "known", "moved" (known, and no longer at its old path) or "changed".
        self.event = ""
        #: The source that a new file replaces, or that a moved file is.
        self.earlier: SourceState | None = None
        #: Whether its content is already counted from another path.
        self.counts_already = False
        self.counts: SourceCounts | None = None
        self.error: NciFramesError | None = None
        with self.blamed():
            self.identity = identify(file, settings)

    @contextlib.contextmanager
    def blamed(self) -> Iterator[None]:
        """Store an error of this package as the reason why the file cannot be counted."""
        try:
            yield
        except NciFramesError as error:
            self.error, self.counts = error, None

    def typed(
        self, found: Mapping[str, pl.DataType], dtypes: Mapping[str, pl.DataType]
    ) -> dict[str, pl.DataType]:
        """Return the types of the ledger; refuse a file with other ones, or that no ledger can keep.

        A column without a value fits any type.
        """
        typed = {**found, **{column: dtype for column, dtype in dtypes.items() if dtype != pl.Null}}
        for column, dtype in found.items():
            if dtype not in (typed[column], pl.Null):
                told = f"{typed[column]}, as in the ledger"
                raise SchemaError.wrong_type(column, repr(self.file.path), str(dtype), told)
            if column != "score":
                stored_type(dtype, column)
        return typed

    def labelled(self, known: str | None) -> str | None:
        """Return the label of negatives in all files; refuse a file with another one than *known*.

        A file that has only one label may have misspelt it: alone, it would count as the negative one.
        """
        found = None if self.counts is None else self.counts.totals.get("negative_label")
        if None not in (known, found) and known != found:
            msg = "negatives have another label than in earlier files"
            hint = "check the spelling of the labels, and which of them is positive"
            where = repr(self.file.path)
            raise InvalidRowsError(msg, where=where, found=f"{found!r}, and before {known!r}", hint=hint)
        return known or found

    def entries(self, run: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the entries of the file for a run."""
        if self.earlier is not None and self.event == "moved":
            return [(self.identity, self.earlier.moved(self.file, run))]
        entries = [] if self.earlier is None else [self.earlier.retired(run)]
        if self.counts is None:
            return entries
        start, end = self.file.window or (None, None)
        facts = {
            "event": "counted",
            "run": run,
            "path": self.file.path,
            "keys": dict(self.file.keys),
            "window_start": start and start.isoformat(),
            "window_end": end and end.isoformat(),
        }
        return [*entries, (self.identity, {**facts, **self.counts.totals})]

    def row(self, told: Callable[[NciFramesError], str]) -> tuple[Any, ...]:
        """Return the row of the file in the result of an append."""
        numbers: list[int | None] = [None] * 3
        reason = warning = None
        if self.counts is not None:
            totals = self.counts.totals
            numbers = [totals["rows"], totals["counted"], sum(totals["dropped"].values())]
            warning = "; ".join(map(str, self.counts.warnings)) or None
        event = self.event
        if self.earlier is not None and event == "moved":
            event, warning = "known", f"counted from {shown_path(self.earlier.path)}"
        if self.error is not None:
            # The row has the path, so the error need not repeat it.
            mine = self.error.where == repr(self.file.path)
            event, reason = "failed", told(self.error.at(None) if mine else self.error)
        return (shown_path(self.file.path), self.identity or None, event, *numbers, reason, warning)


@dataclass(eq=False)
class Work:
    """The work of an append; its counts are kept if another writer commits first."""

    files: InitVar[Iterable[SourceFile]]
    settings: CountingSettings
    _: KW_ONLY
    #: As in ``CountsLedger.append``, as are the next two.
    run: InitVar[str | None] = None
    on_changed: OnChanged = "raise"
    keep_going: bool = False
    #: Whether to count also known files.
    anew: bool = False
    #: Formats the reason why a file cannot be counted.
    told: Callable[[NciFramesError], str] = str

    def __post_init__(self, files: Iterable[SourceFile], run: str | None) -> None:
        """Name the run, and identify the files."""
        self.name = run_name(run)
        self._items = [Item(file, self.settings) for file in files]

    @property
    def noted(self) -> list[Item]:
        """The files of which the ledger has something to note."""
        return [*self.new, *(item for item in self._items if item.event == "moved")]

    @property
    def new(self) -> list[Item]:
        """The files to count that are readable."""
        return [item for item in self._items if item.error is None and item.event in ("counted", "recounted")]

    def compare(self, states: Mapping[str, SourceState]) -> None:
        """Classify files as new, known, changed, or no longer counted."""
        real = cache(os.path.realpath)

        def place(path: str) -> tuple[str, str]:
            """Return the same for a file by any link to its folder."""
            return real(str(Path(path).parent)), Path(path).name

        by_place = {place(state.path): state for state in states.values() if state.active}
        labels = (state.facts.get("negative_label") for state in by_place.values())
        self._negative_label = next(filter(None, labels), None)
        here = {item.identity for item in self._items}
        at = {item.file.path: item.identity for item in self._items}
        taken: set[str] = set()
        for item in self._items:
            if item.error is not None:
                continue
            same = states.get(item.identity)
            before = by_place.get(place(item.file.path))
            # Content that is now at another path was moved, not changed, as by log rotation.
            gone = None if before is None or before.identity in here else before
            active = same is not None and same.active
            item.counts_already = item.identity in taken or (active and not self.anew)
            item.earlier = None
            if gone is not None and self.on_changed != "recount":
                item.event = "changed"
            elif gone is None and item.counts_already:
                left = same is not None and active and item.identity not in taken and same.left(at)
                # The new path is noted, by which a later correction is found.
                item.event, item.earlier = ("moved", same) if left else ("known", None)
            else:
                item.earlier = gone
                item.event = "recounted" if gone is not None or active else "counted"
            if item.counts_already or item.event == "changed":
                item.counts = None
            taken.add(item.identity)

    def look(self, dtypes: Mapping[str, pl.DataType]) -> None:
        """Check the columns of new files, without counting them; *dtypes* are as in ``count``."""
        for item in self.new:
            with item.blamed():
                dtypes = item.typed(check_columns(item.file, self.settings), dtypes)

    def count(self, dtypes: Mapping[str, pl.DataType]) -> Mapping[str, pl.DataType]:
        """Count the new files that are not counted yet, and return the types of all files.

        *dtypes* are the types of the ledger, none if it is new.
        """
        label = self._negative_label
        for item in self.new:
            if item.counts_already:
                continue
            with item.blamed():
                item.counts = item.counts or count_file(item.file, item.identity, self.settings)
                dtypes, label = item.typed(item.counts.dtypes, dtypes), item.labelled(label)
        return dtypes

    def refuse(self) -> None:
        """Raise one error with all problems, unless ``keep_going``."""
        problems = [item.error for item in self._items if item.error is not None]
        changed = [repr(item.file.path) for item in self._items if item.event == "changed"]
        if changed and self.on_changed == "raise":
            problems.append(
                SourceError(
                    "files were counted before with another content",
                    where=listed(changed, SHOWN_FILES),
                    found=quantity(len(changed), "changed file"),
                    hint=f"{Option('on_changed', 'recount')} counts the new content in place of the old; "
                    f"{Option('on_changed', 'keep')} does not",
                )
            )
        if problems and not self.keep_going:
            raise SourceError.all_of(problems)

    def warnings(self) -> list[UserWarning]:
        """Return the warnings for the counted files."""
        return [told for item in self._items if item.counts for told in item.counts.warnings]

    def report(self) -> pl.DataFrame:
        """Return the result for each file."""
        return pl.DataFrame([item.row(self.told) for item in self._items], schema=_APPENDED, orient="row")


def append(table: LedgerTable, work: Work) -> pl.DataFrame:
    """Count the new files of *work*, commit them at once, and return the result for each file.

    Raises
    ------
    NciFramesError
        If a file cannot be counted, unless ``keep_going``; nothing is then committed.
    ConflictError
        If other writers commit first every time.
    OutputError
        If the ledger cannot be written.
    """
    for attempt in range(_TRIES):
        try:
            view = View(table, table.snapshot() or table.create(), work.settings.generation)
            work.compare(view.states())
            dtypes = work.count(view.dtypes)
            work.refuse()
            gather_if_many(_commit(view, work, dtypes) if work.noted else view)
            return work.report()
        except CommitFailedError:
            # Another writer was first: see what is left to do. The random pause separates the writers.
            time.sleep(random.uniform(0, min(0.01 * 2**attempt, 1.0)))  # noqa: S311
    msg = "other writers of the ledger always came first"
    raise ConflictError(msg, where=repr(table.storage.uri), found=f"{_TRIES} tries", hint="run it again")


def _commit(view: View, work: Work, dtypes: Mapping[str, pl.DataType]) -> View:
    """Commit the counts, and return the new state of the ledger."""
    table, keys = view.table, work.settings.keys
    counted = {item.identity: item.counts for item in work.new if item.counts is not None}
    snapshot = table.with_columns(view.snapshot, {key: stored_type(dtypes[key], key) for key in keys})
    sequence = snapshot.version + 1
    entries = [entry for item in work.noted for entry in item.entries(work.name)]
    parts = {"sources": entry_rows(entries, sequence)}
    if not view.begun:
        types = {key: str(dtype) for key, dtype in dtypes.items()}
        made = {"settings": work.settings.to_json(), "dtypes": types}
        parts["generations"] = entry_rows([("", made)], sequence)
    cells = [
        counts.increments.with_columns(
            *(to_stored(key, dtypes[key]) for key in keys),
            ledger_source=pl.lit(identity),
            ledger_sequence=pl.lit(sequence, pl.Int64),
        )
        for identity, counts in counted.items()
        if len(counts.increments)
    ]
    if cells:
        parts["counts"] = pl.concat(cells)
    metadata = {"run": work.name, "sources": len(work.new), "generation": view.generation}
    table.commit(snapshot, view.generation, parts, metadata)
    return View(table, table.existing(), view.generation)
