"""Rows of a partition -> partial counts, which another engine sums -> the counts of all rows.

Partial counts are increments, that is, numbers of rows of a group and class from each threshold to below the
next, and numbers of rows by code of validity.

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
from nci_frames.counting.engine.batch import endless_weights
from nci_frames.counting.engine.exact import count_exact
from nci_frames.counting.engine.grid import Counted, Reached, count_cells, joined
from nci_frames.counting.engine.groups import GroupNumbers, with_group_numbers
from nci_frames.counting.engine.memory import KEY_BYTES, Budget
from nci_frames.counting.engine.passes import find_scores
from nci_frames.counting.logs.opened import FILE, OpenedLog
from nci_frames.counting.logs.reading import Scan, together
from nci_frames.counting.logs.rows import REASON
from nci_frames.counts.increments import counts_of, steps_of

#: Minimum number of rows of a batch.
_BATCH_ROWS = 1 << 18


def key_names(keys: int) -> list[str]:
    """Return the names of *keys* keys in partial counts."""
    return [f"k{place}" for place in range(keys)]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Function of the rows of a partition, which can be sent to another process."""

    #: Columns of the rows, and their conversion to predictions.
    schema: pl.Schema
    prepare: Callable[..., pl.LazyFrame]
    #: Models with score columns of their own.
    models: tuple[str, ...]
    #: Function of a scan, whose invalid rows are not refused, and of a seed for the hashes of groups.
    find: Callable[[Scan, int], pl.DataFrame]

    def __call__(self, batches: Iterable[pa.RecordBatch], *, seed: int = 0) -> pl.DataFrame:
        """Return the result for Arrow batches, whose columns are those of ``schema`` by position.

        Raises
        ------
        HashCollisionError
            If two groups have the same hash: try again with another seed.
        ParameterError
            If the counts exceed the memory limit.
        """

        def read(with_columns: list[str] | None, *_: Any) -> Iterator[pl.DataFrame]:
            # Small batches would each take a step.
            for some in together(batches, lambda: _BATCH_ROWS):
                frame = pl.DataFrame(pa.Table.from_batches(some))
                frame.columns = self.schema.names()
                yield frame.select(
                    pl.col(name).cast(self.schema[name]) for name in with_columns or frame.columns
                )

        frame = register_io_source(read, schema=self.schema)
        log = OpenedLog(frame, "a partition")
        return self.find(Scan(log, (), "drop", self.prepare, None, models=self.models), seed)


def partial_counts(
    scan: Scan, seed: int, *, group: list[str], grid: Floats | None, budget: Budget
) -> pl.DataFrame:
    """Return the partial counts of the groups of a scan; no grid means every distinct score."""
    raw = scan.raw.collect_schema()
    groups = GroupNumbers({key: raw[key] for key in group}, seed=seed)
    if grid is None:
        counted = count_exact(scan, groups, budget=budget)
        found = steps_of(counted.counts, group).rename({"threshold": "place"})
        codes = counted.rows_by_code
    else:
        cells, codes = count_cells(scan, groups, grid, budget=budget)
        some = (cells[:, 0] != 0) | (cells[:, 1] != 0)
        # Keep groups whose rows weigh 0.
        some[:, :1] = True
        of, place = np.nonzero(some)
        found = groups.frame()[of].with_columns(
            place=pl.Series(place), positives=cells[of, 1, place], negatives=cells[of, 0, place]
        )
    names = key_names(len(group))
    number = pl.Float64() if scan.weighted else pl.Int64()
    schema = {
        **dict(zip(names, groups.frame().dtypes, strict=True)),
        "place": pl.Float64() if grid is None else pl.Int32(),
        "code": pl.Int8(),
        "positives": number,
        "negatives": number,
    }
    rows = pl.DataFrame({"code": list(codes), "positives": list(codes.values()), "negatives": 0})
    parts = [found.rename(dict(zip(group, names, strict=True))), rows]
    return pl.concat(parts, how="diagonal_relaxed").select(pl.col(c).cast(kind) for c, kind in schema.items())


def partial_scores(scan: Scan, seed: int) -> pl.DataFrame:  # noqa: ARG001
    """Return the distinct scores of a scan; if too many, only a null and the ends of their range."""
    found = find_scores(scan)
    return pl.DataFrame({"score": [*([None] if found.many else []), *found.scores]}, {"score": pl.Float64})


def files_of_invalid(scan: Scan, seed: int) -> pl.DataFrame:  # noqa: ARG001
    """Return the files with invalid rows, each once."""
    return scan.located.filter(pl.col(REASON) > 0).select(pl.col(FILE).unique()).collect()


def counted_of(
    summed: pl.DataFrame,
    keys: Mapping[str, pl.DataType],
    grid: Floats | None,
    also: Floats | None,
    budget: Budget,
    where: str,
) -> Counted:
    """Return the counts from the sums of partial counts.

    Parameters
    ----------
    summed
        Sums of ``positives`` and ``negatives`` of all partial counts, by all their other columns.
    keys
        Names and types of the model and the keys.
    grid
        Thresholds; None means every distinct score.
    also
        Additional thresholds, whose counts are returned separately. The partial counts cover both.
    budget
        Memory limit of the counts.
    where
        Name of the log, for messages.

    Raises
    ------
    InvalidRowsError
        If the sum of weights overflows.
    ParameterError
        If the counts exceed the memory limit.
    """
    codes = summed.filter(pl.col("code").is_not_null())
    rows_by_code = dict(codes.select(pl.col("code", "positives").cast(pl.Int64)).rows())
    added = summed.filter(pl.col("code").is_null()).drop("code")
    added = added.rename(dict(zip(key_names(len(keys)), keys, strict=True)))
    if not np.isfinite(added.select((pl.col("positives") + pl.col("negatives")).sum()).item()):
        raise endless_weights(where)
    if grid is None:
        keyed = len(added) * len(keys)
        budget.need_rows(0, weighted=False, distinct=len(added), key_bytes=KEY_BYTES * keyed)
        counts = counts_of(added.rename({"place": "threshold"}), list(keys), None).drop("resolution")
        return Counted(counts, rows_by_code, counts.select(list(keys)).unique())

    def lay_out(groups: GroupNumbers) -> Counted:
        numbers = groups.numbers(added.select(groups.hash).to_series().to_numpy(), added)
        every = joined(grid, also)
        bins = 1 + len(every)
        budget.need_cells(groups, bins)
        cells = np.zeros((len(groups), 2, bins), added["positives"].to_numpy().dtype)
        place = added["place"].to_numpy()
        cells[numbers, 1, place] = added["positives"].to_numpy()
        cells[numbers, 0, place] = added["negatives"].to_numpy()
        return Reached.of(groups, every, cells, rows_by_code).at(grid, also)

    return with_group_numbers(keys, lay_out)
