"""The Delta table behind a ledger: increments, sources and generations, written in atomic commits.

================== ====== ==============================================================================
column             dtype  meaning
================== ====== ==============================================================================
ledger_part        String kind of row: "counts", "sources" or "generations" (a partition)
ledger_generation  String settings of the counts (a partition)
ledger_source      String identity of the source; null for a generation
ledger_sequence    Int64  number of the commit
ledger_entry       String event of a source, or the settings, as JSON; null for counts
model, keys               of the increments, as in counts; null otherwise
threshold          Float64 rows from this threshold to below the next; null: below every threshold
positives          Int64  rows of the positive class; null for sources and generations
negatives          Int64  rows of the negative class; null for sources and generations
================== ====== ==============================================================================

Nothing is changed in place: the last entry of a source gives its state.
"""

import contextlib
import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from nci_frames.base.errors import LedgerError, OutputError, SchemaError
from nci_frames.base.messages import Call
from nci_frames.jobs.ledger.storage import Storage, content_hash, store_problem
from nci_frames.schemas import WEIGHT

PARTITION = ("ledger_part", "ledger_generation")
COLUMNS = {
    "ledger_source": pl.String, "ledger_sequence": pl.Int64, "ledger_entry": pl.String,
    "model": pl.String, "threshold": pl.Float64, "positives": pl.Int64, "negatives": pl.Int64,
}  # fmt: skip
_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
#: Age in seconds of a file that no writer will commit any more.
_ABANDONED = 24 * 3600
#: No automatic retries: after a lost race, the new state must be read first.
_NO_RETRY = CommitProperties(max_commit_retries=0)
_ONCE: dict[str, Any] = {"commit_properties": _NO_RETRY, "post_commithook_properties": _HOOKS}


#: Types that a Delta table stores unchanged; others are stored as whole numbers or strings.
_KEPT = (pl.String, pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Date)


class Snapshot(NamedTuple):
    """One version of a ledger."""

    table: DeltaTable
    version: int
    #: Names of the data files, by part and generation.
    files: Mapping[tuple[str, str], tuple[str, ...]]

    @property
    def generations(self) -> list[str]:
        """The generations (settings) of the sources."""
        return sorted({name for part, name in self.files if part == "sources"})


class LedgerTable:
    """A Delta table of increments, independent of counting."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def snapshot(self) -> Snapshot | None:
        """Return the newest version; None if there is no ledger yet.

        Raises
        ------
        LedgerError
            If the log of the table is damaged, or cannot be read.
        """
        wrong = self.storage.check_log(since=self.storage.newest_checkpoint())
        if wrong:
            raise self.storage.damaged(wrong)
        try:
            if self.storage.is_file or not DeltaTable.is_deltatable(self.storage.uri, self.storage.options):
                return None
            return _snapshot(DeltaTable(self.storage.uri, storage_options=self.storage.options))
        except (DeltaError, OSError, ValueError) as error:
            found = store_problem(error)
            if self.storage.local is None:
                # Usually the store is unreachable, or the credentials are wrong.
                raise self.lacks("the ledger cannot be read", found) from error
            raise self.storage.damaged({"_delta_log": found}) from error

    def existing(self) -> Snapshot:
        """Return the newest version.

        Raises
        ------
        LedgerError
            If there is no ledger, or it is damaged or cannot be read.
        """
        snapshot = self.snapshot()
        if snapshot is None:
            raise self.absent()
        return snapshot

    def absent(self) -> LedgerError:
        """Return the error for a missing ledger."""
        append = Call("append(source)", "nci-frames ledger append")
        hint = f"check the path; {append} makes a new ledger"
        return self.lacks("there is no ledger here", self.storage.found_instead(), hint)

    def lacks(self, msg: str, found: str | None = None, hint: str | None = None) -> LedgerError:
        """Return the error for data that the ledger lacks."""
        return LedgerError(msg, where=repr(self.storage.uri), found=found, hint=hint)

    def create(self) -> Snapshot:
        """Create an empty ledger, if there is none.

        Raises
        ------
        OutputError
            If the folder contains other files, or cannot be written.
        """
        self.storage.need_empty()
        fields = [*((name, pl.String) for name in PARTITION), *COLUMNS.items()]
        with self._writing(-1):
            DeltaTable.create(
                self.storage.uri,
                _arrow(pl.DataFrame(schema=dict(fields))).schema,
                mode="ignore",
                partition_by=list(PARTITION),
                storage_options=self.storage.options,
                **_ONCE,
            )
        return self.existing()

    def with_columns(self, snapshot: Snapshot, keys: Mapping[str, pl.DataType]) -> Snapshot:
        """Return a snapshot whose table has columns for *keys*; missing columns are added.

        Raises
        ------
        SchemaError
            If a column has another type, because an earlier generation has such a key of another type.
        """
        there = {field.name: field.type for field in snapshot.table.schema().fields}
        wanted = Schema.from_arrow(_arrow(pl.DataFrame(schema=dict(keys))).schema).fields
        for field in wanted:
            if there.get(field.name, field.type) != field.type:
                raise SchemaError.wrong_type(
                    field.name,
                    f"the ledger {self.storage.uri!r}",
                    str(keys[field.name]),
                    f"of the type that it has there, {there[field.name]}",
                    "count these settings into a ledger of their own",
                )
        missing = [field for field in wanted if field.name not in there]
        if not missing:
            return snapshot
        with self._writing(snapshot.version):
            snapshot.table.alter.add_columns(missing, **_ONCE)
        return self.existing()

    def commit(
        self,
        snapshot: Snapshot,
        generation: str,
        parts: Mapping[str, pl.DataFrame],
        metadata: Mapping[str, Any],
        replaced: Sequence[str] = (),
    ) -> None:
        """Add rows to the parts of a generation, in one commit after *snapshot*.

        Parameters
        ----------
        snapshot
            The version that the commit is based on.
        generation
            The settings of the rows.
        parts
            The rows to add, by part.
        metadata
            Metadata of the commit in the history of the table.
        replaced
            Data files to remove, whose rows are among the added ones.

        Raises
        ------
        CommitFailedError
            If another commit came first: take a new snapshot, and see what is left to do.
        OutputError
            If a file cannot be written.
        """
        with self._writing(snapshot.version):
            added = [self._write(part, generation, rows) for part, rows in parts.items()]
            # Equal rows have the same file, which stays where it is.
            kept = {action.path for action in added}.intersection(replaced)
            actions: list[AddAction | RemoveAction] = [
                *(action for action in added if action.path not in kept),
                *(_removed(name) for name in replaced if name not in kept),
            ]
            snapshot.table.create_write_transaction(
                actions,
                "append",
                snapshot.table.schema(),
                partition_by=list(PARTITION),
                commit_properties=CommitProperties(custom_metadata=dict(metadata), max_commit_retries=0),
                post_commithook_properties=_HOOKS,
            )

    @contextlib.contextmanager
    def _writing(self, version: int) -> Iterator[None]:
        """Store the hashes of written files; distinguish a lost race (CommitFailedError) from a full disk.

        Raises
        ------
        OutputError
            If the store cannot be written.
        """
        try:
            yield
        except (DeltaError, OSError) as error:
            if isinstance(error, CommitFailedError) and self._version() > version:
                raise
            msg = "the ledger cannot be written"
            raise OutputError(msg, where=repr(self.storage.uri), found=store_problem(error)) from error
        self.storage.record_log_hashes()

    def _version(self) -> int:
        """Return the newest version; -1 if it cannot be read."""
        try:
            return DeltaTable(self.storage.uri, storage_options=self.storage.options).version()
        except (DeltaError, OSError):
            return -1

    def rows(self, files: Sequence[str]) -> pl.DataFrame:
        """Return the rows of data files, after checking each file against its hash.

        Raises
        ------
        LedgerError
            If a file is missing or damaged.
        """
        frames = [pl.read_parquet(io.BytesIO(self.storage.read(name)), glob=False) for name in files]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame(schema=COLUMNS)

    def clean_up(self) -> None:
        """Delete from a local folder the data files that were removed, and those that killed writers left.

        A new file that no version has may be that of another writer, which will commit.
        """
        if self.storage.local is None:
            return
        newest = self.existing()
        needed = {name for names in newest.files.values() for name in names}
        removed = newest.table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False)
        for file in self.storage.local.glob("ledger_part=*/*/*"):
            name = "/".join(file.parts[-3:])
            with contextlib.suppress(FileNotFoundError):
                abandoned = time.time() - file.stat().st_mtime > _ABANDONED
                if file.is_file() and name not in needed and (abandoned or name in removed):
                    file.unlink()

    def checkpoint(self) -> None:
        """Write a checkpoint of the log, for fast reading."""
        with self._writing(-1):
            DeltaTable(self.storage.uri, storage_options=self.storage.options).create_checkpoint()
            self.storage.forget_last_checkpoint()

    def _write(self, part: str, generation: str, rows: pl.DataFrame) -> AddAction:
        buffer = io.BytesIO()
        pq.write_table(_arrow(rows), buffer, compression="zstd", write_page_checksum=True)
        content = buffer.getvalue()
        name = f"ledger_part={part}/ledger_generation={generation}/{content_hash(content)}.parquet"
        self.storage.write(name, content)
        return AddAction(
            path=name,
            size=len(content),
            partition_values=_partition(name),
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats=json.dumps({"numRecords": len(rows)}),
        )


def _snapshot(table: DeltaTable) -> Snapshot:
    files: dict[tuple[str, str], list[str]] = {}
    # Read with Polars, since PyArrow would import pandas. The folders of a path name its part and generation.
    for path in sorted(pl.DataFrame(table.get_add_actions(flatten=True))["path"]):
        part, generation = _partition(path).values()
        files.setdefault((part, generation), []).append(path)
    return Snapshot(table, table.version(), {place: tuple(names) for place, names in files.items()})


def _removed(name: str) -> RemoveAction:
    now = int(time.time() * 1000)
    return RemoveAction(
        path=name, deletion_timestamp=now, data_change=False, partition_values=_partition(name)
    )


def _partition(name: str) -> dict[str, Any]:
    """Return the part and the generation in the folders of a data file."""
    return dict(folder.split("=", 1) for folder in name.split("/")[:2])


def _arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def stored_type(dtype: pl.DataType, key: str) -> pl.DataType:
    """Return the type that stores a key in a Delta table without loss.

    Raises
    ------
    SchemaError
        If there is no such type.
    """
    # Weights may be Float64, since a weight is only equal to exactly the same number.
    if isinstance(dtype, _KEPT) or (key == WEIGHT and dtype == pl.Float64):
        return dtype
    if dtype in (pl.UInt8, pl.UInt16, pl.UInt32) or dtype.is_temporal():
        return pl.Int64()
    if dtype == pl.Null:
        return pl.String()
    wanted = "a String, Boolean, date, time, or whole number of up to 63 bits"
    raise SchemaError.wrong_type(key, "the log", str(dtype), f"{wanted} to be kept in a ledger")


def to_stored(key: str, dtype: pl.DataType) -> pl.Expr:
    """Return a key in its stored type; a cast restores it."""
    column = pl.col(key)
    physical = column.to_physical() if dtype.is_temporal() and dtype != pl.Date else column
    return physical.cast(stored_type(dtype, key))


def dtype_of(text: str) -> pl.DataType:
    """Parse the name of a type of a key or a score.

    >>> dtype_of(str(pl.Datetime("us", "UTC")))
    Datetime(time_unit='us', time_zone='UTC')
    """
    name, _, rest = text.removesuffix(")").partition("(")
    options = dict(option.split("=") for option in rest.split(", ")) if rest else {}
    kept = {option: value.strip("'") for option, value in options.items() if value != "None"}
    dtype: pl.DataType = getattr(pl.datatypes, name)(**kept)
    return dtype
