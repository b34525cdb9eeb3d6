"""Counting at every distinct score: rows are collected compactly, then sorted group by group.

Score, class and weight of each row are kept in blocks ordered by group. Score and class are one integer: the
bit patterns of floats of one sign are ordered by magnitude, and the sign bit is free for the class. A large
group is sorted alone, small ones together. The counts of each part are a chunk of the result, without a copy,
and chunks share the memory of repeated keys.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.threads import map_in_threads
from nci_frames.counting.engine.batch import Batch
from nci_frames.counting.engine.batches import read_batches
from nci_frames.counting.engine.grid import Counted, Counts
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.engine.memory import KEY_BYTES, Budget
from nci_frames.counting.kernels.rows import by_group, count_sorted
from nci_frames.counting.logs.reading import Scan, together
from nci_frames.schemas import rows_of_runs

Floats = NDArray[np.floating]
#: threshold, tp, fp, fn, tn: by group, with ascending thresholds.
Distinct = tuple[Floats, Counts, Counts, Counts, Counts]

#: Rows ordered by group at a time: their arrays fit into the cache, and are too small for huge pages, which
#: the system may have to assemble first.
_BLOCK_ROWS = 1 << 18
#: Minimum number of rows of a block per group, since each group takes 8 bytes.
_ROWS_PER_BOUND = 8
#: Groups with at least this many rows are counted alone, which is faster per row.
ALONE_ROWS = 1 << 13
#: Smaller groups are counted together, up to this many rows.
_PART_ROWS = 1 << 17
#: Maximum number of groups of a part, so that numbers have 16 bits.
MOST_GROUPS = 1 << 16
#: Counts with fewer rows are put into one chunk, which NumPy reads without a copy.
_IN_CHUNKS = 1 << 20
#: Maximum number of rows of a chunk of a single group.
_CHUNK_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of some groups, first those with negative scores."""

    groups: int
    #: Twice the bits of the magnitude of the score, plus the class.
    bits: NDArray[np.unsignedinteger]
    #: Number of rows with negative scores.
    below: int
    #: 16 bits, since their stable sort is a radix sort; unused for a single group.
    numbers: NDArray[np.uint16]
    weights: NDArray[np.float64] | None

    @property
    def kind(self) -> np.dtype[np.floating]:
        """Type of the scores."""
        return np.dtype(f"f{self.bits.itemsize}")


@dataclass(frozen=True, slots=True)
class Part:
    """The counts of some groups."""

    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]  # distinct scores of each
    counts: pl.DataFrame  # without keys

    @classmethod
    def of(cls, numbers: NDArray[np.int64], rows: Rows) -> "Part":
        """Count the rows of the groups *numbers*."""
        sizes, found = count_distinct(rows)
        columns = columns_of_counts(weighted=rows.weights is not None).items()
        series = [pl.Series(name, of, dtype) for (name, dtype), of in zip(columns, found, strict=True)]
        return cls(numbers, sizes, pl.DataFrame(series))


def columns_of_counts(*, weighted: bool) -> dict[str, pl.DataType]:
    """Return the columns of counts besides keys, for numbers of rows or sums of weights."""
    number = pl.Float64() if weighted else pl.Int64()
    return {"threshold": pl.Float64(), **dict.fromkeys(("tp", "fp", "fn", "tn"), number)}


def count_distinct(rows: Rows) -> tuple[NDArray[np.int64], Distinct]:
    """Return the number of distinct scores of each group, and the counts at each score.

    The array of bits is overwritten. Weights are added in the order of the rows, so sums are reproducible.
    """
    if rows.groups == 1 and rows.weights is None:
        counted = count_one(rows)
        return np.array([len(counted[0])]), counted
    labels = (rows.bits & 1).astype(np.bool_)
    scores = (rows.bits >> 1).view(rows.kind)
    np.negative(scores[: rows.below], out=scores[: rows.below])
    numbers = rows.numbers if rows.groups > 1 else np.zeros(len(scores), np.uint16)
    order = np.argsort(scores, kind=None if rows.weights is None else "stable")
    order = order[np.argsort(numbers[order], kind="stable")]
    scores, labels, numbers = scores[order], labels[order], numbers[order]
    first = np.flatnonzero(_begins(scores) | _begins(numbers))
    group = numbers[first]
    sizes = np.bincount(group, minlength=rows.groups)
    if rows.weights is not None:
        weights, ends, cells = rows.weights[order], np.cumsum(sizes)[:-1], []
        for of_class in (labels, ~labels):
            sums = np.add.reduceat(np.where(of_class, weights, 0.0), first)
            # From the highest score down.
            above = [mine[::-1].cumsum()[::-1] for mine in np.split(sums, ends)]
            cells.append((np.concatenate(above), np.concatenate([mine[:1] - mine for mine in above])))
        (tp, fn), (fp, tn) = cells
        return sizes, (scores[first], tp, fp, fn, tn)
    size = np.bincount(numbers, minlength=rows.groups)
    begin = np.cumsum(size) - size
    true_before = np.append(0, np.cumsum(labels))
    true = true_before[begin + size] - true_before[begin]
    fn = true_before[first] - true_before[begin][group]
    tn = first - begin[group] - fn
    return sizes, (scores[first], true[group] - fn, (size - true)[group] - tn, fn, tn)


def count_one(rows: Rows) -> Distinct:
    """Count the rows of one group; their array is overwritten."""
    below, others = rows.bits[: rows.below], rows.bits[rows.below :]
    below.sort()
    below[:] = below[::-1].copy()
    others.sort()
    return count_sorted(rows.bits, rows.below, rows.kind)


def _begins(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return whether each value differs from the previous one."""
    # Not by differences: that of two infinities is NaN.
    begins = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ordered by group number, in each group first those with negative scores."""

    #: The first row of each of these runs, two per group, and the number of rows.
    bounds: NDArray[np.int64]
    bits: NDArray[np.unsignedinteger]  # as in Rows
    weights: NDArray[np.float64] | None

    @property
    def groups(self) -> int:
        """Number of groups with bounds; those seen first after the block have none."""
        return len(self.bounds) // 2


def ordered(batches: list[Batch]) -> Block:
    """Return the rows of batches as one block; rows of a group keep their order."""
    return Block(
        *by_group(
            [batch.numbers for batch in batches],
            [batch.scores for batch in batches],
            [batch.labels for batch in batches],
            [batch.weights for batch in batches if batch.weights is not None],
        )
    )


def parts_of(rows_of: NDArray[np.int64]) -> Iterator[slice]:
    """Yield slices of groups to count together, given the number of rows of each."""
    begin = rows = 0
    for number, mine in enumerate(rows_of.tolist()):
        full = rows + mine > _PART_ROWS or number - begin == MOST_GROUPS
        if number > begin and (full or mine >= ALONE_ROWS or (rows >= ALONE_ROWS and number == begin + 1)):
            yield slice(begin, number)
            begin, rows = number, 0
        rows += mine
    if len(rows_of):
        yield slice(begin, len(rows_of))


def parts_in_order(blocks: list[Block], order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the numbers of the groups to count together, in the order of all groups."""
    rows_of = np.zeros(len(order), np.int64)
    for block in blocks:
        rows_of[: block.groups] += np.diff(block.bounds[::2])
    return [order[part] for part in parts_of(rows_of[order])]


def gather(blocks: list[Block], part: NDArray[np.int64]) -> Rows:
    """Return the rows of the groups of a part; rows with equal groups and scores keep their order."""
    below: list[tuple[Block, slice | NDArray[np.int64]]] = []
    others, numbers = below.copy(), ([np.empty(0, np.uint16)], list[NDArray[np.uint16]]())
    first = int(part[0])
    for block in blocks:
        if len(part) > 1:
            known = np.flatnonzero(part < block.groups)
            for sign, rows, of_row in zip((0, 1), (below, others), numbers, strict=True):
                runs = 2 * part[known] + sign
                sizes = block.bounds[runs + 1] - block.bounds[runs]
                rows.append((block, rows_of_runs(block.bounds[runs], sizes)))
                of_row.append(np.repeat(known.astype(np.uint16), sizes))
        elif first < block.groups:
            begin, middle, end = block.bounds[2 * first : 2 * first + 3].tolist()
            if begin < middle:
                below.append((block, slice(begin, middle)))
            others.append((block, slice(middle, end)))
    bits = [block.bits[rows] for block, rows in (*below, *others)]
    weights = [block.weights[rows] for block, rows in (*below, *others) if block.weights is not None]
    return Rows(
        len(part),
        np.concatenate(bits),
        sum(map(len, bits[: len(below)])),
        np.concatenate([*numbers[0], *numbers[1]]),
        np.concatenate(weights) if weights else None,
    )


class TooManyRowsError(Exception):
    """The log has more valid rows than allowed."""


def count_exact(
    scan: Scan,
    groups: GroupNumbers,
    *,
    budget: Budget,
    progress: bool = False,
    most_rows: int | None = None,
) -> Counted:
    """Count every group at each of its distinct scores.

    Parameters
    ----------
    scan
        The scan to count.
    groups
        Assigns numbers to the groups at their first row.
    budget
        Memory limit of the counts.
    progress
        Whether to show progress.
    most_rows
        Maximum number of valid rows.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan does not drop such rows.
    ParameterError
        If the counts exceed the memory limit.
    TooManyRowsError
        As soon as there are more rows than *most_rows*.
    """
    weighted = scan.weighted
    if scan.rows is not None and most_rows is None:
        budget.need_rows(scan.rows, weighted=weighted)
    rows_by_code: dict[int, int] = {}
    batches = read_batches(scan, groups, rows_by_code, progress=progress)
    kept = _at_most(batches, most_rows, budget)
    counted: list[Part] = []
    distinct = 0
    of_blocks = together(kept, lambda: max(_BLOCK_ROWS, _ROWS_PER_BOUND * len(groups)))
    blocks = [*map_in_threads(ordered, of_blocks)]
    parts = parts_in_order(blocks, groups.order())
    for part in map_in_threads(lambda part: Part.of(part, gather(blocks, part)), parts):
        counted.append(part)
        distinct += len(part.counts)
        budget.need_rows(rows_by_code[0], weighted=weighted, distinct=distinct)
    blocks.clear()

    def need_keys() -> None:
        budget.need_rows(
            rows_by_code[0], weighted=weighted, distinct=distinct, key_bytes=KEY_BYTES * groups.repetitions
        )

    columns = columns_of_counts(weighted=weighted)
    table = _table(groups, counted, groups.frame().clear().hstack(pl.DataFrame(schema=columns)), need_keys)
    return Counted(table, rows_by_code, groups.frame())


def _table(
    groups: GroupNumbers, parts: list[Part], nothing: pl.DataFrame, need_keys: Callable[[], None]
) -> pl.DataFrame:
    """Return the counts of all parts, with equal chunks in all columns.

    After each chunk, *need_keys* may refuse the memory of the keys. Polars processes such a frame chunk by
    chunk; with different chunks it would first copy all columns.
    """
    chunks: dict[int, list[pl.DataFrame]] = {}
    # The longest part first: groups with an equal key share a slice of its memory.
    for place in sorted(range(len(parts)), key=lambda place: len(parts[place].counts), reverse=True):
        part = parts[place]
        alone = len(part.numbers) == 1
        chunks[place] = [
            groups.repeated(part.numbers, len(piece) if alone else part.sizes).hstack(piece)
            for piece in (part.counts.iter_slices(_CHUNK_ROWS) if alone else [part.counts])
        ]
        need_keys()
    table = [nothing, *(chunk for place in sorted(chunks) for chunk in chunks[place])]
    return pl.concat(table, rechunk=sum(map(len, table)) < _IN_CHUNKS)


def _at_most(batches: Iterable[Batch], rows: int | None, budget: Budget) -> Iterator[Batch]:
    seen = 0
    for batch in batches:
        seen += len(batch)
        budget.need_rows(seen, weighted=batch.weights is not None)
        if rows is not None and seen > rows:
            raise TooManyRowsError
        yield batch
