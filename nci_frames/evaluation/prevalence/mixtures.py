"""Scores of traffic as mixtures of the scores of positives and of negatives, in a few bins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.evaluation.arrays.strata import strata_counts
from nci_frames.schemas import beside

#: Of positives, negatives and traffic: rows in each bin. Of weighted rows, as many of one weight as know it.
Triple = tuple[Floats, Floats, Floats]

#: Bins are made at so many quantiles of each class.
_QUANTILES = np.linspace(0, 1, 8)[1:-1]
#: Fewer negatives, or rows of the traffic, in a bin would make its weight a matter of chance.
_LEAST_IN_BIN = 10
#: The test of fit looks at the highest scores in finer bins, at these quantiles of the positives.
_TAIL = np.array([0.95, 0.99])
#: So many positives, and rows of the traffic, a bin of the tail has at least.
_LEAST_IN_TAIL = 5
#: Of a class in the reference, and of the traffic, fewer tell nothing.
_LEAST_ROWS = 10


class Bins(NamedTuple):
    """The rows of one group in bins of scores, the lowest first."""

    #: In bins with enough rows of each kind for weights, by which the prevalence is estimated.
    estimated: Triple
    #: In these bins, of which the highest is divided: positives that score higher than those of the reference
    #: are seen there, where there are hardly any negatives.
    tested: Triple
    #: In the bins of ``estimated``, the variance of a positive, and of a negative, over that of such a row.
    spread: tuple[Floats, Floats]


@dataclass(frozen=True)
class Mixtures:
    """The rows of positives, negatives and traffic of several groups, each in the same bins.

    All have the shape (groups, bins), lowest scores first. The last bins of a group with fewer have no rows.
    """

    positives: Floats
    negatives: Floats
    traffic: Floats
    #: Of positives and negatives, the variance of a row as a share of that of a row that is drawn by itself.
    spread: Floats

    @classmethod
    def of(cls, groups: Sequence[Triple], spreads: Sequence[tuple[Floats, Floats]] | None = None) -> Self:
        """Return groups with different numbers of bins together."""
        most = max((len(group[0]) for group in groups), default=0)
        padded, spread = np.zeros((3, len(groups), most)), np.ones((2, len(groups), most))
        for place, group in enumerate(groups):
            padded[:, place, : len(group[0])] = group
            if spreads is not None:
                spread[:, place, : len(group[0])] = spreads[place]
        return cls(padded[0], padded[1], padded[2], spread)

    @cached_property
    def used(self) -> Flags:
        """Which bins a group has."""
        return (self.positives + self.negatives + self.traffic) > 0

    @cached_property
    def rows(self) -> tuple[Floats, Floats, Floats]:
        """The numbers of positives, negatives and rows of traffic of each group."""
        kinds = (self.positives, self.negatives, self.traffic)
        positives, negatives, traffic = (rows.sum(axis=1) for rows in kinds)
        return positives, negatives, traffic

    @cached_property
    def laws(self) -> tuple[Floats, Floats, Floats]:
        """The shares of the bins among positives, negatives and traffic."""
        kinds = (self.positives, self.negatives, self.traffic)
        positives, negatives, traffic = (
            rows / total[:, None] for rows, total in zip(kinds, self.rows, strict=True)
        )
        return positives, negatives, traffic


def _edges_of_bins(positives: Rows, negatives: Rows, traffic: Rows) -> tuple[list[int], list[int]]:
    """Return where a few bins begin, those of ``Bins.estimated`` and of ``Bins.tested``.

    They are at quantiles of both classes, each with enough rows to compare.

    Parameters
    ----------
    positives, negatives, traffic
        How many rows reach each bin: first all, then those that reach each threshold, the lowest first.
    """
    wanted = {edge for reached in (positives, negatives) for edge in _edges(reached, _QUANTILES)}
    edges = sorted(wanted - {len(traffic)}, reverse=True)
    kept: list[int] = []
    last = (0, 0)
    for edge, *rows in zip(edges, negatives[edges].tolist(), traffic[edges].tolist(), strict=True):
        if rows[0] - last[0] >= _LEAST_IN_BIN and rows[1] - last[1] >= _LEAST_IN_BIN:
            kept.append(edge)
            last = (rows[0], rows[1])
    # The lowest bin, too, must have enough rows.
    while kept and min(int(rows[0] - rows[kept[-1]]) for rows in (negatives, traffic)) < _LEAST_IN_BIN:
        kept.pop()
    few = [0, *kept[::-1]]
    return few, [*few, *_tail(positives, traffic, few[-1])]


def _edges(reached: Rows, quantiles: Floats) -> list[int]:
    """Return the first bins that at most such shares of the rows reach."""
    few = np.searchsorted(reached[::-1], quantiles * reached[0], side="right")
    return [len(reached) - int(edge) for edge in few]


def _tail(positives: Rows, traffic: Rows, lowest: int) -> list[int]:
    """Return the edges that divide the bin from *lowest* on, ascending."""
    found: list[int] = []
    above = (0, 0)
    for edge in sorted({*_edges(positives, 1 - _TAIL)} - {len(traffic)}, reverse=True):
        here = int(positives[edge]), int(traffic[edge])
        rest = int(positives[lowest]) - here[0], int(traffic[lowest]) - here[1]
        if edge > lowest and min(*rest, here[0] - above[0], here[1] - above[1]) >= _LEAST_IN_TAIL:
            found.append(edge)
            above = here
    return found[::-1]


def _between(reached: Floats, places: list[int]) -> tuple[Floats, Floats]:
    """Return the rows between some edges, as many of one weight as know no bin better, and their spread.

    *reached* has the rows that reach each edge, the sums of their weights and of the squares of these.
    """
    rows, sums, squares = reached[:, places] - np.append(reached[:, places[1:]], np.zeros((3, 1)), axis=1)
    # What is left of sums where there is no row is rounding.
    mean = np.divide(squares, sums, out=np.zeros(len(sums)), where=(rows > 0) & (sums > 0))
    heaviest = mean.max(initial=0.0)
    known = np.divide(sums, heaviest, out=np.zeros(len(sums)), where=mean > 0)
    return known, np.divide(mean, heaviest, out=np.ones(len(sums)), where=mean > 0)


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
    labelled, known = _Group.each(reference, ["model", *shared])
    groups, field = _Group.each(traffic, ["model", *kept])
    places = beside(groups, labelled.with_row_index("__place"), ["model", *shared])["__place"]
    found = [
        "the reference has no counts for this group" if place is None else _bins(known[place], group)
        for place, group in zip(places, field, strict=True)
    ]
    return groups, found


def check_key_types(reference: pl.DataFrame, traffic: pl.DataFrame, shared: Sequence[str]) -> None:
    """Raise SchemaError if a key has values in one frame that cannot equal those in the other."""
    for key in shared:
        here, there = reference.schema[key], traffic.schema[key]
        if here != there and not (here.is_integer() and there.is_integer()):
            raise SchemaError.wrong_type(key, "the reference", str(here), f"{there}, as in the traffic")


@dataclass(frozen=True, slots=True)
class _Group:
    """The thresholds of a group, ascending, and each class: all rows, and those that reach each threshold.

    A class has rows, sums of weights and of the squares of these.
    """

    threshold: Floats
    positives: Floats
    negatives: Floats

    @classmethod
    def each(cls, counts: pl.DataFrame, group: list[str]) -> tuple[pl.DataFrame, list[Self]]:
        """Return the groups of whole counts, sorted, and what each holds."""
        found, groups = [], [counts.select(group).clear()]
        for strata in strata_counts(counts.select(*group, pl.exclude(group))):
            powers = strata.weights[:, None] ** np.arange(3)
            reached = (np.cumsum(of_class.T @ powers, axis=0)[::-1].T for of_class in strata.classes)
            found.append(cls(strata.histogram.thresholds[::-1], *reached))
            groups.append(strata.histogram.group)
        return pl.concat(groups), found


def _bins(known: _Group, field: _Group) -> Bins | str:
    """Return the bins between the thresholds that both have, or why there are none."""
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
        if rows[0, 0] < _LEAST_ROWS:
            return f"fewer than {_LEAST_ROWS} {what}"
    every = (
        known.positives[:, np.append(0, in_known + 1)],
        known.negatives[:, np.append(0, in_known + 1)],
        field.negatives[:, np.append(0, in_field + 1)],
    )
    few, finer = _edges_of_bins(*(reached[0] for reached in every))
    if len(few) < 2:
        return "no threshold has enough rows on both sides"
    (positives, p), (negatives, n), (traffic, _) = (_between(reached, few) for reached in every)
    tested = [_between(reached, finer)[0] for reached in every]
    return Bins((positives, negatives, traffic), (tested[0], tested[1], tested[2]), (p, n))
