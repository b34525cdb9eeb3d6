"""A part of the rows -> partial counts: what another engine runs in each of its processes.

Partial counts are increments, which any engine adds by its own sum: how many rows of a group and class lie
from each threshold to before the next; and how many rows there were by the code of their validity.

=========== ================= =========================================== ================================
column      dtype             meaning                                     null means
=========== ================= =========================================== ================================
k0, k1, ... of the keys       model and keys, by place                    a key of its own; or a code
place       Int32; Float64    thresholds that the score reaches; on no    a code
            on no grid        grid: the score
code        Int8              code of ``REASONS``                         an increment
positives   Int64; Float64    rows of the code; or rows or sum of         never
            with a weight     weights of the increment
negatives   as positives      as positives; 0 for a code                  never
=========== ================= =========================================== ================================
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import BATCH_ROWS
from nci_frames.counting.engine.exact import count_exact
from nci_frames.counting.engine.grid import count_cells
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import find_scores
from nci_frames.counting.logs.opened import FILE, OpenedLog
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON
from nci_frames.counts.increments import steps_of


def key_names(keys: int) -> list[str]:
    """Return the names of so many keys in partial counts."""
    return [f"k{place}" for place in range(keys)]


def partial_schema(raw: Mapping[str, pl.DataType], group: Iterable[str], *, on_grid: bool) -> pl.Schema:
    """Return the columns of partial counts of rows with such columns."""
    keys = [raw[key] for key in group]
    counted = pl.Float64() if "weight" in raw else pl.Int64()
    return pl.Schema(
        {
            **dict(zip(key_names(len(keys)), keys, strict=True)),
            "place": pl.Int32() if on_grid else pl.Float64(),
            "code": pl.Int8(),
            "positives": counted,
            "negatives": counted,
        }
    )


@dataclass(frozen=True, slots=True)
class PartialCounts:
    """Counts the rows of one partition; it can be sent to another process."""

    #: Columns of the rows, and what brings them to predictions.
    schema: pl.Schema
    prepare: Callable[[pl.LazyFrame], pl.LazyFrame]
    #: The model and the keys to keep.
    group: tuple[str, ...]
    #: Thresholds; None stands for every distinct score.
    grid: Floats | None
    budget: Budget

    def __call__(self, batches: Iterable[pa.RecordBatch], *, seed: int = 0) -> pl.DataFrame:
        """Return the partial counts of the rows.

        Parameters
        ----------
        batches
            The rows, as Arrow batches with the columns of ``schema`` by place.
        seed
            Of the hashes of groups.

        Raises
        ------
        HashCollisionError
            If two groups have the same hash: try again with another seed.
        ParameterError
            If the counts take more memory than the budget has.
        """
        scan = rows_scan(batches, self.schema, self.prepare)
        raw = scan.raw.collect_schema()
        groups = GroupNumbers({key: raw[key] for key in self.group}, seed=seed)
        if self.grid is None:
            counted = count_exact(scan, groups, budget=self.budget)
            found = steps_of(counted.counts, self.group).rename({"threshold": "place"})
            codes = counted.rows_by_code
        else:
            found, codes = self._on_grid(scan, groups, self.grid)
        names = dict(zip(self.group, key_names(len(self.group)), strict=True))
        rows = pl.DataFrame({"code": list(codes), "positives": list(codes.values())})
        parts = [found.rename(names), rows.with_columns(negatives=0)]
        schema = partial_schema(raw, self.group, on_grid=self.grid is not None)
        return pl.concat(
            [
                part.select(
                    (pl.col(name) if name in part.columns else pl.lit(None)).cast(dtype).alias(name)
                    for name, dtype in schema.items()
                )
                for part in parts
            ]
        )

    def _on_grid(self, scan: Scan, groups: GroupNumbers, grid: Floats) -> tuple[pl.DataFrame, dict[int, int]]:
        cells, codes = count_cells(scan, groups, grid, budget=self.budget)
        some = (cells[..., 0] != 0) | (cells[..., 1] != 0)
        # A group whose rows weigh nothing is a group.
        some[:, :1] = True
        of, place = np.nonzero(some)
        counted = cells[of, place]
        found = groups.frame()[of.astype(np.uint32)].with_columns(
            pl.Series("place", place.astype(np.int32)),
            pl.Series("positives", counted[:, 1]),
            pl.Series("negatives", counted[:, 0]),
        )
        return found, codes


@dataclass(frozen=True, slots=True)
class RangeOfPartition:
    """Finds the range of the scores of one partition; it can be sent to another process."""

    schema: pl.Schema
    prepare: Callable[[pl.LazyFrame], pl.LazyFrame]

    def __call__(self, batches: Iterable[pa.RecordBatch], *, seed: int = 0) -> pl.DataFrame:  # noqa: ARG002
        """Return one row: the distinct scores as a list (null where too many), least, low and high."""
        found = find_scores(rows_scan(batches, self.schema, self.prepare))
        few = None if found.few is None else found.few.tolist()
        number = dict.fromkeys(("least", "low", "high"), pl.Float64)
        row = (few, found.least, found.low, found.high)
        return pl.DataFrame([row], schema={"few": pl.List(pl.Float64), **number}, orient="row")


@dataclass(frozen=True, slots=True)
class InvalidByFile:
    """Finds the files of the invalid rows of one partition; it can be sent to another process."""

    #: Columns of the rows, ``FILE`` among them, and what brings them to predictions.
    schema: pl.Schema
    prepare: Callable[[pl.LazyFrame], pl.LazyFrame]

    def __call__(self, batches: Iterable[pa.RecordBatch], *, seed: int = 0) -> pl.DataFrame:  # noqa: ARG002
        """Return the files, each once."""
        rows = self.prepare(_rows_frame(batches, self.schema))
        return rows.filter(pl.col(REASON) > 0).select(pl.col(FILE).unique()).collect()


def rows_scan(
    batches: Iterable[pa.RecordBatch], schema: pl.Schema, prepare: Callable[[pl.LazyFrame], pl.LazyFrame]
) -> Scan:
    """Return a scan of Arrow batches that can be read once; nothing in it is refused."""
    return Scan(OpenedLog(_rows_frame(batches, schema), "a partition"), (), "drop", prepare, None)


def _rows_frame(batches: Iterable[pa.RecordBatch], schema: pl.Schema) -> pl.LazyFrame:
    def read(with_columns: list[str] | None, *_: Any) -> Iterator[pl.DataFrame]:
        for rows in _joined(batches):
            frame = pl.DataFrame(rows)
            frame.columns = schema.names()
            yield frame.select(pl.col(name).cast(schema[name]) for name in with_columns or schema.names())

    return register_io_source(read, schema=schema)


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches, which may be small, so that little time is lost between them."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
