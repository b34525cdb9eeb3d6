"""A frame of Spark as a source: how its rows are opened, and counted where they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from nci_frames.base.errors import SourceError
from nci_frames.base.typing import Floats
from nci_frames.counting.engine.counted import Counted
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import Engine, ScoreRange
from nci_frames.counting.logs.footers import Stamp
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.source import Source
from nci_frames.counting.spark.counting import count_in_spark, score_range_in_spark
from nci_frames.counting.spark.files import need_columns_in_files
from nci_frames.counting.spark.rows import SparkRows


def open_frame(frame: Any) -> Source:
    """Open a frame of Spark."""
    return _source(SparkRows.of(frame))


@dataclass(frozen=True, slots=True)
class _Spark(Engine):
    rows: SparkRows

    def only(self, needed: Mapping[str, str]) -> Source:
        rows = self.rows.only(needed)
        return _source(rows, need_columns_in_files(rows, needed), rows.count())

    def distinct(self, column: str, most: int | None) -> pl.Series:
        return self.rows.distinct(column, most)

    def count(
        self, scan: Scan, group: list[str], grid: Floats | None, also: Floats | None, budget: Budget
    ) -> Counted:
        return count_in_spark(self.rows, scan, group, grid, also, budget)

    def refusal(self) -> SourceError:
        hint = "filter and join in Spark, before the scan; fetch a small frame with frame.toArrow()"
        msg = "these rows are in Spark, where they can only be counted"
        return SourceError(msg, where=self.rows.where, hint=hint)

    def score_range(self, scan: Scan) -> ScoreRange:
        return score_range_in_spark(self.rows, scan)


def _source(mine: SparkRows, stamps: Mapping[str, Stamp] | None = None, rows: int | None = None) -> Source:
    """Return a source whose frame has the columns alone; reading its rows is refused."""
    spark = _Spark(mine)

    def refuse(*_: Any) -> Iterator[pl.DataFrame]:
        raise spark.refusal()

    frame = register_io_source(refuse, schema=mine.schema(), explain_name=mine.where)
    return Source(frame, mine.where, rows=rows, stamps=stamps or {}, elsewhere=spark)
