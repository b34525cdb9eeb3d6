"""Key values -> the number of their group, assigned in the order of the rows.

A group is recognised by a 64-bit hash of its keys in an open-addressing table that NumPy looks up for a whole
batch at once. Keys are compared by value only for groups not seen before.
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

#: The most values of the key ``weight``.
MOST_STRATA = 1000
_EMPTY = -1
#: The least and the usual size of the table. Up to the usual size it has much room: a row whose slot is
#: another group's costs ten times as much as one whose slot is its own. Slots that no row needs cost nothing.
_LEAST_BITS, _WIDE_BITS = 16, 18
_Result = TypeVar("_Result")


class HashCollisionError(Exception):
    """Two groups have the same hash: count again with another seed."""


class TooManyWeightsError(Exception):
    """The rows have more different weights than strata are made of: sum the weights."""


class GroupNumbers:
    """Numbers the groups of some key columns in the order in which they are met."""

    def __init__(self, keys: Mapping[str, pl.DataType], *, seed: int = 0) -> None:
        self.keys = list(keys)
        self.seed = seed
        self._found = [pl.DataFrame(schema=keys)]
        self._hashes = np.empty(0, np.uint64)
        #: Keys of groups as often as they have rows, by key and value; and rows of keys that share nothing.
        self._runs: dict[tuple[str, object], pl.Series] = {}
        self._gathered = 0
        self._weights: set[object] = set()
        #: What is asked of the keys of each group, and for which groups it holds.
        self.asked: pl.Expr | None = None
        self.holds = np.empty(0, np.bool_)
        self._make_table()

    def __len__(self) -> int:
        return len(self._hashes)

    @property
    def hash(self) -> pl.Expr:
        """The expression of the hash, by which the table is looked up."""
        # With other seeds the same value has other hashes, so that (a, b) and (b, a) have other sums.
        seeds = itertools.count(len(self.keys) * self.seed)
        return functools.reduce(operator.add, map(pl.Expr.hash, map(pl.col, self.keys), seeds))

    def frame(self) -> pl.DataFrame:
        """Return the keys of the groups in the order of their numbers."""
        # Polars takes long to sort by columns of many chunks.
        self._found = [pl.concat(self._found, rechunk=True)]
        return self._found[0]

    def repeated(self, order: NDArray[np.int64], sizes: NDArray[np.int64] | int) -> pl.DataFrame:
        """Return the keys of the groups in an order, each as often as it has rows.

        A value that all of them have shares its memory with that of others: all of it, if the longest is made
        first.
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
        """How many values of keys are in memory, repeated: each group's own, or shared."""
        return self._gathered + sum(map(len, self._runs.values()))

    def _run(self, key: pl.Series, rows: int) -> pl.Series:
        """Return the first value of a key so many times."""
        place = key.name, key[0]
        if place not in self._runs or len(self._runs[place]) < rows:
            self._runs[place] = key.new_from_index(0, rows)
        return self._runs[place][:rows]

    def order(self) -> NDArray[np.int64]:
        """Return the numbers of the groups in the order of their keys, null first."""
        order = self.frame().select(pl.arg_sort_by(self.keys)).to_series()
        return order.cast(pl.Int64).to_numpy()

    def numbers(self, hashes: NDArray[np.uint64], batch: pl.DataFrame, start: int = 0) -> NDArray[np.int64]:
        """Return the group number of each hash: those of the rows from *start* of a batch with the keys.

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
        # -0.0 is 0.0, whichever comes first; Polars gives both one hash.
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
        """Return the number of each hash, and the places of those that no group has."""
        if not len(self):
            return np.full(len(hashes), _EMPTY), np.arange(len(hashes))
        slots = (hashes >> self._shift).view(np.int64)
        numbers = self._slots.take(slots)
        # In place of an empty slot's number, the last group's hash is compared. It is not the row's: the slot
        # where the search for a known hash begins is not empty.
        elsewhere = np.flatnonzero(self._hashes.take(numbers) != hashes)
        unknown = []
        last_slot = len(self._slots) - 1
        while len(elsewhere):
            # An empty slot ends the search; another group's slot sends it to the next.
            empty = numbers[elsewhere] == _EMPTY
            unknown.append(elsewhere[empty])
            elsewhere = elsewhere[~empty]
            slots[elsewhere] = (slots[elsewhere] + 1) & last_slot
            numbers[elsewhere] = self._slots[slots[elsewhere]]
            elsewhere = elsewhere[self._hashes[numbers[elsewhere]] != hashes[elsewhere]]
        return numbers, np.concatenate(unknown) if unknown else elsewhere


def with_group_numbers(keys: Mapping[str, pl.DataType], count: Callable[[GroupNumbers], _Result]) -> _Result:
    """Count with group numbers that no two groups share, again with other hashes if two groups had one.

    Raises
    ------
    HashCollisionError
        If every seed fails, which cannot happen by chance.
    """
    for seed in range(8):
        with contextlib.suppress(HashCollisionError):
            return count(GroupNumbers(keys, seed=seed))
    raise HashCollisionError
