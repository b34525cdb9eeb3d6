"""The Delta table behind a ledger: increments of counts, sources and generations, in one atomic commit each.

================== ====== ==============================================================================
column             dtype  meaning
================== ====== ==============================================================================
ledger_part        String "counts", "sources" or "generations": what the row is (a partition)
ledger_generation  String settings that the rows were counted by (a partition)
ledger_source      String identity of the source; null for a generation
ledger_sequence    Int64  number of the commit
ledger_entry       String what happened to a source, or the settings, as JSON; null for counts
model, keys               of the increments, as in counts; null otherwise
threshold          Float64 rows from this threshold to before the next; null: below every threshold
positives          Int64  rows of the positive class; null for sources and generations
negatives          Int64  rows of the negative class; null for sources and generations
================== ====== ==============================================================================

Nothing is ever changed in place: what becomes of a source is told by its last entry.
"""

import contextlib
import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    "ledger_source": pl.String,
    "ledger_sequence": pl.Int64,
    "ledger_entry": pl.String,
    "model": pl.String,
    "threshold": pl.Float64,
    "positives": pl.Int64,
    "negatives": pl.Int64,
}
_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
#: Who loses a race looks first at what the other has done.
_ONCE: dict[str, Any] = {
    "commit_properties": CommitProperties(max_commit_retries=0),
    "post_commithook_properties": _HOOKS,
}


#: Types that a Delta table keeps as they are; others are kept as whole numbers or texts.
_KEPT = (pl.String, pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Date)
_SIMPLE = (*_KEPT, pl.UInt8, pl.UInt16, pl.UInt32, pl.Time, pl.Null, pl.Float32, pl.Float64)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A ledger as it was at one version."""

    table: DeltaTable
    version: int
    #: Names of the data files, by part and generation.
    files: Mapping[tuple[str, str], tuple[str, ...]]

    @property
    def generations(self) -> list[str]:
        """The settings by which sources were counted."""
        return sorted({name for part, name in self.files if part == "sources"})


class LedgerTable:
    """A Delta table of increments; it knows nothing of how they are counted."""

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
                # Mostly it is out of reach, or the credentials are wrong.
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
        """Return the error that there is no ledger."""
        append = Call("append(source)", "nci-frames ledger append")
        hint = f"check the path; {append} makes a new ledger"
        return self.lacks("there is no ledger here", self.storage.found_instead(), hint)

    def lacks(self, msg: str, found: str | None = None, hint: str | None = None) -> LedgerError:
        """Return the error that the ledger has not what is asked for."""
        return LedgerError(msg, where=repr(self.storage.uri), found=found, hint=hint)

    def create(self) -> Snapshot:
        """Make an empty ledger unless there is one.

        Raises
        ------
        OutputError
            If the folder has other files, or cannot be written.
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
        """Return a snapshot whose table has columns for *keys*, which are added where they are missing.

        Raises
        ------
        SchemaError
            If a column has another type, since an earlier generation has a key of that name and another type.
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
            What the commit is based on.
        generation
            The settings of the rows.
        parts
            The rows to add, by part.
        metadata
            What the history of the table says of the commit.
        replaced
            Data files whose rows are among those added.

        Raises
        ------
        CommitFailedError
            If another commit came first: take a new snapshot, and see what is left to do.
        OutputError
            If a file cannot be written.
        """
        with self._writing(snapshot.version):
            actions: list[AddAction | RemoveAction] = [
                self._write(part, generation, rows) for part, rows in parts.items()
            ]
            actions += [_removed(name) for name in replaced]
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
        """Keep the hashes of what is written; tell a lost race, a CommitFailedError, from a full disk.

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
        """Return the newest version; -1 where it cannot be read."""
        try:
            return DeltaTable(self.storage.uri, storage_options=self.storage.options).version()
        except (DeltaError, OSError):
            return -1

    def rows(self, snapshot: Snapshot, part: str, generation: str) -> pl.DataFrame:
        """Return the rows of a part of a generation, each file checked against the hash in its name.

        Raises
        ------
        LedgerError
            If a file is missing or damaged.
        """
        frames = [
            pl.read_parquet(io.BytesIO(self.storage.read(name)), glob=False)
            for name in snapshot.files.get((part, generation), ())
        ]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame(schema=COLUMNS)

    def checkpoint(self) -> None:
        """Gather the log up to now in one file, so that it is read quickly."""
        self.storage.forget_log_hash("_last_checkpoint")
        with self._writing(-1):
            DeltaTable(self.storage.uri, storage_options=self.storage.options).create_checkpoint()

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
    # Polars reads what PyArrow could, too; but PyArrow would import pandas for it.
    actions = pl.DataFrame(table.get_add_actions(flatten=True))
    names = ("path", *(f"partition.{name}" for name in PARTITION)) if len(actions) else ()
    for path, part, generation in sorted(zip(*(actions[n].to_list() for n in names), strict=True)):
        files.setdefault((part, generation), []).append(path)
    return Snapshot(table, table.version(), {place: tuple(names) for place, names in files.items()})


def _removed(name: str) -> RemoveAction:
    now = int(time.time() * 1000)
    return RemoveAction(
        path=name, deletion_timestamp=now, data_change=False, partition_values=_partition(name)
    )


def _partition(name: str) -> dict[str, Any]:
    """Return the part and the generation that the folders of a data file name."""
    return dict(folder.split("=", 1) for folder in name.split("/")[:2])


def _arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def stored_type(dtype: pl.DataType, key: str) -> pl.DataType:
    """Return the type by which a Delta table holds a key without loss.

    Raises
    ------
    SchemaError
        If there is none.
    """
    # A weight is the same number in every file, or another weight.
    if isinstance(dtype, _KEPT) or (key == WEIGHT and dtype == pl.Float64):
        return dtype
    if dtype in (pl.UInt8, pl.UInt16, pl.UInt32) or dtype.is_temporal():
        return pl.Int64()
    if dtype == pl.Null:
        return pl.String()
    wanted = "a String, Boolean, date, time, or whole number of up to 63 bits"
    raise SchemaError.wrong_type(key, "the log", str(dtype), f"{wanted} to be kept in a ledger")


def to_stored(key: str, dtype: pl.DataType) -> pl.Expr:
    """Return a key in the type by which it is held; a cast back restores it."""
    column = pl.col(key)
    physical = column.to_physical() if dtype.is_temporal() and dtype != pl.Date else column
    return physical.cast(stored_type(dtype, key))


def dtype_of(text: str) -> pl.DataType:
    """Read the text of a type that a key or a score can have.

    >>> dtype_of(str(pl.Datetime("us", "UTC")))
    Datetime(time_unit='us', time_zone='UTC')
    """
    simple = {str(dtype()): dtype() for dtype in _SIMPLE}
    if text in simple:
        return simple[text]
    name, _, rest = text.removesuffix(")").partition("(")
    parts = [part.partition("=")[2].strip("'") for part in rest.split(", ")]
    unit: Any = parts[0]
    if name == "Duration":
        return pl.Duration(unit)
    return pl.Datetime(unit, None if parts[1] == "None" else parts[1])
