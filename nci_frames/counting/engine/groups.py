"""Key values -> group numbers, assigned in the order of the rows.

A group is recognised by a 64-bit hash of its keys. Keys are compared by value only for new groups.
"""

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from nci_frames.counting.kernels.rows import HashTable
from nci_frames.schemas import WEIGHT

#: Maximum number of values of the key ``weight``.
MOST_STRATA = 1000
#: Rows of unknown groups that are compared by value at a time, or as many as there are known groups.
_LEARNED = 1 << 10
_Result = TypeVar("_Result")


class HashCollisionError(Exception):
    """Two groups have the same hash: count again with another seed."""


class TooManyWeightsError(Exception):
    """The rows have too many different weights for strata: sum the weights."""


class GroupNumbers:
    """Assigns numbers to the groups of key columns in the order of their first rows."""

    def __init__(self, keys: Mapping[str, pl.DataType], *, seed: int = 0) -> None:
        self.keys = list(keys)
        self.seed = seed
        self._found = [pl.DataFrame(schema=keys)]
        self._table = HashTable()
        #: Repeated key values, by key and value; and number of rows of keys without shared memory.
        self._runs: dict[tuple[str, object], pl.Series] = {}
        self._gathered = 0
        self._weights: set[object] = set()
        #: A condition on the keys of each group, and the groups that meet it.
        self.asked: pl.Expr | None = None
        self.holds = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def hash(self) -> pl.Expr:
        """Expression of the hash for the lookup."""
        # A different seed per key, so that (a, b) and (b, a) have different sums.
        seeds = itertools.count(len(self.keys) * self.seed)
        return functools.reduce(operator.add, map(pl.Expr.hash, map(pl.col, self.keys), seeds))

    def frame(self) -> pl.DataFrame:
        """Return the keys of the groups in the order of their numbers."""
        # Polars is slow to sort by columns of many chunks.
        self._found = [pl.concat(self._found, rechunk=True)]
        return self._found[0]

    def repeated(self, order: NDArray[np.int64], sizes: NDArray[np.int64] | int) -> pl.DataFrame:
        """Return the keys of the groups in *order*, each repeated *sizes* times.

        Parts with the same constant value of a key share its memory, completely if the longest is made first.
        """
        keys = self.frame()[order]
        sizes = np.broadcast_to(sizes, len(keys))
        rows = int(sizes.sum())
        columns = []
        for key in keys:
            if key.n_unique() == 1:
                columns.append(self._run(key, rows))
            else:
                columns.append(key.gather(np.repeat(np.arange(len(keys), dtype=np.uint32), sizes)))
                self._gathered += rows
        return pl.DataFrame(columns)

    @property
    def repetitions(self) -> int:
        """Number of repeated key values in memory, shared or not."""
        return self._gathered + sum(map(len, self._runs.values()))

    def _run(self, key: pl.Series, rows: int) -> pl.Series:
        """Return the first value of a key, repeated *rows* times."""
        place = key.name, key[0]
        if place not in self._runs or len(self._runs[place]) < rows:
            self._runs[place] = key.new_from_index(0, rows)
        return self._runs[place][:rows]

    def order(self) -> NDArray[np.int64]:
        """Return the group numbers in the order of the keys, null first."""
        order = self.frame().select(pl.arg_sort_by(self.keys)).to_series()
        return order.cast(pl.Int64).to_numpy()

    def numbers(self, hashes: NDArray[np.uint64], batch: pl.DataFrame, start: int = 0) -> NDArray[np.int64]:
        """Return the group number of each hash, for the rows of a batch from *start* on.

        Raises
        ------
        HashCollisionError
            If two groups have the same hash.
        TooManyWeightsError
            If the key ``weight`` has more than 1,000 values.
        """
        numbers = self._table.find(hashes)
        while numbers.min(initial=0) < 0:
            unknown = np.flatnonzero(numbers < 0)
            # Nearly all groups of a batch are in its first rows, and to compare rows by value takes long.
            some = unknown[: max(_LEARNED, len(self))]
            self._learn(hashes[some], [batch[key][start + some] for key in self.keys])
            numbers[unknown] = self._table.find(hashes[unknown])
        return numbers

    def _learn(self, hashes: NDArray[np.uint64], keys: list[pl.Series]) -> None:
        # Without operations on frames, which wait for the threads that read the next rows.
        _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
        if not all(key[first[group]].equals(key) for key in keys):
            raise HashCollisionError
        first.sort()
        new = pl.DataFrame([key[first] for key in keys])
        if WEIGHT in self.keys:
            self._weights.update(new[WEIGHT])
            if len(self._weights) > MOST_STRATA:
                raise TooManyWeightsError
        if self.asked is not None:
            holds = new.with_columns(__holds=self.asked)["__holds"].to_numpy()
            self.holds = np.concatenate([self.holds, holds])
        # Store 0.0 for -0.0, whichever comes first; Polars gives both the same hash.
        if any(dtype.is_float() for dtype in new.dtypes):
            new = new.with_columns(cs.float().replace(0.0, 0.0))
        self._found.append(new)
        self._table.add(hashes[first])


def with_group_numbers(keys: Mapping[str, pl.DataType], count: Callable[[GroupNumbers], _Result]) -> _Result:
    """Count with unique group numbers; after a hash collision, count again with another seed.

    Raises
    ------
    HashCollisionError
        If every seed fails, which practically cannot happen by chance.
    """
    for seed in range(8):
        with contextlib.suppress(HashCollisionError):
            return count(GroupNumbers(keys, seed=seed))
    raise HashCollisionError
