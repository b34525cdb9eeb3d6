"""Counts of a reference and of traffic -> the bins of each group, or why there are none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import SchemaError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.prevalence.mixtures import Bins, joined_bins
from nci_frames.schemas.runs import group_starts, is_sorted

Rows = NDArray[np.int64]

_LEAST_ROWS = 10


def common_bins(
    reference: pl.DataFrame, traffic: pl.DataFrame, *, shared: Sequence[str], kept: Sequence[str]
) -> tuple[pl.DataFrame, list[Bins | str]]:
    """Return the groups of the traffic, and of each its bins or the reason why it has none.

    Parameters
    ----------
    reference
        Whole counts with the keys *shared*.
    traffic
        The same with the keys *kept*, in which all rows are negatives.
    shared, kept
        The keys of the two; those of the reference are among those of the traffic.
    """
    known, field = _Reached.of(reference, ["model", *shared]), _Reached.of(traffic, ["model", *kept])
    of_group = known.groups.with_row_index("__place")
    places = field.groups.join(
        of_group, on=["model", *shared], how="left", nulls_equal=True, maintain_order="left"
    )["__place"].to_list()
    found = [
        "the reference has no counts for this group"
        if place is None
        else _bins(known.group(place), field.group(number))
        for number, place in enumerate(places)
    ]
    return field.groups, found


def check_key_types(reference: pl.DataFrame, traffic: pl.DataFrame, shared: Sequence[str]) -> None:
    """Raise SchemaError if a key has values in one frame that cannot equal those in the other."""
    for key in shared:
        here, there = reference.schema[key], traffic.schema[key]
        if here != there and not (here.is_integer() and there.is_integer()):
            raise SchemaError.wrong_type(key, "the reference", str(here), f"{there}, as in the traffic")


@dataclass(frozen=True, slots=True)
class _Group:
    """The thresholds of a group, ascending, and how many rows of each class reach them."""

    threshold: Floats
    positives: int
    negatives: int
    true: Rows
    false: Rows

    def reached(self, rows: int, at: Rows, common: NDArray[np.intp] | None) -> Rows:
        """Return the rows of a class: all, and those that reach each of the common thresholds."""
        return np.append(rows, at if common is None else at[common])


@dataclass(frozen=True, slots=True)
class _Reached:
    """How many rows of each class reach each threshold, one group after the other."""

    groups: pl.DataFrame
    ends: list[int]
    threshold: Floats
    cells: dict[str, Rows]

    @classmethod
    def of(cls, counts: pl.DataFrame, group: list[str]) -> Self:
        """Return what whole counts hold."""
        first = group_starts(counts, group)
        groups = counts[first].select(group)
        if not (is_sorted(counts, group, first) and groups.equals(groups.sort(group))):
            counts = counts.sort(*group, "threshold")
            first = group_starts(counts, group)
            groups = counts[first].select(group)
        cells = {name: counts[name].to_numpy() for name in ("tp", "fp", "fn", "tn")}
        return cls(groups, np.append(first, len(counts)).tolist(), counts["threshold"].to_numpy(), cells)

    def group(self, place: int) -> _Group:
        """Return one group."""
        begin, end = self.ends[place], self.ends[place + 1]
        tp, fp, fn, tn = (self.cells[name] for name in ("tp", "fp", "fn", "tn"))
        positives, negatives = int(tp[begin] + fn[begin]), int(fp[begin] + tn[begin])
        return _Group(self.threshold[begin:end], positives, negatives, tp[begin:end], fp[begin:end])


def _bins(known: _Group, field: _Group) -> Bins | str:
    """Return the bins between the thresholds that both have, or why there are none."""
    in_known = in_field = None
    if not np.array_equal(known.threshold, field.threshold):
        common, in_known, in_field = np.intersect1d(
            known.threshold, field.threshold, assume_unique=True, return_indices=True
        )
        if not len(common):
            return "the reference was not counted at thresholds of this group"
    for what, rows in (
        ("positives in the reference", known.positives),
        ("negatives in the reference", known.negatives),
        ("rows of traffic", field.negatives),
    ):
        if rows < _LEAST_ROWS:
            return f"fewer than {_LEAST_ROWS} {what}"
    bins = joined_bins(
        known.reached(known.positives, known.true, in_known),
        known.reached(known.negatives, known.false, in_known),
        field.reached(field.negatives, field.false, in_field),
    )
    return bins if len(bins.estimated[0]) > 1 else "no threshold has enough rows on both sides"
