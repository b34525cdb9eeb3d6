"""Rankings and winner ranges -> which model leads where, which change places, and what is told of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import polars as pl

from nci_frames.tables.numbers import format_grid

#: Changes of order behind the leader that are named.
_OVERTAKINGS = 12


@dataclass(frozen=True, slots=True)
class Lead:
    """A range of prevalence or beta over which the same models are best; none where the log cannot tell."""

    models: tuple[str, ...]
    start: float
    end: float
    #: Where the start lies in 95 % of the resampled logs; None if unknown, or if it is that of the grid.
    start_bounds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Overtaking:
    """Two models that change places between two values of the grid."""

    winner: str
    loser: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the models over the whole grid."""

    leads: tuple[Lead, ...]
    overtakings: tuple[Overtaking, ...]
    #: Whether the borders of the leads are exact; otherwise a lead ends somewhere before the next start.
    exact: bool = False


def read_leads(winners: pl.DataFrame, /, *, low: float, high: float) -> tuple[Lead, ...]:
    """Read from winner ranges over prevalence the exact ranges in which each model leads.

    >>> winners = pl.DataFrame({
    ...     "start": [0.0, 0.01, 0.2], "end": [0.01, 0.2, 1.0], "model": ["a", "b", "b"],
    ... })
    >>> read_leads(winners, low=0.001, high=0.5)
    (Lead(models=('a',), start=0.001, end=0.01, start_bounds=None),
    Lead(models=('b',), start=0.01, end=0.5, start_bounds=None))
    """
    leads: list[Lead] = []
    optional = {"supported": pl.lit(value=True), **dict.fromkeys(("lower", "upper", "tied"), pl.lit(None))}
    more = [pl.col(name) if name in winners.columns else none.alias(name) for name, none in optional.items()]
    ranges = winners.sort("start").select("start", "end", "model", *more)
    for start, end, model, supported, lower, upper, tied in ranges.iter_rows():
        if end < low or start > high or (start == end and low < high):
            continue
        models = tuple(tied or [model]) if supported else ()
        if leads and leads[-1].models == models:
            leads[-1] = replace(leads[-1], end=min(end, high))
            continue
        # The border of a range that begins before the lowest prevalence is not shown.
        known = supported and lower is not None and start > low
        leads.append(Lead(models, max(start, low), min(end, high), (lower, upper) if known else None))
    return tuple(lead for lead in leads if lead.start < lead.end or low == high)


def read_order(ranking: pl.DataFrame, /) -> Order:
    """Read from the rows of one metric where the best model and the order of models change.

    A tie at one value of the grid is not a change: two models change places if one is ahead before it and the
    other after it.

    >>> ranking = pl.DataFrame({
    ...     "model": ["a", "b", "a", "b"], "prevalence": [0.01, 0.01, 0.1, 0.1], "rank": [1, 2, 2, 1],
    ... })
    >>> read_order(ranking).overtakings
    (Overtaking(winner='b', loser='a', before=0.01, after=0.1),)
    """
    told = pl.col("supported") if "supported" in ranking.columns else pl.lit(value=True)
    table = ranking.select("model", "prevalence", "rank", supported=told)
    ranked = table.drop_nulls(["model", "prevalence", "rank"]).sort("prevalence", "rank", "model")
    columns = [
        (at, dict(rows.filter("supported").select("model", "rank").iter_rows()))
        for (at,), rows in ranked.group_by("prevalence", maintain_order=True)
    ]
    return Order(_leads(columns), _overtakings(columns))


def _leads(columns: Sequence[tuple[float, dict[str, int]]]) -> tuple[Lead, ...]:
    leads: list[Lead] = []
    for at, ranks in columns:
        best = tuple(sorted(model for model, rank in ranks.items() if rank == 1))
        start = leads.pop().start if leads and leads[-1].models == best else at
        leads.append(Lead(best, start, at))
    return tuple(leads)


def _overtakings(columns: Sequence[tuple[float, dict[str, int]]]) -> tuple[Overtaking, ...]:
    """Follow each pair from left to right, and note where its order reverses the last order without a tie."""
    last: dict[tuple[str, str], tuple[str, float]] = {}
    found: list[Overtaking] = []
    for at, ranks in columns:
        for a, b in combinations(sorted(ranks), 2):
            if ranks[a] == ranks[b]:
                continue
            first, second = (a, b) if ranks[a] < ranks[b] else (b, a)
            before, since = last.get((a, b), (first, at))
            if before != first:
                found.append(Overtaking(first, second, since, at))
            last[a, b] = (first, at)
    return tuple(found)


def order_lines(by: str, order: Order) -> list[str]:
    """Say whether the order of models changes with the prevalence, by one measure.

    >>> leads = (Lead(("a",), 0.001, 0.02), Lead(("b",), 0.02, 0.5))
    >>> order_lines("F1", Order(leads, (), exact=True))
    ['By F1 the order changes: a leads from 0.001 to 0.02; b leads from 0.02 to 0.5. These borders are exact
    for this log.']
    """
    if not order.leads:
        return [f"By {by} the models cannot be ordered: none has a defined value."]
    known = [lead for lead in order.leads if lead.models]
    if not known:
        return [f"By {by} this log cannot tell the value at any prevalence compared."]
    unknown = "".join(
        f" {_span(lead).capitalize()} this log cannot tell the value."
        for lead in order.leads
        if not lead.models
    )
    if not order.overtakings and len(known) == 1:
        leaders = known[0].models
        are = "is" if len(leaders) == 1 else "are"
        return [
            f"By {by} the order does not change: {some_models(leaders)} {are} ahead in this log, and no two "
            f"models change places at any prevalence compared.{unknown}"
        ]
    leads = "; ".join(
        f"{some_models(lead.models)} {'leads' if len(lead.models) == 1 else 'lead'} {_span(lead)}"
        for lead in known
    )
    exact = " These borders are exact for this log." if order.exact and len(known) > 1 else ""
    bounded = any(lead.start_bounds for lead in known)
    drawn = " In brackets: where they are in 95 % of the resampled logs that have them." if bounded else ""
    # Models that draw level with the best do not overtake it.
    ahead = set(known[0].models).intersection(*(lead.models for lead in known))
    level = ahead and not order.overtakings
    changes = "no two models change places at any prevalence compared" if level else "the order changes"
    lines = [f"By {by} {changes}: {leads}.{exact}{drawn}{unknown}"]
    overtaken = [
        f"{change.winner} overtakes {change.loser} between {format_grid(change.before)} and "
        f"{format_grid(change.after)}"
        for change in order.overtakings[:_OVERTAKINGS]
    ]
    more = len(order.overtakings) - _OVERTAKINGS
    rest = [f"and {more:,} more"] if more > 0 else []
    return [
        *lines,
        *(
            [f"All changes of place by {by.rstrip(',')}: {'; '.join([*overtaken, *rest])}."]
            if overtaken
            else []
        ),
    ]


def _span(lead: Lead) -> str:
    if lead.start == lead.end:
        return f"at {format_grid(lead.start)}"
    bounds = lead.start_bounds
    known = "" if bounds is None else f" ({format_grid(bounds[0])} to {format_grid(bounds[1])})"
    return f"from {format_grid(lead.start)}{known} to {format_grid(lead.end)}"


def some_models(models: Sequence[str], /, most: int = 3) -> str:
    """Name a few models, and say how many more there are.

    >>> some_models(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    shown = ", ".join(models[:most])
    return shown if len(models) <= most else f"{shown} and {len(models) - most:,} more"


def all_of(others: int) -> str:
    """Name all other models by their number.

    >>> [all_of(number) for number in (1, 2, 3)]
    ['the other model', 'both others', 'all 3 others']
    """
    return {1: "the other model", 2: "both others"}.get(others, f"all {others:,} others")


def known_order(
    best: Sequence[str],
    /,
    *,
    worse: Sequence[str] = (),
    equal: Sequence[str] = (),
    untold: Sequence[str] = (),
    most: int = 3,
) -> str:
    """Return what is known of the order, as the second half of a sentence that says that the value is not.

    Parameters
    ----------
    best
        The models with the best value in the log.
    worse
        Others that are significantly worse.
    equal
        Others that are not distinguishable from the best.
    untold
        Others of which the log has too few rows to say either.
    most
        So many models are named of each.

    Examples
    --------
    >>> known_order(["a"], worse=["b", "c"])
    'still, it shows that a is significantly better than both others'
    >>> known_order(["a"], worse=["b"], equal=["c"])
    'still, it shows that a is significantly better than 1 of 2 others; not distinguishable from it: c'
    >>> known_order(["a"], equal=["b"])
    'nor does it show which model is best: the best in this log is a; not distinguishable from it: b'
    >>> known_order(["a"])
    'the best in this log is a'
    """
    names, one = some_models(best, most), len(best) == 1
    doubts = []
    if equal:
        doubts.append(f"not distinguishable from {'it' if one else 'them'}: {some_models(equal, most)}")
    if untold:
        doubts.append(f"too few rows to tell: {some_models(untold, most)}")
    if not worse:
        begin = "nor does it show which model is best: " if doubts else ""
        return "; ".join([f"{begin}the best in this log {'is' if one else 'are'} {names}", *doubts])
    others = len(worse) + len(equal) + len(untold)
    whom = f"{len(worse):,} of {others:,} others" if doubts else all_of(others)
    are = "is" if one else "are"
    return "; ".join([f"still, it shows that {names} {are} significantly better than {whom}", *doubts])
