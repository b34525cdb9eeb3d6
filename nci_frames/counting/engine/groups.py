"""Key values -> group numbers, assigned in the order of the rows.

A group is recognised by a 64-bit hash of its keys in an open-addressing table, which NumPy looks up for a
whole batch at once. Keys are compared by value only for new groups.
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

from nci_frames.schemas import WEIGHT

#: Maximum number of values of the key ``weight``.
MOST_STRATA = 1000
_EMPTY = -1
#: Minimum and usual size of the table in bits. Up to the usual size it is sparse: a collision makes a row ten
#: times slower, but unused slots cost nothing.
_LEAST_BITS, _WIDE_BITS = 16, 18
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
        self._hashes = np.empty(0, np.uint64)
        #: Repeated key values, by key and value; and number of rows of keys without shared memory.
        self._runs: dict[tuple[str, object], pl.Series] = {}
        self._gathered = 0
        self._weights: set[object] = set()
        #: A condition on the keys of each group, and the groups that meet it.
        self.asked: pl.Expr | None = None
        self.holds = np.empty(0, np.bool_)
        self._make_table()

    def __len__(self) -> int:
        return len(self._hashes)

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
        places = pl.Series(np.repeat(np.arange(len(keys), dtype=np.uint32), sizes))
        columns = []
        for key in keys:
            if key.n_unique() == 1:
                columns.append(self._run(key, rows))
            else:
                columns.append(key.gather(places))
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
        numbers, unknown = self._look_up(hashes)
        if len(unknown):
            self._learn(hashes[unknown], batch.select(self.keys)[start + unknown])
            numbers[unknown], _ = self._look_up(hashes[unknown])
        return numbers

    def _learn(self, hashes: NDArray[np.uint64], rows: pl.DataFrame) -> None:
        new = rows.with_columns(pl.Series("__hash", hashes)).unique(maintain_order=True)
        values = new["__hash"].to_numpy()
        if len(np.unique(values)) < len(values):
            raise HashCollisionError
        if WEIGHT in self.keys:
            self._weights.update(new[WEIGHT])
            if len(self._weights) > MOST_STRATA:
                raise TooManyWeightsError
        if self.asked is not None:
            holds = new.with_columns(__holds=self.asked)["__holds"].to_numpy()
            self.holds = np.concatenate([self.holds, holds])
        # Store 0.0 for -0.0, whichever comes first; Polars gives both the same hash.
        self._found.append(new.drop("__hash").with_columns(cs.float().replace(0.0, 0.0)))
        first = len(self)
        self._hashes = np.concatenate([self._hashes, values])
        if self._bits_needed > self._bits:
            self._make_table()
        else:
            self._insert(values, first)

    @property
    def _bits_needed(self) -> int:
        return max(_LEAST_BITS, min(_WIDE_BITS, (32 * len(self)).bit_length()), (8 * len(self)).bit_length())

    def _make_table(self) -> None:
        self._bits = self._bits_needed
        self._shift = np.uint64(64 - self._bits)
        self._slots = np.full(1 << self._bits, _EMPTY, np.int64)
        self._insert(self._hashes, 0)

    def _insert(self, hashes: NDArray[np.uint64], first: int) -> None:
        last_slot = len(self._slots) - 1
        for number, value in enumerate(hashes, first):
            slot = int(value >> self._shift)
            while self._slots[slot] != _EMPTY:
                slot = (slot + 1) & last_slot
            self._slots[slot] = number

    def _look_up(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the number of each hash, and the places of unknown hashes."""
        if not len(self):
            return np.full(len(hashes), _EMPTY), np.arange(len(hashes))
        slots = (hashes >> self._shift).view(np.int64)
        numbers = self._slots.take(slots)
        # For an empty slot, the hash of the last group is compared (index -1). It differs from that of the
        # row, since the first slot of a known hash is never empty.
        elsewhere = np.flatnonzero(self._hashes.take(numbers) != hashes)
        unknown = []
        last_slot = len(self._slots) - 1
        while len(elsewhere):
            # An empty slot ends the search; a slot of another group continues it.
            empty = numbers[elsewhere] == _EMPTY
            unknown.append(elsewhere[empty])
            elsewhere = elsewhere[~empty]
            slots[elsewhere] = (slots[elsewhere] + 1) & last_slot
            numbers[elsewhere] = self._slots[slots[elsewhere]]
            elsewhere = elsewhere[self._hashes[numbers[elsewhere]] != hashes[elsewhere]]
        return numbers, np.concatenate(unknown) if unknown else elsewhere


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
