"""A scan -> batches of NumPy arrays: group numbers, scores and labels of the valid rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.groups import GroupNumbers
from nci_frames.counting.progress import rows_shown
from nci_frames.counting.rows import REASON
from nci_frames.counting.scan import Scan

__all__ = ["BATCH_ROWS", "Batch", "read_batches"]

#: Rows at a time: the arrays of a batch stay in the cache of a core.
BATCH_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Some valid rows."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.floating]
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


def read_batches(
    scan: Scan,
    groups: GroupNumbers,
    rows_by_code: dict[int, int],
    *,
    progress: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[Batch]:
    """Yield the valid rows of a scan, and count all rows by the code of their validity.

    Parameters
    ----------
    scan
        What to read.
    groups
        Numbers the groups as they are met.
    rows_by_code
        The rows are counted here.
    progress
        Whether to show how far it is.
    batch_rows
        Rows at a time.

    Raises
    ------
    InvalidRowsError
        At the first batch with an invalid row, if the scan is not told to drop such rows.
    """
    weighted = "weight" in scan.raw.collect_schema()
    # 0 and 1 are the classes; from 2 on, why the row is not valid.
    kind = pl.when(pl.col(REASON) > 0).then(pl.col(REASON) + 1).otherwise(pl.col("label").cast(pl.UInt8))
    rows = scan.raw.select(
        *groups.keys,
        groups.hash.alias("__hash"),
        "score",
        kind.alias("__kind"),
        *(["weight"] if weighted else []),
    )
    with rows_shown(scan.rows, len(scan.source.files), show=progress) as advance:
        # Sums of weights depend on the order of the rows; counts do not, and need not wait for it.
        for whole in rows.collect_batches(chunk_size=batch_rows, maintain_order=weighted):
            batch, read = whole, len(whole)
            if read and int(batch["__kind"].max()) > 1:  # type: ignore[arg-type]
                if scan.on_invalid == "raise":
                    scan.refuse()
                for bad, count in batch["__kind"].filter(batch["__kind"] > 1).value_counts().rows():
                    rows_by_code[bad - 1] = rows_by_code.get(bad - 1, 0) + count
                batch = batch.filter(pl.col("__kind") < 2)
            rows_by_code[0] = rows_by_code.get(0, 0) + len(batch)
            yield Batch(
                groups.numbers(batch["__hash"].to_numpy(), batch),
                batch["score"].to_numpy(),
                batch["__kind"].to_numpy().view(np.bool_),
                batch["weight"].to_numpy() if weighted else None,
            )
            advance(read)
