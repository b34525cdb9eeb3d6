"""A scan -> its lowest and highest score, and all of its scores if they are few."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import BATCH_ROWS
from nci_frames.counting.engine.partitions import rows_scan
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON

#: A log with at most this many distinct scores gets a threshold at each.
FEW_SCORES = 16_384


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The scores of valid rows."""

    #: The distinct scores, ascending; None where they are too many.
    few: Floats | None
    #: The lowest score, and the lowest and the highest that are finite; null where there is none.
    least: float | None
    low: float | None
    high: float | None


def score_range(scan: Scan) -> ScoreRange:
    """Find the range of the scores of a scan, in one pass."""
    scores = scan.raw.filter(pl.col(REASON) == 0).select("score")
    few: Floats | None = np.empty(0)
    finite, infinite = [], False
    for batch in scan.batches(scores, chunk_size=BATCH_ROWS, maintain_order=False):
        values = batch["score"].to_numpy()
        if few is not None:
            few = np.union1d(few, batch["score"].unique().to_numpy())
            few = few if len(few) <= FEW_SCORES else None
        inside = values[np.isfinite(values)]
        infinite = infinite or bool(np.isneginf(values).any())
        if len(inside):
            finite += [float(inside.min()), float(inside.max())]
    low, high = (min(finite), max(finite)) if finite else (None, None)
    return ScoreRange(few, -math.inf if infinite else low, low, high)


@dataclass(frozen=True, slots=True)
class RangeOfPartition:
    """Finds the range of the scores of one partition; it can be sent to another process."""

    schema: pl.Schema
    prepare: Callable[[pl.LazyFrame], pl.LazyFrame]

    def __call__(self, batches: Iterable[pa.RecordBatch], *, seed: int = 0) -> pl.DataFrame:  # noqa: ARG002
        """Return one row: the distinct scores as a list (null where too many), least, low and high."""
        found = score_range(rows_scan(batches, self.schema, self.prepare))
        few = None if found.few is None else found.few.tolist()
        return pl.DataFrame(
            {"few": [few], "least": [found.least], "low": [found.low], "high": [found.high]},
            schema={"few": pl.List(pl.Float64), "least": pl.Float64, "low": pl.Float64, "high": pl.Float64},
        )
