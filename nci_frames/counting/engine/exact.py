"""Counting at every distinct score: the rows are gathered compactly, then sorted group by group.

What is kept of a row is its score, its class and its weight, in blocks that are ordered by group. A large
group is sorted alone, small ones many at a time. The counts of each are a chunk of the result: nothing is
copied, and the chunks of a large group share the memory of its keys with each other and with other groups.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batches import Batch, read_batches
from nci_frames.counting.engine.counted import Counted
from nci_frames.counting.engine.distinct import Columns, Floats, Rows, count_distinct
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan
from nci_frames.schemas.runs import rows_of_runs

__all__ = ["TooManyRowsError", "count_exact"]

#: Rows that are ordered by group at a time: their arrays fit into the fast memory of a processor, and are too
#: small for large pages, which the system may have to make first.
_BLOCK_ROWS = 1 << 18
#: A block has at least so many rows for each group, since it takes 8 bytes for each.
_ROWS_PER_BOUND = 8

#: A group with so many rows is counted alone: to count several at once takes longer for a row.
_ALONE_ROWS = 1 << 13
#: Smaller groups are counted together, as many as have so many rows.
_PART_ROWS = 1 << 17
#: Within a part, groups have numbers of 16 bits.
_MOST_GROUPS = 1 << 16
#: Counts with fewer rows are one chunk, which NumPy reads without a copy.
_IN_CHUNKS = 1 << 20
#: The most rows of a chunk that is one group.
_CHUNK_ROWS = 1 << 18

_COLUMNS = ("threshold", "tp", "fp", "fn", "tn")


class TooManyRowsError(Exception):
    """The log has more valid rows than may be kept."""


def count_exact(
    scan: Scan,
    groups: GroupNumbers,
    *,
    progress: bool = False,
    most_rows: int | None = None,
    budget: Budget | None = None,
) -> Counted:
    """Count every group at each of its distinct scores.

    Parameters
    ----------
    scan
        What to count.
    groups
        Numbers of the groups; it learns them here.
    progress
        Whether to show progress.
    most_rows
        How many valid rows the log may have.
    budget
        How much memory the counts may take.

    Raises
    ------
    InvalidRowsError
        If a row is not valid and the scan is not told to drop such rows.
    ParameterError
        If the counts take more memory than the budget has.
    TooManyRowsError
        As soon as there are more rows than *most_rows*.
    """
    budget = budget or Budget.of(None)
    if scan.rows is not None and most_rows is None:
        budget.need_rows(scan.rows, len(groups.keys))
    rows_by_code: dict[int, int] = {}
    batches = read_batches(scan, groups, rows_by_code, progress=progress)
    kept = _at_most(scan, batches, most_rows, len(groups.keys), budget)
    blocks = list(_blocks(kept, groups))
    order = groups.order()
    parts = [order[part.start : part.stop] for part in _parts(_rows_of_groups(blocks, len(groups))[order])]
    counted: list[_Part] = []
    distinct = 0
    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        of_parts = threads.map(lambda part: count_distinct(_gathered(blocks, part)), parts)
        for part, (sizes, columns) in zip(parts, of_parts, strict=True):
            counted.append(_Part(part, sizes, columns))
            distinct += len(columns[0])
            budget.need_rows(rows_by_code[0], len(groups.keys), distinct)
    blocks.clear()
    sizes = np.concatenate([np.empty(0, np.int64), *(part.sizes for part in counted)])
    number = pl.Float64 if "weight" in scan.raw.collect_schema() else pl.Int64
    schema = {"threshold": pl.Float64, **dict.fromkeys(("tp", "fp", "fn", "tn"), number)}
    return Counted(_table(groups, counted, schema), rows_by_code, groups.frame(), np.cumsum(sizes) - sizes)


@dataclass(frozen=True, slots=True)
class _Part:
    """The counts of some groups."""

    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]  # distinct scores of each
    columns: Columns


def _table(groups: GroupNumbers, parts: list[_Part], schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Return the counts of all parts, in chunks that are the same in all columns.

    On such a frame Polars works chunk by chunk; if the chunks differed, it would copy all columns first.
    """
    chunks: dict[int, list[pl.DataFrame]] = {}
    # The longest first: of its keys, groups with an equal key share a part.
    for place in sorted(range(len(parts)), key=lambda place: len(parts[place].columns[0]), reverse=True):
        part = parts[place]
        series = zip(schema.items(), part.columns, strict=True)
        counts = pl.DataFrame([pl.Series(name, column).cast(dtype) for (name, dtype), column in series])
        if len(part.numbers) == 1:
            pieces = counts.iter_slices(_CHUNK_ROWS)
            chunks[place] = [groups.run(int(part.numbers[0]), len(piece)).hstack(piece) for piece in pieces]
        else:
            chunks[place] = [groups.repeated(part.numbers, part.sizes).hstack(counts)]
    nothing = groups.frame().clear().hstack(pl.DataFrame(schema=schema))
    table = [nothing, *(chunk for place in sorted(chunks) for chunk in chunks[place])]
    return pl.concat(table, rechunk=sum(map(len, table)) < _IN_CHUNKS)


def _parts(rows_of: NDArray[np.int64]) -> Iterator[range]:
    """Yield the numbers of groups that are counted together."""
    begin = rows = 0
    for number, mine in enumerate(rows_of.tolist()):
        full = rows + mine > _PART_ROWS or number - begin == _MOST_GROUPS
        if number > begin and (full or mine >= _ALONE_ROWS or (rows >= _ALONE_ROWS and number == begin + 1)):
            yield range(begin, number)
            begin, rows = number, 0
        rows += mine
    if len(rows_of):
        yield range(begin, len(rows_of))


def _at_most(
    scan: Scan, batches: Iterable[Batch], rows: int | None, keys: int, budget: Budget
) -> Iterator[Batch]:
    seen = 0
    for batch in batches:
        seen += len(batch.scores)
        budget.need_rows(seen, keys)
        if rows is not None and seen > rows:
            scan.passes.least = max(scan.passes.least, seen)
            raise TooManyRowsError
        yield batch


@dataclass(frozen=True, slots=True)
class _Block:
    """Some rows, ordered by the number of their group."""

    bounds: NDArray[np.intp]  # the first row of each group number, and the number of rows
    scores: Floats
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


def _rows_of_groups(blocks: "Iterable[_Block]", groups: int) -> NDArray[np.int64]:
    rows = np.zeros(groups, np.int64)
    for block in blocks:
        rows[: len(block.bounds) - 1] += np.diff(block.bounds)
    return rows


def _blocks(batches: Iterable[Batch], groups: GroupNumbers) -> Iterator[_Block]:
    waiting: list[Batch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch.scores)
        if rows >= max(_BLOCK_ROWS, _ROWS_PER_BOUND * len(groups)):
            yield _ordered(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _ordered(waiting)


def _ordered(batches: list[Batch]) -> _Block:
    numbers = np.concatenate([batch.numbers for batch in batches])
    # The stable sort of 16-bit numbers is a radix sort.
    small = numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers
    rows = np.argsort(small, kind="stable")
    weights = [batch.weights for batch in batches if batch.weights is not None]
    return _Block(
        np.append(0, np.cumsum(np.bincount(numbers))),
        np.concatenate([batch.scores for batch in batches])[rows],
        np.concatenate([batch.labels for batch in batches])[rows],
        np.concatenate(weights)[rows] if weights else None,
    )


def _gathered(blocks: list[_Block], part: NDArray[np.int64]) -> Rows:
    """Return the rows of some groups, those of each in their order."""
    mine: list[tuple[_Block, slice | NDArray[np.int64]]] = []
    numbers = [np.empty(0, np.uint16)]
    for block in blocks:
        # Groups that were met after the block have no bounds in it.
        known = np.flatnonzero(part < len(block.bounds) - 1)
        starts, ends = block.bounds[part[known]], block.bounds[part[known] + 1]
        if len(part) > 1:
            mine.append((block, rows_of_runs(starts, ends - starts)))
            numbers.append(np.repeat(known.astype(np.uint16), ends - starts))
        elif len(known):
            mine.append((block, slice(starts[0], ends[0])))
    weights = [block.weights[rows] for block, rows in mine if block.weights is not None]
    return Rows(
        len(part),
        np.concatenate(numbers),
        np.concatenate([block.scores[rows] for block, rows in mine]),
        np.concatenate([block.labels[rows] for block, rows in mine]),
        np.concatenate(weights) if weights else None,
    )
