"""Rows that do not fit into memory -> sorted blocks on disk.

A block is sorted by the keys of the groups, so that groups which follow each other there lie side by side
in every block; within a group by class, if the rows have no weights, and by score. So the rows of some
groups, or those of one group from one score to another, are one run of rows, or two, in each block.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.engine.blocks import Block, gather, parts_of, rows_of_groups
from nci_frames.counting.engine.distinct import Floats, Rows
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.out_of_memory import dividing
from nci_frames.counting.out_of_memory.scratch import Scratch

__all__ = ["SortedBlock", "Spill"]

#: Classes are sorted with their groups in 16 bits.
_IN_16_BITS = 1 << 16

_Columns = tuple[Floats, NDArray[np.bool_] | None, NDArray[np.float64] | None]


@dataclass(frozen=True, slots=True)
class SortedBlock:
    """Where the columns of a block begin in the file."""

    scores: int
    labels: int
    weights: int
    #: Every so-manieth score.
    samples: int
    #: The numbers of the groups that have rows in it, and how many of each class.
    groups: int
    sizes: int
    #: How many groups those are.
    count: int


class Spill:
    """Sorted blocks on disk."""

    def __init__(self, file: Scratch, dtype: type[np.floating], *, weighted: bool) -> None:
        self.file = file
        self.dtype = np.dtype(dtype)
        self.weighted = weighted
        #: Runs of each group in a block: one for each class. Sums of weights need the order of the log, in
        #: which rows of the same score are if both classes are one run.
        self.classes = 1 if weighted else 2
        self.blocks: list[SortedBlock] = []
        self._totals = np.zeros((0, self.classes), np.int64)

    def totals(self, groups: int) -> NDArray[np.int64]:
        """Return how many rows of each class so many groups have."""
        grown = np.zeros((groups, self.classes), np.int64)
        grown[: len(self._totals)] = self._totals
        return grown

    def write(self, blocks: list[Block], groups: GroupNumbers) -> None:
        """Write rows as one sorted block.

        Raises
        ------
        OutputError
            If they cannot be written.
        """
        order = groups.order()
        rows_of = rows_of_groups(blocks, len(groups))[order]
        rows = int(rows_of.sum())
        scores = self.file.reserve(rows * self.dtype.itemsize)
        labels = self.file.reserve(rows if self.weighted else 0)
        weights = self.file.reserve(8 * rows if self.weighted else 0)
        begin = 0
        samples, sizes = [np.empty(0, self.dtype)], [np.empty((0, self.classes), np.int64)]
        for part in parts_of(rows_of):
            runs, (of_rows, classes, weigh) = _sorted(gather(blocks, order[part.start : part.stop]))
            sizes.append(runs.reshape(-1, self.classes))
            samples.append(dividing.samples_of(of_rows, runs, dividing.STEP))
            self.file.write(scores + begin * self.dtype.itemsize, of_rows)
            if classes is not None and weigh is not None:
                self.file.write(labels + begin, classes)
                self.file.write(weights + 8 * begin, weigh)
            begin += len(of_rows)
        of_all = np.concatenate(sizes)
        some = np.flatnonzero(rows_of)
        self.blocks.append(
            SortedBlock(
                scores,
                labels,
                weights,
                self.file.append(np.concatenate(samples)),
                self.file.append(order[some]),
                self.file.append(of_all[some]),
                len(some),
            )
        )
        self._totals = self.totals(len(groups))
        self._totals[order] += of_all


def _sorted(rows: Rows) -> tuple[NDArray[np.int64], _Columns]:
    """Return the lengths of the runs of some rows, and the rows run by run.

    Without weights a group is two runs, one for each class, and the labels need not follow.
    """
    # Adding zero turns -0.0 into 0.0: the two are one score.
    scores = rows.scores
    scores += 0
    if rows.weights is None and rows.groups == 1:
        classes = [scores[~rows.labels], scores[rows.labels]]
        for mine in classes:
            mine.sort()
        sizes = np.array([len(mine) for mine in classes])
        return sizes, (np.concatenate(classes, out=scores), None, None)
    numbers = rows.numbers if rows.groups > 1 else np.zeros(len(scores), np.uint16)
    if rows.weights is None:
        order = np.argsort(scores)
        count = 2 * rows.groups
        runs = 2 * numbers.astype(np.uint16 if count <= _IN_16_BITS else np.int64) + rows.labels
        order = order[np.argsort(runs[order], kind="stable")]
        return np.bincount(runs, minlength=count), (scores[order], None, None)
    order = np.argsort(scores, kind="stable")
    order = order[np.argsort(numbers[order], kind="stable")]
    sizes = np.bincount(numbers, minlength=rows.groups)
    return sizes, (scores[order], rows.labels[order], rows.weights[order])
