"""Operating points -> where the best points of every two models change places."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from nci_frames.base.typing import Floats, Places
from nci_frames.evaluation.crossovers.contest import Contest, Over, Points
from nci_frames.evaluation.crossovers.envelope import crossings
from nci_frames.evaluation.crossovers.lines import LineContest
from nci_frames.evaluation.crossovers.search import axis_value, places_along, roots, sign_changes

#: Maximum number of roots searched for at a time.
_AT_A_TIME = 1 << 20
#: Number of grid values that fit into the cache of a core.
_VALUES_AT_A_TIME = 1 << 17


@dataclass(frozen=True, slots=True)
class Meetings:
    """Where two models change places, and a row of the points that is its model's best there."""

    x: Floats
    better_below: Places  # models, by place
    better_above: Places
    row: Places

    @classmethod
    def together(cls, parts: Iterable[Self]) -> Self:
        """Concatenate several."""
        none = cls(np.empty(0), *(np.empty(0, np.intp) for _ in range(3)))
        columns = ((part.x, part.better_below, part.better_above, part.row) for part in (none, *parts))
        return cls(*map(np.concatenate, zip(*columns, strict=True)))


def line_meetings(points: Points, contest: Contest, rows: Sequence[Places]) -> Iterator[Meetings]:
    """Yield the exact crossovers of a metric that is ordered by lines, pair by pair."""
    lines = LineContest.of(points, contest)
    envelopes = [lines.envelope(mine) for mine in rows]
    for one, other in itertools.combinations(range(len(rows)), 2):
        found = crossings(envelopes[one], envelopes[other], lines.end)
        if len(found.x):
            one_is_better_below = found.first_was_lower == lines.ascending
            yield Meetings(
                lines.axis(lines.meet(found)),
                np.where(one_is_better_below, one, other),
                np.where(one_is_better_below, other, one),
                found.first,
            )


def point_meetings(points: Points, contest: Contest, rows: Sequence[Places]) -> Iterator[Meetings]:
    """Yield the crossovers of a metric without a closed form, which show on a fine grid."""
    x = axis_value(contest.over, places_along(contest.over))
    best = np.array([contest.best(points, mine, x)[0] for mine in rows])
    begin, size = np.array([mine[0] for mine in rows]), np.array([len(mine) for mine in rows])

    def best_at(models: Places, place: Floats) -> tuple[Floats, Places]:
        return contest.best_of(points, begin[models], size[models], axis_value(contest.over, place))

    return curve_meetings(best, best_at, contest.over, rounding=1e-14)


def curve_meetings(
    best: Floats,
    best_at: Callable[[Places, Floats], tuple[Floats, Places]],
    over: Over,
    rounding: float,
    at_a_time: int = _AT_A_TIME,
) -> Iterator[Meetings]:
    """Yield where the best values of every two models change places: their changes of sign on a fine grid.

    Parameters
    ----------
    best
        The best value of each model (row) at each of ``places_along``.
    best_at
        Takes a model and a place for each value that it returns, and the row that has it.
    over
        The axis of the places.
    rounding
        A difference that is a smaller share of both values has no sign.
    at_a_time
        Number of roots that are searched for together.
    """
    places = places_along(over)
    first, second, left, right = _changes(best, rounding)
    for some in np.array_split(np.arange(len(first)), len(first) // at_a_time + 1):
        one, other = first[some], second[some]

        def at(place: Floats, pair: Places, one: Places = one, other: Places = other) -> Floats:
            return best_at(one[pair], place)[0] - best_at(other[pair], place)[0]

        found = roots(at, places[left[some]], places[right[some]], np.arange(len(some)))
        one_is_better_below = best[one, left[some]] > best[other, left[some]]
        yield Meetings(
            axis_value(over, found),
            np.where(one_is_better_below, one, other),
            np.where(one_is_better_below, other, one),
            best_at(one, found)[1],
        )


def _changes(best: Floats, rounding: float) -> tuple[Places, ...]:
    """Return the models of each change of order, and the last place before it and the first after it."""
    found = [(np.empty(0, np.intp),) * 4]
    some = max(1, _VALUES_AT_A_TIME // best.shape[1])
    for model in range(len(best)):
        for start in range(model + 1, len(best), some):
            others = best[start : start + some]
            with np.errstate(invalid="ignore"):
                difference = best[model] - others
                least = rounding * (np.abs(best[model]) + np.abs(others))
                # Undefined values have no sign.
                signs = (difference > least).view(np.int8) - (difference < -least).view(np.int8)
            row, left, right = sign_changes(signs)
            found.append((np.full(len(row), model), start + row, left, right))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))
