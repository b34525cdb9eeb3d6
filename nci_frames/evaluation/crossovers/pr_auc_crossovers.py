"""Curves of average precision -> where models change places, without missing any.

On a piece of the axis the difference of two models is a Chebyshev series. It has no zero if what lies beyond
its straight part is too small to reach zero, and at most one if its slope cannot vanish; every other piece is
halved.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.crossovers.pr_auc_curves import ROUNDING, AreaCurves, halves
from nci_frames.evaluation.crossovers.search import axis_value, roots

__all__ = ["AreaMeetings", "area_meetings"]

Indices = NDArray[np.intp]

#: Undecided intervals of logit eta are not halved below this width.
_SHORTEST = 1e-5
_PAIRS_AT_A_TIME = 1 << 14
_PAIRS_IN_CACHE = 1 << 8


@dataclass(frozen=True, slots=True)
class AreaMeetings:
    """Where pairs of models change places."""

    first: Indices  # of each, the index of the first model among all
    second: Indices
    place: Floats  # in logit eta
    first_is_better_below: NDArray[np.bool_]

    @property
    def prevalence(self) -> Floats:
        """The prevalence of each."""
        return axis_value("prevalence", self.place)


@dataclass(frozen=True, slots=True)
class _Leads:
    """By how much the first model of some pairs leads, each at a place."""

    pair: Indices
    place: Floats
    lead: Floats
    rounding: Floats


def area_meetings(curves: AreaCurves, first: Indices, second: Indices) -> AreaMeetings:
    """Return where the models of some pairs change places."""
    found = [(first[:0], first[:0], np.empty(0), np.empty(0), np.empty(0, np.bool_))]
    for start in range(0, len(first), _PAIRS_AT_A_TIME):
        one, other = first[start : start + _PAIRS_AT_A_TIME], second[start : start + _PAIRS_AT_A_TIME]
        found.append(_changes(_leads(curves, one, other), one, other))
    one, other, low, high, below = (np.concatenate(column) for column in zip(*found, strict=True))

    def lead_at(place: Floats, pair: Indices) -> Floats:
        return curves.lead(one[pair], other[pair], place)

    place = roots(lead_at, low, high, np.arange(len(low)))
    return AreaMeetings(one, other, place, below)


def _leads(curves: AreaCurves, first: Indices, second: Indices) -> _Leads:
    """Return enough leads that between neighbouring places, the order of a pair changes at most once.

    It changes only where their signs differ.
    """
    borders, at_borders = curves.borders, curves.at_borders
    pair, piece = _not_quiet(curves, first, second)
    one, other = first[pair], second[pair]
    ends = [piece, piece + 1]
    samples = [
        _Leads(
            np.tile(pair, 2),
            np.concatenate([borders[end] for end in ends]),
            np.concatenate([at_borders[one, end] - at_borders[other, end] for end in ends]),
            ROUNDING * np.concatenate([at_borders[one, end] + at_borders[other, end] for end in ends]),
        )
    ]
    series = curves.series[one, piece] - curves.series[other, piece]
    rounding = ROUNDING * (at_borders[one, piece + 1] + at_borders[other, piece + 1])
    start, width = borders[piece], borders[1] - borders[0]
    in_the_middle = np.cos(np.arange(series.shape[1]) * np.pi / 2)
    to_left, to_right = halves()
    while width > _SHORTEST and len(pair):
        straight = _Straight.of(series)
        undecided = ~(straight.apart | straight.one_way | (straight.size <= rounding))
        pair, series = pair[undecided], series[undecided]
        rounding, start = rounding[undecided], start[undecided]
        width /= 2
        samples.append(_Leads(pair, start + width, series @ in_the_middle, rounding))
        series = np.concatenate([series @ to_left, series @ to_right])
        pair, rounding = np.tile(pair, 2), np.tile(rounding, 2)
        start = np.concatenate([start, start + width])
    columns = (tuple(getattr(sample, name) for sample in samples) for name in _Leads.__slots__)
    return _Leads(*map(np.concatenate, columns))


def _not_quiet(curves: AreaCurves, first: Indices, second: Indices) -> tuple[Indices, Indices]:
    """Return the pieces in which the order of a pair may change: the places of the pairs, and the pieces."""
    at_borders = curves.at_borders
    found = [(first[:0], first[:0])]
    for start in range(0, len(first), _PAIRS_IN_CACHE):
        one, other = first[start : start + _PAIRS_IN_CACHE], second[start : start + _PAIRS_IN_CACHE]
        series = curves.series[one] - curves.series[other]
        straight = _Straight.of(series.reshape(-1, series.shape[2]))
        lead = at_borders[one] - at_borders[other]
        rounding = ROUNDING * (at_borders[one] + at_borders[other])
        signs = np.where(np.abs(lead) > rounding, np.sign(lead), 0)
        same = (signs[:, 1:] == signs[:, :-1]) & (signs[:, 1:] != 0)
        quiet = same.ravel() & (straight.apart | straight.one_way)
        quiet |= straight.size <= rounding[:, 1:].ravel()
        pair, piece = np.nonzero(~quiet.reshape(same.shape))
        found.append((pair + start, piece))
    pair, piece = (np.concatenate(column) for column in zip(*found, strict=True))
    return pair, piece


@dataclass(frozen=True, slots=True)
class _Straight:
    """What the straight part of some differences, and the size of the rest, say about the whole."""

    #: No zero: the rest is smaller than the straight part at both ends, which have one sign.
    apart: NDArray[np.bool_]
    #: At most one zero: the slope of the rest is smaller than that of the straight part.
    one_way: NDArray[np.bool_]
    #: Nowhere is the difference larger.
    size: Floats

    @classmethod
    def of(cls, series: Floats) -> Self:
        # Chebyshev's polynomials are within 1, and the slope of the k-th is within k².
        orders = np.arange(series.shape[1], dtype=np.float64)
        beyond = np.abs(series) @ np.column_stack([orders > 1, orders**2 * (orders > 1)])
        level, slope = series[:, 0], np.abs(series[:, 1])
        lower_end = np.abs(level) - slope
        return cls(lower_end > beyond[:, 0], slope > beyond[:, 1], np.abs(level) + slope + beyond[:, 0])


def _changes(
    leads: _Leads, first: Indices, second: Indices
) -> tuple[Indices, Indices, Floats, Floats, NDArray[np.bool_]]:
    """Return where signs differ: both models, the places before and after, and whether the first led."""
    signed = np.flatnonzero(np.abs(leads.lead) > leads.rounding)
    order = signed[np.lexsort((leads.place[signed], leads.pair[signed]))]
    pair, place, ahead = leads.pair[order], leads.place[order], leads.lead[order] > 0
    at = np.flatnonzero((pair[1:] == pair[:-1]) & (ahead[1:] != ahead[:-1]))
    return first[pair[at]], second[pair[at]], place[at], place[at + 1], ahead[at]
