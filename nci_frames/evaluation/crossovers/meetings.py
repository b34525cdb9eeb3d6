"""Operating points -> the crossovers of the best points of all pairs of models.

Without a closed form, sign changes are found on a grid along the axis, and refined by root finding.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats, Over, Places
from nci_frames.evaluation.crossovers.contest import Contest
from nci_frames.evaluation.crossovers.lines import LineContest, crossings

#: Number of grid points, in logit eta or in log beta.
_PLACES = 4_001
_SMALLEST = {"prevalence": 1e-12, "beta": 1e-6}


def places_along(over: Over) -> Floats:
    """Return the points of the grid, ascending."""
    small = _SMALLEST[over]
    end = np.log(small) - np.log1p(-small) if over == "prevalence" else np.log(small)
    return np.linspace(end, -end, _PLACES)


def axis_value(over: Over, places: Floats) -> Floats:
    """Return the prevalence or beta of each point."""
    return np.asarray(1 / (1 + np.exp(-places)) if over == "prevalence" else np.exp(places))


def sign_changes(signs: NDArray[np.int8]) -> tuple[Places, Places, Places]:
    """Return the row of each change of sign, and the columns before and after it.

    Parameters
    ----------
    signs
        One row per difference, one column per grid point. Zeros are skipped: the signs before and after are
        compared.
    """
    is_end = np.ones(signs.shape, np.bool_)
    np.not_equal(signs[:, 1:], signs[:, :-1], out=is_end[:, :-1])
    row, end = np.nonzero(is_end)
    begin = np.where(np.diff(row, prepend=-1) == 0, np.append(0, end[:-1] + 1), 0)
    told = np.flatnonzero(signs[row, end])
    row, begin, end = row[told], begin[told], end[told]
    sign = signs[row, end]
    changed = (row[1:] == row[:-1]) & (sign[1:] != sign[:-1])
    return row[:-1][changed], end[:-1][changed], begin[1:][changed]


def roots(difference: Callable[[Floats, Places], Floats], low: Floats, high: Floats, row: Places) -> Floats:
    """Return a root of each difference between two points with different signs, to floating-point precision.

    Parameters
    ----------
    difference
        Function of points and rows that returns the difference of each row at its point.
    low, high
        Ends of the bracket of each root.
    row
        Row of the difference of each root.
    """
    from scipy.optimize.elementwise import find_root  # noqa: PLC0415  (slow to import, and seldom needed)

    if not len(low):
        return low
    found = find_root(
        lambda place, row: difference(place, row.astype(np.intp)), (low, high),
        args=(row.astype(np.float64),), tolerances={"xatol": 1e-14, "fatol": 0.0},
    )  # fmt: skip
    return np.where(found.success, found.x, (low + high) / 2)


def changes_of_best(best_at: Callable[[Floats], Places], places: Floats) -> Floats:
    """Return the points at which the best competitor changes, to floating-point precision.

    Parameters
    ----------
    best_at
        Returns the best competitor at each of the given points.
    places
        Grid points, ascending. Changes back and forth between two neighbours are missed.
    """
    best = best_at(places)
    changed = np.flatnonzero(np.diff(best))
    low, high, at_low, at_high = places[changed], places[changed + 1], best[changed], best[changed + 1]
    found = [np.empty(0)]
    while len(low):
        settled = high - low < 1e-13 * np.maximum(np.abs(low), 1)
        found.append(high[settled])
        low, high, at_low, at_high = low[~settled], high[~settled], at_low[~settled], at_high[~settled]
        middle = (low + high) / 2
        at_middle = best_at(middle)
        # A third competitor in between splits one change into two.
        left, right = at_middle != at_low, at_middle != at_high
        low, high = np.concatenate([low[left], middle[right]]), np.concatenate([middle[left], high[right]])
        at_low = np.concatenate([at_low[left], at_middle[right]])
        at_high = np.concatenate([at_middle[left], at_high[right]])
    return np.sort(np.concatenate(found))


#: Number of roots to search for at a time; each may take as many numbers as a curve has terms.
_AT_A_TIME = 1 << 14
#: Number of grid values that fit into the cache of a core.
_VALUES_AT_A_TIME = 1 << 17


class Meetings(NamedTuple):
    """Crossovers of pairs of models."""

    x: Floats
    better_below: Places  # indices of models
    better_above: Places
    row: Places  # the best point of one of the two models at x

    @classmethod
    def together(cls, parts: Iterable[Self]) -> Self:
        """Concatenate several sets of crossovers."""
        none = cls(np.empty(0), *(np.empty(0, np.intp) for _ in range(3)))
        return cls(*map(np.concatenate, zip(none, *parts, strict=True)))


def line_meetings(contest: Contest, rows: Sequence[Places]) -> Iterator[Meetings]:
    """Yield the exact crossovers of a metric that is ordered by lines, pair by pair."""
    lines = LineContest.of(contest)
    envelopes = [lines.envelope(mine) for mine in rows]
    for one, other in itertools.combinations(range(len(rows)), 2):
        x, first, second, first_was_lower = crossings(envelopes[one], envelopes[other], lines.end)
        if len(x):
            one_is_better_below = first_was_lower == lines.ascending
            below, above = np.where(one_is_better_below, [[one], [other]], [[other], [one]])
            yield Meetings(lines.axis(lines.meet(x, first, second)), below, above, first)


def point_meetings(contest: Contest, rows: Sequence[Places]) -> Iterator[Meetings]:
    """Yield the crossovers of a metric without a closed form, from a fine grid."""
    x = axis_value(contest.over, places_along(contest.over))
    best = np.array([contest.best(mine, x)[0] for mine in rows])
    begin, size = np.array([mine[0] for mine in rows]), np.array([len(mine) for mine in rows])

    def best_at(models: Places, place: Floats) -> tuple[Floats, Places]:
        return contest.best_of(begin[models], size[models], axis_value(contest.over, place))

    return curve_meetings(best, best_at, contest.over, rounding=1e-14)


def curve_meetings(
    best: Floats, best_at: Callable[[Places, Floats], tuple[Floats, Places]], over: Over, rounding: float
) -> Iterator[Meetings]:
    """Yield the crossovers of all pairs of models, from changes of sign on a fine grid.

    Parameters
    ----------
    best
        Best value of each model (row) at each of ``places_along``.
    best_at
        Function of models and points that returns the best value of each model at its point, and its row.
    over
        The axis.
    rounding
        Smallest relative difference that has a sign.
    """
    places = places_along(over)
    first, second, left, right = _changes(best, rounding)
    for some in np.array_split(np.arange(len(first)), len(first) // _AT_A_TIME + 1):
        one, other = first[some], second[some]

        def at(place: Floats, pair: Places, one: Places = one, other: Places = other) -> Floats:
            return best_at(one[pair], place)[0] - best_at(other[pair], place)[0]

        found = roots(at, places[left[some]], places[right[some]], np.arange(len(some)))
        one_is_better_below = best[one, left[some]] > best[other, left[some]]
        below, above = np.where(one_is_better_below, [one, other], [other, one])
        yield Meetings(axis_value(over, found), below, above, best_at(one, found)[1])


def _changes(best: Floats, rounding: float) -> tuple[Places, ...]:
    """Return the two models of each change of order, and the grid points before and after it."""
    found = [(np.empty(0, np.intp),) * 4]
    some = max(1, _VALUES_AT_A_TIME // best.shape[1])
    for model in range(len(best)):
        for start in range(model + 1, len(best), some):
            others = best[start : start + some]
            difference = best[model] - others
            least = rounding * (np.abs(best[model]) + np.abs(others))
            # Undefined values have no sign.
            signs = (difference > least).view(np.int8) - (difference < -least).view(np.int8)
            row, left, right = sign_changes(signs)
            found.append((np.full(len(row), model), start + row, left, right))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))
