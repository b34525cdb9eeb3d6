"""A scan -> batches of NumPy arrays: group numbers, scores and labels of the valid rows."""

import math
from collections.abc import Iterator

import polars as pl

from nci_frames.counting.engine.batch import Batch, endless_weights, reading_rows, slices_of
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.wide import read_wide
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON
from nci_frames.schemas import WEIGHT

#: Rows read at a time: the batch size of Polars, so that it copies none.
BATCH_ROWS = 1 << 18


def read_batches(
    scan: Scan,
    groups: GroupNumbers,
    rows_by_code: dict[int, int],
    *,
    progress: bool = False,
) -> Iterator[Batch]:
    """Yield the valid rows of a scan, and count all rows by code of validity.

    Parameters
    ----------
    scan
        The scan to read.
    groups
        Assigns numbers to the groups at their first row.
    rows_by_code
        Counts all rows; changed in place.
    progress
        Whether to show progress.

    Raises
    ------
    InvalidRowsError
        At the first batch with an invalid row, if the scan does not drop such rows; or if the sum of weights
        overflows.
    TooManyWeightsError
        As soon as a key ``weight`` has more than 1,000 values.
    """
    if len(scan.models) > 1 or WEIGHT in groups.keys:
        found = read_wide(scan, groups, rows_by_code, 1, [pl.col("label")], progress=progress)
        for numbers, (scores, labels), weights in found:
            yield Batch(numbers, scores, labels, weights)
        return
    weighted = scan.weighted
    columns = ["__hash", "score", "label", *([WEIGHT] if weighted else [])]
    rows = scan.raw.select(*groups.keys, groups.hash.alias("__hash"), REASON, *columns[1:])
    total = 0.0
    with reading_rows(scan, len(groups.keys) + 2, progress=progress) as advance:
        # Only sums of weights depend on the order of the rows.
        for whole in scan.batches(rows, chunk_size=BATCH_ROWS, maintain_order=weighted):
            batch = scan.valid(whole, rows_by_code)
            scan.met(sum(rows_by_code.values()))
            if weighted:
                total += float(batch[WEIGHT].sum())
                if total == math.inf:
                    raise endless_weights(scan.source.where)
            for start, (hashes, scores, labels, *more) in slices_of(batch, *columns):
                weights = more[0] if weighted else None
                yield Batch(groups.numbers(hashes, batch, start), scores, labels, weights)
            advance(len(whole))
    scan.need_same_rows(sum(rows_by_code.values()))
