"""A scan -> batches of NumPy arrays: group numbers, scores and labels of the valid rows.

Each row is read once for all its scores. Conditions on keys are checked once per group.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counting.engine.batch import Batch, endless_weights, reading_rows, slices_of
from nci_frames.counting.engine.groups import GroupNumbers
from nci_frames.counting.kernels.rows import highest
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON, reason_of_row, score_name, weight_case

#: Group numbers of some rows, columns of them, and their weights, if these are summed.
Rows = tuple[NDArray[np.int64], list[NDArray[Any]], NDArray[np.float64] | None]


class _Groups:
    """Group numbers of each model, by the numbers of key combinations; these include a model *named* in rows.

    Only valid rows make groups, so key combinations of rows that may be dropped have separate numbers.
    """

    def __init__(self, scan: Scan, groups: GroupNumbers, *, named: bool) -> None:
        schema = scan.raw.collect_schema()
        self.keys = [key for key in groups.keys if named or key != "model"]
        self._direct = named and scan.on_invalid == "raise"
        self._alike = groups
        if not self._direct:
            self._alike = GroupNumbers({key: schema[key] for key in self.keys}, seed=groups.seed)
        self._groups, self._models = groups, [None] if named else scan.models
        self._known = np.empty((len(self._models), 0), np.int64)

    @property
    def hash(self) -> pl.Expr:
        return self._alike.hash if self.keys else pl.lit(0, pl.UInt64)

    def doubtful(self, alike: NDArray[np.int64]) -> bool:
        """Return whether a key combination of these rows makes a row invalid."""
        holds = self._alike.holds
        return bool(holds.any() and holds.take(alike).any())

    def left_to_ask(self, doubts: list[pl.Expr]) -> pl.Expr:
        """Return the conditions to check per row; those on keys alone are checked once per group."""
        of_groups, of_rows = list[pl.Expr](), [pl.lit(value=False)]
        for doubt in doubts:
            (of_groups if {*doubt.meta.root_names()} <= {*self.keys} else of_rows).append(doubt)
        self._alike.asked = pl.any_horizontal(of_groups) if of_groups else None
        return pl.any_horizontal(of_rows)

    def alike(self, hashes: NDArray[np.uint64], batch: pl.DataFrame, start: int) -> NDArray[np.int64]:
        """Return the number of the key combination of each row of a batch from *start* on."""
        if self._direct:
            return self._alike.numbers(hashes, batch, start)
        if not self.keys:
            found, most = np.zeros(len(hashes), np.int64), 1
        else:
            found = self._alike.numbers(hashes, batch, start)
            most = len(self._alike)
        more = np.full((len(self._models), most - self._known.shape[1]), -1)
        self._known = np.hstack([self._known, more])
        return found

    def of_model(self, place: int, alike: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the group numbers for one model; new groups get numbers."""
        if self._direct:
            return alike
        numbers = self._known[place].take(alike)
        if self._known[place].min(initial=0) < 0 and (numbers < 0).any():
            met = np.zeros(self._known.shape[1], np.bool_)
            met[alike] = True
            new = np.flatnonzero(met & (self._known[place] < 0))
            keys = self._alike.frame()[new] if self.keys else pl.DataFrame()
            name = self._models[place]
            model = [] if name is None else [pl.Series("model", [name] * len(new))]
            rows = pl.DataFrame([*model, *keys]).select(self._groups.keys)
            hashes = rows.select(self._groups.hash).to_series().to_numpy()
            self._known[place, new] = self._groups.numbers(hashes, rows)
            numbers = self._known[place].take(alike)
        return np.asarray(numbers)


def read_rows(
    scan: Scan,
    groups: GroupNumbers,
    rows_by_code: dict[int, int],
    scores: int,
    others: Sequence[pl.Expr] = (),
    *,
    decide: bool = False,
    progress: bool,
) -> Iterator[Rows]:
    """Yield the valid predictions of a log as ``read_batches`` does, with *scores* scores and other columns.

    Unless the model is a column, each row has this number of scores per model; without scores, rows have one
    model. With *decide*, the place of the highest score stands for the scores.
    """
    frame, weighted = scan.prepared(wide=True) if scores else scan.raw, scan.weighted
    schema = frame.collect_schema()
    named = "model" in schema
    of_models = _Groups(scan, groups, named=named)
    places = range(1 if named else len(scan.models))
    names = [[score_name(place, part) for part in range(scores)] for place in places]
    also = {f"__{place}": column for place, column in enumerate(others)}
    if weighted:
        also["__weight"] = pl.col("weight")
    arrays = ["__hash", *also, *chain(*names)]
    # Weights used as a key must be valid, too.
    doubts = [scan.by_label > 0, *([weight_case(pl.col("weight"))[1]] if "weight" in schema else [])]
    rows = frame.with_columns(__hash=of_models.hash, __doubt=of_models.left_to_ask(doubts), **also)
    asked = chain.from_iterable(doubt.meta.root_names() for doubt in doubts)
    rows = rows.select(*dict.fromkeys([*of_models.keys, *asked, "__doubt", *arrays]))
    met, total = 0, 0.0
    with reading_rows(scan, progress=progress) as advance:
        for batch in scan.batches(rows, maintain_order=weighted):
            met += len(batch) * len(names)
            scan.met(met)
            invalid = batch["__doubt"].any()
            for start, (hashes, *found) in slices_of(batch, *arrays, scores=scores):
                alike = of_models.alike(hashes, batch, start)
                doubtful = invalid or of_models.doubtful(alike)
                shared, values = found[: len(also)], iter(found[len(also) :])
                for place, of_model in enumerate(names):
                    mine = [*islice(values, scores)]
                    # In NumPy, null is NaN, and the maximum of values with a NaN is NaN.
                    if decide:
                        decided, no_number = highest(mine)
                        columns = [decided, *shared]
                    else:
                        no_number = any(np.isnan(score.max()) for score in mine)
                        columns = [*mine, *shared]
                    if no_number or doubtful:
                        rows_here = batch[start : start + len(hashes)]
                        valid = _valid(scan, rows_here, of_model, rows_by_code)
                        columns = [column[valid] for column in columns]
                        numbers = of_models.of_model(place, alike[valid])
                    else:
                        rows_by_code[0] = rows_by_code.get(0, 0) + len(hashes)
                        numbers = of_models.of_model(place, alike)
                    weights = columns.pop() if weighted else None
                    if weights is not None:
                        total += float(weights.sum())
                        if total == math.inf:
                            raise endless_weights(scan.source.where)
                    yield numbers, columns, weights
            advance(len(batch) * len(names))
    scan.need_same_rows(sum(rows_by_code.values()))


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
    found = read_rows(scan, groups, rows_by_code, 1, [pl.col("label")], progress=progress)
    for numbers, (scores, labels), weights in found:
        yield Batch(numbers, scores, labels, weights)


def _valid(
    scan: Scan, batch: pl.DataFrame, scores: list[str], rows_by_code: dict[int, int]
) -> NDArray[np.bool_]:
    """Count the predictions of a model with score columns by code; return which are valid."""
    reason = reason_of_row(scan.by_label, map(pl.col, scores), weighted="weight" in batch.columns)
    codes = batch.select(reason.alias(REASON))
    scan.valid(codes, rows_by_code)
    return (codes[REASON] == 0).to_numpy()
