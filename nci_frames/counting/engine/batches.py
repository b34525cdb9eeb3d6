"""A scan -> batches of NumPy arrays: group numbers, scores and labels of the valid rows."""

import math
from collections.abc import Iterator, Sequence

import polars as pl

from nci_frames.counting.engine.batch import Batch, endless_weights, reading_rows, slices_of
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.wide import Rows, read_wide
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON, weight_case
from nci_frames.schemas import WEIGHT

#: Rows that are read at a time: as many as Polars gives without being asked, so that it copies none.
BATCH_ROWS = 1 << 18


def read_batches(
    scan: Scan,
    groups: GroupNumbers,
    rows_by_code: dict[int, int],
    *,
    progress: bool = False,
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
        Whether to show progress.

    Raises
    ------
    InvalidRowsError
        At the first batch with an invalid row, if the scan is not told to drop such rows; or if the weights
        add up to more than Float64 holds.
    TooManyWeightsError
        As soon as the key ``weight``, if it is kept, has more than 1,000 values.
    """
    label = [pl.col("label")]
    rows = read_columns(scan, groups, rows_by_code, [pl.col("score")], label, progress=progress)
    for numbers, (scores, labels), weights in rows:
        yield Batch(numbers, scores, labels, weights)


def read_columns(
    scan: Scan,
    groups: GroupNumbers,
    rows_by_code: dict[int, int],
    scores: Sequence[pl.Expr],
    others: Sequence[pl.Expr] = (),
    *,
    progress: bool,
) -> Iterator[Rows]:
    """Yield the valid rows of a scan, as ``read_batches`` does, with all their scores and other columns.

    Each row of a log with scores of several models is read once for all of them.
    """
    if len(scores) * len(scan.models) > 1:
        yield from read_wide(scan, groups, rows_by_code, len(scores), others, progress=progress)
        return
    columns = [*scores, *others]
    weighted = scan.weighted
    weight = [pl.col(WEIGHT)] if weighted else []
    names = [f"__{place}" for place in range(len(columns) + len(weight))]
    read = [column.alias(name) for name, column in zip(names, [*columns, *weight], strict=True)]
    frame = scan.raw
    if WEIGHT in groups.keys and scan.on_invalid == "raise":
        # Whether a weight that is a key is valid is asked of each group once: of rows it takes long.
        frame = scan.prepared(check_weights=False)
        groups.asked = weight_case(pl.col(WEIGHT))[1]
    rows = frame.select(*groups.keys, groups.hash.alias("__hash"), REASON, *read)
    total = 0.0
    with reading_rows(scan, progress=progress) as advance:
        # Sums of weights depend on the order of the rows; counts do not, and need not wait for it.
        for whole in scan.batches(rows, chunk_size=BATCH_ROWS, maintain_order=weighted):
            batch = scan.valid(whole, rows_by_code)
            scan.met(rows_by_code)
            if weighted:
                total += float(batch[names[-1]].sum())
                if total == math.inf:
                    raise endless_weights(scan.source.where)
            for start, (hashes, *found) in slices_of(batch, "__hash", *names):
                weights = found.pop() if weighted else None
                numbers = groups.numbers(hashes, batch, start)
                if groups.holds.any():
                    scan.refuse()
                yield numbers, found, weights
            advance(len(whole))
    scan.need_same_rows(sum(rows_by_code.values()))
