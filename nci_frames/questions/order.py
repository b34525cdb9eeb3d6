"""Rankings and winner ranges -> which model leads where, which change places, and sentences on both."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.messages import either, listed, quantity
from nci_frames.tables.numbers import format_grid

#: Largest number of changes of order behind the leader that are named.
_OVERTAKINGS = 12
#: Largest number of equally good models, or of ranges of the best model, that a short sentence names.
SOME = 4
#: Said of models that may be worse than the best: rows are too few, or only the leading models are compared.
UNTOLD = "not known whether worse"
#: Largest number of unsupported ranges that are named.
_UNKNOWN = 2


class Lead(NamedTuple):
    """A range of prevalence with the same best models; no models if the log cannot tell."""

    models: tuple[str, ...]
    start: float
    end: float
    #: 95 % interval of the start over resampled logs; None if unknown, or if the start is that of the grid.
    start_bounds: tuple[float, float] | None = None


class Overtaking(NamedTuple):
    """Two models that change places between two values of the grid."""

    winner: str
    loser: str
    before: float
    after: float


class Order(NamedTuple):
    """The order of the models over the whole grid."""

    leads: tuple[Lead, ...]
    overtakings: tuple[Overtaking, ...]
    #: Largest error of the areas of the log itself, whose scores lie between thresholds.
    error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether values are known, and each lead ends where the next begins: not if read from a grid."""
        joined = all(lead.end == after.start for lead, after in pairwise(self.leads))
        return joined and not self.error


def best_at_each(ranking: pl.DataFrame, /) -> pl.DataFrame:
    """Return the best models at each prevalence of a grid, as winner ranges of one grid point each.

    >>> ranking = pl.DataFrame({"model": ["b", "a"], "prevalence": 0.1, "rank": 1, "supported": True})
    >>> best_at_each(ranking).rows()
    [(0.1, 0.1, 'a', ['a', 'b'], True)]
    """
    told = pl.col("supported").any().over("prevalence")
    best = ranking.filter(pl.col("rank") == 1).filter(pl.col("supported") | ~told)
    named = best.group_by("prevalence", "supported").agg(tied=pl.col("model").sort()).sort("prevalence")
    at, first = pl.col("prevalence"), pl.col("tied").list.first()
    return named.select(start=at, end=at, model=first, tied="tied", supported="supported")


def read_leads(winners: pl.DataFrame, /, *, low: float, high: float) -> tuple[Lead, ...]:
    """Return the ranges of prevalence in which the same models lead, from winner ranges.

    A range continues as long as one of its models is among the tied winners.

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
        begin, stop = max(start, low), min(end, high)
        # Skip ranges outside [low, high], and those that only touch an end.
        if begin > stop or (begin == stop and start < end and low < high):
            continue
        models = tuple(tied or [model]) if supported else ()
        last = leads[-1] if leads else None
        both = () if last is None else tuple(one for one in last.models if one in models)
        if last is not None and (both or last.models == models):
            leads[-1] = last._replace(models=both, end=stop)
            continue
        # If a range begins before *low*, its start is not a border.
        known = supported and lower is not None and start > low
        leads.append(Lead(models, begin, stop, (lower, upper) if known else None))
    return tuple(leads)


def read_order(ranking: pl.DataFrame, /) -> Order:
    """Return where the best model and the order of models change, from a ranking by one metric.

    A tie at a grid point is not a change: two models change places if one is ahead before it, and the other
    after it.

    >>> ranking = pl.DataFrame({
    ...     "model": ["a", "b", "a", "b"], "prevalence": [0.01, 0.01, 0.1, 0.1], "rank": [1, 2, 2, 1],
    ... })
    >>> read_order(ranking).overtakings
    (Overtaking(winner='b', loser='a', before=0.01, after=0.1),)
    """
    told = pl.col("supported") if "supported" in ranking.columns else pl.lit(value=True)
    table = ranking.select("model", "prevalence", "rank", supported=told)
    ranked = table.drop_nulls(["model", "prevalence", "rank"]).sort("prevalence", "rank", "model")
    groups = ranked.filter("supported").group_by("prevalence", maintain_order=True)
    columns = [(at, dict(rows.select("model", "rank").iter_rows())) for (at,), rows in groups]
    return Order(read_leads(best_at_each(ranked), low=0, high=1), _overtakings(columns))


def _overtakings(columns: Sequence[tuple[float, dict[str, int]]]) -> tuple[Overtaking, ...]:
    """Return where the order of each pair of models reverses, ignoring ties."""
    models, at = sorted({model for _, ranks in columns for model in ranks}), [at for at, _ in columns]
    listed_ranks = [here.get(model, np.nan) for _, here in columns for model in models]
    ranks = np.reshape(listed_ranks, (len(at), len(models)))
    a, b = np.triu_indices(len(models), 1)
    ahead = np.nan_to_num(np.sign(ranks[:, b] - ranks[:, a]))
    # The last value of the grid at which one of the two was ahead.
    last = np.maximum.accumulate(np.where(ahead != 0, np.arange(len(at))[:, np.newaxis], 0))[:-1]
    reverses = ahead[1:] * np.take_along_axis(ahead, last, axis=0) < 0
    found: list[Overtaking] = []
    for place, pair in zip(*np.nonzero(reverses), strict=True):
        one, other = models[a[pair]], models[b[pair]]
        order = (one, other) if ahead[place + 1, pair] > 0 else (other, one)
        found.append(Overtaking(*order, at[last[place, pair]], at[place + 1]))
    return tuple(found)


def known_within(by: str, error: float) -> str:
    """Return how well areas are known in the log itself, of which only some thresholds were counted."""
    return f"{by} is known to within {format_grid(error)}, as scores lie between the thresholds counted"


def order_lines(by: str, order: Order) -> list[str]:
    """Return sentences on whether the order of models changes with the prevalence, by one measure.

    >>> leads = (Lead(("a",), 0.001, 0.02), Lead(("b", "c"), 0.02, 0.5))
    >>> order_lines("F1", Order(leads, ()))
    ['By F1 the order changes in this log: a up to 0.02, then b or c. These borders are exact for this log.']
    """
    if not order.leads:
        return [f"By {by} the models cannot be ordered: none has a defined value."]
    known = [lead for lead in order.leads if lead.models]
    if not known:
        return [f"By {by} this log cannot tell the value at any prevalence compared."]
    one = only_leader(known)
    if one is None:
        exact = " These borders are exact for this log." if order.exact else ""
        if any(lead.start_bounds for lead in known):
            exact += " In brackets: where they are in 95 % of the resampled logs that have them."
        said = f"the order changes in this log: {leads_in_words(order.leads, most=len(known))}.{exact}"
    elif order.overtakings:
        said = f"the order changes: in this log {one}, but others change places."
    elif known[0].start == known[-1].end:
        said = f"in this log {one}."
    else:
        said = f"the order does not change: in this log {one}, and no two models change places there."
    unknown = untold_in_words(order.leads)
    doubt = f" {known_within(by, order.error)}." if order.error else ""
    doubt += f" This log cannot tell the value {unknown}." if unknown else ""
    overtaken = [
        f"{change.winner} overtakes {change.loser} between {format_grid(change.before)} and "
        f"{format_grid(change.after)}"
        for change in order.overtakings[:_OVERTAKINGS]
    ]
    more = len(order.overtakings) - _OVERTAKINGS
    if more > 0:
        overtaken.append(f"and {more:,} more")
    places = [f"All changes of place by {by.rstrip(',')}: {'; '.join(overtaken)}."] if overtaken else []
    return [f"By {by} {said}{doubt}", *places]


def only_leader(leads: Sequence[Lead], /) -> str | None:
    """Return which model leads wherever the log can tell; None if the best model changes.

    >>> only_leader([Lead(("a", "b"), 0.01, 0.5)])
    'a or b lead at every prevalence from 0.01 to 0.5'
    >>> only_leader([Lead(("a",), 0.01, 0.02), Lead(("a",), 0.1, 0.5)])
    'a leads from 0.01 to 0.5, wherever the log can tell the value'
    """
    models = leads[0].models
    if any(lead.models != models for lead in leads):
        return None
    verb = "leads" if len(models) == 1 else "lead"
    start, end = leads[0].start, leads[-1].end
    if len(leads) > 1:
        # Between the ranges another model may be first.
        return f"{any_of(models)} {verb} {_span(start, end)}, wherever the log can tell the value"
    return f"{any_of(models)} {verb} {'' if start == end else 'at every prevalence '}{_span(start, end)}"


def leads_in_words(
    leads: Sequence[Lead], /, most: int = SOME, number: Callable[[float], str] = format_grid
) -> str:
    """Return which model leads up to where; if there are more than *most* ranges, the first two and the last.

    Ranges in which the log cannot tell are left out. *number* writes a border.

    >>> leads_in_words([Lead(("a",), 0.001, 0.1), Lead(("b",), 0.1, 0.3), Lead(("c", "d"), 0.4, 0.5)])
    'a up to 0.1, then b up to 0.3, then c or d from 0.4'
    """
    around = zip([None, *leads], leads, [*leads[1:], None], strict=False)
    known = [each for each in around if each[1].models]
    steps = [f"{any_of(lead.models)}{_within(before, lead, after, number)}" for before, lead, after in known]
    if len(steps) <= most:
        return ", then ".join(steps)
    _, final, _ = known[-1]
    last = f"from {number(final.start)} on {any_of(final.models)}"
    changes = sum(one.models != other.models for (_, one, _), (_, other, _) in pairwise(known))
    return f"{', then '.join(steps[:2])}; {last}; {quantity(changes, 'change')} in all"


def _within(before: Lead | None, lead: Lead, after: Lead | None, number: Callable[[float], str]) -> str:
    """Return where a lead ends, and where it begins if the lead before it ends elsewhere."""
    apart = before is not None and (before.end != lead.start or not before.models)
    if apart and lead.start == lead.end:
        return f" at {number(lead.start)}"
    begin = f" from {number(lead.start)}" if apart else ""
    if after is None:
        return begin
    bounds = after.start_bounds
    drawn = "" if bounds is None else f" (95 %: {number(bounds[0])} to {number(bounds[1])})"
    return f"{begin} up to {number(lead.end)}{drawn}"


def untold_in_words(leads: Sequence[Lead], /) -> str:
    """Return the first ranges in which the log cannot tell the value; empty if there are none."""
    spans = [_span(lead.start, lead.end) for lead in leads if not lead.models]
    more = [f"in {len(spans) - _UNKNOWN:,} more ranges"] if len(spans) > _UNKNOWN else []
    return " and ".join([*spans[:_UNKNOWN], *more])


def _span(start: float, end: float) -> str:
    return f"at {format_grid(start)}" if start == end else f"from {format_grid(start)} to {format_grid(end)}"


def any_of(models: Sequence[str], /) -> str:
    """Return the names of equally good models, joined by "or".

    >>> any_of("ab"), any_of("abcdef")
    ('a or b', 'a, b, c, d or 2 more')
    """
    more = [f"{len(models) - SOME:,} more"] if len(models) > SOME else []
    return either([*models[:SOME], *more])


def all_of(others: int) -> str:
    """Return a phrase for all other models, by their number.

    >>> [all_of(number) for number in (1, 2, 3)]
    ['the other model', 'both others', 'all 3 others']
    """
    return {1: "the other model", 2: "both others"}.get(others, f"all {others:,} others")


def known_order(best: Sequence[str], others: Mapping[str, bool | None], /) -> str:
    """Return what is known of the order, to complete a sentence that says that the value is not known.

    Parameters
    ----------
    best
        Models with the best value in the log.
    others
        Whether each other model differs from the best; None if the log does not tell, or they were not
        compared.

    Examples
    --------
    >>> known_order(["a"], {"b": True, "c": True})
    'still, it shows that a is significantly better than both others'
    >>> known_order(["a"], {"b": True, "c": False})
    'still, it shows that a is significantly better than 1 of 2 others; not distinguishable from it: c'
    >>> known_order(["a"], {"b": False})
    'nor does it show which model is best: the best in this log is a; not distinguishable from it: b'
    """
    names, are, them = listed(best, SOME), *(("is", "it") if len(best) == 1 else ("are", "them"))
    worse, equal, untold = (
        [model for model, differs in others.items() if differs is told] for told in (True, False, None)
    )
    named = {f"not distinguishable from {them}": equal, UNTOLD: untold}
    doubts = [f"{why}: {listed(models, SOME)}" for why, models in named.items() if models]
    if worse:
        whom = f"{len(worse):,} of {len(others):,} others" if doubts else all_of(len(others))
        told = f"still, it shows that {names} {are} significantly better than {whom}"
    else:
        begin = "nor does it show which model is best: " if doubts else ""
        told = f"{begin}the best in this log {are} {names}"
    return "; ".join([told, *doubts])
