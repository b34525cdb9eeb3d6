"""Rows in Spark -> counts: the same kernel runs in the executors, which return only counts.

Each task counts its partition (``mapInArrow``) into partial counts, Spark adds those of all partitions
(``groupBy.sum``), and the sums are accumulated here. A repeated task replaces its earlier result, since
nothing is counted by side effects such as accumulators.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from nci_frames.base.errors import SourceError
from nci_frames.base.messages import listed, quantity
from nci_frames.base.typing import Floats
from nci_frames.counting.engine.grid import Counted, joined
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import Scores
from nci_frames.counting.logs.opened import FILE, OpenedLog, Stamp
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.spark.partial import (
    Kernel,
    counted_of,
    files_of_invalid,
    key_names,
    partial_counts,
    partial_scores,
)
from nci_frames.counting.spark.rows import SparkRows, need_columns_in_files

#: Rows of partial counts per batch that a task returns.
_BATCH = 1 << 17


def open_frame(frame: Any) -> OpenedLog:
    """Open a Spark frame."""
    return _Spark.of(frame).opened({}, None)


class _Spark(SparkRows):
    """Rows in Spark as an engine."""

    def opened(self, stamps: Mapping[str, Stamp], rows: int | None) -> OpenedLog:
        """Return a source whose frame only has the columns; reading its rows is refused."""

        def refuse(*_: Any) -> Iterator[pl.DataFrame]:
            raise self.refusal()

        frame = register_io_source(refuse, schema=self.schema(), explain_name=self.where)
        return OpenedLog(frame, self.where, rows=rows, stamps=stamps, elsewhere=self)

    def only(self, needed: Mapping[str, str]) -> OpenedLog:
        mine = self.selected(needed)
        return mine.opened(need_columns_in_files(mine, needed), mine.number())

    def refusal(self) -> SourceError:
        hint = "filter and join in Spark, before the scan; fetch a small frame with frame.toArrow()"
        msg = "these rows are in Spark, where they can only be counted"
        return SourceError(msg, where=self.where, hint=hint)

    def count(
        self, scan: Scan, group: list[str], grid: Floats | None, also: Floats | None, budget: Budget
    ) -> Counted:
        """Count the groups of a scan as ``count_at`` does.

        Raises
        ------
        InvalidRowsError
            If a row is not valid, and the scan does not drop such rows; or if the sum of weights overflows.
        ParameterError
            If the counts exceed the memory limit.
        SourceError
            If Spark cannot count, or the number of rows changes.
        """
        budget = replace(budget, to_file=False)
        raw = scan.raw.collect_schema()
        thresholds = None if grid is None else joined(grid, also)
        kernel = partial(partial_counts, group=group, grid=thresholds, budget=budget)
        by = [*key_names(len(group)), "place", "code"]
        sums = _sums(weighted=scan.weighted)
        found = _run(self, scan, kernel, lambda partial: partial.groupBy(*by).agg(*sums))
        counted = counted_of(found, {key: raw[key] for key in group}, grid, also, budget, scan.source.where)
        if scan.on_invalid == "raise" and scan.reasons(counted.rows_by_code):
            raise scan.refusal(counted.rows_by_code, _files_of_invalid(scan, self))
        scan.need_same_rows(sum(counted.rows_by_code.values()))
        return counted

    def scores(self, scan: Scan) -> Scores:
        """Find the scores of a scan."""
        found = _run(self, scan, partial_scores)["score"]
        return Scores(np.empty(0)).and_of(found.drop_nulls().to_numpy(), many=found.has_nulls())


def _sums(*, weighted: bool) -> list[Any]:
    from pyspark.sql import functions  # noqa: PLC0415

    names = ("positives", "negatives")
    if not weighted:
        return [functions.sum(name).alias(name) for name in names]
    # Sums of floats depend on the order, and partitions arrive in any order: add in ascending order.
    zero = functions.lit(0.0)
    ordered = {name: functions.array_sort(functions.collect_list(name)) for name in names}
    return [functions.aggregate(ordered[name], zero, lambda a, b: a + b).alias(name) for name in names]


def _run(
    rows: SparkRows,
    scan: Scan,
    find: Callable[[Scan, int], pl.DataFrame],
    merge: Callable[[Any], Any] = lambda partial: partial.distinct(),
) -> pl.DataFrame:
    """Run a kernel on every partition, merge the results in Spark, and fetch them."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema  # noqa: PLC0415

    kernel = Kernel(rows.schema(), scan.prepare, scan.models, find)
    nothing = kernel([])
    with rows.errors():
        returned = from_arrow_schema(nothing.to_arrow(compat_level=pl.CompatLevel.oldest()).schema)
        task = _Task(kernel, to_arrow_schema(returned, timezone="UTC"), _version())
        table = merge(rows.frame.mapInArrow(task, returned)).toArrow()
    found = pl.DataFrame(table)
    return found.cast({name: nothing.schema[name] for name in found.columns})


@dataclass(frozen=True, slots=True)
class _Task:
    """The task that Spark runs on each partition."""

    kernel: Kernel
    schema: pa.Schema
    version: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext  # noqa: PLC0415

        if _version() not in (None, self.version):
            msg = "the executors have another version of nci_frames"
            raise SourceError(msg, found=f"{_version()}, not {self.version}", hint="install the same version")
        context = TaskContext.get()
        # After a hash collision, the task fails, and Spark repeats it with another seed.
        seed = context.attemptNumber() if context is not None else 0
        found = self.kernel(batches, seed=seed)
        yield from found.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self.schema).to_batches(_BATCH)


def _version() -> str | None:
    """Return the installed version; None if the package was shipped without installation."""
    try:
        return version("nci_frames")
    except PackageNotFoundError:
        return None


def _files_of_invalid(scan: Scan, rows: SparkRows) -> str:
    """Return the place of the invalid rows: their files, if they come from files."""
    from pyspark.sql import functions  # noqa: PLC0415

    frame = rows.frame.withColumn(f"c{len(rows.names)}", functions.input_file_name())
    located = SparkRows(frame, (*rows.names, FILE), rows.where)
    named = _run(located, scan, files_of_invalid)[FILE].drop_nulls().sort()
    named = named.filter(named != "")
    if named.is_empty():
        return rows.where
    return f"{quantity(len(named), 'file')} of {rows.where}: {listed(map(repr, named))}"
